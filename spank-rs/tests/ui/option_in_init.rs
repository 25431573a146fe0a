//! In init no option is known yet.
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
        if let In::Remote(cx) = cx.split() {
            let _ = cx.option(&TAG)?;
        }
        Ok(())
    }
}

const TAG: Opt = Opt::new(c"tag", c"a tag");

fn main() {}
