//! The tables against their files, against SP-203 to SP-236, and what is made of them.

use std::collections::HashSet;

use super::*;

#[path = "../../build/table.rs"]
mod generator;

const PAGE: &str = include_str!("../../data/drain-fail-documented.tsv");
const MEASURED: &str = include_str!("../../data/drain-fail-observed.tsv");

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).collect()
}

fn all() -> impl Iterator<Item = &'static Observed> {
    releases().iter().flat_map(|release| observed(*release))
}

fn context(context: Context) -> &'static str {
    match context {
        Context::Local => "local",
        Context::Remote => "remote",
        Context::Allocator => "allocator",
        Context::Slurmd => "slurmd",
        Context::JobScript => "job_script",
    }
}

fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}

fn page_line(row: &Documented) -> String {
    let Documented { command, exit, .. } = row;
    let (hook, context) = (row.hook.symbol(), context(row.context));
    let (drains, fails) = (yes(row.drains_node), yes(row.fails_job));
    format!("{command}\t{hook}\t{context}\t{exit}\t{drains}\t{fails}")
}

/// The line of a row, with the columns of the page from the page's own table.
fn measured_line(row: &Observed) -> String {
    let (hook, context) = row.failing.map_or(("-", "-"), |(h, c)| (h.symbol(), context(c)));
    let exit = match row.exit {
        Exit::Code(code) => code.to_string(),
        Exit::Waits => "waits".to_owned(),
        Exit::NotFound => "127".to_owned(),
    };
    let fails = match row.fails_job {
        Fails::Yes => "yes",
        Fails::No => "no",
        Fails::Requeued => "no(requeued)",
        Fails::NoJob => "yes(no job)",
    };
    let job = row.job.map_or("none\t-\t-".to_owned(), |job| {
        format!("{}\t{}\t{}", job.state, job.exit, job.restarts)
    });
    let page = row.documented().map_or("-\t-\t-".to_owned(), |page| {
        format!("{}\t{}\t{}", page.exit, yes(page.drains_node), yes(page.fails_job))
    });
    format!(
        "{}\t{}\t{}\t{hook}\t{context}\t{}\t{exit}\t{}\t{fails}\t{job}\t{}\t{}\t{page}",
        row.release,
        yes(row.documented().is_some()),
        row.command,
        row.mode,
        yes(row.drained()),
        yes(row.task_ran),
        row.drain_reason.unwrap_or("-"),
    )
}

#[test]
fn sp_205_the_page_has_thirty_rows_in_four_groups() {
    let commands: Vec<Command> = documented().iter().map(|row| row.command).collect();
    let groups: Vec<(Command, usize)> =
        commands.chunk_by(|a, b| a == b).map(|group| (group[0], group.len())).collect();
    let (srun, salloc) = ((Command::Srun, 10), (Command::Salloc, 9));
    assert_eq!(groups, [srun, salloc, (Command::Sbatch, 9), (Command::Scrontab, 2)]);
}

#[test]
fn sp_206_no_two_rows_have_the_same_key() {
    let page: HashSet<_> =
        documented().iter().map(|row| (row.command, row.hook, row.context)).collect();
    assert_eq!(page.len(), 30);
    let measured: HashSet<_> =
        all().map(|row| (row.release, row.command, row.failing, row.mode)).collect();
    assert_eq!(measured.len(), 616);
}

#[test]
fn sp_207_to_sp_236_are_the_rows_of_the_page_in_order() {
    // Hook, context, exit, drains, fails.
    let stated = [
        "init local 1 no yes",
        "init_post_opt local 1 no yes",
        "local_user_init local 1 no yes",
        "init remote 1 no no",
        "user_init remote 0 no no",
        "task_init_privileged remote 1 no yes",
        "task_post_fork remote 0 no no",
        "task_init remote 1 no yes",
        "task_exit remote 0 no no",
        "exit local 0 no yes",
        "init allocator 1 no yes",
        "init_post_opt allocator 1 no yes",
        "init remote 1 no no",
        "user_init remote 1 no yes",
        "task_init_privileged remote 1 no yes",
        "task_post_fork remote 1 no yes",
        "task_init remote 1 no yes",
        "task_exit remote 0 no no",
        "exit allocator 0 no yes",
        "init allocator 1 no yes",
        "init_post_opt allocator 1 no yes",
        "init remote 1 yes no",
        "user_init remote 1 yes yes",
        "task_init_privileged remote 1 no yes",
        "task_post_fork remote 1 yes yes",
        "task_init remote 1 no yes",
        "task_exit remote 0 no no",
        "exit allocator 0 no no",
        "init allocator 1 no no",
        "exit allocator 0 no no",
    ];
    let rows: Vec<String> = documented()
        .iter()
        .map(|row| page_line(row).replace("slurm_spank_", "").replace('\t', " "))
        .map(|line| line.split_once(' ').unwrap().1.to_owned())
        .collect();
    assert_eq!(rows, stated);
}

#[test]
fn every_row_says_what_its_line_says() {
    let page: Vec<String> = documented().iter().map(page_line).collect();
    assert_eq!(page, lines(PAGE));
    let measured: Vec<String> = all().map(measured_line).collect();
    assert_eq!(measured.len(), 616);
    for (row, line) in measured.iter().zip(lines(MEASURED)) {
        assert_eq!(row, line);
    }
    assert_eq!(measured.len(), lines(MEASURED).len());
}

#[test]
fn each_release_has_all_of_the_page() {
    let counts: Vec<usize> = releases().iter().map(|r| observed(*r).count()).collect();
    assert_eq!(counts, [118, 120, 88, 87, 119, 84]);
    for release in releases() {
        for page in documented() {
            let found = observed(*release)
                .any(|row| row.mode == Mode::Required && row.documented() == Some(page));
            assert!(found, "{release} has no {}", page_line(page));
        }
    }
}

#[test]
fn every_key_has_the_outcome_of_its_row_and_no_other_key_has_one() {
    let (mut page, mut measured) = (0, 0);
    for command in Command::ALL {
        for hook in Hook::ALL {
            for context in [
                Context::Local,
                Context::Remote,
                Context::Allocator,
                Context::Slurmd,
                Context::JobScript,
            ] {
                for mode in Mode::ALL {
                    let get = |source| outcome(source, command, hook, context, mode);
                    let own = get(Source::Documented).filter(|it| it.command == command);
                    page += usize::from(own.is_some());
                    measured += releases().iter().filter_map(|r| get(Source::Observed(*r))).count();
                }
            }
        }
    }
    assert_eq!((page, measured), (30, 616 - all().filter(|row| row.failing.is_none()).count()));
    for row in documented() {
        let found = outcome(Source::Documented, row.command, row.hook, row.context, Mode::Required);
        assert_eq!(found, Some(row.outcome()));
    }
    for row in all() {
        let Some((hook, context)) = row.failing else { continue };
        let found = outcome(Source::Observed(row.release), row.command, hook, context, row.mode);
        assert_eq!(found, Some(row.outcome()));
    }
}

#[test]
fn a_baseline_job_runs_and_an_optional_plug_in_changes_nothing() {
    for row in all().filter(|row| row.failing.is_none() || row.mode == Mode::Optional) {
        if row.command != Command::Scrontab {
            let line = measured_line(row);
            assert_eq!((row.exit, row.fails_job), (Exit::Code(0), Fails::No), "{line}");
            assert!(row.task_ran && !row.drained(), "{line}");
        }
    }
}

#[test]
fn a_job_was_restarted_exactly_if_it_was_requeued() {
    for row in all() {
        let restarted = row.job.is_some_and(|job| job.restarts > 0);
        assert_eq!(restarted, row.fails_job == Fails::Requeued, "{}", measured_line(row));
    }
}

/// Rows of the page that a release contradicts in at least one way of running the command.
fn contradicted(release: Release) -> Vec<String> {
    let bad: Vec<&Documented> = differs(release).map(|it| it.documented).collect();
    let of_page = documented().iter().filter(|row| bad.contains(row));
    of_page.map(|row| format!("{} {}", row.command, &row.hook.symbol()[12..])).collect()
}

#[test]
fn sp_210_to_sp_236_differ_where_they_say_so() {
    let old = [
        "srun init",
        "srun exit",
        "salloc init",
        "salloc user_init",
        "salloc task_post_fork",
        "salloc exit",
        "sbatch init",
        "sbatch user_init",
        "sbatch task_post_fork",
    ];
    let new = [
        "srun user_init",
        "srun task_post_fork",
        "srun exit",
        "salloc init",
        "salloc exit",
        "sbatch init",
        "sbatch user_init",
        "sbatch task_post_fork",
    ];
    for release in releases() {
        let stated: &[&str] = if *release < Release::V24_11_5 { &old } else { &new };
        assert_eq!(contradicted(*release), stated, "{release}");
    }
}

#[test]
fn a_difference_says_in_what() {
    let of = |command, hook| {
        let it = differs(Release::V26_05_5)
            .find(|it| it.observed.command == command && it.documented.hook == hook)
            .unwrap();
        (it.exit(), it.drains(), it.fails())
    };
    assert_eq!(of(Command::Srun, Hook::UserInit), (true, false, true));
    assert_eq!(of(Command::Srun, Hook::Exit), (false, false, true));
    assert_eq!(of(Command::SbatchWait, Hook::Init), (true, false, false));
    assert_eq!(of(Command::Sbatch, Hook::UserInit), (false, false, true));
    // One run of 26.05.3, where `sbatch --wait` ended; on 26.05.5 it waits.
    let waited = |release| differs(release).filter(|it| it.observed.exit == Exit::Waits).count();
    assert_eq!((waited(Release::V26_05_3), waited(Release::V26_05_5)), (0, 3));
}

#[test]
fn outcomes_are_short_sentences_without_control_characters() {
    let outcomes = documented().iter().map(Documented::outcome).chain(all().map(Observed::outcome));
    let texts: HashSet<String> = outcomes.map(|outcome| outcome.to_string()).collect();
    for text in &texts {
        assert!(
            text.len() <= 80 && text.chars().all(|c| c.is_ascii() && !c.is_control()),
            "{text}"
        );
    }
    for text in [
        "srun exits 1, the node stays in service, the job fails",
        "salloc exits 1, the node stays in service, no job is made",
        "sbatch exits 0, the node is drained, the job is requeued",
        "sbatch --wait goes on waiting, the node is drained, the job is requeued",
        "sbatch --no-requeue exits 0, the node is drained, the job does not fail",
        "not measured: there was no scrontab",
    ] {
        assert!(texts.contains(text), "{text} is not in {texts:?}");
    }
    for reason in all().filter_map(|row| row.drain_reason) {
        assert!(!reason.is_empty() && !reason.contains(char::is_control), "{reason:?}");
    }
}

#[test]
fn words_are_read_as_they_are_written() {
    for command in Command::ALL {
        assert_eq!(command.to_string().parse(), Ok(command));
    }
    for release in releases() {
        assert_eq!(release.to_string().parse(), Ok(*release));
    }
    assert!(releases().is_sorted());
    assert_eq!("22.05".parse(), Ok(Release::V22_05_8));
    assert_eq!("26.05".parse(), Ok(Release::V26_05_5));
    assert_eq!("optional".parse(), Ok(Mode::Optional));
    assert_eq!("PENDING".parse(), Ok(JobState::Pending));
    for wrong in ["", "26", "26.5", "26.05.", "26.05.4", " 26.05", "srun"] {
        assert!(wrong.parse::<Release>().is_err(), "{wrong:?}");
    }
    assert_eq!(
        "may\nbe".parse::<Mode>().unwrap_err().to_string(),
        r#"unknown mode "may\nbe", known are: required, optional"#
    );
}

#[test]
fn a_table_that_is_not_understood_names_file_line_and_word() {
    let change = |from: &str, to: &str| {
        generator::generate(PAGE, &MEASURED.replacen(from, to, 1)).unwrap_err()
    };
    let file = "data/drain-fail-observed.tsv";
    let error = change("20.11.4\tno\tsrun", "20.11.4\tno\tsruns");
    assert!(error.starts_with(&format!("{file}:4: unknown command \"sruns\", known are: srun,")));
    let error = change("20.11.4\tno", "20.11.9\tno");
    assert!(error.starts_with(&format!("{file}:4: unknown slurm \"20.11.9\"")), "{error}");
    let error = change("required\t0\tno", "required\t256\tno");
    assert_eq!(error, format!("{file}:4: exit \"256\" is no number in range"));
    let error = change("0:0\t0\tyes\t-", "0:0\t0\tyes\tlate");
    assert_eq!(error, format!("{file}:4: node_reason \"late\" does not go with drained \"no\""));
    let error = change("yes(no job)\tnone", "yes\tnone");
    assert_eq!(error, format!("{file}:5: job_state \"none\" does not go with fails_job \"yes\""));
    assert_eq!(
        change("slurm\tdocumented", "slurm\tpage").split(": ").take(2).collect::<Vec<_>>(),
        [format!("{file}:3").as_str(), "the header is not"]
    );
    let page = generator::generate(&format!("{PAGE}\nsrun\t-"), MEASURED).unwrap_err();
    assert_eq!(page, "data/drain-fail-documented.tsv:33: 1 columns instead of 6");
    assert_eq!(
        generator::generate("# only this\n", MEASURED).unwrap_err(),
        "data/drain-fail-documented.tsv: no header"
    );
}
