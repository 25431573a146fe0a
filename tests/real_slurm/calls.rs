//! Point by point what is called, where, with what, and in which order.

use std::collections::BTreeMap;

use crate::site::{ALL_ZERO, Call, SOON, Site, site};

/// The functions called for each (job, step, node), in their order.
fn by_step(calls: &[Call]) -> BTreeMap<(u32, String, String), Vec<String>> {
    let mut steps = BTreeMap::new();
    for call in calls {
        let key = (call.job(), call.get("step").to_owned(), call.get("node").to_owned());
        steps.entry(key).or_insert_with(Vec::new).push(call.function.clone());
    }
    steps
}

const WHOLE: [&str; 3] = ["preinit", "init", "postfini"];

/// Every step has all three calls, in order; answers the number of steps on nodes.
fn whole_steps(site: &Site) -> usize {
    let steps = by_step(&site.calls());
    for (step, functions) in &steps {
        assert_eq!(functions, &WHOLE, "{step:?}");
    }
    steps.len()
}

fn has_right_fields(call: &Call, partition: &str, version: (u32, u32)) {
    assert_eq!(call.get("uid"), "0", "{}", call.line);
    assert_eq!(call.get("partition"), partition, "{}", call.line);
    assert_eq!(call.get("network"), "x", "{}", call.line);
    // Slurm's own text form, such as s5HNM8RT9HFW00; up to 25.05 there is none.
    let sluid = call.get("sluid").strip_prefix('s').is_some_and(|rest| rest.len() == 13);
    assert_eq!(sluid, version >= (25, 11), "{}", call.line);
    assert!(sluid || call.get("sluid") == "nil", "{}", call.line);
    // Without the controller half there is no stepinfo.
    assert_eq!(call.get("stepinfo"), "nil", "{}", call.line);
    assert_eq!(call.get("orphans"), "nil", "{}", call.line);
}

/// SW-009, SW-010, SW-192, SW-193, SW-197 to SW-199, SW-208, SW-210, SW-215, SW-226, SW-227, SW-230.
pub fn srun_salloc_and_sbatch_on_one_and_three_nodes(cgroup: bool) {
    let site = site(ALL_ZERO).nodes(3).with(|b| b.cgroup(cgroup)).start();
    for nodes in ["1", "3"] {
        let n = format!("-N{nodes}");
        let out = site.run(&["srun", "--network=x", &n, "--ntasks-per-node=2", "true"]);
        assert_eq!(out.code, Some(0), "{}", out.stderr);
        let command = "srun --ntasks-per-node=2 true";
        let out =
            site.run(&["salloc", "--network=x", &n, "--ntasks-per-node=2", "sh", "-c", command]);
        assert_eq!(out.code, Some(0), "{}", out.stderr);
        let job = site.cluster.sbatch(
            &format!("#!/bin/sh\n{command}\n"),
            &["--network=x", &n, "--ntasks-per-node=2"],
        );
        let ended = site.cluster.wait_job(job, SOON);
        assert_eq!(ended.state, "COMPLETED");
    }
    site.wait_clean();
    // Three commands with one step each, on one node and on three.
    assert_eq!(whole_steps(&site), 3 + 9);
    for call in site.calls() {
        has_right_fields(&call, "main", site.cluster.version());
        assert_eq!(call.get("step"), "0");
        assert!(call.get("node").starts_with("node"));
    }
}

#[test]
fn srun_salloc_and_sbatch_call_the_three_functions_once_per_step_and_node() {
    srun_salloc_and_sbatch_on_one_and_three_nodes(false);
}

/// SW-061 to SW-063, SW-202: and the user's SLURM_NETWORK does not make a job managed.
#[test]
fn a_job_without_network_costs_nothing_and_leaves_nothing() {
    let site = site(ALL_ZERO).with(|b| b.debug("debug")).start();
    let mark = site.cluster.mark();
    let ask_for_step_only = "srun --network=x true; srun true; SLURM_NETWORK=x srun true";
    let out = site.run(&["salloc", "sh", "-c", ask_for_step_only]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    let job = site.cluster.sbatch("#!/bin/sh\nsrun true\nsrun true\n", &[]);
    site.cluster.wait_job(job, SOON);
    site.wait_clean();
    assert_eq!(site.functions(), Vec::<String>::new());
    let logs = site.cluster.since(&mark);
    let ours: Vec<&str> =
        logs.slurmd("node1").lines().filter(|line| line.contains("switch/lua")).collect();
    assert!(!ours.is_empty() && ours.iter().all(|line| line.contains("debug:")), "{ours:#?}");
}

/// At most one look-up per job and node, whether the job is managed or not.
#[test]
fn a_job_is_looked_up_once() {
    let site = site(ALL_ZERO).nodes(2).start();
    for network in ["--network=x", "--network="] {
        let before = site.look_ups();
        let steps = "srun -N2 true; srun -N2 true & srun -N1 true; srun -N2 true; wait";
        let out = site.run(&["salloc", network, "-N2", "-n8", "sh", "-c", steps]);
        assert_eq!(out.code, Some(0), "{}", out.stderr);
        assert_eq!(site.look_ups() - before, 2, "{network}: one for each node");
        site.wait_clean();
    }
}

#[test]
fn a_worker_is_started_for_managed_jobs_alone() {
    // The top level notes each load of the script.
    let top = "note('load', {job_id = 0, step_id = 0, node = '-'})\n";
    let site = site(&format!("{top}{ALL_ZERO}")).start();
    assert_eq!(site.run(&["srun", "true"]).code, Some(0));
    site.wait_clean();
    assert_eq!(site.functions(), Vec::<String>::new());
    assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
    site.wait_clean();
    // One worker for preinit and init, one for postfini.
    assert_eq!(site.functions(), ["load", "preinit", "init", "load", "postfini"]);
}

/// SW-007, SW-195 (what it starts is left alone): each subset of the functions.
#[test]
fn a_script_may_define_any_subset() {
    for kept in ["preinit", "init", "postfini"] {
        let script: String = ALL_ZERO
            .lines()
            .filter(|line| line.contains(&format!("step_{kept}(")))
            .map(|line| format!("{line}\n"))
            .collect();
        let site = site(&script).start();
        assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
        site.wait_clean();
        assert_eq!(site.functions(), [kept]);
    }
    let site = site("").start();
    assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
    site.wait_clean();
}

/// SW-182 to SW-187, SW-190: nothing by default, step_init alone when asked for.
pub fn special_steps(cgroup: bool) {
    let init = "function slurm_switch_step_init(step) note('init', step) \
                return 0, {FROM_SCRIPT = 'step ' .. step.step_id} end\n";
    let yes = "function slurm_switch_setup_special_steps() return true end\n";
    let others = "function slurm_switch_step_preinit(step) note('preinit', step) return 0 end\n\
                  function slurm_switch_step_postfini(step) note('postfini', step) return 0 end\n";
    let site = site(&format!("{others}{init}{yes}"))
        .with(|b| {
            b.cgroup(cgroup)
                .slurm_conf("LaunchParameters=use_interactive_step\nPrologFlags=Contain\n")
        })
        .start();
    let script = "#!/bin/sh\necho batch: $FROM_SCRIPT\nsrun sh -c 'echo inner: $FROM_SCRIPT'\n";
    let job = site.cluster.sbatch(script, &["--network=x", "-o", "out"]);
    assert_eq!(site.cluster.wait_job(job, SOON).state, "COMPLETED");
    site.wait_clean();
    let out = std::fs::read_to_string(site.cluster.work().join("out")).unwrap();
    assert_eq!(out, "batch: step batch\ninner: step 0\n");
    let steps = by_step(&site.calls());
    assert_eq!(steps[&(job, "batch".into(), "node1".into())], ["init"]);
    assert_eq!(steps[&(job, "0".into(), "node1".into())], WHOLE);
    assert_eq!(steps.len(), 2, "the extern step runs none: {steps:?}");

    // salloc's interactive step wants a terminal.
    let shell = "script -qec 'salloc --network=x' /dev/null";
    let out = site
        .cluster
        .user(&["sh", "-c", shell])
        .env("SHELL", "/bin/sh")
        .stdin(b"echo shell: $FROM_SCRIPT\nexit\n".as_slice())
        .output();
    assert!(out.stdout.contains("shell: step interactive"), "{}", out.stdout);
    site.wait_clean();
    let interactive: Vec<String> = site
        .calls()
        .iter()
        .filter(|call| call.get("step") == "interactive")
        .map(|call| call.function.clone())
        .collect();
    assert_eq!(interactive, ["init"]);
}

#[test]
fn special_steps_get_step_init_when_the_script_asks_for_it() {
    special_steps(false);
}

/// SW-181, SW-190, SW-191.
#[test]
fn special_steps_get_nothing_by_default_nor_after_an_error() {
    for body in ["return false", "error('no')", "return 1", "return nil"] {
        let special = format!("function slurm_switch_setup_special_steps() {body} end\n");
        let site = site(&format!("{special}{ALL_ZERO}")).start();
        let job = site.cluster.sbatch("#!/bin/sh\ntrue\n", &["--network=x"]);
        assert_eq!(site.cluster.wait_job(job, SOON).state, "COMPLETED", "{body}");
        site.wait_clean();
        assert_eq!(site.functions(), Vec::<String>::new(), "{body}");
    }
}

/// A negative answer for a batch step fails the job and does not drain.
#[test]
fn a_refused_batch_step_fails_the_job_and_drains_nothing() {
    let site = site(
        "function slurm_switch_setup_special_steps() return true end\n\
         function slurm_switch_step_init(step) note('init', step) return -1 end\n",
    )
    .start();
    let job = site.cluster.sbatch("#!/bin/sh\necho ran\n", &["--network=x", "-o", "out"]);
    let ended = site.cluster.wait_job(job, SOON);
    assert_eq!((ended.state.as_str(), ended.restarts), ("FAILED", 0));
    site.wait_clean();
    assert!(!site.is_drained("node1"));
    let out = std::fs::read_to_string(site.cluster.work().join("out")).unwrap_or_default();
    assert!(!out.contains("ran"), "{out}");
    assert!(out.contains("Error configuring interconnect"), "{out}");
}

/// SW-187, SW-188: one byte on stdout of an extern step would break the launch.
#[test]
fn a_script_that_prints_at_top_level_breaks_nothing() {
    let site = site(&format!("print('hello') io.write('x') io.stdout:write('y')\n{ALL_ZERO}"))
        .with(|b| b.slurm_conf("PrologFlags=Contain\n"))
        .start();
    let out = site.run(&["srun", "--network=x", "echo", "fine"]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(0), "fine\n"), "{}", out.stderr);
    site.wait_clean();
    assert_eq!(site.functions(), WHOLE);
    assert!(site.cluster.slurmd_log("node1").contains("switch/lua: load: hello"));
}

#[test]
fn thirty_steps_of_one_job_at_once() {
    let site = site(ALL_ZERO).with(|b| b.cpus(32)).start();
    let steps = "for i in $(seq 30); do srun --exact -n1 -c1 --mem=0 sleep 0.2 & done; wait";
    let out = site.run(&["salloc", "--network=x", "-n30", "sh", "-c", steps]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    site.wait_clean();
    assert_eq!(whole_steps(&site), 30);
    assert_eq!(site.calls().len(), 90);
}

#[test]
fn several_jobs_an_array_and_a_heterogeneous_job_are_not_mixed_up() {
    let site = site(ALL_ZERO).nodes(2).with(|b| b.cpus(16)).start();
    let script = "#!/bin/sh\nsrun -n1 true\nsrun -n1 true\n";
    let mut jobs: Vec<u32> =
        (0..4).map(|_| site.cluster.sbatch(script, &["--network=x", "-n1"])).collect();
    jobs.push(site.cluster.sbatch(script, &["--network=x", "-n1", "--array=1-4"]));
    let unmanaged = site.cluster.sbatch(script, &["-n1"]);
    let het =
        site.run(&["srun", "--network=x", "-n1", "-N1", ":", "--network=x", "-n2", "-N1", "true"]);
    assert_eq!(het.code, Some(0), "{}", het.stderr);
    site.cluster.wait_for("all jobs to end", SOON, || {
        jobs.iter().all(|job| site.cluster.jobs(*job).iter().all(|task| task.is_final()))
    });
    site.wait_clean();
    // Four jobs and four array tasks with two steps each, and two components of the het step.
    assert_eq!(whole_steps(&site), 4 * 2 + 4 * 2 + 2);
    assert!(site.calls().iter().all(|call| call.job() != unmanaged));
}

/// SW-141: a requeued job keeps its id, and each run has its own calls.
#[test]
fn a_requeued_job_gets_its_calls_in_each_run() {
    let site = site(ALL_ZERO).start();
    let script = "#!/bin/sh\nsrun true\n[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 100\n";
    let job = site.cluster.sbatch(script, &["--network=x", "--requeue"]);
    site.cluster.wait_for("the first run's step", SOON, || site.calls().len() == 3);
    let id = job.to_string();
    assert_eq!(site.cluster.root(&["scontrol", "requeue", &id]).output().code, Some(0));
    site.cluster.wait_for("the job to be requeued", SOON, || {
        site.cluster.job(job).state.starts_with("PENDING")
    });
    let now = [&*format!("jobid={id}"), "starttime=now+2"];
    // Not in the second of the requeue: Slurm would take its new credential for the revoked one.
    site.cluster.wait_for("the job to be released", SOON, || {
        site.cluster.root(&["scontrol", "update", now[0], now[1]]).output().code == Some(0)
    });
    let ended = site.cluster.wait_job(job, SOON);
    assert_eq!((ended.state.as_str(), ended.restarts), ("COMPLETED", 1));
    site.wait_clean();
    let functions = site.functions();
    assert_eq!(functions, [WHOLE, WHOLE].concat());
    // The id of a run, which a restart renews.
    let calls = site.calls();
    let same = calls[0].get("sluid") == calls[3].get("sluid");
    assert_eq!(same, site.cluster.version() < (25, 11), "{calls:#?}");
    assert!(!site.is_drained("node1"));
}
