//! Notices `PrologFlags=RunInJob`, under which Slurm never calls job_epilog (24.05 and later).

use switch_lua_core::settings::{Drain, Settings};

use crate::{place, say};

/// Says once, when slurmd starts, that a postfini verdict cannot be delivered as configured.
pub fn warn(settings: &Settings) {
    if settings.drain == Drain::Now || !cfg!(feature = "epilog") {
        return;
    }
    let path = place::slurm_conf();
    // A file that cannot be read keeps slurmd itself from starting.
    let Ok(text) = std::fs::read_to_string(&path) else {
        return;
    };
    if runs_in_job(&text) {
        say::error(format_args!(
            "{}: with PrologFlags=RunInJob Slurm calls no slurm_spank_job_epilog, so no postfini \
             verdict can drain a node there: set drain=now in plugstack.conf",
            path.display()
        ));
    }
}

/// Whether a slurm.conf has the flag; its names are not case-sensitive, and a line can hold several
/// settings. Included files are not looked at: the manual says what to set.
fn runs_in_job(text: &str) -> bool {
    text.lines()
        .filter_map(|line| line.split('#').next())
        .flat_map(str::split_whitespace)
        .filter_map(|setting| setting.split_once('='))
        .filter(|(key, _)| key.eq_ignore_ascii_case("PrologFlags"))
        .any(|(_, flags)| flags.split(',').any(|flag| flag.eq_ignore_ascii_case("RunInJob")))
}
