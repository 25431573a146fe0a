//! A negative postfini: the node is drained, once, and the drain is not lost.

use crate::site::{ALL_ZERO, SOON, Setup, Site, site};

const REASON: &str = "switch_g_job_postfini failed";

fn postfini(body: &str) -> String {
    let zero = "note(\"postfini\", step, info) return 0 end";
    ALL_ZERO.replace(zero, &format!("note(\"postfini\", step, info) {body} end"))
}

fn negative() -> Setup {
    site(&postfini("return -1"))
}

fn ran_once(site: &Site) {
    site.wait_clean();
    let postfini = site.functions().iter().filter(|name| *name == "postfini").count();
    assert_eq!(postfini, 1);
}

/// SW-229, SW-232, SW-233 ("Epilog error" at the job's end).
pub fn required_drains_when_the_job_ends(cgroup: bool) {
    let site = negative().with(|b| b.cgroup(cgroup)).start();
    let go = site.cluster.work().join("go");
    let command = "srun true; while [ ! -e go ]; do sleep 0.1; done";
    let salloc = site.cluster.user(&["salloc", "--network=x", "sh", "-c", command]).spawn();
    site.cluster.wait_for("postfini", SOON, || site.calls().len() == 3);
    // Not before the job ends: its other steps may go on.
    assert!(!site.is_drained("node1"));
    std::fs::write(go, "").unwrap();
    assert_eq!(salloc.wait().code, Some(0));
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    let reason = site.cluster.node("node1").reason;
    assert!(reason.contains("Epilog error"), "{reason}");
    assert_eq!(site.cluster.wait_job(1, SOON).state, "COMPLETED");
    let said = site.said("node1");
    let why = format!("{REASON} for step 1.0");
    assert!(said.iter().any(|l| l.contains("error:") && l.contains(&why)), "{said:#?}");
    ran_once(&site);
}

#[test]
fn with_required_the_node_is_drained_when_the_job_ends() {
    required_drains_when_the_job_ends(false);
}

#[test]
fn with_optional_it_is_not() {
    let site = negative().optional().start();
    assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
    ran_once(&site);
    assert!(!site.is_drained("node1"));
}

/// SW-233, the reason of the document.
#[test]
fn drain_now_drains_at_the_end_of_the_step() {
    let site = negative().arguments("drain=now").start();
    let command = "srun true; while [ ! -e go ]; do sleep 0.1; done";
    let salloc = site.cluster.user(&["salloc", "--network=x", "sh", "-c", command]).spawn();
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    let reason = site.cluster.node("node1").reason;
    assert!(reason.starts_with(REASON), "{reason}");
    std::fs::write(site.cluster.work().join("go"), "").unwrap();
    assert_eq!(salloc.wait().code, Some(0));
    ran_once(&site);
    let reason = site.cluster.node("node1").reason;
    assert!(reason.starts_with(REASON), "the epilog had nothing more to say: {reason}");
}

/// SW-235, SW-234: and neither does anything else that is no negative number.
#[test]
fn a_lua_error_never_drains() {
    for arguments in ["", "drain=now"] {
        for body in ["error('boom')", "return 1", "return 'x'", "os.exit(1)"] {
            let site = site(&postfini(body)).arguments(arguments).start();
            assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
            ran_once(&site);
            assert!(!site.is_drained("node1"), "{arguments} {body}");
        }
    }
}

/// The verdict is in the record, not in a process.
#[test]
fn a_restart_of_slurmd_between_step_and_job_end_loses_nothing() {
    let site = negative().start();
    let command = "srun true; while [ ! -e go ]; do sleep 0.1; done";
    let salloc = site.cluster.user(&["salloc", "--network=x", "sh", "-c", command]).spawn();
    site.cluster.wait_for("postfini", SOON, || site.calls().len() == 3);
    site.cluster.wait_for("the step's end", SOON, || site.cluster.stepds().is_empty());
    site.cluster.kill_slurmd("node1");
    site.cluster.start_slurmd("node1");
    std::fs::write(site.cluster.work().join("go"), "").unwrap();
    assert_eq!(salloc.wait().code, Some(0));
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    ran_once(&site);
}

/// One of three nodes has a failed teardown, and one step of two.
#[test]
fn only_the_node_that_failed_is_drained() {
    let body = "if step.node == 'node2' and step.step_id == 1 then return -1 end return 0";
    let site = site(&postfini(body)).nodes(3).start();
    let steps = "srun -N3 true; srun -N3 true";
    let out = site.run(&["salloc", "--network=x", "-N3", "sh", "-c", steps]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node2"));
    site.wait_clean();
    assert!(!site.is_drained("node1") && !site.is_drained("node3"));
    let why = format!("{REASON} for step 1.1");
    assert!(site.said("node2").iter().any(|line| line.contains(&why)));
}

/// A batch job that drains its node is not requeued: the epilog never fails the job.
#[test]
fn a_drain_does_not_touch_the_job() {
    let site = negative().start();
    let job = site.cluster.sbatch("#!/bin/sh\nsrun true\n", &["--network=x", "--requeue"]);
    let ended = site.cluster.wait_job(job, SOON);
    assert_eq!((ended.state.as_str(), ended.restarts), ("COMPLETED", 0));
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    ran_once(&site);
}
