//! Runs each task at the niceness that `--renice=NICE` asks for, and not below what plugstack.conf allows:
//! `required spank_renice.so min=0`.
#![forbid(unsafe_code)]

use spank::prelude::*;

const RENICE: Opt = Opt::new(c"renice", c"Run the tasks at this niceness, from -20 to 19")
    .argument(c"NICE")
    .check(|given| nice(given.argument.unwrap_or_default()).map(drop));

fn nice(text: &[u8]) -> Result<i32, String> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|nice| (-20..=19).contains(nice))
        .ok_or_else(|| "not a number from -20 to 19".to_owned())
}

struct Renice {
    min: i32,
}

impl Plugin for Renice {
    const NAME: &'static core::ffi::CStr = c"renice";
    const OPTIONS: &'static [&'static Opt] = &[&RENICE];

    fn new(args: &Args) -> Result<Self> {
        let min = nice(args.get("min").unwrap_or(b"0")).map_err(Error::message).context("min=")?;
        Ok(Renice { min })
    }
}

impl Init for Renice {
    fn init(&mut self, _cx: InitCx<'_>) -> Result<()> {
        Ok(())
    }
}

impl TaskPostFork for Renice {
    fn task_post_fork(&mut self, cx: TaskPostForkCx<'_>) -> Result<()> {
        let (Some(given), Some(pid)) = (cx.option(&RENICE)?, cx.task_pid()?) else { return Ok(()) };
        let asked = nice(given.argument().unwrap_or_default()).map_err(Error::message)?;
        let nice = asked.max(self.min);
        tracing::info!("task {pid} runs at niceness {nice}, asked for {asked}");
        rustix::process::setpriority_process(rustix::process::Pid::from_raw(pid), nice)?;
        Ok(())
    }
}

spank::plugin!(Renice: Init + TaskPostFork);
