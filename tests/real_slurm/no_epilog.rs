//! The plug-in installed without its epilog hook: verdicts at the step's end, and the sweep.

use std::time::{Duration, SystemTime};

use crate::site::{ALL_ZERO, SOON, Site, site};

fn negative() -> String {
    let zero = "note(\"postfini\", step, info) return 0 end";
    ALL_ZERO.replace(zero, "note(\"postfini\", step, info) return -1 end")
}

/// Makes a job's record as old as one whose epilog never came.
fn age(site: &Site, job: u32) {
    let folder = std::fs::File::open(site.state_dir().join(format!("node1:job-{job}"))).unwrap();
    folder.set_modified(SystemTime::now() - Duration::from_secs(2 * 60 * 60)).unwrap();
}

#[test]
fn without_the_epilog_hook_a_negative_postfini_drains_at_the_end_of_the_step() {
    let site = site(&negative()).without_epilog().start();
    assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    let reason = site.cluster.node("node1").reason;
    assert!(reason.starts_with("switch_g_job_postfini failed"), "{reason}");
    site.cluster.wait_idle(SOON);
    assert!(
        !site.cluster.slurmd_log("node1").contains("calling /usr/sbin/slurmstepd spank epilog")
    );
}

/// A later job settles what a killed slurmstepd owes, and not before an hour has passed.
#[test]
fn without_the_epilog_hook_a_later_job_settles_what_is_owed() {
    let site = site(&negative()).without_epilog().start();
    let job = site.cluster.sbatch(
        "#!/bin/sh\nsrun sh -c 'trap \"\" TERM; sleep 61241 & wait'\nsleep 600\n",
        &["--network=x"],
    );
    let sleeps = || site.cluster.processes_of_user().iter().any(|(_, t)| t == "sleep 61241");
    site.cluster.wait_for("the task", SOON, sleeps);
    let stepd = site.cluster.stepds().into_iter().find(|stepd| stepd.step == "0").unwrap();
    let pid = stepd.pid.to_string();
    assert_eq!(site.cluster.root(&["kill", "-9", &pid]).output().code, Some(0));
    assert_eq!(site.cluster.root(&["scancel", &job.to_string()]).output().code, Some(0));
    site.cluster.wait_idle(SOON);
    assert_eq!(site.run(&["srun", "-Q", "true"]).code, Some(0));
    site.cluster.wait_idle(SOON);
    assert_eq!(site.functions(), ["preinit", "init"]);

    age(&site, job);
    assert_eq!(site.run(&["srun", "-Q", "true"]).code, Some(0));
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    assert!(!sleeps());
    let calls = site.calls();
    assert_eq!(calls[2].function, "postfini");
    assert_eq!((calls[2].get("step"), calls[2].get("orphans")), ("0", "2"));
    assert!(!site.records().iter().any(|name| name.ends_with(&format!("job-{job}"))));
}

/// A job that still runs is left alone, however old its record is.
#[test]
fn the_sweep_leaves_a_running_job_alone() {
    let site = site(ALL_ZERO).without_epilog().start();
    let go = site.cluster.work().join("go");
    let wait = "srun true; while [ ! -e go ]; do sleep 0.1; done; srun true";
    let salloc = site.cluster.user(&["salloc", "--network=x", "-n1", "sh", "-c", wait]).spawn();
    site.cluster.wait_for("the first step", SOON, || site.calls().len() == 3);
    age(&site, 1);
    assert_eq!(site.run(&["srun", "-Q", "-n1", "true"]).code, Some(0));
    assert!(site.records().iter().any(|name| name.ends_with("job-1")), "{:?}", site.records());
    std::fs::write(go, "").unwrap();
    assert_eq!(salloc.wait().code, Some(0));
    site.cluster.wait_idle(SOON);
    assert_eq!(site.calls().len(), 6);
}
