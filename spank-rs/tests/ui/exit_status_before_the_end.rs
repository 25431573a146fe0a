//! A task has no exit status before it has ended.
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
        let _ = cx.exit_status()?;
        Ok(())
    }
}

fn main() {}
