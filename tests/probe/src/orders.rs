//! What the plugstack.conf line orders: where to note, where to fail, where to panic, and events.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use spank::prelude::*;

use crate::line::{Line, text};

/// `HOOK:CONTEXT[:STEP]`, such as `init:remote:batch`.
struct Place(String);

impl Place {
    fn is(&self, hook: &str, context: &str, step: &str) -> bool {
        let mut parts = self.0.split(':');
        parts.next() == Some(hook)
            && parts.next() == Some(context)
            && parts.next().is_none_or(|it| it == step)
    }
}

/// The arguments of the line.
pub struct Orders {
    record: Option<PathBuf>,
    fail: Option<Place>,
    panic: Option<Place>,
    log: bool,
    pid: u32,
}

impl Orders {
    /// `record=PATH fail=PLACE panic=PLACE log=yes`; `new=fail` and `new=panic` for the constructor.
    pub fn new(args: &Args) -> Result<Orders> {
        let mut orders =
            Orders { record: None, fail: None, panic: None, log: false, pid: std::process::id() };
        for (key, value) in args.pairs()? {
            let value = text(value);
            match (key.as_str(), value.as_str()) {
                ("record", _) => orders.record = Some(value.into()),
                ("fail", _) => orders.fail = Some(Place(value)),
                ("panic", _) => orders.panic = Some(Place(value)),
                ("log", "yes") => orders.log = true,
                ("new", "fail") => return Err(Error::message("told to fail")),
                #[allow(clippy::panic)] // what the test is about
                ("new", "panic") => panic!("told to panic"),
                // For the tests alone: tells two lines apart.
                ("name", _) => {}
                _ => return Err(Error::message(format!("no argument {key}={value}"))),
            }
        }
        Ok(orders)
    }

    /// Notes a hook that has asked its questions, and does as it is told.
    pub fn obey(&self, hook: &str, context: &str, step: &str, line: &mut Line) -> Result<()> {
        let here = std::process::id() == self.pid;
        line.word("same_process", if here { "yes" } else { "no" });
        line.word("pid", self.pid);
        line.word("euid", rustix::process::geteuid().as_raw());
        if let Some(path) = &self.record {
            // One write, so that lines of several processes do not mix.
            let text = format!("{}\n", line.text());
            let file = OpenOptions::new().append(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes()))
                .context(format!("record={}", path.display()))?;
        }
        if self.log {
            tracing::error!("probe-says error {hook} {context}");
            tracing::warn!("probe-says warn {hook} {context}");
            tracing::info!(hook, context, "probe-says info");
            tracing::debug!("probe-says debug {hook} {context} 100%s\nsecond");
            tracing::trace!("probe-says trace {hook} {context}");
        }
        let told = |place: &Option<Place>| {
            place.as_ref().is_some_and(|place| place.is(hook, context, step))
        };
        #[allow(clippy::panic)] // what the test is about
        if told(&self.panic) {
            panic!("told to panic");
        }
        if told(&self.fail) { Err(Error::message("told to fail")) } else { Ok(()) }
    }
}
