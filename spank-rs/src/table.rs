//! The drain and fail table of SPANK(8) as data, and what real Slurm does in its place.
//!
//! The page says for 30 combinations of command, hook and context what a failing hook of a
//! `required` plug-in leads to: [`documented`]. The same was measured on six releases of Slurm,
//! with more commands, contexts and `optional` plug-ins: [`observed`]. They disagree: [`differs`].
//!
//! ```
//! use spank::context::Which as Context;
//! use spank::phase::Which as Hook;
//! use spank::table::{Command, Mode, Source, outcome};
//!
//! let of = |source| {
//!     let outcome = outcome(source, Command::Srun, Hook::UserInit, Context::Remote, Mode::Required);
//!     outcome.map(|o| o.to_string())
//! };
//! assert_eq!(
//!     of(Source::Documented).as_deref(),
//!     Some("srun exits 0, the node stays in service, the job does not fail")
//! );
//! assert_eq!(
//!     of(Source::Observed("26.05".parse()?)).as_deref(),
//!     Some("srun exits 1, the node stays in service, the job fails")
//! );
//! # Ok::<(), spank::table::UnknownWord>(())
//! ```
//!
//! Measured means: the hook returned −1, on one node, with `JobRequeue=1`, `proctrack/linuxproc`
//! and without `PrologFlags`. Up to 24.11 Slurm takes most positive codes for success.
#![forbid(unsafe_code)]

mod data;
mod rows;
#[cfg(test)]
mod tests;
mod words;

use crate::handle::context::Which as Context;
use crate::handle::phase::Which as Hook;

pub use rows::{Documented, Exit, Fails, Job, JobExit, Observed, Outcome};
pub use words::{Command, JobState, Mode, Release, UnknownWord};

/// Where to look an outcome up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// SPANK(8).
    Documented,
    /// What was measured on a release.
    Observed(Release),
}

/// A measured row that is not as documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The page.
    pub documented: &'static Documented,
    /// The measurement.
    pub observed: &'static Observed,
}

impl Difference {
    /// Whether the exit codes differ. What sbatch exits with before the job runs is not compared
    /// with the page, whose exit code for a remote hook is that of `sbatch --wait`.
    pub fn exit(&self) -> bool {
        let submits = matches!(self.observed.command, Command::Sbatch | Command::SbatchNoRequeue);
        let too_early = submits && self.documented.context == Context::Remote;
        !too_early && self.observed.exit != Exit::Code(self.documented.exit)
    }

    /// Whether the node is drained in one of the two only.
    pub fn drains(&self) -> bool {
        self.observed.drained() != self.documented.drains_node
    }

    /// Whether the job fails in one of the two only. Where no job is made the page says "yes"
    /// (srun, salloc, sbatch) or "no" (scrontab), and both are right.
    pub fn fails(&self) -> bool {
        match self.observed.fails_job {
            Fails::NoJob => false,
            fails => (fails == Fails::Yes) != self.documented.fails_job,
        }
    }
}

/// The releases of Slurm that were measured, oldest first.
pub fn releases() -> &'static [Release] {
    &Release::ALL
}

/// The table of SPANK(8), Slurm 26.05, in its order.
pub fn documented() -> &'static [Documented] {
    &data::DOCUMENTED
}

/// What was measured on a release, in the order of the measurement.
pub fn observed(release: Release) -> impl Iterator<Item = &'static Observed> {
    data::OBSERVED.iter().filter(move |row| row.release == release)
}

/// What follows when the hook fails; `None` if the page has no such row, or nobody measured it.
///
/// The page has four commands ([`Command::on_page`]) and `required` plug-ins only. Hooks of a step
/// in an allocation of salloc were measured with [`Command::SallocSrun`].
pub fn outcome(
    source: Source,
    command: Command,
    hook: Hook,
    context: Context,
    mode: Mode,
) -> Option<Outcome> {
    match source {
        Source::Documented if mode == Mode::Required => {
            Some(on_page(command, hook, context)?.outcome())
        }
        Source::Documented => None,
        Source::Observed(release) => observed(release)
            .find(|row| {
                row.command == command && row.failing == Some((hook, context)) && row.mode == mode
            })
            .map(Observed::outcome),
    }
}

/// Where a release does not do what the page says. Left out are `optional` plug-ins, of which the
/// table does not speak, and commands that were not there.
pub fn differs(release: Release) -> impl Iterator<Item = Difference> {
    observed(release)
        .filter(|row| row.mode == Mode::Required && row.exit != Exit::NotFound)
        .filter_map(|row| Some(Difference { documented: row.documented()?, observed: row }))
        .filter(|it| it.exit() || it.drains() || it.fails())
}

fn on_page(command: Command, hook: Hook, context: Context) -> Option<&'static Documented> {
    let command = command.on_page();
    documented()
        .iter()
        .find(|row| row.command == command && row.hook == hook && row.context == context)
}
