//! Records that are whole, torn, foreign, contended, and old.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::process::Process;

fn info(restart_count: u32) -> JobInfo {
    let partition = Some(Text::Utf8("main".into()));
    JobInfo { partition, ..JobInfo::new(7, restart_count, 1000) }
}

fn open() -> (tempfile::TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let state_dir = folder.path().join("state");
    let store = Store::open(&state_dir, "node1").unwrap();
    (folder, state_dir, store)
}

fn managed(store: &Store, restart_count: u32) -> Job {
    let ask = || Ok::<_, ()>(Asked::Managed(info(restart_count)));
    match store.look_up(7, restart_count, ask, &mut |p| panic!("{p}")).unwrap() {
        Known::Managed(job) => job,
        _ => panic!("not managed"),
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn never() -> Result<Asked, ()> {
    panic!("asked a second time")
}

#[test]
fn a_second_step_asks_nobody() {
    let (_folder, _, store) = open();
    managed(&store, 0);
    let known = store.look_up(7, 0, never, &mut |p| panic!("{p}")).unwrap();
    assert!(matches!(known, Known::Managed(job) if job.info == Some(info(0))));
    let ask = || Ok::<_, ()>(Asked::Unmanaged { restart_count: 0 });
    assert!(matches!(store.look_up(8, 0, ask, &mut |_| {}).unwrap(), Known::Unmanaged));
    assert!(matches!(store.look_up(8, 0, never, &mut |_| {}).unwrap(), Known::Unmanaged));
}

#[test]
fn a_requeued_job_is_asked_for_again() {
    let (_folder, _, store) = open();
    managed(&store, 0);
    let ask = || Ok::<_, ()>(Asked::Unmanaged { restart_count: 1 });
    assert!(matches!(store.look_up(7, 1, ask, &mut |_| {}).unwrap(), Known::Unmanaged));
}

#[test]
fn a_failed_look_up_leaves_nothing() {
    let (_folder, state_dir, store) = open();
    let known = store.look_up(7, 0, || Err::<Asked, _>("down"), &mut |_| {}).unwrap();
    assert!(matches!(known, Known::Failed("down")));
    // The note that it failed; the epilog removes it.
    store.remove(store.job(7, &mut |_| {}).unwrap().unwrap());
    assert!(is_empty(&state_dir));
}

#[test]
fn thirty_steps_at_once_ask_once() {
    let (_folder, _, store) = open();
    let asked = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for i in 0..30 {
            let (store, asked) = (&store, &asked);
            scope.spawn(move || {
                let ask = || {
                    asked.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(30));
                    // Odd job ids are unmanaged: the folder goes away under the waiting ones.
                    Ok::<_, ()>(Asked::Unmanaged { restart_count: 0 })
                };
                let known = store.look_up(9 + (i % 2), 0, ask, &mut |p| panic!("{p}")).unwrap();
                assert!(matches!(known, Known::Unmanaged));
            });
        }
    });
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn what_a_step_owes_survives_and_is_read_back() {
    let (_folder, state_dir, store) = open();
    let job = managed(&store, 2);
    let key = StepKey { run: 2, step: 0 };
    let this = Process::this();
    job.write_step(key, &StepRecord::open(this, 1000)).unwrap();
    job.note_task(key, Process { pid: 5, start: 6 }).unwrap();
    job.note_task(key, Process { pid: 7, start: 8 }).unwrap();
    let job = store.job(7, &mut |p| panic!("{p}")).unwrap().unwrap();
    let steps = job.steps(&mut |p| panic!("{p}"));
    let StepState::Known(record) = &steps[&key] else { panic!("torn") };
    assert_eq!((record.status, record.stepd, record.uid), (StepStatus::Open, this, 1000));
    assert_eq!(job.tasks(key), [Process { pid: 5, start: 6 }, Process { pid: 7, start: 8 }]);
    job.write_step(key, &record.clone().to_drain("because".into())).unwrap();
    let steps = job.steps(&mut |_| {});
    assert!(matches!(&steps[&key], StepState::Known(r) if r.reason == "because"));
    job.close_step(key);
    assert!(job.steps(&mut |_| {}).is_empty());
    store.remove(job);
    assert!(is_empty(&state_dir));
}

#[test]
fn a_torn_record_is_named_and_nothing_is_lost() {
    let (_folder, state_dir, store) = open();
    let job = managed(&store, 0);
    let key = StepKey { run: 0, step: 3 };
    job.write_step(key, &StepRecord::open(None, 0)).unwrap();
    let folder = state_dir.join("node1:job-7");
    for name in ["job", "0.3.step"] {
        let text = std::fs::read(folder.join(name)).unwrap();
        std::fs::write(folder.join(name), &text[..text.len() / 2]).unwrap();
    }
    let mut lines = Vec::new();
    let job = store.job(7, &mut |p| lines.push(p.0)).unwrap().unwrap();
    assert_eq!(job.info, None);
    assert_eq!(job.steps(&mut |p| lines.push(p.0))[&key], StepState::Torn);
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|l| l.contains("torn or foreign") && l.contains("job-7/")));
    // A step that comes later asks again, and mends the record.
    let ask = || Ok::<_, ()>(Asked::Managed(info(0)));
    let known = store.look_up(7, 0, ask, &mut |_| {}).unwrap();
    assert!(matches!(known, Known::Managed(job) if job.steps(&mut |_| {}).contains_key(&key)));
}

#[test]
fn a_record_of_a_later_version_is_refused() {
    let (_folder, state_dir, store) = open();
    managed(&store, 0);
    std::fs::write(state_dir.join("node1:job-7/job"), "{\"format\":2}").unwrap();
    let mut lines = Vec::new();
    let job = store.job(7, &mut |p| lines.push(p.0)).unwrap().unwrap();
    assert_eq!(job.info, None);
    assert!(lines[0].contains("later version"), "{lines:?}");
}

#[test]
fn a_folder_that_is_not_only_ours_is_refused_with_the_mend() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refusal = |path: &Path| Store::open(path, "node1").unwrap_err().0;
    std::fs::create_dir(at("real")).unwrap();
    symlink(at("real"), at("link")).unwrap();
    assert!(refusal(&at("link")).contains("a link"));
    std::fs::write(at("file"), "").unwrap();
    assert!(refusal(&at("file")).contains("where a folder has to be"));
    std::fs::create_dir(at("open")).unwrap();
    std::fs::set_permissions(at("open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refusal(&at("open")).contains("chmod 700"));
    assert!(refusal(&at("no/state")).contains("folder above it does not exist"));
    for name in ["../x", ".hidden", "", "a/b", "a\nb", "a:b"] {
        assert!(Store::open(&at("new"), name).is_err(), "{name:?}");
    }
}

#[test]
fn old_notes_are_swept_and_forgotten_jobs_are_named() {
    let (_folder, state_dir, store) = open();
    managed(&store, 0);
    let ask = || Ok::<_, ()>(Asked::Unmanaged { restart_count: 0 });
    store.look_up(8, 0, ask, &mut |_| {}).unwrap();
    assert_eq!(store.sweep(Duration::from_secs(60)), Vec::<u32>::new());
    assert!(state_dir.join("node1:unmanaged-8").exists());
    let note = std::fs::File::open(state_dir.join("node1:unmanaged-8")).unwrap();
    note.set_modified(std::time::SystemTime::now() - 2 * UNMANAGED_LIFE).unwrap();
    assert_eq!(store.sweep(Duration::ZERO), [7]);
    assert!(!state_dir.join("node1:unmanaged-8").exists());
}

/// A step keeps its record for its life; the lock is only for the look-up.
#[test]
fn a_record_that_is_held_locks_nobody_out() {
    let (_folder, _, store) = open();
    let mut held = Vec::new();
    let slow = || {
        std::thread::sleep(Duration::from_millis(100));
        Ok::<_, ()>(Asked::Managed(info(0)))
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let store = &store;
        let steps: Vec<_> = (0..6)
            .map(|_| scope.spawn(move || store.look_up(7, 0, slow, &mut |p| panic!("{p}"))))
            .collect();
        for step in steps {
            let Ok(Known::Managed(job)) = step.join().unwrap() else { panic!("not managed") };
            held.push(job);
        }
    });
    assert!(start.elapsed() < LOCK_PATIENCE / 2, "{:?}", start.elapsed());
    let lock = store.try_lock(7).unwrap();
    assert!(lock.is_some());
    assert!(store.try_lock(7).unwrap().is_none());
}

#[test]
fn a_look_up_that_failed_a_moment_ago_is_not_repeated() {
    let (_folder, state_dir, store) = open();
    let failing = || Err::<Asked, _>("down");
    assert!(matches!(store.look_up(7, 0, failing, &mut |_| {}), Ok(Known::Failed("down"))));
    let never = || -> Result<Asked, &str> { panic!("asked again") };
    assert!(matches!(store.look_up(7, 0, never, &mut |_| {}), Ok(Known::Unanswered)));
    let note = std::fs::File::open(state_dir.join("node1:job-7/failed")).unwrap();
    note.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    let ask = || Ok::<_, &str>(Asked::Unmanaged { restart_count: 0 });
    assert!(matches!(store.look_up(7, 0, ask, &mut |_| {}), Ok(Known::Unmanaged)));
    assert!(!state_dir.join("node1:job-7").exists());
}

#[test]
fn processes_of_another_boot_are_nobody() {
    let (_folder, state_dir, store) = open();
    let job = managed(&store, 0);
    let key = StepKey { run: 0, step: 0 };
    job.write_step(key, &StepRecord::open(Process::this(), 0)).unwrap();
    let live = |job: &Job| match &job.steps(&mut |_| {})[&key] {
        StepState::Known(record) => record.live_stepd(),
        StepState::Torn => panic!("torn"),
    };
    assert_eq!(live(&job), Process::this());
    let path = state_dir.join("node1:job-7/0.0.step");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(&crate::process::boot(), "another")).unwrap();
    assert_eq!(live(&job), None);
}
