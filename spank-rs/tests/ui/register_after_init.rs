//! Options are registered in init alone.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl Exit for P {
    fn exit(&mut self, cx: ExitCx<'_>) -> Result<()> {
        if let In::Local(mut cx) = cx.split() {
            cx.register(&TAG)?;
        }
        Ok(())
    }
}

const TAG: Opt = Opt::new(c"tag", c"a tag");

fn main() {}
