//! salloc and sbatch have no job yet.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl InitPostOpt for P {
    fn init_post_opt(&mut self, cx: InitPostOptCx<'_>) -> Result<()> {
        if let In::Allocator(cx) = cx.split() {
            let _ = cx.job_id()?;
        }
        Ok(())
    }
}

fn main() {}
