//! At which moment of a step the functions run, and what surrounds them.

use crate::site::{ALL_ZERO, SOON, site};

/// SW-180.
#[test]
fn setup_special_steps_gets_no_argument() {
    let site = site(
        "function slurm_switch_setup_special_steps(...) return select('#', ...) == 0 end\n\
         function slurm_switch_step_init(step) note('init', step) return 0 end\n",
    )
    .start();
    let job = site.cluster.sbatch("#!/bin/sh\ntrue\n", &["--network=x"]);
    assert_eq!(site.cluster.wait_job(job, SOON).state, "COMPLETED");
    site.wait_clean();
    assert_eq!(site.functions(), ["init"]);
}

/// SW-214.
#[test]
fn a_table_from_another_function_sets_nothing() {
    let site = site(
        "function slurm_switch_step_preinit(step) note('preinit', step)\n\
           return 0, {FROM_PREINIT = 'x'} end\n\
         function slurm_switch_step_init(step) return 0, {FROM_INIT = 'y'} end\n",
    )
    .start();
    let show = "echo ${FROM_PREINIT-unset} $FROM_INIT";
    let out = site.run(&["srun", "--network=x", "sh", "-c", show]);
    assert_eq!(out.stdout, "unset y\n", "{}", out.stderr);
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit"]);
}

/// SW-211.
#[test]
fn cgroup_the_container_of_the_step_is_there_in_step_init() {
    let site = site(
        "function slurm_switch_step_init(step)\n\
           local name = string.format('*/job_%d/step_%d', step.job_id, step.step_id)\n\
           local find = io.popen(\"find /sys/fs/cgroup -type d -path '\" .. name .. \"'\")\n\
           return 0, {CONTAINER = find:read('l')}\n\
         end\n",
    )
    .with(|b| b.cgroup(true))
    .start();
    let out = site.run(&["srun", "--network=x", "sh", "-c", "echo $CONTAINER"]);
    assert!(out.stdout.ends_with("/job_1/step_0\n"), "{}", out.stdout);
    site.wait_clean();
}

/// Functions whose postfini notes `too_early` while a task still sleeps.
fn watching() -> String {
    ALL_ZERO.replace(
        "note(\"postfini\", step, info) return 0 end",
        "local alive = os.execute('pgrep -f \"sleep 61238$\" >/dev/null')\n\
         note((alive == true or alive == 0) and \"too_early\" or \"postfini\", step, info)\n\
         return 0 end",
    )
}

/// SW-228: the container has been killed.
#[test]
fn cgroup_postfini_comes_after_what_a_task_left_behind_is_dead() {
    let site = site(&watching()).with(|b| b.cgroup(true)).start();
    let leave = "setsid sleep 61238 >/dev/null 2>&1 & sleep 0.2; pgrep -f 'sleep 61238$' >/dev/null && echo left";
    let out = site.run(&["srun", "--network=x", "sh", "-c", leave]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(0), "left\n"), "{}", out.stderr);
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit", "init", "postfini"]);
}

/// SW-228.
#[test]
fn postfini_comes_after_a_cancelled_task_is_dead() {
    let site = site(&watching().replace("61238", "61239")).start();
    let srun = site
        .cluster
        .user(&["srun", "--network=x", "sh", "-c", "trap '' TERM; sleep 61239 & wait"])
        .spawn();
    site.cluster.wait_for("the task", SOON, || {
        site.cluster.processes_of_user().iter().any(|(_, t)| t == "sleep 61239")
    });
    assert_eq!(site.cluster.root(&["scancel", "1.0"]).output().code, Some(0));
    assert_ne!(srun.wait().code, Some(0));
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit", "init", "postfini"]);
    assert_eq!(site.calls()[2].get("orphans"), "nil");
}

/// SW-099.
#[test]
fn a_caught_error_leaves_the_function_its_answer() {
    let site = site(
        "function slurm_switch_step_preinit(step)\n\
           local ok = pcall(error, 'no switch')\n\
           if not ok then note('undo', step) return slurm.ERROR end\n\
           return 0\n\
         end\n",
    )
    .start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_ne!(out.code, Some(0));
    assert_eq!(out.stdout, "");
    site.wait_clean();
    assert_eq!(site.functions(), ["undo"]);
}

/// SW-177: the answer has no use there.
#[test]
fn block_job_complete_is_not_called_on_the_nodes() {
    let site = site(&format!(
        "function slurm_switch_block_job_complete()\n\
           note('block', {{job_id = 0, node = '-'}}) return true end\n{ALL_ZERO}"
    ))
    .start();
    assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit", "init", "postfini"]);
}

/// SW-195.
#[test]
fn cgroup_what_preinit_starts_is_left_alone() {
    let site = site(
        "function slurm_switch_step_preinit(step)\n\
           os.execute('sleep 61240 </dev/null >/dev/null 2>&1 &') return 0\n\
         end\n",
    )
    .with(|b| b.cgroup(true))
    .start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!(out.stdout, "ran\n");
    site.wait_clean();
    let found = std::process::Command::new("pgrep").args(["-f", "sleep 61240$"]).output().unwrap();
    let pid = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    assert!(!pid.is_empty(), "it was ended");
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
}

/// slurmstepd sets the user's umask for the later hooks; a script runs with root's.
#[test]
fn files_of_postfini_do_not_have_the_users_umask() {
    let write =
        "local f = io.open(DIR .. '/by_' .. step.node .. '_NAME', 'w') f:close() return 0 end\n";
    let script: String = ["preinit", "postfini"]
        .map(|name| {
            format!("function slurm_switch_step_{name}(step) {}", write.replace("NAME", name))
        })
        .concat();
    let site = site(&script).start();
    let out = site.run(&["sh", "-c", "umask 0; srun --network=x true"]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    site.wait_clean();
    for name in ["preinit", "postfini"] {
        use std::os::unix::fs::MetadataExt;
        let meta = std::fs::metadata(site.cluster.dir().join(format!("by_node1_{name}"))).unwrap();
        assert_eq!((meta.mode() & 0o777, meta.uid()), (0o644, 0), "{name}");
    }
}

/// Steps that start together and run for long wait for each other's look-up and for nothing else.
#[test]
fn steps_that_start_together_run_together() {
    let site = site(ALL_ZERO).with(|b| b.cpus(8)).start();
    let steps = "for i in 1 2 3 4 5 6; do srun --exact -n1 -c1 --mem=0 sleep 8 & done; wait";
    let out = site.run(&["salloc", "--network=x", "-n6", "sh", "-c", steps]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert!(
        out.elapsed < std::time::Duration::from_secs(16),
        "one after another: {:?}",
        out.elapsed
    );
    site.wait_clean();
    assert_eq!(site.calls().len(), 18);
}
