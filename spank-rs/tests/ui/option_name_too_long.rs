//! Slurm refuses a name of more than 75 bytes.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

const TAG: Opt = Opt::new(
    c"a234567890123456789012345678901234567890123456789012345678901234567890123456",
    c"76 bytes",
);

fn main() {}
