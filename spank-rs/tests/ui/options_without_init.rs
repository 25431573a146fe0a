//! Options are registered in init.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    const OPTIONS: &'static [&'static Opt] = &[&TAG];
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl Exit for P {
    fn exit(&mut self, cx: ExitCx<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }
}

const TAG: Opt = Opt::new(c"tag", c"a tag");

spank::plugin!(P: Exit);

fn main() {}
