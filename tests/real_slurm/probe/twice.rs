//! The same `.so` on two lines of plugstack.conf (CASES A08).

use super::{lab, renice};

const TWICE: &str = "listed twice in plugstack.conf with the same arguments";

fn count(text: &str, part: &str) -> usize {
    text.lines().filter(|line| line.contains(part)).count()
}

#[test]
fn a_line_with_the_same_arguments_does_nothing_and_says_so_once_a_process() {
    let lab = lab("", |b| b);
    assert_eq!(lab.run(&["srun", "-n2", "--probe-tag=x", "true"]).code, Some(0));
    lab.settle();
    let mut once: Vec<_> = lab.lines().iter().map(|line| line.place()).collect();
    lab.set_two("", "");
    let mark = lab.cluster.mark();
    let out = lab.run(&["srun", "-n2", "--probe-tag=x", "true"]);
    assert_eq!(out.code, Some(0), "{out:?}");
    lab.settle();
    let mut twice: Vec<_> = lab.lines().iter().map(|line| line.place()).collect();
    let slurmd = once.iter().position(|place| place == "init/slurmd/-").unwrap();
    once.remove(slurmd);
    once.sort();
    twice.sort();
    assert_eq!(twice, once);
    assert_eq!(count(&out.stderr, TWICE), 1, "{}", out.stderr);
    assert_eq!(count(&out.stderr, "provided by both"), 0, "{}", out.stderr);
    // The step, prolog and epilog.
    assert_eq!(count(lab.cluster.since(&mark).slurmd("node1"), TWICE), 3);

    // Without arguments Slurm gives the lines no array that would tell them apart.
    let bare = format!("required {}\n", renice().display());
    lab.plugstack(&bare.repeat(2));
    let out = lab.run(&["srun", "-n2", "--renice=5", "nice"]);
    assert_eq!((out.code, &*out.stdout), (Some(0), "5\n5\n"), "{out:?}");
    assert_eq!(count(&out.stderr, TWICE), 1, "{}", out.stderr);
}

#[test]
fn lines_with_different_arguments_are_two_plugins_with_one_set_of_options() {
    let lab = lab("", |b| b);
    lab.set_two("name=one", "name=two");
    let out = lab.run(&["srun", "--probe-tag=x", "true"]);
    assert_eq!(out.code, Some(0), "{out:?}");
    assert_eq!(out.stderr, "");
    lab.settle();
    let lines = lab.lines();
    let places: Vec<_> = lines.iter().map(|line| line.place()).collect();
    for place in &places {
        assert_eq!(places.iter().filter(|it| *it == place).count(), 2, "{place}");
    }
    assert_eq!(places.len(), 2 * 14, "{places:#?}");
    for line in lines.iter().filter(|line| line.words().any(|(word, _)| word == "opt_tag")) {
        assert_eq!(line.get("opt_tag"), "x", "{}", line.place());
    }
    // A failure of one does not stop the other where Slurm goes on.
    lab.set_two("name=one panic=init:remote", "name=two");
    assert_eq!(lab.run(&["srun", "true"]).code, Some(1));
    lab.settle();
    let inits = lab.lines().iter().filter(|line| line.place() == "init/remote/normal").count();
    assert_eq!(inits, 2);
}
