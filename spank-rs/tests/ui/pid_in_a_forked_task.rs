//! The pid of a task is known in the parent alone.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl TaskInit for P {
    fn task_init(&self, cx: TaskInitCx<'_>) -> Result<()> {
        let _ = cx.task_pid()?;
        Ok(())
    }
}

fn main() {}
