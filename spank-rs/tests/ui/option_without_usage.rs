//! Slurm refuses an option without a usage text.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

const TAG: Opt = Opt::new(c"tag", c"");

fn main() {}
