//! A negative preinit or init: the step fails, nothing else does.

use std::time::Duration;

use crate::site::{ALL_ZERO, SOON, Site, site};

const TEXT: &str = "Error configuring interconnect";

/// A script whose function answers −1 on `node`, and 0 elsewhere.
fn refusing(function: &str, node: &str) -> String {
    let line = format!("note(\"{function}\", step, info) return 0 end");
    let refusal = format!(
        "note(\"{function}\", step, info) \
         if step.node:match('{node}') then return slurm.ERROR end return 0 end"
    );
    let script = ALL_ZERO.replace(&line, &refusal);
    assert_ne!(script, ALL_ZERO);
    script
}

fn nothing_drained_or_requeued(site: &Site) {
    site.wait_clean();
    for node in site.cluster.node_names() {
        assert!(site.state(node).starts_with("IDLE"), "{node}: {}", site.state(node));
        assert!(!site.is_drained(node), "{node}");
    }
}

/// SW-203, SW-204, SW-207, SW-217; and what the native slurmstepd does after each (facts, 10).
pub fn refused_step(cgroup: bool) {
    for function in ["preinit", "init"] {
        let site = site(&refusing(function, ".*")).with(|b| b.cgroup(cgroup)).start();
        let out = site.run(&["srun", "--network=x", "-n3", "echo", "ran"]);
        assert_ne!(out.code, Some(0), "{function}");
        assert_eq!(out.stdout, "", "{function}: a task ran");
        assert_eq!(out.stderr.matches(TEXT).count(), 1, "{}", out.stderr);
        let job = site.cluster.wait_job(1, SOON);
        assert_eq!((job.state.as_str(), job.restarts), ("FAILED", 0), "{function}");
        nothing_drained_or_requeued(&site);
        let expected: &[&str] =
            if function == "preinit" { &["preinit"] } else { &["preinit", "init", "postfini"] };
        assert_eq!(site.functions(), expected);
    }
}

#[test]
fn a_refused_step_fails_and_drains_nothing() {
    refused_step(false);
}

#[test]
fn salloc_running_a_refused_srun_fails_its_job() {
    let site = site(&refusing("preinit", ".*")).start();
    let out = site.run(&["salloc", "--network=x", "srun", "echo", "ran"]);
    assert_ne!(out.code, Some(0));
    assert!(!out.stdout.contains("ran"));
    assert_eq!(out.stderr.matches(TEXT).count(), 1, "{}", out.stderr);
    assert_eq!(site.cluster.wait_job(1, SOON).state, "FAILED");
    nothing_drained_or_requeued(&site);
}

#[test]
fn a_batch_script_decides_what_a_refused_srun_means() {
    let site = site(&refusing("init", ".*")).start();
    let script = "#!/bin/sh\nsrun echo ran && exit 9\necho went on\n";
    let job = site.cluster.sbatch(script, &["--network=x", "-o", "out"]);
    let ended = site.cluster.wait_job(job, SOON);
    assert_eq!((ended.state.as_str(), ended.restarts), ("COMPLETED", 0));
    let out = std::fs::read_to_string(site.cluster.work().join("out")).unwrap();
    assert!(out.contains(TEXT) && out.contains("went on") && !out.contains("ran\n"), "{out}");
    nothing_drained_or_requeued(&site);
}

/// An MPI job would wait for the missing node until its time limit.
#[test]
fn when_one_node_of_three_refuses_the_tasks_on_the_others_end() {
    for function in ["preinit", "init"] {
        let site = site(&refusing(function, "node2")).nodes(3).start();
        let out = site.run(&["srun", "--network=x", "-N3", "sleep", "600"]);
        assert_ne!(out.code, Some(0));
        assert!(out.elapsed < Duration::from_secs(20), "{:?}", out.elapsed);
        assert_eq!(out.stderr.matches(TEXT).count(), 1, "{}", out.stderr);
        assert_eq!(site.cluster.wait_job(1, SOON).state, "FAILED");
        nothing_drained_or_requeued(&site);
        let calls = site.calls();
        let postfini: Vec<&str> =
            calls.iter().filter(|c| c.function == "postfini").map(|c| c.get("node")).collect();
        assert_eq!(postfini.contains(&"node2"), function == "init", "{calls:#?}");
        assert!(postfini.contains(&"node1") && postfini.contains(&"node3"), "{calls:#?}");
    }
}

/// Each component of a heterogeneous job has a job id of its own, and one srun runs in all of them.
#[test]
fn when_one_component_refuses_the_others_end() {
    let site = site(&refusing("preinit", "node2")).nodes(2).start();
    let words = ["srun", "--network=x", "-w", "node1", "sleep", "600", ":"];
    let out = site.run(&[&words[..], &["--network=x", "-w", "node2", "sleep", "600"]].concat());
    assert_ne!(out.code, Some(0));
    assert!(out.elapsed < Duration::from_secs(20), "{:?}", out.elapsed);
    assert_eq!(out.stderr.matches(TEXT).count(), 1, "{}", out.stderr);
    nothing_drained_or_requeued(&site);
}

#[test]
fn on_failure_task_leaves_the_other_nodes_alone() {
    let site = site(&refusing("preinit", "node2")).nodes(2).arguments("on_failure=task").start();
    let out = site.run(&["srun", "--network=x", "-K0", "-N2", "sh", "-c", "sleep 3; echo ran"]);
    assert_ne!(out.code, Some(0));
    assert_eq!(out.stdout, "ran\n", "{}", out.stderr);
    nothing_drained_or_requeued(&site);
}

#[test]
fn each_refusing_node_tells_the_user_once() {
    let site = site(&refusing("preinit", ".*")).nodes(3).start();
    let out = site.run(&["srun", "--network=x", "-N3", "--ntasks-per-node=2", "echo", "ran"]);
    assert_ne!(out.code, Some(0));
    assert_eq!(out.stdout, "");
    let told = out.stderr.matches(TEXT).count();
    // The first node's word may end the step before the others have spoken.
    assert!((1..=3).contains(&told), "{}", out.stderr);
    nothing_drained_or_requeued(&site);
}

/// `optional`: the same calls, and Slurm ignores the failure.
#[test]
fn with_optional_a_refused_step_runs() {
    let site = site(&refusing("preinit", ".*")).nodes(2).optional().start();
    // The first task ends in failure long before the last one ends.
    let command = "test $SLURM_PROCID = 0 && exit 3; sleep 2; echo ran";
    let out = site.run(&["srun", "-K0", "--network=x", "-N2", "-n3", "sh", "-c", command]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(3), "ran\nran\n"), "{}", out.stderr);
    assert!(!out.stderr.contains(TEXT), "{}", out.stderr);
    nothing_drained_or_requeued(&site);
}
