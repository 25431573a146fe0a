//! `spank check`: what is wrong with a switch.lua, as far as can be told without running it.
#![forbid(unsafe_code)]

mod names;

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use slurm_lua::{Engine, Level, LoadError, MAX_SCRIPT, Script, Settings, Sink, Trust, one_line};
use switch_lua_core::PREFIX;
use switch_lua_core::wire::{Function, SPECIAL_STEPS};

use crate::cli::Check;

/// The functions that run on the controller; those of the nodes stand in `switch_lua_core::wire`.
const CONTROLLER: [&str; 3] =
    ["slurm_switch_job_start", "slurm_switch_job_complete", "slurm_switch_block_job_complete"];

/// The memory that the worker gives a script.
const MEMORY_LIMIT: usize = 512 << 20;

/// Every function that a switch.lua can define.
fn functions() -> impl Iterator<Item = &'static str> {
    let step = Function::ALL.into_iter().map(Function::name);
    CONTROLLER.into_iter().chain([SPECIAL_STEPS]).chain(step)
}

/// What is wrong, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: Option<u32>,
    what: String,
    mend: String,
}

impl Finding {
    fn new(line: Option<u32>, what: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { line, what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}; {}", self.what, self.mend)
    }
}

/// What came out for one script.
#[derive(Debug, Default)]
struct Report {
    findings: Vec<Finding>,
    /// Why the script could not be checked, or not all of it.
    unchecked: Option<Finding>,
    /// What else is to be said of a script with nothing wrong in it.
    remark: String,
}

/// Checks every script and prints what is found.
pub fn run(arguments: &Check) -> ExitCode {
    let mut owners = vec![0];
    owners.extend(&arguments.owners);
    let trust = Trust { owners };
    let settings = Settings { prefix: PREFIX.to_owned(), memory_limit: Some(MEMORY_LIMIT) };
    let engine = match Engine::new(settings, Rc::new(Silent)) {
        Ok(engine) => engine,
        Err(error) => {
            let _ = writeln!(io::stderr(), "spank: {error}");
            return ExitCode::from(2);
        }
    };
    let mut code = 0;
    for path in &arguments.scripts {
        let report = check(&engine, path, &trust);
        let (lines, found) = present(path, &report);
        code = code.max(found);
        // Nobody is left to be told when the output is closed; the exit code still says it.
        let _ = io::stdout().write_all(lines.as_bytes());
        if let Some(problem) = &report.unchecked {
            let line = one_line(format!("{}:{problem}", path.display()).as_bytes());
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
    ExitCode::from(code)
}

/// Nothing runs, so nothing logs.
struct Silent;

impl Sink for Silent {
    fn log(&self, _level: Level, _text: &[u8]) {}
}

/// The lines for standard output, and the exit code.
fn present(path: &Path, report: &Report) -> (String, u8) {
    let path = path.display();
    let mut lines = String::new();
    for finding in &report.findings {
        lines.push_str(&one_line(format!("{path}:{finding}").as_bytes()));
        lines.push('\n');
    }
    if report.unchecked.is_some() {
        return (lines, 2);
    }
    if !report.findings.is_empty() {
        return (lines, 1);
    }
    lines.push_str(&one_line(format!("{path}: {}", report.remark).as_bytes()));
    lines.push('\n');
    (lines, 0)
}

fn check(engine: &Engine, path: &Path, trust: &Trust) -> Report {
    let mut report = Report::default();
    let script = match Script::read(path, trust) {
        Ok(script) => script,
        // The rest can still be told of a script that is not where it belongs, or not yet.
        Err(error @ (LoadError::Owner { .. } | LoadError::Writable { .. })) => {
            report.findings.push(explain(&error));
            match read_untrusted(path) {
                Ok(source) => Script::from_source(path, source),
                Err(error) => {
                    report.unchecked = Some(unreadable(&error.to_string()));
                    return report;
                }
            }
        }
        Err(
            error @ (LoadError::Stat { .. } | LoadError::Read { .. } | LoadError::Changed { .. }),
        ) => {
            report.unchecked = Some(explain(&error));
            return report;
        }
        Err(error) => {
            report.findings.push(explain(&error));
            return report;
        }
    };
    if let Err(error) = engine.compile_only(&script) {
        let binary = matches!(error, LoadError::Binary { .. });
        report.findings.push(explain(&error));
        if binary {
            return report;
        }
    }
    let named = names::scan(&String::from_utf8_lossy(&script.source));
    report.findings.extend(named.findings);
    report.remark = if !named.defined.is_empty() {
        format!("fine; defines {}", named.defined.join(", "))
    } else if named.mentioned {
        "fine; where it defines its functions cannot be told without running it".to_owned()
    } else {
        let first = functions().next().unwrap_or_default();
        format!("note: defines none of the functions, {first} for instance; it changes nothing")
    };
    report
}

/// Reads what [`Script::read`] has refused to trust.
fn read_untrusted(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut source = Vec::new();
    std::fs::File::open(path)?.take(MAX_SCRIPT).read_to_end(&mut source)?;
    Ok(source)
}

fn unreadable(cause: &str) -> Finding {
    Finding::new(None, format!("cannot be read: {cause}"), "check it as a user who may read it")
}

/// What the plug-in would say, in two parts.
fn explain(error: &LoadError) -> Finding {
    let it = |path: &Path, place: &Path| {
        if path == place || std::path::absolute(path).is_ok_and(|path| path == place) {
            "it".to_owned()
        } else {
            place.display().to_string()
        }
    };
    let finding = |what: String, mend: &str| Finding::new(None, what, mend);
    match error {
        LoadError::Stat { cause, .. } => {
            finding(format!("cannot be found: {cause}"), "correct the path")
        }
        LoadError::Read { cause, .. } => unreadable(cause),
        LoadError::Changed { .. } => {
            finding("was changed while it was read".into(), "check it again")
        }
        LoadError::NotAFile { kind, .. } => finding(format!("is a {kind}"), "name the script"),
        LoadError::Owner { path, place, uid, .. } => Finding::new(
            None,
            format!("{} is owned by uid {uid}", it(path, place)),
            format!("chown it to root, or allow its owner here with --owner {uid}"),
        ),
        LoadError::Writable { path, place, mode } => {
            let (it, mode) = (it(path, place), mode & 0o7777);
            let what = format!("{it} has mode {mode:04o}, so that others can change it");
            finding(what, "chmod go-w it, or install the script elsewhere")
        }
        LoadError::Links { .. } => {
            finding("too many symbolic links lead to it".into(), "name the file itself")
        }
        LoadError::TooLarge { limit, .. } => {
            finding(format!("is larger than {limit} bytes"), "keep its data in another file")
        }
        LoadError::Binary { .. } => {
            finding("is a precompiled chunk".into(), "install the source text")
        }
        LoadError::Syntax { line, message, .. } => Finding::new(
            *line,
            format!("syntax error: {message}"),
            "correct it, the script would not be loaded",
        ),
        other => finding(other.to_string(), "correct it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(path: &str, place: &str) -> String {
        let error = LoadError::Owner {
            path: path.into(),
            place: place.into(),
            uid: 1234,
            allowed: vec![0],
        };
        explain(&error).to_string()
    }

    #[test]
    fn a_finding_names_what_is_to_be_changed() {
        assert_eq!(
            owner("/a/switch.lua", "/a/switch.lua"),
            " it is owned by uid 1234; chown it to root, or allow its owner here with --owner 1234"
        );
        assert!(owner("/a/switch.lua", "/a").starts_with(" /a is owned by"));
    }

    #[test]
    fn a_line_number_stands_where_editors_look_for_it() {
        let error = LoadError::Syntax {
            path: "/a/switch.lua".into(),
            line: Some(7),
            message: "'=' expected".into(),
        };
        let report = Report { findings: vec![explain(&error)], ..Report::default() };
        let (lines, code) = present(Path::new("s\x1b.lua"), &report);
        assert_eq!(
            lines,
            "s\\x1b.lua:7: syntax error: '=' expected; correct it, the script would not be loaded\n"
        );
        assert_eq!(code, 1);
    }

    #[test]
    fn what_could_not_be_checked_weighs_more_than_what_was_found() {
        let finding = || Finding::new(None, "a", "b");
        let report =
            Report { findings: vec![finding()], unchecked: Some(finding()), remark: String::new() };
        assert_eq!(present(Path::new("s"), &report), ("s: a; b\n".into(), 2));
    }

    /// SW-007: all seven of them.
    #[test]
    fn the_functions_are_those_of_the_document() {
        let mut names: Vec<&str> = functions().collect();
        assert_eq!(names.len(), 7);
        assert!(names.iter().all(|name| name.starts_with("slurm_switch_")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 7);
    }
}
