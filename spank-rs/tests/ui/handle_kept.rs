//! A handle does not outlive its hook.
use spank::prelude::*;

struct P {
    kept: Option<TaskExitCx<'static>>,
}

impl P {
    fn keep(&mut self, cx: TaskExitCx<'_>) {
        self.kept = Some(cx);
    }
}

fn main() {}
