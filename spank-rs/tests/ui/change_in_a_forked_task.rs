//! What a task's process changes dies with its exec.
use spank::prelude::*;

struct P {
    tasks: u32,
}

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P { tasks: 0 })
    }
}

impl TaskInit for P {
    fn task_init(&self, _cx: TaskInitCx<'_>) -> Result<()> {
        self.tasks += 1;
        Ok(())
    }
}

fn main() {}
