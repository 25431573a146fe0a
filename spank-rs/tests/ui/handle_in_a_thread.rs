//! A handle stays on the thread of its hook.
use spank::prelude::*;

struct P;

impl Plugin for P {
    const NAME: &'static core::ffi::CStr = c"p";
    fn new(_args: &Args) -> Result<Self> {
        Ok(P)
    }
}

impl TaskExit for P {
    fn task_exit(&mut self, cx: TaskExitCx<'_>) -> Result<()> {
        std::thread::scope(|scope| {
            scope.spawn(|| drop(cx));
        });
        Ok(())
    }
}

fn main() {}
