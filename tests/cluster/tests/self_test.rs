//! Checks the harness itself against the installed Slurm.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use slurm_test_cluster::Cluster;

const LONG: Duration = Duration::from_secs(30);

/// Every process whose environment or command line names the directory.
fn processes_naming(dir: &Path) -> Vec<String> {
    let dir = dir.to_str().unwrap();
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        (pid != std::process::id()).then_some(pid)
    });
    let shows = |pid: &u32| {
        ["environ", "cmdline"].iter().any(|file| {
            let raw = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&raw).contains(dir)
        })
    };
    let name = |pid| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    pids.filter(shows).map(|pid| format!("{pid} {}", name(pid))).collect()
}

#[test]
fn one_node_runs_steps_and_batch_jobs() {
    let cluster = Cluster::builder().start().unwrap();
    eprintln!("start: {:?}", cluster.start_times());
    let out = cluster.user(&["srun", "-n2", "id", "-u"]).output();
    let uid = cluster.job_user().0;
    assert_eq!((out.code, out.stdout), (Some(0), format!("{uid}\n{uid}\n")), "{}", out.stderr);
    eprintln!("srun: {:?}", out.elapsed);

    let mark = cluster.mark();
    let script = "#!/bin/sh\nsrun echo from the step\nexit 3\n";
    let id = cluster.sbatch(script, &["-o", "out.txt", "--network=x y"]);
    let job = cluster.wait_job(id, LONG);
    assert_eq!((job.state.as_str(), job.exit_code.as_str()), ("FAILED", "3:0"), "{job:?}");
    assert_eq!(job.fields["Network"], "x y");
    let text = std::fs::read_to_string(cluster.work().join("out.txt")).unwrap();
    assert!(text.contains("from the step"), "{text}");
    let logs = cluster.since(&mark);
    assert!(logs.slurmd("node1").contains(&format!("[{id}.batch]")), "{}", logs.slurmd("node1"));
    assert!(!logs.slurmctld.contains("slurmctld version"), "{}", logs.slurmctld);
    assert!(cluster.slurmctld_log().contains("slurmctld version"), "{}", cluster.slurmctld_log());
}

#[test]
fn commands_get_input_environment_and_a_time_limit() {
    let cluster = Cluster::builder()
        .slurmd_env("FROM_SLURMD", "1")
        .file("etc/a/b.lua", "{dir}")
        .start()
        .unwrap();
    let out = cluster.user(&["sh", "-c", "cat; echo $MINE; echo err >&2; pwd; exit 4"]);
    let out = out.stdin("in ").env("MINE", "mine").cwd("/usr").output();
    assert_eq!(out.code, Some(4));
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("in mine\n/usr\n", "err\n"));

    let out = cluster.root(&["sleep", "60"]).timeout(Duration::from_millis(100)).output();
    assert!(out.timed_out && out.code.is_none() && out.stderr.contains("was killed"), "{out:?}");

    let step = cluster.user(&["srun", "sh", "-c", "echo ready; exec sleep 60"]).spawn();
    cluster.wait_for("the step", LONG, || step.stdout().contains("ready"));
    let stepds = cluster.stepds();
    assert_eq!(stepds.len(), 1, "{stepds:?}");
    assert_eq!((stepds[0].step.as_str(), stepds[0].node.as_str()), ("0", "node1"));
    assert!(!cluster.processes_of_user().is_empty());
    step.kill(15);
    let out = step.wait();
    assert!(!out.timed_out, "{out:?}");
    cluster.wait_idle(LONG);
    cluster.wait_for("the end of the stepd", LONG, || cluster.stepds().is_empty());
    let file = std::fs::read_to_string(cluster.dir().join("etc/a/b.lua")).unwrap();
    assert_eq!(file, "{dir}");
}

#[test]
fn three_nodes_share_a_step_and_a_drain_stays_until_resume() {
    let cluster = Cluster::builder().nodes(3).start().unwrap();
    eprintln!("start: {:?}", cluster.start_times());
    let out = cluster.user(&["srun", "-N3", "sh", "-c", "echo $SLURMD_NODENAME"]).output();
    let mut nodes: Vec<_> = out.stdout.lines().collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["node1", "node2", "node3"], "{}", out.stderr);

    let update = ["scontrol", "update", "nodename=node2", "state=drain", "reason=out of order"];
    assert_eq!(cluster.root(&update).output().code, Some(0));
    cluster.wait_idle(LONG);
    cluster.stop_slurmd("node2");
    cluster.start_slurmd("node2");
    let node = cluster.node("node2");
    assert_eq!((node.state.as_str(), node.reason.as_str()), ("IDLE+DRAIN", "out of order"));
    cluster.resume("node2");
    assert_eq!(cluster.node("node2").state, "IDLE");
}

#[test]
fn steps_survive_a_killed_slurmd_and_a_restarted_slurmctld() {
    let cluster = Cluster::builder().slurm_conf("PrologFlags=Contain").start().unwrap();
    let id = cluster
        .sbatch("#!/bin/sh\nsrun sh -c 'touch up; while ! [ -e go ]; do sleep 0.05; done'\n", &[]);
    cluster.wait_for("the step", LONG, || cluster.work().join("up").exists());
    let steps = || {
        let mut steps: Vec<_> = cluster.stepds().into_iter().map(|stepd| stepd.step).collect();
        steps.sort();
        steps
    };
    assert_eq!(steps(), ["0", "batch", "extern"]);
    cluster.kill_slurmd("node1");
    assert_eq!(cluster.slurmd_pid("node1"), None);
    assert_eq!(steps(), ["0", "batch", "extern"]);
    cluster.start_slurmd("node1");
    cluster.stop_slurmctld();
    assert_eq!(cluster.slurmctld_pid(), None);
    cluster.start_slurmctld();
    std::fs::write(cluster.work().join("go"), "").unwrap();
    let job = cluster.wait_job(id, LONG);
    assert_eq!((job.state.as_str(), job.restarts), ("COMPLETED", 0), "{job:?}");
    cluster.kill_slurmctld();
    cluster.start_slurmctld();
    assert_eq!(cluster.user(&["srun", "true"]).output().code, Some(0));
}

#[test]
fn control_groups_track_the_processes_and_are_removed() {
    let cluster = Cluster::builder().cgroup(true).start().unwrap();
    let out = cluster.user(&["srun", "cat", "/proc/self/cgroup"]).output();
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert!(out.stdout.contains("/slurm_node1/uid_"), "{}", out.stdout);
    let id = cluster.sbatch("#!/bin/sh\nsetsid sleep 600 &\nsleep 600\n", &[]);
    cluster.wait_for("the job", LONG, || cluster.job(id).state == "RUNNING");
    drop(cluster);
    for hierarchy in std::fs::read_dir("/sys/fs/cgroup").unwrap() {
        let group = hierarchy.unwrap().path().join("slurm_node1");
        assert!(!group.exists(), "{} is left", group.display());
    }
}

#[test]
fn nothing_is_left_after_the_drop() {
    let cluster = Cluster::builder().nodes(2).slurm_conf("PrologFlags=Contain").start().unwrap();
    let dir = cluster.dir().to_path_buf();
    let script = "#!/bin/sh
(trap '' TERM; env -i /bin/sleep 601) &
setsid sleep 602 &
srun -N2 sh -c 'trap \"\" TERM; touch up; sleep 603'
";
    let _job = cluster.sbatch(script, &["-N2"]);
    cluster.wait_for("the steps", LONG, || cluster.work().join("up").exists());
    let waiting = cluster.user(&["srun", "-N2", "--exclusive", "true"]).spawn();
    let stepds = cluster.stepds();
    assert!(stepds.len() >= 4, "{stepds:?}");
    let begin = Instant::now();
    drop(cluster);
    eprintln!("drop: {:?}", begin.elapsed());
    assert!(!dir.exists());
    drop(waiting);
    assert_eq!(processes_naming(&dir), Vec::<String>::new());
    for stepd in stepds {
        // Init reaps it, in its own time.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", stepd.pid)).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}

#[test]
fn a_killed_test_process_leaves_nothing() {
    const ROLE: &str = "SELF_TEST_TO_BE_KILLED";
    if std::env::var_os(ROLE).is_some() {
        let cluster = Cluster::builder().slurm_conf("PrologFlags=Contain").start().unwrap();
        let script = "#!/bin/sh\nsetsid sleep 604 &\nsrun sh -c 'touch up; sleep 605'\n";
        let _job = cluster.sbatch(script, &[]);
        cluster.wait_for("the step", LONG, || cluster.work().join("up").exists());
        println!("\nready {}", cluster.dir().display());
        std::thread::sleep(LONG);
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_test_process_leaves_nothing", "--nocapture"])
        .env(ROLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let dir =
        lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("ready ")?.to_owned()));
    let dir = PathBuf::from(dir.expect("the child starts its cluster"));
    assert!(processes_naming(&dir).len() > 4, "{:?}", processes_naming(&dir));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let start = Instant::now();
    while dir.exists() || !processes_naming(&dir).is_empty() {
        assert!(start.elapsed() < LONG, "{:?}", processes_naming(&dir));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_daemon_that_ends_is_an_error_with_its_log() {
    let error = Cluster::builder().plugstack("required /no/such/plugin.so").start().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("slurmd of node1 has ended") && text.contains("plugin.so"), "{text}");
}
