//! The job control calls crash prolog and epilog.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl JobEpilog for P {
    fn job_epilog(&mut self, cx: JobEpilogCx<'_>) -> Result<()> {
        let _ = cx.control_getenv(b"A")?;
        Ok(())
    }
}

fn main() {}
