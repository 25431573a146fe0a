//! docs/requirements.md: each statement once, tests and sections that exist, counts that are right.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

const DOCUMENT: &str = include_str!("../docs/requirements.md");
const STATEMENTS: usize = 292;

/// The columns of the counts table; the first one is for rows that begin with a test.
const KINDS: [&str; 6] = ["shown", "documented", "near", "not ours", "later", "open"];

/// Where the packages are that tests are named of.
const PACKAGES: [(&str, &str); 3] = [
    ("slurm-lua", "plugins/slurm-lua"),
    ("switch-lua-core", "plugins/switch-lua/core"),
    ("switch-lua-worker", "plugins/switch-lua/worker"),
];

/// A row of one of the tables.
struct Row<'d> {
    group: &'d str,
    id: &'d str,
    answer: &'d str,
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.strip_prefix("| ").and_then(|rest| rest.strip_suffix(" |"));
    inner.map_or_else(Vec::new, |inner| inner.split(" | ").collect())
}

fn rows() -> Vec<Row<'static>> {
    let mut group = "";
    let mut rows = Vec::new();
    for line in DOCUMENT.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            group = title;
        }
        if !line.starts_with("| SW-") {
            continue;
        }
        let cells = cells(line);
        let [id, _, answer] = cells[..] else {
            panic!("not three cells: {line}");
        };
        rows.push(Row { group, id, answer });
    }
    rows
}

/// The column of the counts table that a row counts in.
fn kind(row: &Row<'_>) -> usize {
    if row.answer.starts_with('`') {
        return 0;
    }
    let named = KINDS.iter().position(|kind| {
        row.answer.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
    });
    named.unwrap_or_else(|| panic!("{}: {}", row.id, row.answer))
}

/// What stands in backticks.
fn quoted(answer: &str) -> impl Iterator<Item = &str> {
    answer.split('`').skip(1).step_by(2)
}

/// The tests that a row names.
fn tests(answer: &str) -> Vec<&str> {
    quoted(answer).filter(|words| words.contains("::")).collect()
}

/// The file and the function that a test's name stands for.
fn place(test: &str) -> (PathBuf, &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (path, function) = test.rsplit_once("::").unwrap();
    if let Some(module) = path.strip_prefix("real_slurm::") {
        return (root.join(format!("tests/real_slurm/{module}.rs")), function);
    }
    let Some((package, path)) = path.split_once(' ') else {
        return (root.join(path), function);
    };
    let known = PACKAGES.iter().find(|(name, _)| *name == package);
    let (_, folder) = known.unwrap_or_else(|| panic!("{test}: which package?"));
    let folder = root.join(folder);
    if path.starts_with("tests/") {
        return (folder.join(path), function);
    }
    let module = path.replace("::", "/");
    let own_file = folder.join(format!("src/{module}.rs"));
    if own_file.exists() {
        return (own_file, function);
    }
    let inner = module.strip_suffix("/tests").unwrap_or(&module);
    (folder.join(format!("src/{inner}.rs")), function)
}

/// Whether the file has a test of this name.
fn has_test(file: &Path, function: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let head = format!("fn {function}(");
    text.match_indices(&head).any(|(at, _)| text[..at].trim_end().ends_with("#[test]"))
}

#[test]
fn each_statement_has_one_row() {
    let expected: Vec<String> = (1..=STATEMENTS).map(|n| format!("SW-{n:03}")).collect();
    let rows = rows();
    let ids: Vec<&str> = rows.iter().map(|row| row.id).collect();
    assert_eq!(ids, expected);
    for id in expected {
        assert_eq!(DOCUMENT.matches(&id).count(), 1, "{id}");
    }
}

#[test]
fn every_test_that_is_named_exists() {
    let rows = rows();
    let mut named = 0;
    for row in &rows {
        assert_eq!(row.answer.matches('`').count() % 2, 0, "{}", row.id);
        let tests = tests(row.answer);
        if kind(row) == 0 {
            let first = quoted(row.answer).next();
            assert_eq!(first, tests.first().copied(), "{}: no test", row.id);
        }
        for test in tests {
            let (file, function) = place(test);
            assert!(has_test(&file, function), "{}: {test} is not in {}", row.id, file.display());
            named += 1;
        }
    }
    assert!(named > 100, "{named} tests are named");
}

/// Sections are named as `docs/x.md, "Title"`.
#[test]
fn every_section_that_is_named_exists() {
    let rows = rows();
    let mut named = 0;
    for row in &rows {
        let mut parts = row.answer.split(".md, \"");
        let mut before = parts.next().unwrap();
        for after in parts {
            let name = before.rsplit([' ', '(']).next().unwrap();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{name}.md"));
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let heading = format!("## {}", after.split('"').next().unwrap());
            let found = text.lines().any(|line| line == heading);
            assert!(found, "{}: no {heading:?} in {name}.md", row.id);
            named += 1;
            before = after;
        }
    }
    assert!(named > 10, "{named} sections are named");
}

#[test]
fn the_counts_are_right() {
    let rows = rows();
    let mut groups: Vec<&str> = rows.iter().map(|row| row.group).collect();
    groups.dedup();
    assert_eq!(groups.len(), 11, "{groups:?}");
    groups.push("all");
    let expected: Vec<String> = groups
        .iter()
        .map(|group| {
            let mut counts = [0; KINDS.len()];
            let of_group = rows.iter().filter(|row| *group == "all" || row.group == *group);
            of_group.for_each(|row| counts[kind(row)] += 1);
            let all: usize = counts.iter().sum();
            let numbers: Vec<String> = counts.iter().map(usize::to_string).collect();
            format!("| {group} | {} | {all} |", numbers.join(" | "))
        })
        .collect();
    let table: Vec<&str> = DOCUMENT
        .lines()
        .skip_while(|line| !line.starts_with("| group |"))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .collect();
    assert_eq!(table, expected);
}
