//! The tracing subscriber: events go to Slurm's log, spans are not kept.
#![forbid(unsafe_code)]

use std::fmt::{self, Write};

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, Metadata, Subscriber, dispatcher};

use super::{Level, log, passes};
use crate::ffi;
use crate::handle::context::Which;

struct ToSlurm;

/// Makes this the subscriber of the plug-in's own copy of tracing, for the life of the process.
pub(crate) fn install() {
    // An error means that the plug-in has set one of its own: that is its choice.
    let _ = dispatcher::set_global_default(Dispatch::new(ToSlurm));
}

fn level(metadata: &Metadata<'_>) -> Level {
    match *metadata.level() {
        tracing_core::Level::ERROR => Level::Error,
        tracing_core::Level::WARN => Level::Info,
        // Info is printed on the user's terminal by srun, salloc and sbatch.
        tracing_core::Level::INFO => match ffi::context() {
            Some(Which::Local | Which::Allocator) => Level::Verbose,
            _ => Level::Info,
        },
        tracing_core::Level::DEBUG => Level::Debug,
        tracing_core::Level::TRACE => Level::Debug2,
    }
}

impl Subscriber for ToSlurm {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        // Asked each time: srun, salloc and sbatch learn how talkative to be only after `init`.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && passes(level(metadata))
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let warning = *event.metadata().level() == tracing_core::Level::WARN;
        let prefix = if warning { "warning: " } else { "" };
        log(level(event.metadata()), format_args!("{prefix}{}{}", text.message, text.fields));
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// The message of an event, and its fields as ` name=value`.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
    }
}
