//! Slurm refuses getopt in task_post_fork.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl TaskPostFork for P {
    fn task_post_fork(&mut self, cx: TaskPostForkCx<'_>) -> Result<()> {
        let _ = cx.getopt(&TAG)?;
        Ok(())
    }
}

const TAG: Opt = Opt::new(c"tag", c"a tag");

fn main() {}
