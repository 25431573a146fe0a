//! The twelve hooks as types, each with its name.
#![forbid(unsafe_code)]

macro_rules! phases {
    ($($phase:ident $name:literal)*) => {
        /// The hooks as a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Which {
            $(#[doc = concat!("`", $name, "`.")] $phase,)*
        }

        impl Which {
            /// All hooks, in the order of spank.h.
            pub const ALL: [Which; [$($name),*].len()] = [$(Which::$phase),*];

            /// The C symbol.
            pub fn symbol(self) -> &'static str {
                match self { $(Which::$phase => $name,)* }
            }
        }

        $(
            #[doc = concat!("`", $name, "`.")]
            pub enum $phase {}
            impl Phase for $phase {
                const WHICH: Which = Which::$phase;
            }
        )*
    };
}

/// A hook as a type.
pub trait Phase {
    /// The same as a value.
    const WHICH: Which;
}

phases! {
    Init "slurm_spank_init"
    JobProlog "slurm_spank_job_prolog"
    InitPostOpt "slurm_spank_init_post_opt"
    LocalUserInit "slurm_spank_local_user_init"
    UserInit "slurm_spank_user_init"
    TaskInitPrivileged "slurm_spank_task_init_privileged"
    TaskInit "slurm_spank_task_init"
    TaskPostFork "slurm_spank_task_post_fork"
    TaskExit "slurm_spank_task_exit"
    JobEpilog "slurm_spank_job_epilog"
    SlurmdExit "slurm_spank_slurmd_exit"
    Exit "slurm_spank_exit"
}
