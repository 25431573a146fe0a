//! Options by each of their ways, and the environment of prolog and epilog.

use super::{Lab, lab, renice};

/// `flag level tag` of the first line of a hook, as the plug-in knows them.
fn given(lab: &Lab, place: &str) -> String {
    let line = lab.at(place);
    ["opt_flag", "opt_level", "opt_tag"].map(|word| line.get(word).to_owned()).join(" ")
}

/// Runs a command to its end and compares what each hook of it knows; where Slurm can be asked too, it
/// must agree on the last occurrence.
fn check(
    lab: &Lab,
    what: &str,
    words: &[&str],
    environment: &[(&str, &str)],
    want: &[(&str, &str)],
) {
    lab.forget();
    let mut run = lab.cluster.user(words);
    for (name, value) in environment {
        run = run.env(*name, *value);
    }
    let out = run.output();
    assert_eq!(out.code, Some(0), "{what}: {out:?}");
    lab.settle();
    for (place, want) in want {
        assert_eq!(given(lab, place), *want, "{what}, {place}");
    }
    for line in lab.lines() {
        for option in ["flag", "level", "tag"] {
            let asked = line.words().find(|(word, _)| *word == format!("get_{option}"));
            if let Some((_, asked)) = asked {
                let known = line.get(&format!("opt_{option}")).rsplit(',').next().unwrap();
                assert_eq!(known, asked, "{what}, {option} in {}", line.place());
            }
        }
    }
}

const FLAG: &str = "SLURM_SPANK__SLURM_SPANK_OPTION_probe_probe_flag";
const LEVEL: &str = "SLURM_SPANK__SLURM_SPANK_OPTION_probe_probe_level";
const TAG: &str = "SLURM_SPANK__SLURM_SPANK_OPTION_probe_probe_tag";

/// Every hook of `srun` alone that knows options.
fn everywhere(want: &str) -> Vec<(&'static str, &str)> {
    let remote = [
        "init_post_opt",
        "user_init",
        "task_init_privileged",
        "task_init",
        "task_post_fork",
        "task_exit",
        "exit",
    ]
    .map(|hook| match hook {
        "init_post_opt" => "init_post_opt/remote/normal",
        "user_init" => "user_init/remote/normal",
        "task_init_privileged" => "task_init_privileged/remote/normal",
        "task_init" => "task_init/remote/normal",
        "task_post_fork" => "task_post_fork/remote/normal",
        "task_exit" => "task_exit/remote/normal",
        _ => "exit/remote/normal",
    });
    let others = [
        "init_post_opt/local/-",
        "local_user_init/local/-",
        "exit/local/-",
        "job_prolog/job_script/-",
        "job_epilog/job_script/-",
    ];
    remote.into_iter().chain(others).map(|place| (place, want)).collect()
}

/// CASES A19, A20, A22, A23.
#[test]
fn options_arrive_in_every_hook_by_command_line_and_environment() {
    let lab = lab("", |b| b);
    let srun = |words: &[&'static str]| [&["srun"], words, &["/bin/true"]].concat();
    type Case<'c> = (&'c str, &'c [&'static str], &'c [(&'c str, &'c str)], &'c str);
    let cases: &[Case<'_>] = &[
        ("none", &[], &[], "- - -"),
        ("no argument", &["--probe-flag"], &[], "given - -"),
        ("required argument", &["--probe-level=3"], &[], "- 3 -"),
        ("required argument, apart", &["--probe-level", "4"], &[], "- 4 -"),
        ("optional argument left out", &["--probe-tag"], &[], "- - given"),
        ("optional argument", &["--probe-tag=/a:/b"], &[], "- - /a:/b"),
        ("nothing exported", &["--export=NONE", "--probe-level=5"], &[], "- 5 -"),
        ("by environment", &[], &[(FLAG, "1"), (LEVEL, "6"), (TAG, "x")], "given 6 x"),
        (
            "by environment, as Slurm writes no value",
            &[],
            &[(FLAG, "(null)"), (TAG, "(null)")],
            "given - given",
        ),
    ];
    for (what, words, environment, want) in cases {
        check(&lab, what, &srun(words), environment, &everywhere(want));
    }
    // In one process every occurrence is known; the node gets the last one.
    let twice = srun(&["--probe-level=1", "--probe-level=2"]);
    let want = [
        ("init_post_opt/local/-", "- 7,1,2 -"),
        ("task_init/remote/normal", "- 2 -"),
        ("job_epilog/job_script/-", "- 2 -"),
    ];
    check(&lab, "three times", &twice, &[(LEVEL, "7")], &want);
}

/// CASES A13, A19.
#[test]
fn options_of_sbatch_and_salloc_are_inherited_by_an_inner_srun() {
    let lab = lab("", |b| b);
    let script = "#!/bin/sh\n#SBATCH --probe-tag=script\n#SBATCH --probe-level=1\nsrun true\n";
    std::fs::write(lab.cluster.work().join("job"), script).unwrap();
    let places = |allocator, batch, inner, epilog| {
        vec![
            ("init_post_opt/allocator/-", allocator),
            ("init_post_opt/remote/batch", batch),
            ("task_init/remote/batch", batch),
            ("init_post_opt/local/-", inner),
            ("task_init/remote/normal", inner),
            ("job_prolog/job_script/-", epilog),
            ("job_epilog/job_script/-", epilog),
        ]
    };
    let sbatch = ["sbatch", "--wait", "job"];
    let want = places("- 1 script", "- 1 script", "- 1 script", "- 1 script");
    check(&lab, "#SBATCH", &sbatch, &[], &want);
    // #SBATCH lines, then the environment, then the command line.
    let sbatch = ["sbatch", "--wait", "--probe-level=3", "job"];
    let want = places("- 1,2,3 script", "- 3 script", "- 3 script", "- 3 script");
    check(&lab, "all three", &sbatch, &[(LEVEL, "2")], &want);
    // NONE would have Slurm read the environment of a login, which the job user may not have.
    let sbatch = ["sbatch", "--wait", "--export=NIL", "--probe-level=3", "--wrap", "/bin/true"];
    // Up to 23.02 Slurm drops the variable in which a batch step would find it.
    let batch = if lab.cluster.version() >= (23, 11) { "- 3 -" } else { "- - -" };
    let want = [("init_post_opt/remote/batch", batch), ("job_epilog/job_script/-", "- 3 -")];
    check(&lab, "nothing exported", &sbatch, &[], &want);
    let without: Vec<_> = places("given 4 x", "", "given 4 x", "given 4 x")
        .into_iter()
        .filter(|(place, _)| !place.ends_with("batch"))
        .collect();
    let salloc = ["salloc", "--probe-flag", "--probe-level=4", "--probe-tag=x", "srun", "true"];
    check(&lab, "salloc", &salloc, &[], &without);
    let own = ["salloc", "--probe-level=4", "srun", "--probe-level=5", "true"];
    let want = [
        ("init_post_opt/allocator/-", "- 4 -"),
        ("init_post_opt/local/-", "- 4,5 -"),
        ("task_init/remote/normal", "- 5 -"),
        ("job_epilog/job_script/-", "- 4 -"),
    ];
    check(&lab, "srun with one of its own", &own, &[], &want);
}

/// CASES A24: whatever `required` and `optional` say.
#[test]
fn a_refused_option_ends_the_command_with_its_message() {
    let lab = lab("", |b| b);
    for mode in ["required", "optional"] {
        lab.set(mode, "");
        for command in [
            &["srun", "--probe-level=bad", "touch", "ran"][..],
            &["salloc", "--probe-level=bad", "touch", "ran"],
            &["sbatch", "--probe-level=bad", "--wrap", "touch ran"],
        ] {
            let out = lab.run(command);
            assert_ne!(out.code, Some(0), "{command:?}");
            let said = "error: --probe-level=bad: not a number from 0 to 9";
            let lines = out.stderr.lines().filter(|line| line.ends_with(said)).count();
            assert_eq!(lines, 1, "{command:?}: {}", out.stderr);
        }
        let out = lab.cluster.user(&["srun", "touch", "ran"]).env(LEVEL, "bad").output();
        assert_ne!(out.code, Some(0), "{out:?}");
    }
    assert!(!lab.cluster.work().join("ran").exists());
    assert!(lab.cluster.root(&["squeue", "-h"]).output().stdout.is_empty());
}

/// What the hooks of the commands set is there as `SPANK_*` in prolog and epilog, but for what srun
/// loses: its `init`, where the handle has no such call, and for the epilog its `local_user_init`.
#[test]
fn prolog_and_epilog_see_what_the_commands_set() {
    let lab = lab("", |b| b);
    for (command, prolog, epilog) in [
        (&["srun", "true"][..], "INIT_POST_OPT:1,LOCAL_USER_INIT:1", "INIT_POST_OPT:1"),
        (
            &["sbatch", "--wait", "--wrap", "true"],
            "INIT:1,INIT_POST_OPT:1",
            "INIT:1,INIT_POST_OPT:1",
        ),
        (
            // srun's own take the place of salloc's where the first step starts the prolog.
            &["salloc", "srun", "true"],
            "INIT_POST_OPT:1,LOCAL_USER_INIT:1",
            "INIT:1,INIT_POST_OPT:1",
        ),
    ] {
        lab.forget();
        let out = lab.run(command);
        assert_eq!(out.code, Some(0), "{out:?}");
        lab.settle();
        assert_eq!(lab.at("job_prolog/job_script/-").get("control_seen"), prolog, "{command:?}");
        assert_eq!(lab.at("job_epilog/job_script/-").get("control_seen"), epilog, "{command:?}");
    }
}

/// The step's environment can be set up to the task, and the task's own up to its exec.
#[test]
fn variables_reach_the_task_if_they_are_set_before_its_exec() {
    let lab = lab("", |b| b);
    let out = lab.run(&["srun", "env"]);
    lab.settle();
    let mut seen: Vec<_> = out.stdout.lines().filter(|line| line.starts_with("PROBE_")).collect();
    seen.sort();
    let want = [
        "PROBE_GIVEN=yes",
        "PROBE_INIT=1",
        "PROBE_INIT_POST_OPT=1",
        "PROBE_TASK_INIT=1",
        "PROBE_TASK_INIT_PRIVILEGED=1",
        "PROBE_USER_INIT=1",
    ];
    assert_eq!(seen, want);
}

#[test]
fn renice_runs_the_tasks_at_the_niceness_asked_for() {
    let lab = lab("", |b| b);
    lab.plugstack(&format!("required {} min=-3\n", renice().display()));
    let base: i32 = lab.run(&["srun", "nice"]).stdout.trim().parse().unwrap();
    assert_eq!(base, 0, "the niceness that slurmd runs at");
    for (asked, got) in [("5", "5"), ("19", "19"), ("-2", "-2"), ("-20", "-3")] {
        let out = lab.run(&["srun", "-n2", "--renice", asked, "nice"]);
        assert_eq!(out.stdout, format!("{got}\n{got}\n"), "{out:?}");
    }
    let out =
        lab.run(&["sbatch", "--wait", "-o", "out", "--renice=7", "--wrap", "nice; srun nice"]);
    assert_eq!(out.code, Some(0), "{out:?}");
    let text = std::fs::read_to_string(lab.cluster.work().join("out")).unwrap();
    assert_eq!(text, "7\n7\n");
    let out = lab.run(&["srun", "--renice=20", "nice"]);
    assert_ne!(out.code, Some(0));
    assert!(out.stderr.contains("--renice=20: not a number from -20 to 19"), "{out:?}");
}
