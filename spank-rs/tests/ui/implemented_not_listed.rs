//! A hook that is implemented and not listed would never be called.
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
        let _ = cx;
        Ok(())
    }
}
impl Exit for P {
    fn exit(&mut self, cx: ExitCx<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }
}

spank::plugin!(P: Init);

fn main() {}
