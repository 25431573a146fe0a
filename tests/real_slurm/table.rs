//! The drain and fail table that was measured, reproduced by a plug-in of this crate (the probe).

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use slurm_test_cluster::Background;
use spank::context::Which as Context;
use spank::phase::Which as Hook;
use spank::table::{Command, Exit, Fails, JobState, Mode, Observed, Release, observed};

use crate::probe::{Lab, lab, version};
use crate::site::SOON;

/// Most of a row is waiting, also on a machine with few processors.
const CLUSTERS: usize = 3;

/// How long a command is watched that waits for a job which was requeued.
const STILL: Duration = Duration::from_secs(5);

/// What runs without `SPANK_FULL=1`.
const SAMPLE: [(Command, Hook, Context); 6] = [
    (Command::Srun, Hook::UserInit, Context::Remote),
    (Command::Srun, Hook::TaskInit, Context::Remote),
    (Command::SallocSrun, Hook::InitPostOpt, Context::Allocator),
    (Command::Sbatch, Hook::Init, Context::Remote),
    (Command::Sbatch, Hook::JobEpilog, Context::JobScript),
    (Command::SbatchWait, Hook::TaskInitPrivileged, Context::Remote),
];

/// A row in the terms of the table.
#[derive(Debug, PartialEq)]
struct Seen {
    exit: Exit,
    drain_reason: Option<String>,
    fails_job: Fails,
    /// State, exit code, restarts.
    job: Option<(String, String, u32)>,
    task_ran: bool,
}

fn wanted(row: &Observed) -> Seen {
    Seen {
        exit: row.exit,
        drain_reason: row.drain_reason.map(str::to_owned),
        fails_job: row.fails_job,
        job: row.job.map(|job| (job.state.to_string(), job.exit.to_string(), job.restarts)),
        task_ran: row.task_ran,
    }
}

/// Whether a run is as in the table. When the prolog of an srun fails, srun cancels the job while
/// slurmctld fails it, and either can come first: 26.05 ends it in one run this way and in the next the
/// other.
fn same(row: &Observed, mut want: Seen, seen: &Seen) -> bool {
    let race = row.command == Command::Srun
        && row.failing.is_some_and(|(hook, _)| hook == Hook::JobProlog)
        && row.mode == Mode::Required;
    if let (true, Some((want, ..)), Some((seen, ..))) = (race, &mut want.job, &seen.job)
        && [JobState::Failed.as_str(), JobState::Cancelled.as_str()].contains(&seen.as_str())
    {
        want.clone_from(seen);
    }
    want == *seen
}

fn name(row: &Observed) -> String {
    let failing = row.failing.map_or_else(
        || "nothing fails".to_owned(),
        |(hook, context)| format!("{} in {}", hook.symbol(), word(context)),
    );
    format!("{} {}, {failing}", row.mode, row.command)
}

/// The context as `fail=` of the probe has it.
fn word(context: Context) -> &'static str {
    match context {
        Context::Local => "local",
        Context::Remote => "remote",
        Context::Allocator => "allocator",
        Context::Slurmd => "slurmd",
        Context::JobScript => "job_script",
    }
}

/// Starts the command of a row; its job's program makes the file `ran`.
fn start(lab: &Lab, command: Command) -> Background {
    let (words, stdin): (&[&str], &str) = match command {
        Command::Srun => (&["srun", "touch", "ran"], ""),
        Command::Salloc => (&["salloc", "touch", "ran"], ""),
        Command::SallocSrun => (&["salloc", "srun", "touch", "ran"], ""),
        // An interactive step wants a terminal.
        Command::SallocInteractive => {
            (&["script", "-qec", "salloc", "/dev/null"], "touch ran\nexit\n")
        }
        Command::Sbatch => (&["sbatch", "--wrap", "touch ran"], ""),
        Command::SbatchWait => (&["sbatch", "--wait", "--wrap", "touch ran"], ""),
        Command::SbatchNoRequeue => (&["sbatch", "--no-requeue", "--wrap", "touch ran"], ""),
        Command::Scrontab => (&["scrontab", "-"], "0 0 1 1 * touch ran\n"),
        other => panic!("no way to run {other}"),
    };
    lab.cluster.user(words).stdin(stdin).spawn()
}

/// Runs a row whose job, if one is made, gets the number `id`.
fn run(lab: &Lab, row: &Observed, id: u32) -> Seen {
    let cluster = &lab.cluster;
    let fail = row.failing.map_or_else(String::new, |(hook, context)| {
        let hook = hook.symbol().trim_start_matches("slurm_spank_");
        format!("fail={hook}:{}", word(context))
    });
    lab.set(row.mode.as_str(), &fail);
    let ran = cluster.work().join("ran");
    let _ = std::fs::remove_file(&ran);

    let mut command = start(lab, row.command);
    // It has ended, or waits for a job that is in the queue again.
    cluster.wait_for(&format!("the end of {}", name(row)), SOON, || {
        let jobs = cluster.jobs(id);
        let requeued = jobs.iter().any(|job| job.state == "PENDING" && job.restarts > 0);
        !command.is_running() || requeued
    });
    let patience = std::time::Instant::now();
    while command.is_running() && patience.elapsed() < STILL {
        std::thread::sleep(Duration::from_millis(20));
    }
    let exit = if command.is_running() {
        drop(command);
        Exit::Waits
    } else {
        let code = command.wait().code.unwrap_or_else(|| panic!("{}: a signal", name(row)));
        Exit::Code(u8::try_from(code).unwrap())
    };
    cluster.wait_for(&format!("the job of {}", name(row)), SOON, || {
        let over = |job: &slurm_test_cluster::Job| {
            job.is_final() || job.restarts > 0 || row.command == Command::Scrontab
        };
        cluster.jobs(id).iter().all(over)
    });
    lab.settle();

    let node = cluster.node("node1");
    let drained = node.state.contains("DRAIN");
    let job = cluster.jobs(id).into_iter().next();
    let fails_job = match &job {
        None => Fails::NoJob,
        Some(job) if job.state == JobState::Completed.as_str() => Fails::No,
        Some(job) if job.state == JobState::Pending.as_str() && job.restarts > 0 => Fails::Requeued,
        Some(job) if job.state == JobState::Pending.as_str() => Fails::No,
        Some(_) => Fails::Yes,
    };
    let seen = Seen {
        exit,
        drain_reason: drained.then_some(node.reason),
        fails_job,
        job: job.map(|job| (job.state, job.exit_code, job.restarts)),
        task_ran: ran.exists(),
    };
    if let Some((state, ..)) = &seen.job
        && state == JobState::Pending.as_str()
    {
        let _ = cluster.root(&["scancel", &id.to_string()]).output();
        lab.settle();
    }
    if drained {
        cluster.resume("node1");
    }
    seen
}

fn start_lab() -> Lab {
    lab("", |b| b.slurm_conf("LaunchParameters=use_interactive_step\nScronParameters=enable"))
}

/// The rows of the release that runs here; of a release that was not measured those of the newest
/// measured of its series.
fn rows(lab: &Lab, full: bool) -> Vec<&'static Observed> {
    let version = version(&lab.cluster);
    let series: String = version.chars().take(5).collect();
    let release: Release = version.parse().or_else(|_| series.parse()).unwrap();
    let is_sample = |row: &&Observed| {
        let at = row.failing.map(|(hook, context)| (row.command, hook, context));
        full || row.mode == Mode::Required && at.is_some_and(|at| SAMPLE.contains(&at))
    };
    let there = |row: &&Observed| row.exit != Exit::NotFound;
    observed(release).filter(is_sample).filter(there).collect()
}

/// Past the capture of test output: what was not run is to be seen.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Point 2 of what is to be shown. A sample without `SPANK_FULL=1`, and then it says so.
#[test]
fn every_row_of_the_observed_table() {
    let full = std::env::var_os("SPANK_FULL").is_some_and(|it| it == "1");
    let first = start_lab();
    let rows = rows(&first, full);
    assert!(if full { rows.len() > 60 } else { rows.len() == SAMPLE.len() }, "{}", rows.len());
    if !full {
        let names: Vec<_> = rows.iter().map(|row| format!("  {}", name(row))).collect();
        say(&format!(
            "six rows of the drain and fail table (SPANK_FULL=1 for all):\n{}",
            names.join("\n")
        ));
    }
    let next = AtomicUsize::new(0);
    let differences = Mutex::new(Vec::new());
    let work = |lab: &Lab| {
        let mut id = 1;
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let seen = run(lab, row, id);
            id += u32::from(seen.job.is_some());
            if !same(row, wanted(row), &seen) {
                let want = wanted(row);
                let text = format!("{}\n  table {want:?}\n  here  {seen:?}", name(row));
                differences.lock().unwrap().push(text);
            }
        }
    };
    let clusters = if full { CLUSTERS } else { 1 };
    std::thread::scope(|scope| {
        for _ in 1..clusters {
            scope.spawn(|| work(&start_lab()));
        }
        work(&first);
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    say(&format!("{} rows of the drain and fail table are as measured", rows.len()));
}
