//! slurmstepd dies, or never comes to its exit hook: postfini runs all the same, once.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::compiled::Compiled;
use crate::site::{ALL_ZERO, SOON, Setup, Site, site};

/// A command that sleeps and that no other test on this machine uses.
fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("sleep 6{:08}{number:02}", std::process::id())
}

/// Notes, in postfini, whether the step's task still lives.
fn watching(marker: &str, answer: &str) -> String {
    let zero = "note(\"postfini\", step, info) return 0 end";
    let watch = format!(
        "local alive = os.execute('pgrep -f \"{marker}$\" >/dev/null')\n\
         note((alive == true or alive == 0) and \"too_early\" or \"postfini\", step, info)\n\
         {answer} end"
    );
    ALL_ZERO.replace(zero, &watch)
}

/// Starts a step that sleeps, kills its slurmstepd, and ends the job.
fn kill_stepd(marker: &str, setup: Setup) -> Site {
    let site = setup.start();
    let job = site.cluster.sbatch(
        &format!("#!/bin/sh\nsrun sh -c 'trap \"\" TERM; {marker} & wait'\nsleep 600\n"),
        &["--network=x"],
    );
    site.cluster.wait_for("the task", SOON, || {
        site.cluster.processes_of_user().iter().any(|(_, title)| title == marker)
    });
    let stepd = site.cluster.stepds().into_iter().find(|stepd| stepd.step == "0").unwrap();
    let pid = stepd.pid.to_string();
    assert_eq!(site.cluster.root(&["kill", "-9", &pid]).output().code, Some(0));
    let id = job.to_string();
    assert_eq!(site.cluster.root(&["scancel", &id]).output().code, Some(0));
    site
}

fn postfinis(site: &Site) -> Vec<String> {
    site.calls()
        .iter()
        .filter(|call| !matches!(call.function.as_str(), "preinit" | "init"))
        .map(|call| format!("{} step={}", call.function, call.get("step")))
        .collect()
}

/// SW-009, SW-226, SW-228: by the epilog, after the tasks are dead.
pub fn killed_slurmstepd(cgroup: bool) {
    let marker = marker();
    let setup = site(&watching(&marker, "return 0")).with(|b| b.cgroup(cgroup));
    let site = kill_stepd(&marker, setup);
    site.wait_clean();
    assert_eq!(postfinis(&site), ["postfini step=0"]);
    let last = site.calls().pop().unwrap();
    let orphans: u32 = last.get("orphans").parse().unwrap();
    // With cgroups slurmd may have ended them before the epilog.
    assert!(cgroup || orphans >= 2, "{}", last.line);
    assert_eq!((last.get("partition"), last.get("uid")), ("main", "0"));
    // srun itself lives on for a while, waiting for the slurmstepd that was killed.
    let mut left = site.cluster.processes_of_user();
    left.retain(|(_, title)| !title.starts_with("srun "));
    assert_eq!(left, []);
    assert!(!site.is_drained("node1"));
}

#[test]
fn a_killed_slurmstepd_gets_its_postfini_from_the_epilog() {
    killed_slurmstepd(false);
}

#[test]
fn a_negative_answer_there_drains_the_node() {
    let marker = marker();
    let site = kill_stepd(&marker, site(&watching(&marker, "return -1")));
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    site.wait_clean();
    assert_eq!(postfinis(&site), ["postfini step=0"]);
    // The epilog's own lines are in slurmd's log, too.
    let said = site.said("node1");
    for words in ["called now", "returned -1 for step 1.0", "so that Slurm drains node node1"] {
        assert!(said.iter().any(|line| line.contains(words)), "{words}\n{said:#?}");
    }
}

/// A task that has ended leaves its children to the epilog, too.
#[test]
fn the_children_of_a_dead_task_are_ended_before_postfini() {
    let marker = marker();
    let site = site(&watching(&marker, "return 0")).start();
    let leader = format!("trap '' TERM; {marker} & {marker} & echo $$ > leader; wait");
    let script = format!("#!/bin/sh\nsrun sh -c '{}'\nsleep 600\n", leader.replace('\'', "'\\''"));
    let job = site.cluster.sbatch(&script, &["--network=x"]);
    let sleeping =
        || site.cluster.processes_of_user().iter().filter(|(_, title)| *title == marker).count();
    site.cluster.wait_for("the tasks", SOON, || sleeping() == 2);
    let stepd = site.cluster.stepds().into_iter().find(|stepd| stepd.step == "0").unwrap();
    // slurmstepd first, or it would end the rest when the leader ends.
    let leader = std::fs::read_to_string(site.cluster.work().join("leader")).unwrap();
    for pid in [stepd.pid.to_string(), leader.trim().to_owned()] {
        assert_eq!(site.cluster.root(&["kill", "-9", &pid]).output().code, Some(0));
    }
    assert_eq!(sleeping(), 2);
    assert_eq!(site.cluster.root(&["scancel", &job.to_string()]).output().code, Some(0));
    site.wait_clean();
    assert_eq!(postfinis(&site), ["postfini step=0"]);
    assert_eq!(site.calls().pop().unwrap().get("orphans"), "2");
}

/// Slurm takes the result of an epilog whose slurmd is gone for success (DESIGN, section 2).
#[test]
fn an_epilog_whose_slurmd_is_gone_drains_by_itself() {
    let slow = "local f = io.open(DIR .. '/in_epilog', 'w') f:close()\n\
                while not io.open(DIR .. '/go') do os.execute('sleep 0.05') end\n\
                return -1";
    let marker = marker();
    let site = kill_stepd(&marker, site(&watching(&marker, slow)));
    site.cluster.wait_for("the epilog", SOON, || site.cluster.dir().join("in_epilog").exists());
    site.cluster.kill_slurmd("node1");
    std::fs::write(site.cluster.dir().join("go"), "").unwrap();
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    let reason = site.cluster.node("node1").reason;
    assert!(reason.starts_with("switch_g_job_postfini failed"), "{reason}");
    site.cluster.start_slurmd("node1");
    site.wait_clean();
    assert_eq!(postfinis(&site), ["postfini step=0"]);
}

/// Slurm skips every exit hook when a required plug-in fails in init.
pub fn neighbour_fails_in_init(cgroup: bool) {
    let neighbour = Compiled::new("fails_in_init", &[]);
    let site = site(&watching(&marker(), "return 0"))
        .plugstack(&neighbour.required())
        .with(|b| b.cgroup(cgroup))
        .start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!(out.stdout, "", "{}", out.stderr);
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit", "postfini"]);
    assert_eq!(site.calls()[1].get("orphans"), "0");
    assert!(!site.is_drained("node1"));
}

#[test]
fn a_neighbour_that_fails_in_init_does_not_cost_the_postfini() {
    neighbour_fails_in_init(false);
}

/// The worker that waits for step_init must not outlive slurmstepd.
#[test]
fn no_worker_outlives_a_slurmstepd_that_dies_in_init() {
    let neighbour = Compiled::new("fails_in_init", &[]);
    let site = site(ALL_ZERO).plugstack(&neighbour.required()).start();
    site.run(&["srun", "--network=x", "true"]);
    site.wait_clean();
    let workers = Command::new("pgrep").args(["-f", "switch-lua-worker"]).output().unwrap();
    let workers = String::from_utf8(workers.stdout).unwrap();
    for pid in workers.split_whitespace() {
        let parent = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(!parent.contains(") S 1 "), "worker {pid} lives without its slurmstepd: {parent}");
    }
}
