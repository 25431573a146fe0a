//! What each call answers in each hook, context and kind of step: `answers.tsv` is the table.

use std::collections::BTreeMap;

use super::{Lab, Line, lab, version};

const TABLE: &str = include_str!("answers.tsv");

/// Hooks of each process, in order. In slurmstepd the two `task_init`s are in the task's process.
const LOCAL: &str = "init init_post_opt local_user_init exit";
const ALLOCATOR: &str = "init init_post_opt exit";
const STEP: &str = "init init_post_opt user_init task_init_privileged task_post_fork task_init \
                    task_exit exit";
const EXTERN: &str = "init init_post_opt task_post_fork exit";

/// A command, what srun runs in it, and the processes whose hooks are called.
struct Case {
    command: &'static [&'static str],
    stdin: &'static str,
    program: &'static str,
    calls: &'static [(&'static str, &'static str, &'static str)],
}

const PROLOG: (&str, &str, &str) = ("job_script", "-", "job_prolog");
const EPILOG: (&str, &str, &str) = ("job_script", "-", "job_epilog");

const CASES: &[Case] = &[
    Case {
        command: &["srun", "true"],
        stdin: "",
        program: "true",
        calls: &[("local", "-", LOCAL), ("remote", "normal", STEP), PROLOG, EPILOG],
    },
    Case {
        command: &["salloc", "srun", "true"],
        stdin: "",
        program: "true",
        calls: &[
            ("allocator", "-", ALLOCATOR),
            ("local", "-", LOCAL),
            ("remote", "normal", STEP),
            PROLOG,
            EPILOG,
        ],
    },
    Case {
        command: &["sbatch", "--wait", "--wrap", "srun true"],
        stdin: "",
        program: "true",
        calls: &[
            ("allocator", "-", ALLOCATOR),
            ("remote", "batch", STEP),
            ("local", "-", LOCAL),
            ("remote", "normal", STEP),
            PROLOG,
            EPILOG,
        ],
    },
    // The interactive step wants a terminal.
    Case {
        command: &["script", "-qec", "salloc", "/dev/null"],
        stdin: "exit\n",
        program: "/bin/sh",
        calls: &[
            ("allocator", "-", ALLOCATOR),
            ("local", "-", LOCAL),
            ("remote", "interactive", STEP),
            PROLOG,
            EPILOG,
        ],
    },
];

/// Whether a column of the table fits: `*`, a list, or `!` and a list.
fn fits(column: &str, value: &str) -> bool {
    match column.strip_prefix('!') {
        Some(list) => !list.split(',').any(|word| word == value),
        None => column == "*" || column.split(',').any(|word| word == value),
    }
}

/// The words that a line must have, with their answers.
fn expected(line: &Line, release: (u32, u32)) -> BTreeMap<&'static str, &'static str> {
    let mut words = BTreeMap::new();
    for row in TABLE.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [word, hook, context, step, answer, since @ ..] = &columns[..] else {
            panic!("a row of the table has too few columns: {row:?}")
        };
        let since = since.first().map_or((0, 0), |since| {
            let (year, month) = since.strip_prefix(">=").unwrap().split_once('.').unwrap();
            (year.parse().unwrap(), month.parse().unwrap())
        });
        let here = fits(hook, line.get("hook"))
            && fits(context, line.get("context"))
            && fits(step, line.get("step"));
        if here && release >= since {
            words.insert(*word, *answer);
        }
    }
    words
}

/// The run's own values.
struct Own<'l> {
    lab: &'l Lab,
    version: String,
    program: &'l str,
    interactive: bool,
    job: String,
}

impl Own<'_> {
    /// Whether an answer is the one of the table.
    fn accepts(&self, answer: &str, got: &str) -> bool {
        let (user, group) = self.lab.cluster.job_user();
        let part = |n: usize| self.version.split('.').nth(n).unwrap_or_default();
        let is_number = || got.parse::<u64>().is_ok();
        match answer {
            "VERSION" => got == self.version,
            "MAJOR" => got == part(0),
            "MINOR" => got == part(1),
            "MICRO" => got == part(2),
            "JOB" => got == self.job,
            "USER" => got == user.to_string(),
            "GROUP" => got == group.to_string(),
            "PROGRAM" => got == self.program,
            "STEP" => got == if self.interactive { "interactive" } else { "0" },
            "NUMBER" => is_number(),
            "NONE" => got.is_empty(),
            "SOME" => !got.is_empty() && got != "-" && !got.starts_with('!'),
            answer => got == answer,
        }
    }

    /// What is wrong with a line.
    fn faults(&self, line: &Line) -> Vec<String> {
        let mut expected = expected(line, self.lab.cluster.version());
        let place = line.place();
        let mut faults = Vec::new();
        for (word, got) in line.words().skip(3) {
            match expected.remove(word) {
                None => faults.push(format!("{place}: {word}={got} is not in the table")),
                Some(answer) if !self.accepts(answer, got) => {
                    faults.push(format!("{place}: {word}={got}, the table says {answer}"));
                }
                Some(_) => {}
            }
        }
        let missing = expected.keys();
        faults.extend(missing.map(|word| format!("{place}: no {word}, which the table has")));
        faults
    }
}

/// The hooks of each process, and those of its tasks, which run at the same time as others.
fn calls(lines: &[Line]) -> Vec<(String, String, String)> {
    let mut processes: BTreeMap<&str, (&Line, Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for line in lines {
        let process = processes.entry(line.get("pid")).or_insert((line, vec![], vec![]));
        let own = line.get("same_process") == "yes";
        if own { &mut process.1 } else { &mut process.2 }.push(line.get("hook"));
    }
    let mut calls: Vec<_> = processes
        .into_values()
        .map(|(line, own, tasks)| {
            let (context, step) = (line.get("context").to_owned(), line.get("step").to_owned());
            (context, step, format!("{}; {}", own.join(" "), tasks.join(" ")))
        })
        .collect();
    calls.sort();
    calls
}

/// The same as a case expects it.
fn wanted(calls: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    let in_task = |hook: &&str| hook.starts_with("task_init");
    let mut wanted: Vec<_> = calls
        .iter()
        .map(|(context, step, hooks)| {
            let (tasks, own): (Vec<_>, Vec<_>) = hooks.split_whitespace().partition(in_task);
            let hooks = format!("{}; {}", own.join(" "), tasks.join(" "));
            ((*context).to_owned(), (*step).to_owned(), hooks)
        })
        .collect();
    wanted.sort();
    wanted
}

/// Runs a case and compares all that the probe noted of it.
fn check(lab: &Lab, job: u32, case: &Case, more: &[(&str, &str, &str)]) {
    lab.forget();
    let run = lab.cluster.user(case.command).env("PROBE_GIVEN", "yes").stdin(case.stdin);
    let out = run.output();
    assert_eq!(out.code, Some(0), "{:?}: {out:?}", case.command);
    lab.settle();
    let lines = lab.lines();
    let all: Vec<_> = case.calls.iter().chain(more).copied().collect();
    assert_eq!(calls(&lines), wanted(&all), "{:?}: {lines:#?}", case.command);
    let own = Own {
        lab,
        version: version(&lab.cluster),
        program: case.program,
        interactive: case.calls.iter().any(|(_, step, _)| *step == "interactive"),
        job: job.to_string(),
    };
    let faults: Vec<_> = lines.iter().flat_map(|line| own.faults(line)).collect();
    assert!(faults.is_empty(), "{:?}:\n{}", case.command, faults.join("\n"));
}

/// For srun, salloc, sbatch, their steps, prolog and epilog, and slurmd.
#[test]
fn each_call_answers_as_the_table_says() {
    let lab = lab("", |b| b.slurm_conf("LaunchParameters=use_interactive_step"));
    let slurmd = lab.lines();
    for (job, case) in (1..).zip(CASES) {
        check(&lab, job, case, &[]);
    }
    lab.forget();
    lab.cluster.stop_slurmd("node1");
    let own = Own {
        lab: &lab,
        version: version(&lab.cluster),
        program: "",
        interactive: false,
        job: String::new(),
    };
    let slurmd = [slurmd, lab.lines()].concat();
    assert_eq!(calls(&slurmd), wanted(&[("slurmd", "-", "init slurmd_exit")]));
    let faults: Vec<_> = slurmd.iter().flat_map(|line| own.faults(line)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// With `PrologFlags=Contain`.
#[test]
fn each_call_answers_as_the_table_says_in_the_extern_step() {
    let lab = lab("", |b| b.slurm_conf("PrologFlags=Contain"));
    for (job, case) in (1..).zip(&CASES[..3]) {
        check(&lab, job, case, &[("remote", "extern", EXTERN)]);
    }
}

/// scrontab calls `init` and `exit`, and has no environment for prolog and epilog (asking for it ends
/// the process, so that the crate does not ask).
#[test]
fn each_call_answers_in_scrontab_as_far_as_there_is_one() {
    let lab = lab("", |b| b.slurm_conf("ScronParameters=enable"));
    if lab.cluster.root(&["sh", "-c", "command -v scrontab"]).output().code != Some(0) {
        println!("not shown: this machine has no scrontab");
        return;
    }
    lab.forget();
    let table = "0 0 1 1 * srun true\n";
    let out = lab.cluster.user(&["scrontab", "-"]).stdin(table).output();
    assert_eq!(out.code, Some(0), "{out:?}");
    let lines = lab.lines();
    assert_eq!(calls(&lines), wanted(&[("allocator", "-", "init exit")]), "{lines:#?}");
    for (word, got) in lines[0].words().filter(|(word, _)| word.starts_with("control_")) {
        let answer = if word == "control_bad" { "!Value" } else { "!NOT_AVAIL" };
        assert_eq!(got, answer, "{word}");
    }
}

/// Each of several tasks has its own numbers, and the pids of all are known.
#[test]
fn each_task_has_its_own_numbers() {
    let lab = lab("", |b| b);
    assert_eq!(lab.run(&["srun", "-n3", "true"]).code, Some(0));
    lab.settle();
    let lines = lab.lines();
    for hook in ["task_init_privileged", "task_init", "task_post_fork", "task_exit"] {
        let of_hook = lines.iter().filter(|line| line.get("hook") == hook);
        let mut ids: Vec<_> = of_hook.map(|l| (l.get("task_id"), l.get("task_global"))).collect();
        ids.sort();
        assert_eq!(ids, [("0", "0"), ("1", "1"), ("2", "2")], "{hook}");
    }
    for line in lines.iter().filter(|line| line.get("hook") == "task_post_fork") {
        assert_eq!(line.get("local_of_task"), line.get("task_id"));
        assert_eq!(line.get("global_of_task"), line.get("task_global"));
        assert_eq!((line.get("tasks"), line.get("local_tasks")), ("3", "3"));
    }
}
