//! What is said once, when slurmd starts: what is configured, and what of it is missing.

use switch_lua_core::settings::{Drain, Settings};

use crate::{place, say};

/// Reports the settings, so that a quiet script leaves a trace too, and what would fail each step.
pub fn report(settings: &Settings) {
    let script = place::script(settings);
    let drain = match settings.drain {
        Drain::Epilog if cfg!(feature = "epilog") => "epilog",
        Drain::Epilog | Drain::Now => "now",
    };
    say::info(format_args!(
        "version {} for Slurm {}: script {}, records in {}, drain={drain}",
        env!("CARGO_PKG_VERSION"),
        spank::SLURM_VERSION,
        script.display(),
        settings.state_dir.display()
    ));
    let until = "until it is there, steps of jobs with --network fail";
    if !script.is_file() {
        say::error(format_args!("script {} is no file: {until}", script.display()));
    }
    match place::worker() {
        Ok(worker) if !worker.is_file() => say::error(format_args!(
            "{} is missing, which `make install` puts beside the plug-in: {until}",
            worker.display()
        )),
        Ok(_) => {}
        Err(why) => say::error(why),
    }
    if settings.state_dir.parent().is_some_and(|parent| !parent.is_dir()) {
        let dir = settings.state_dir.display();
        say::error(format_args!("the folder above state_dir={dir} is missing: {until}"));
    }
}
