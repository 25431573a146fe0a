//! The job environment is reached in slurmstepd alone.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl Init for P {
    fn init(&mut self, cx: InitCx<'_>) -> Result<()> {
        if let In::Local(mut cx) = cx.split() {
            cx.setenv(b"A", b"1", true)?;
        }
        Ok(())
    }
}

fn main() {}
