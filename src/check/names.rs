//! Finds the names of functions in the text of a switch.lua, line by line.
//!
//! It knows comments that begin a line, and `function NAME(`, `NAME =` and `_G.NAME =` at the
//! beginning of a line; it is no parser. What it does not see it says nothing about.
#![forbid(unsafe_code)]

use super::{Finding, functions};

/// How many letters a misspelt name may differ by.
const FAR: usize = 3;

/// What the text names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Names that Slurm would not find, or not call.
    pub(super) findings: Vec<Finding>,
    /// The functions that are defined.
    pub(super) defined: Vec<&'static str>,
    /// Whether a function is named at all outside of comments.
    pub(super) mentioned: bool,
}

/// Looks through the text of a script.
pub(super) fn scan(text: &str) -> Names {
    let mut names = Names::default();
    let mut locals = Vec::new();
    let mut comment = None;
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let Some(code) = code(line, &mut comment) else {
            continue;
        };
        names.mentioned |= functions().any(|function| code.contains(function));
        let Some((name, local)) = definition(code) else {
            continue;
        };
        match (functions().find(|function| *function == name), local) {
            (Some(function), true) => locals.push((number, function)),
            (Some(function), false) => {
                if !names.defined.contains(&function) {
                    names.defined.push(function);
                }
            }
            (None, _) => names.findings.extend(unknown(number, name)),
        }
    }
    // A local one can still be made global later, by a line that is found as a definition.
    for (number, function) in locals {
        if !names.defined.contains(&function) {
            let what = format!("{function} is local, and only a global function is called");
            let finding = Finding::new(Some(number), what, "remove `local`");
            names.findings.push(finding);
        }
    }
    names.findings.sort_by_key(|finding| finding.line);
    names
}

/// The line without a comment at its beginning; `comment` is the end of the long comment that the
/// line is in.
fn code<'l>(line: &'l str, comment: &mut Option<String>) -> Option<&'l str> {
    let mut rest = line.trim_start();
    loop {
        if let Some(end) = comment {
            let (_, after) = rest.split_once(end.as_str())?;
            *comment = None;
            rest = after.trim_start();
        }
        let Some(text) = rest.strip_prefix("--") else {
            return Some(rest);
        };
        let level = text.strip_prefix('[')?;
        let after = level.trim_start_matches('=');
        let body = after.strip_prefix('[')?;
        let signs = level.len() - after.len();
        *comment = Some(format!("]{}]", "=".repeat(signs)));
        rest = body;
    }
}

/// The name that a line gives a value to, and whether it is a local one.
fn definition(code: &str) -> Option<(&str, bool)> {
    let (code, local) = match keyword(code, "local") {
        Some(rest) => (rest, true),
        None => (code, false),
    };
    if let Some(rest) = keyword(code, "function") {
        let (name, rest) = identifier(rest)?;
        return rest.starts_with('(').then_some((name, local));
    }
    let (name, rest) = identifier(code.strip_prefix("_G.").unwrap_or(code))?;
    (rest.starts_with('=') && !rest.starts_with("==")).then_some((name, local))
}

fn keyword<'l>(code: &'l str, word: &str) -> Option<&'l str> {
    let rest = code.strip_prefix(word)?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim_start())
}

/// The name at the beginning, and what follows it.
fn identifier(code: &str) -> Option<(&str, &str)> {
    let end = code.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(code.len());
    let (name, rest) = code.split_at_checked(end)?;
    (!name.is_empty()).then(|| (name, rest.trim_start()))
}

/// What is to be said of a name that is no function of the document; nothing of one that does not
/// look like one.
fn unknown(number: u32, name: &str) -> Option<Finding> {
    let near = functions()
        .map(|function| (strsim::levenshtein(function, name), function))
        .min()
        .filter(|(distance, _)| *distance <= FAR);
    let mend = match near {
        Some((_, function)) => format!("did you mean {function}?"),
        None if name.starts_with("slurm_switch_") => {
            "give a function of your own another name".to_owned()
        }
        None => return None,
    };
    let what = format!("{name} is not a function that Slurm calls");
    Some(Finding::new(Some(number), what, mend))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        scan(text).findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn every_way_to_define_a_global_is_found() {
        for text in [
            "function slurm_switch_job_start(job)",
            "\u{feff}function slurm_switch_job_start (job)",
            "  \tfunction\tslurm_switch_job_start(job)",
            "slurm_switch_job_start = function(job) end",
            "slurm_switch_job_start=start",
            "_G.slurm_switch_job_start = start",
            "--[[ a comment ]] slurm_switch_job_start = start",
            "local slurm_switch_job_start = f\n_G.slurm_switch_job_start = slurm_switch_job_start",
        ] {
            let names = scan(text);
            assert_eq!(names.defined, ["slurm_switch_job_start"], "{text}");
            assert_eq!(names.findings, [], "{text}");
            assert!(names.mentioned);
        }
    }

    #[test]
    fn a_misspelt_function_gets_its_line_and_the_right_name() {
        let text = "-- one\nfunction slurm_switch_step_preint(step)\nend\n\
                    slurm_swich_job_start = 1\n";
        let found = lines(text);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            "2: slurm_switch_step_preint is not a function that Slurm calls; \
             did you mean slurm_switch_step_preinit?"
        );
        assert!(found[1].starts_with("4: slurm_swich_job_start"));
        assert!(found[1].ends_with("did you mean slurm_switch_job_start?"));
    }

    #[test]
    fn a_name_that_is_near_to_none_gets_no_guess() {
        assert_eq!(
            lines("function slurm_switch_teardown(job) end"),
            ["1: slurm_switch_teardown is not a function that Slurm calls; \
                 give a function of your own another name"]
        );
        assert_eq!(lines("function teardown(job) end"), Vec::<String>::new());
    }

    #[test]
    fn a_local_function_is_found() {
        let found = lines("local function slurm_switch_step_init(step) end");
        assert_eq!(
            found,
            ["1: slurm_switch_step_init is local, and only a global function is called; \
             remove `local`"]
        );
    }

    #[test]
    fn comments_and_other_uses_are_no_definitions() {
        for text in [
            "-- function slurm_switch_step_ini(step)",
            "--[[\nfunction slurm_switch_step_ini(step)\n]]",
            "--[==[ ]]\nslurm_switch_step_ini = 1\n]==] ",
            "slurm_switch_step_ini == 1",
            "function site.slurm_switch_step_ini() end",
            "function slurm_switch_step_ini:method() end",
        ] {
            assert_eq!(scan(text), Names::default(), "{text}");
        }
        let call = scan("return slurm_switch_step_init(step)");
        assert!(call.mentioned && call.defined.is_empty());
    }
}
