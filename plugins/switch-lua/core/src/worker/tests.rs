//! The worker's protocol against small shell programs that play the worker.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::process;
use crate::wire::StepId;

const LOADED: &str = r#"read load
echo '{"loaded":{"identity":{"dev":1,"ino":2,"size":3,"mtime":[4,5],"ctime":[6,7]},"functions":["step_preinit"],"special_steps":false}}'
"#;

/// A shell program in a folder of its own.
fn program(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("worker");
    std::fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (folder, path)
}

fn start(text: &str, timeout: Duration) -> Result<Worker, Failure> {
    let (_folder, path) = program(text);
    Worker::start(&path, Path::new("/x/switch.lua"), timeout, &mut |_, _| {}).map(|(w, _)| w)
}

fn step() -> Step {
    let step_id = StepId::Number(0);
    Step {
        job_id: 7,
        partition: None,
        network: None,
        sluid: None,
        step_id,
        node: "n".into(),
        orphans: None,
    }
}

fn call(worker: &mut Worker) -> Result<(Answer, Vec<Change>), Failure> {
    worker.call(Function::StepPreinit, &step(), &mut |_, _| {})
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn a_call_gets_its_answer_and_its_log_lines() {
    let text = r#"read call
echo '{"log":{"level":"info","text":"hello"}}'
echo '{"done":{"answer":{"negative":"-1"},"environment":[]}}'
read end"#;
    let mut worker = start(&format!("{LOADED}{text}"), LONG).unwrap();
    let mut lines = Vec::new();
    let answer = worker.call(Function::StepPreinit, &step(), &mut |level, text| {
        lines.push((level, text.clone()));
    });
    assert_eq!(answer.unwrap().0, Answer::Negative("-1".into()));
    assert_eq!(lines, [(Level::Info, Text::Utf8("hello".into()))]);
    worker.finish();
}

#[test]
fn a_script_that_cannot_be_loaded_is_reported_with_its_reason() {
    let text = "read load\necho '{\"not_loaded\":{\"reason\":\"Unable to stat /x\"}}'\nread end";
    let failure = start(text, LONG).err().unwrap();
    assert_eq!(failure, Failure::NotLoaded("Unable to stat /x".into()));
}

#[test]
fn silence_ends_at_the_deadline_and_no_child_is_left() {
    let mut worker = start(&format!("{LOADED}read call\nsleep 600 &\nsleep 600"), LONG).unwrap();
    let group = worker.child.id().cast_signed();
    worker.timeout = SHORT;
    assert_eq!(call(&mut worker).unwrap_err(), Failure::TimedOut(SHORT));
    let deadline = Instant::now() + LONG;
    while process::all()
        .iter()
        .any(|stat| stat.group == group && stat.is_alive())
    {
        assert!(Instant::now() < deadline, "a child is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_crash_an_exit_and_nonsense_are_told_apart() {
    let crash = |text: &str| {
        let mut worker = start(&format!("{LOADED}read call\n{text}"), LONG).unwrap();
        call(&mut worker).unwrap_err().to_string()
    };
    assert!(crash("kill -SEGV $$").contains("killed by signal 11"));
    assert!(crash("exit 3").contains("exit code 3"));
    assert!(crash("echo nonsense").contains("makes no sense"));
}

#[test]
fn after_a_failure_further_calls_fail_and_do_not_hang() {
    let mut worker = start(&format!("{LOADED}read call\nexit 0"), LONG).unwrap();
    assert!(call(&mut worker).is_err());
    assert!(call(&mut worker).is_err());
}

#[test]
fn a_worker_that_others_can_write_is_not_started() {
    let (_folder, path) = program("exit 0");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o775)).unwrap();
    let failure = Worker::start(&path, Path::new("/x"), LONG, &mut |_, _| {})
        .err()
        .unwrap();
    assert!(failure.to_string().contains("chmod go-w"), "{failure}");
    let missing = Worker::start(
        Path::new("/no/worker"),
        Path::new("/x"),
        LONG,
        &mut |_, _| {},
    );
    assert!(missing.err().unwrap().to_string().contains("/no/worker"));
}
