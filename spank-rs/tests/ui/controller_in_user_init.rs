//! A call to slurmctld from user_init ends slurmstepd.
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
        let _ = cx.controller();
        Ok(())
    }
}

fn main() {}
