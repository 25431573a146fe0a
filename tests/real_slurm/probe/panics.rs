//! A panic in a hook, and a constructor that fails: no crash, no drained node, one line.

use super::{Lab, lab};
use crate::site::SOON;

const PANIC: &str = "probe: panic at";

/// How often a text is in the log of the node.
fn logged(lab: &Lab, text: &str) -> usize {
    lab.cluster.slurmd_log("node1").lines().filter(|line| line.contains(text)).count()
}

/// Daemons run, the node is in service, and no process of slurmstepd ended by a signal.
fn all_is_well(lab: &Lab, what: &str) {
    lab.settle();
    let node = lab.cluster.node("node1");
    assert!(node.state.starts_with("IDLE") && !node.state.contains("DRAIN"), "{what}: {node:?}");
    assert!(lab.cluster.slurmd_pid("node1").is_some(), "{what}: slurmd has ended");
    assert!(lab.cluster.slurmctld_pid().is_some(), "{what}: slurmctld has ended");
    assert!(lab.cluster.stepds().is_empty(), "{what}: a slurmstepd is left");
    for death in ["signal 6", "SIGABRT", "Aborted", "core dumped"] {
        assert_eq!(logged(lab, death), 0, "{what}: {death}");
    }
}

/// CASES A53. A plug-in that is broken fails the tasks of its step, and nothing else.
#[test]
fn a_panic_in_slurmstepd_fails_the_step_and_drains_nothing() {
    let lab = lab("", |b| b);
    let mut lines = 0;
    for (hook, code) in [
        ("init", 1),
        ("init_post_opt", 1),
        ("user_init", 1),
        ("task_init_privileged", 1),
        // In the parent the tasks are on their way already.
        ("task_post_fork", 0),
        ("task_init", 1),
        ("task_exit", 0),
        ("exit", 0),
    ] {
        lab.set("required", &format!("panic={hook}:remote"));
        let out = lab.run(&["srun", "true"]);
        assert_eq!(out.code, Some(code), "{hook}: {out:?}");
        lines += 1;
        lab.cluster.wait_for("the line", SOON, || logged(&lab, PANIC) >= lines);
        all_is_well(&lab, hook);
        assert_eq!(logged(&lab, PANIC), lines, "srun, {hook}");

        let out = lab.run(&["sbatch", "--wait", "-o", "out", "--wrap", "true"]);
        assert_eq!(out.code, Some(code), "{hook}: {out:?}");
        lines += 1;
        lab.cluster.wait_for("the line", SOON, || logged(&lab, PANIC) >= lines);
        all_is_well(&lab, hook);
        assert_eq!(logged(&lab, PANIC), lines, "sbatch, {hook}");
    }
}

#[test]
fn a_panic_in_a_client_says_one_line_and_the_command_goes_on() {
    let lab = lab("", |b| b);
    for (place, command) in [
        ("init:local", &["srun", "echo", "out"][..]),
        ("init_post_opt:local", &["srun", "echo", "out"]),
        ("local_user_init:local", &["srun", "echo", "out"]),
        ("exit:local", &["srun", "echo", "out"]),
        ("init:allocator", &["salloc", "echo", "out"]),
        ("init_post_opt:allocator", &["salloc", "echo", "out"]),
        ("exit:allocator", &["salloc", "echo", "out"]),
        ("exit:allocator", &["sbatch", "--parsable", "--wrap", "true"]),
    ] {
        lab.set("required", &format!("panic={place}"));
        let out = lab.run(command);
        assert_eq!(out.code, Some(0), "{place}: {out:?}");
        let lines = out.stderr.lines().filter(|line| line.contains("probe")).count();
        assert_eq!(lines, 1, "{place}: {}", out.stderr);
        assert!(out.stderr.contains(PANIC), "{place}: {}", out.stderr);
        assert_eq!(out.stdout.lines().count(), 1, "{place}: {out:?}");
        all_is_well(&lab, place);
        assert_eq!(logged(&lab, PANIC), 0, "{place}");
    }
}

#[test]
fn a_panic_in_prolog_or_epilog_drains_nothing() {
    let lab = lab("", |b| b);
    for (lines, hook) in (1..).zip(["job_prolog", "job_epilog"]) {
        lab.set("required", &format!("panic={hook}:job_script"));
        let out = lab.run(&["srun", "echo", "out"]);
        assert_eq!((out.code, &*out.stdout), (Some(0), "out\n"), "{hook}: {out:?}");
        all_is_well(&lab, hook);
        assert_eq!(logged(&lab, PANIC), lines, "{hook}");
    }
}

#[test]
fn a_panic_in_slurmd_leaves_it_running() {
    let lab = lab("panic=init:slurmd", |b| b);
    assert_eq!(logged(&lab, PANIC), 1);
    assert_eq!(lab.run(&["srun", "true"]).code, Some(0));
    all_is_well(&lab, "slurmd");
    // A broken plug-in is not asked again.
    lab.cluster.stop_slurmd("node1");
    assert_eq!(logged(&lab, PANIC), 1);
    assert!(!lab.lines().iter().any(|line| line.get("hook") == "slurmd_exit"));
}

/// The default of `Plugin::WHEN_BROKEN`, for a constructor that fails or panics.
#[test]
fn a_constructor_that_fails_fails_the_tasks_and_says_why_once_a_process() {
    for (new, said) in [("fail", "told to fail"), ("panic", PANIC)] {
        let lab = lab(&format!("new={new}"), |b| b);
        assert_eq!(logged(&lab, said), 1, "in slurmd");
        let out = lab.run(&["srun", "true"]);
        assert_eq!(out.code, Some(1), "{out:?}");
        let shown = out.stderr.lines().filter(|line| line.contains("srun: error: probe: "));
        assert_eq!(shown.count(), 1, "{}", out.stderr);
        all_is_well(&lab, new);
        // slurmd, the step, prolog and epilog.
        assert_eq!(logged(&lab, said), 4, "{new}");
    }
}
