//! The real worker under the plug-in's side of the protocol: answers, deadlines, crashes, leftovers.
//! Runs as root, since the worker loads no script that another user could have written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use switch_lua_core::process;
use switch_lua_core::wire::{Answer, Change, Function, Level, Step, StepId, Text};
use switch_lua_core::worker::{Failure, Loaded, Worker};

const LONG: Duration = Duration::from_secs(30);

struct Script {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn script(text: &str) -> Script {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch.lua");
    std::fs::write(&path, text).unwrap();
    Script { _folder: folder, path }
}

impl Script {
    fn start(&self, limit: Duration) -> Result<(Worker, Loaded), Failure> {
        let program = Path::new(env!("CARGO_BIN_EXE_switch-lua-worker"));
        Worker::start(program, &self.path, limit, &mut |_, _| {})
    }
}

fn step() -> Step {
    Step {
        job_id: 7,
        partition: Some(Text::Utf8("main".into())),
        network: Some(Text::Bytes(b"\xff".to_vec())),
        sluid: None,
        step_id: StepId::Number(3),
        node: "node1".into(),
        orphans: None,
    }
}

fn call(worker: &mut Worker, function: Function) -> Result<(Answer, Vec<Change>), Failure> {
    worker.call(function, &step(), &mut |_, _| {})
}

/// What one preinit with this body comes to.
fn preinit(body: &str, limit: Duration) -> Result<Answer, Failure> {
    let script = script(&format!("function slurm_switch_step_preinit(step) {body}\nend"));
    let (mut worker, _) = script.start(limit)?;
    let (answer, _) = call(&mut worker, Function::StepPreinit)?;
    worker.finish();
    Ok(answer)
}

/// Waits until no process has this argument.
fn wait_gone(argument: &str) {
    let deadline = Instant::now() + LONG;
    while is_there(argument) {
        assert!(Instant::now() < deadline, "{argument} is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_there(argument: &str) -> bool {
    process::all().iter().filter(|stat| stat.is_alive()).any(|stat| {
        std::fs::read(format!("/proc/{}/cmdline", stat.process.pid))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
    })
}

#[test]
fn functions_get_the_step_and_their_answers_come_back() {
    let script = script(
        "function slurm_switch_step_preinit(step, info)\n\
           assert(step.job_id == 7 and step.partition == 'main' and step.network == '\\255')\n\
           assert(step.step_id == 3 and step.node == 'node1' and info == nil)\n\
           assert(step.sluid == nil and step.orphans == nil)\n\
           if math.type then assert(math.type(step.job_id) == 'integer') end\n\
           print('hello') return -1\n\
         end\n\
         function slurm_switch_step_init() return 0, {A = 1, B = false, C = {}} end\n\
         function slurm_switch_setup_special_steps() return true end\n",
    );
    let (mut worker, loaded) = script.start(LONG).unwrap();
    assert_eq!(loaded.functions, [Function::StepPreinit, Function::StepInit]);
    assert!(loaded.special_steps);
    let mut lines = Vec::new();
    let (answer, _) = worker
        .call(Function::StepPreinit, &step(), &mut |level, text| {
            lines.push((level, String::from_utf8_lossy(text.as_bytes()).into_owned()));
        })
        .unwrap();
    assert_eq!(answer, Answer::Negative("-1".into()));
    let line = "switch/lua: slurm_switch_step_preinit: hello".to_owned();
    assert_eq!(lines, [(Level::Info, line)]);
    let (answer, changes) = call(&mut worker, Function::StepInit).unwrap();
    assert_eq!(answer, Answer::Zero);
    let text = |text: &str| Text::Utf8(text.into());
    let set = Change::Set { name: text("A"), value: text("1") };
    assert_eq!(changes, [set, Change::Unset { name: text("B") }]);
    let (answer, _) = call(&mut worker, Function::StepPostfini).unwrap();
    assert_eq!(answer, Answer::Undefined);
    worker.finish();
}

#[test]
fn a_script_that_cannot_be_loaded_is_reported_with_its_reason() {
    let failure = script("return 7").start(LONG).err().unwrap();
    assert!(matches!(&failure, Failure::NotLoaded(why) if why.contains("returned 7 on load")));
    let missing = Script { path: "/no/switch.lua".into(), ..script("") };
    let failure = missing.start(LONG).err().unwrap().to_string();
    assert!(failure.contains("Unable to stat") && failure.contains("/no/switch.lua"), "{failure}");
}

#[test]
fn a_call_without_an_answer_ends_at_the_deadline_with_all_it_started() {
    let limit = Duration::from_millis(500);
    for body in [
        "os.execute('sleep 71234 & sleep 71234')",
        "pcall(function() while true do end end) while true do end",
        "os.execute('trap \"\" TERM HUP INT; sleep 71234')",
    ] {
        let start = Instant::now();
        assert_eq!(preinit(body, limit), Err(Failure::TimedOut(limit)), "{body}");
        assert!(start.elapsed() < Duration::from_secs(10), "{body}");
        wait_gone("71234");
    }
    let failure = script("while true do end").start(limit).err();
    assert_eq!(failure, Some(Failure::TimedOut(limit)));
}

#[test]
fn how_a_worker_died_is_told() {
    let died = |body: &str| preinit(body, LONG).unwrap_err();
    let killed = Failure::Ended("killed by signal 9".into());
    assert_eq!(died("os.execute('kill -9 $PPID')"), killed);
    // The guard is of the same group: with it gone nobody can tell.
    assert!(matches!(died("os.execute('kill -9 0')"), Failure::Ended(_)));
}

/// `os.exit`, memory, a crash in a coroutine: errors, and the worker lives on.
#[test]
fn lua_errors_leave_the_worker_alive() {
    let script = script(
        "function slurm_switch_step_preinit() os.exit(1) end\n\
         function slurm_switch_step_init() local t = {}\n\
           while true do t[#t + 1] = string.rep('x', 1024 * 1024) .. #t end end\n\
         function slurm_switch_step_postfini() error({}) end\n",
    );
    let (mut worker, _) = script.start(2 * LONG).unwrap();
    for function in Function::ALL {
        let (answer, _) = call(&mut worker, function).unwrap();
        assert!(matches!(answer, Answer::Error(_)), "{function:?}: {answer:?}");
    }
    worker.finish();
}

/// SW-195: what a function leaves behind stays when the worker ends as it should.
#[test]
fn what_a_function_starts_in_the_background_outlives_the_worker() {
    let body = "os.execute('sleep 71235 &') return 0";
    assert_eq!(preinit(body, LONG), Ok(Answer::Zero));
    // The shell has forked, and may not have started the program yet.
    let deadline = Instant::now() + LONG;
    while !is_there("71235") {
        assert!(Instant::now() < deadline, "it was ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    for stat in process::all() {
        let line = std::fs::read_to_string(format!("/proc/{}/cmdline", stat.process.pid));
        if line.is_ok_and(|line| line.contains("71235")) {
            let pid = rustix::process::Pid::from_raw(stat.process.pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }
    wait_gone("71235");
}

/// A plug-in whose process is killed takes the worker with it, in the middle of a call.
#[test]
fn a_worker_ends_when_its_plugin_is_killed() {
    const ROLE: &str = "SWITCH_LUA_TEST_PLUGIN";
    if std::env::var_os(ROLE).is_some() {
        // The process that plays the plug-in: it waits in a call until it is killed.
        let _ = preinit("os.execute('sleep 71236')", 10 * LONG);
        return;
    }
    let mut plugin = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_worker_ends_when_its_plugin_is_killed"])
        .env(ROLE, "1")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + LONG;
    while !is_there("71236") {
        assert!(Instant::now() < deadline, "the call was not made");
        std::thread::sleep(Duration::from_millis(5));
    }
    plugin.kill().unwrap();
    plugin.wait().unwrap();
    wait_gone("71236");
}

/// proctrack/linuxproc ends every descendant of slurmstepd with the job.
#[test]
fn the_worker_is_no_descendant_of_the_plugin() {
    let script = script("function slurm_switch_step_preinit() os.execute('sleep 71237') end");
    let (mut worker, _) = script.start(Duration::from_secs(2)).unwrap();
    let calling = std::thread::spawn(move || call(&mut worker, Function::StepPreinit));
    let deadline = Instant::now() + LONG;
    while !is_there("71237") {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    let all = process::all();
    let us = i32::try_from(std::process::id()).unwrap();
    let mut family = vec![us];
    while let Some(child) =
        all.iter().find(|s| family.contains(&s.parent) && !family.contains(&s.process.pid))
    {
        family.push(child.process.pid);
    }
    assert!(
        !all.iter().any(|s| s.comm.starts_with("switch-lua-work")
            && s.is_alive()
            && family.contains(&s.process.pid)),
        "a worker is a descendant"
    );
    assert!(calling.join().unwrap().is_err());
    wait_gone("71237");
}

#[test]
fn started_by_hand_it_says_what_it_is_for() {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_switch-lua-worker"))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("started by spank_switch_lua.so"));
    assert!(out.stdout.is_empty());
}

/// SW-199.
#[test]
fn a_script_gets_the_sluid_where_slurm_has_one() {
    let script = script(
        "function slurm_switch_step_preinit(step) return step.sluid == 's0000000000001' and 0 or -1 end",
    );
    let (mut worker, _) = script.start(LONG).unwrap();
    let with_sluid = Step { sluid: Some("s0000000000001".into()), ..step() };
    let called = worker.call(Function::StepPreinit, &with_sluid, &mut |_, _| {});
    assert_eq!(called.unwrap().0, Answer::Zero);
    worker.finish();
}

/// slurmstepd has the user's umask and groups on when it calls postfini.
#[test]
fn the_worker_takes_off_the_users_umask_and_groups() {
    const ROLE: &str = "SWITCH_LUA_TEST_UMASK";
    if std::env::var_os(ROLE).is_none() {
        // In a process of its own: the umask is one for all threads.
        let name = "the_worker_takes_off_the_users_umask_and_groups";
        let command = format!("umask 0; exec \"$0\" --exact {name}");
        let out = std::process::Command::new("sh")
            .args(["-c", &command])
            .arg(std::env::current_exe().unwrap())
            .env(ROLE, "1")
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
        return;
    }
    let script = script(
        "function slurm_switch_step_preinit()\n\
           local path = os.tmpname() os.remove(path)\n\
           local f = io.open(path, 'w') f:close()\n\
           local show = io.popen('stat -c %a ' .. path .. '; grep ^Groups: /proc/self/status')\n\
           print(show:read(), show:read():match('^Groups:%s*(.*)$')) os.remove(path) return 0\n\
         end\n",
    );
    use std::os::unix::fs::PermissionsExt;
    for (path, mode) in [(script._folder.path(), 0o755), (&script.path, 0o644)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (mut worker, _) = script.start(LONG).unwrap();
    let mut said = String::new();
    let mut note = |_, text: &Text| said = String::from_utf8_lossy(text.as_bytes()).into_owned();
    worker.call(Function::StepPreinit, &step(), &mut note).unwrap();
    worker.finish();
    assert_eq!(said, "switch/lua: slurm_switch_step_preinit: 644\t");
}

/// A loop around a log call must not fill a node's disk, nor outlive the deadline.
#[test]
fn what_a_call_logs_is_bounded() {
    let script = script(
        "function slurm_switch_step_preinit() for i = 1, 5000 do print(i) end return 0 end\n\
         function slurm_switch_step_init() while true do print(string.rep('x', 4000)) end end\n",
    );
    let (mut worker, _) = script.start(Duration::from_secs(2)).unwrap();
    let mut lines = Vec::new();
    let mut note = |_, text: &Text| lines.push(text.as_bytes().to_vec());
    let (answer, _) = worker.call(Function::StepPreinit, &step(), &mut note).unwrap();
    assert_eq!(answer, Answer::Zero);
    assert_eq!(lines.len(), 1001);
    assert!(String::from_utf8_lossy(&lines[1000]).contains("4000 more lines"));
    lines.clear();
    let start = Instant::now();
    let mut note = |_, text: &Text| lines.push(text.as_bytes().to_vec());
    let failure = worker.call(Function::StepInit, &step(), &mut note).unwrap_err();
    assert_eq!(failure, Failure::TimedOut(Duration::from_secs(2)));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(lines.iter().map(Vec::len).sum::<usize>() < 2 << 20);
}

/// During an upgrade a running slurmstepd may find a worker of another kind beside its plug-in.
#[test]
fn a_program_that_is_no_worker_of_this_version_is_given_up() {
    // It reads what it is sent, and neither forks nor ends.
    let path = Path::new("/bin/cat");
    let limit = Duration::from_millis(500);
    let start = Instant::now();
    let failure = Worker::start(path, Path::new("/x"), limit, &mut |_, _| {}).err().unwrap();
    assert!(failure.to_string().contains("does not leave slurmstepd"), "{failure}");
    assert!(start.elapsed() < Duration::from_secs(10));
}
