//! The macro `plugin!`, which lays out the symbols that Slurm looks for.
#![forbid(unsafe_code)]

/// Exports a plug-in: its metadata, and exactly the hooks of the list.
///
/// ```compile_fail
/// # use spank::prelude::*;
/// # struct P;
/// # impl Plugin for P { const NAME: &'static core::ffi::CStr = c"p"; fn new(_: &Args) -> Result<Self> { Ok(P) } }
/// # impl Init for P { fn init(&mut self, _: InitCx<'_>) -> Result<()> { Ok(()) } }
/// spank::plugin!(P: Exit); // Exit is not implemented, and Init is not listed
/// ```
///
/// After the list two things can follow: `init_failure: Job` or `init_failure: Node` exports
/// `slurm_spank_init_failure_mode`, by which Slurm from 25.05 on fails the job and not the node (or the
/// other way round) when `init` of a batch step fails; `static_options` exports the options as the table
/// `spank_options` in place of registering them, which Slurm ignores in salloc and sbatch.
///
/// It expands to the data symbols `plugin_name`, `plugin_type`, `plugin_version` and
/// `spank_plugin_version`, a private static that holds the plug-in, and one `extern "C"` function
/// per hook that calls the runtime.
#[macro_export]
macro_rules! plugin {
    ($plugin:ty : $first:ident $(+ $hook:ident)* $(, init_failure: $mode:ident)? $(,)?) => {
        $crate::__plugin!($plugin, [$first $($hook)*], false);
        $($crate::__failure_mode!($mode);)?
    };
    ($plugin:ty : $first:ident $(+ $hook:ident)*, static_options $(, init_failure: $mode:ident)? $(,)?) => {
        $crate::__plugin!($plugin, [$first $($hook)*], true);
        const _: () = {
            const COUNT: usize = <$plugin as $crate::Plugin>::OPTIONS.len() + 1;
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static spank_options: $crate::rt::Table<COUNT> = $crate::rt::table::<$plugin, COUNT>();
        };
        $($crate::__failure_mode!($mode);)?
    };
}

/// The variable that Slurm reads when `init` failed.
#[doc(hidden)]
#[macro_export]
macro_rules! __failure_mode {
    (Node) => { $crate::__failure_mode!(= 3011); };
    (Job) => { $crate::__failure_mode!(= 3012); };
    (= $value:literal) => {
        // ESPANK_NODE_FAILURE and ESPANK_JOB_FAILURE of slurm_errno.h (25.05 and later); earlier releases
        // do not look for the symbol.
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static slurm_spank_init_failure_mode: ::core::ffi::c_int = $value;
    };
    ($other:ident) => {
        compile_error!(concat!("init_failure is `Job` or `Node`, not `", stringify!($other), "`"));
    };
}

/// What each plug-in has.
#[doc(hidden)]
#[macro_export]
macro_rules! __plugin {
    ($plugin:ty, [$($hook:ident)+], $table:literal) => {
        static __SPANK_STATE: $crate::rt::State<$plugin> = $crate::rt::State::new();

        impl $crate::rt::Exported for $plugin {
            const STATIC_TABLE: bool = $table;
            fn state() -> &'static $crate::rt::State<Self> {
                &__SPANK_STATE
            }
        }

        const _: () = {
            let listed = false $(|| $crate::rt::same("Init", stringify!($hook)))+;
            assert!(
                listed || $table || <$plugin as $crate::Plugin>::OPTIONS.is_empty(),
                "a plug-in with OPTIONS has to list the hook `Init`, in which they are registered"
            );
        };

        const _: () = {
            assert!(cfg!(panic = "unwind"), "a SPANK plug-in cannot be built with panic = \"abort\": \
                a panic would end the Slurm process that loaded it");

            const NAME: &::core::ffi::CStr = <$plugin as $crate::Plugin>::NAME;
            const LENGTH: usize = NAME.to_bytes_with_nul().len();
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static plugin_name: [u8; LENGTH] = $crate::rt::bytes(NAME);
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static plugin_type: [u8; 6] = *b"spank\0";
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static plugin_version: ::core::ffi::c_uint = $crate::SLURM_VERSION_NUMBER;
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static spank_plugin_version: ::core::ffi::c_uint = 1;
        };

        $($crate::__export!($hook, $plugin);)+
        $crate::__each_hook!(__check, $plugin, [$($hook)+]);
    };
}

/// Compares what is implemented with the list, for one hook.
#[doc(hidden)]
#[macro_export]
macro_rules! __check {
    ($hook:ident, $plugin:ty, [$($listed:ident)+]) => {
        const _: () = {
            #[allow(unused_imports)]
            use $crate::probe::Absent as _;
            let listed = false $(|| $crate::rt::same(stringify!($hook), stringify!($listed)))+;
            assert!(
                listed || !$crate::probe::$hook::<$plugin>::IMPLEMENTED,
                concat!("the SPANK hook `", stringify!($hook),
                    "` is implemented but not listed in plugin!, so Slurm would never call it")
            );
        };
    };
}

/// One exported hook.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    (Init, $p:ty) => {
        $crate::__hook!($p, Init, slurm_spank_init);
    };
    (JobProlog, $p:ty) => {
        $crate::__hook!($p, JobProlog, slurm_spank_job_prolog);
    };
    (InitPostOpt, $p:ty) => {
        $crate::__hook!($p, InitPostOpt, slurm_spank_init_post_opt);
    };
    (LocalUserInit, $p:ty) => {
        $crate::__hook!($p, LocalUserInit, slurm_spank_local_user_init);
    };
    (UserInit, $p:ty) => {
        $crate::__hook!($p, UserInit, slurm_spank_user_init);
    };
    (TaskInitPrivileged, $p:ty) => {
        $crate::__hook!($p, TaskInitPrivileged, slurm_spank_task_init_privileged);
    };
    (TaskInit, $p:ty) => {
        $crate::__hook!($p, TaskInit, slurm_spank_task_init);
    };
    (TaskPostFork, $p:ty) => {
        $crate::__hook!($p, TaskPostFork, slurm_spank_task_post_fork);
    };
    (TaskExit, $p:ty) => {
        $crate::__hook!($p, TaskExit, slurm_spank_task_exit);
    };
    (JobEpilog, $p:ty) => {
        $crate::__hook!($p, JobEpilog, slurm_spank_job_epilog);
    };
    (SlurmdExit, $p:ty) => {
        $crate::__hook!($p, SlurmdExit, slurm_spank_slurmd_exit);
    };
    (Exit, $p:ty) => {
        $crate::__hook!($p, Exit, slurm_spank_exit);
    };
    ($other:ident, $p:ty) => {
        compile_error!(concat!("no SPANK hook is called `", stringify!($other), "`"));
    };
}

/// The C function of one hook.
#[doc(hidden)]
#[macro_export]
macro_rules! __hook {
    ($plugin:ty, $hook:ident, $symbol:ident) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(
            spank: $crate::sys::spank_t,
            ac: ::core::ffi::c_int,
            av: *mut *mut ::core::ffi::c_char,
        ) -> ::core::ffi::c_int {
            // SAFETY: Slurm calls this with its live handle and the arguments of our line.
            unsafe { $crate::rt::enter::<$plugin, $crate::phase::$hook>(spank, ac, av) }
        }
    };
}
