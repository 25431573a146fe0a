//! Which items there are depends on the context.
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
        let _ = cx.uid()?;
        Ok(())
    }
}

fn main() {}
