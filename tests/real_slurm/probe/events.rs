//! tracing events in every hook, `exit` included: what users and their scripts read stays as it is.

use super::{Lab, lab};

/// Exit code, standard output, and the lines of standard error, sorted and without the probe's own: a
/// task's and srun's come as they come.
type Seen = (Option<i32>, String, String);

/// A text without the lines of the events, and how many those are.
fn without_events(text: &str) -> (String, usize) {
    let (events, rest): (Vec<_>, Vec<_>) =
        text.split_inclusive('\n').partition(|line| line.contains("probe-says"));
    (rest.concat(), events.len())
}

/// What each command shows, and how many lines of events were among that.
fn show(lab: &Lab) -> (Vec<Seen>, usize) {
    let mut events = 0;
    let mut all = Vec::new();
    let task = "echo out; echo err >&2; exit 3";
    for command in [
        &["srun", "sh", "-c", task][..],
        &["srun", "-Q", "echo", "out"],
        &["srun", "--test-only", "true"],
        &["srun", "--version"],
        &["srun", "-p", "none", "true"],
        &["salloc", "sh", "-c", "echo out; srun echo inner; exit 4"],
        &["salloc", "-p", "none", "true"],
        &["sbatch", "--parsable", "-o", "one.out", "--wrap", task],
        &["sbatch", "-o", "two.out", "--wait", "--wrap", "echo out; srun sh -c 'exit 5'"],
        &["sbatch", "-p", "none", "--wrap", "true"],
    ] {
        let out = lab.run(command);
        let (stderr, lines) = without_events(&out.stderr);
        events += lines;
        // The message of --test-only has the time of day, and salloc may or may not hear of its own end.
        let passing = |line: &&str| !line.contains("to start at") && !line.contains("been revoked");
        let mut stderr: Vec<_> = stderr.split_inclusive('\n').filter(passing).collect();
        stderr.sort();
        all.push((out.code, out.stdout, stderr.concat()));
        lab.settle();
    }
    for file in ["one.out", "two.out"] {
        let text = std::fs::read_to_string(lab.cluster.work().join(file)).unwrap();
        let (text, lines) = without_events(&text);
        events += lines;
        all.push((None, file.to_owned(), text));
    }
    (all, events)
}

/// Issue text 4 and CASES A52. Job numbers are the same in both clusters.
#[test]
fn commands_and_jobs_show_the_same_with_and_without_events() {
    let contain = "PrologFlags=Contain";
    let silent = lab("", |b| b.slurm_conf(contain));
    silent.plugstack("");
    let (want, none) = show(&silent);
    assert_eq!(none, 0);
    let is_number = |stdout: &str| stdout.trim_end().parse::<u32>().is_ok();
    assert!(want.iter().any(|(_, stdout, _)| is_number(stdout)), "sbatch --parsable: {want:#?}");
    drop(silent);
    let lab = lab("log=yes", |b| b.slurm_conf(contain));
    let (got, events) = show(&lab);
    assert_eq!(got, want);
    assert!(events > 0, "errors are shown to the user");

    let log = lab.cluster.slurmd_log("node1");
    let said = |text: &str| log.lines().any(|line| line.contains(text));
    for (hook, context) in [
        ("init", "slurmd"),
        ("init", "remote"),
        ("init_post_opt", "remote"),
        ("user_init", "remote"),
        ("task_init_privileged", "remote"),
        ("task_post_fork", "remote"),
        ("task_exit", "remote"),
        ("exit", "remote"),
        ("job_prolog", "job_script"),
        ("job_epilog", "job_script"),
    ] {
        assert!(said(&format!("error: probe-says error {hook} {context}")), "{hook}");
        assert!(said(&format!("warning: probe-says warn {hook} {context}")), "{hook}");
        assert!(said(&format!("probe-says info hook=\"{hook}\" context=\"{context}\"")), "{hook}");
        // One line, and no format.
        assert!(said(&format!("probe-says debug {hook} {context} 100%s\\nsecond")), "{hook}");
        assert!(!said(&format!("probe-says trace {hook} {context}")), "beyond SlurmdDebug");
    }
}

/// Each level goes where Slurm's own messages of that level go.
#[test]
fn clients_show_events_as_they_are_asked_to() {
    let lab = lab("log=yes", |b| b);
    for (command, context, hooks) in [
        (&["srun"][..], "local", &["init", "init_post_opt", "local_user_init", "exit"][..]),
        (&["salloc"], "allocator", &["init", "init_post_opt", "exit"]),
        (&["sbatch", "--wrap"], "allocator", &["init", "init_post_opt", "exit"]),
    ] {
        for (options, levels) in [
            (&[][..], &["error", "warn"][..]),
            (&["-Q"], &["error"]),
            (&["-v"], &["error", "warn", "info"]),
            (&["-vvv"], &["error", "warn", "info", "debug", "trace"]),
        ] {
            let words = [&command[..1], options, &command[1..], &["true"]].concat();
            let out = lab.run(&words);
            assert_eq!(out.code, Some(0), "{words:?}: {out:?}");
            let shown = |level: &str, hook: &str| {
                let text = match level {
                    "info" => format!("probe-says info hook=\"{hook}\" context=\"{context}\""),
                    level => format!("probe-says {level} {hook} {context}"),
                };
                out.stderr.lines().filter(|line| line.contains(&text)).count()
            };
            for level in ["error", "warn", "info", "debug", "trace"] {
                // Before their last hooks commands do not heed how much they are to say.
                let heeded = |hook: &&&str| !hook.starts_with("init") || options.is_empty();
                for hook in hooks.iter().filter(heeded) {
                    let want = usize::from(levels.contains(&level));
                    assert_eq!(shown(level, hook), want, "{words:?} {level} {hook}: {out:?}");
                }
            }
        }
    }
}
