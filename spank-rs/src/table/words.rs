//! The words of the tables.
#![forbid(unsafe_code)]

use std::fmt;
use std::str::FromStr;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident: $what:literal { $($(#[$of:meta])* $word:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$of])* $word,)*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: [$name; [$($text),*].len()] = [$($name::$word),*];

            /// As the tables write it.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }

            fn exact(text: &str) -> Result<$name, UnknownWord> {
                $name::ALL.into_iter().find(|word| word.as_str() == text).ok_or_else(|| UnknownWord {
                    what: $what,
                    word: text.to_owned(),
                    known: &[$($text),*],
                })
            }
        }

        /// As the tables write it.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

macro_rules! from_str {
    ($($name:ident)*) => {
        $(
            /// As the tables write it.
            impl FromStr for $name {
                type Err = UnknownWord;

                fn from_str(text: &str) -> Result<$name, UnknownWord> {
                    $name::exact(text)
                }
            }
        )*
    };
}

words! {
    /// A command, and how it was run.
    Command: "command" {
        /// `srun true`.
        Srun "srun",
        /// salloc with a command that is no srun.
        Salloc "salloc",
        /// `salloc srun true`: the remote hooks are those of srun's step.
        SallocSrun "salloc+srun",
        /// salloc with `LaunchParameters=use_interactive_step`.
        SallocInteractive "salloc-interactive",
        /// sbatch, which exits before the job runs.
        Sbatch "sbatch",
        /// `sbatch --wait`.
        SbatchWait "sbatch-W",
        /// `sbatch --no-requeue`.
        SbatchNoRequeue "sbatch-norequeue",
        /// scrontab.
        Scrontab "scrontab",
    }
}

words! {
    /// The first word of the plug-in's line in plugstack.conf.
    Mode: "mode" {
        /// A failing hook counts.
        Required "required",
        /// A failing hook is passed over.
        Optional "optional",
    }
}

words! {
    /// A release of Slurm that was measured. As text also by its series: `26.05` is the newest
    /// measured of it.
    Release: "release" {
        /// 20.11.4.
        V20_11_4 "20.11.4",
        /// 22.05.8.
        V22_05_8 "22.05.8",
        /// 24.11.5.
        V24_11_5 "24.11.5",
        /// 25.11.7.
        V25_11_7 "25.11.7",
        /// 26.05.3.
        V26_05_3 "26.05.3",
        /// 26.05.5.
        V26_05_5 "26.05.5",
    }
}

words! {
    /// The state that a job ended or stayed in.
    JobState: "job state" {
        /// Ended with success.
        Completed "COMPLETED",
        /// Ended with failure.
        Failed "FAILED",
        /// Ended by Slurm or the command.
        Cancelled "CANCELLED",
        /// Waits, as after a requeue or for its time.
        Pending "PENDING",
    }
}

from_str! { Command Mode JobState }

impl Command {
    /// The one of SPANK(8)'s four commands whose rows speak of this one.
    pub fn on_page(self) -> Command {
        match self {
            Command::Srun => Command::Srun,
            Command::Salloc | Command::SallocSrun | Command::SallocInteractive => Command::Salloc,
            Command::Sbatch | Command::SbatchWait | Command::SbatchNoRequeue => Command::Sbatch,
            Command::Scrontab => Command::Scrontab,
        }
    }

    /// As a user types it.
    pub(super) fn typed(self) -> &'static str {
        match self {
            Command::SbatchWait => "sbatch --wait",
            Command::SbatchNoRequeue => "sbatch --no-requeue",
            command => command.on_page().as_str(),
        }
    }
}

impl Release {
    /// The release without its last part, such as `26.05`.
    pub fn series(self) -> &'static str {
        self.as_str().rsplit_once('.').map_or("", |(series, _)| series)
    }
}

/// `26.05.3`, or `26.05` for the newest measured of the series.
impl FromStr for Release {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Release, UnknownWord> {
        let newest = Release::ALL.into_iter().rfind(|release| release.series() == text);
        newest.map_or_else(|| Release::exact(text), Ok)
    }
}

/// A text that is none of the words asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    what: &'static str,
    word: String,
    known: &'static [&'static str],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownWord { what, word, known } = self;
        write!(f, "unknown {what} {word:?}, known are: {}", known.join(", "))
    }
}

impl std::error::Error for UnknownWord {}
