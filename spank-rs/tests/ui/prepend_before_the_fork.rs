//! The command line is a task's own.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl UserInit for P {
    fn user_init(&mut self, cx: UserInitCx<'_>) -> Result<()> {
        cx.prepend_argv(&[b"nice"])

    }
}

fn main() {}
