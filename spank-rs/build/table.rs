//! Turns the two tables in `data/` into Rust: pure functions from text to text.
#![forbid(unsafe_code)]

use std::fmt::{self, Write};

/// The table of SPANK(8).
pub const DOCUMENTED: &str = "data/drain-fail-documented.tsv";
/// What was measured.
pub const OBSERVED: &str = "data/drain-fail-observed.tsv";

const DOCUMENTED_HEADER: [&str; 6] =
    ["command", "function", "context", "exit", "drains_node", "fails_job"];
const OBSERVED_HEADER: [&str; 17] = [
    "slurm",
    "documented",
    "command",
    "function",
    "context",
    "mode",
    "exit",
    "drained",
    "fails_job",
    "job_state",
    "job_exitcode",
    "restarts",
    "task_ran",
    "node_reason",
    "doc_exit",
    "doc_drains",
    "doc_fails",
];

/// Words of a column, each with what it is in Rust.
type Words = [(&'static str, &'static str)];

const RELEASES: &Words = &[
    ("20.11.4", "Release::V20_11_4"),
    ("22.05.8", "Release::V22_05_8"),
    ("24.11.5", "Release::V24_11_5"),
    ("25.11.7", "Release::V25_11_7"),
    ("26.05.3", "Release::V26_05_3"),
    ("26.05.5", "Release::V26_05_5"),
];
const COMMANDS: &Words = &[
    ("srun", "Command::Srun"),
    ("salloc", "Command::Salloc"),
    ("salloc+srun", "Command::SallocSrun"),
    ("salloc-interactive", "Command::SallocInteractive"),
    ("sbatch", "Command::Sbatch"),
    ("sbatch-W", "Command::SbatchWait"),
    ("sbatch-norequeue", "Command::SbatchNoRequeue"),
    ("scrontab", "Command::Scrontab"),
];
const HOOKS: &Words = &[
    ("slurm_spank_init", "Hook::Init"),
    ("slurm_spank_job_prolog", "Hook::JobProlog"),
    ("slurm_spank_init_post_opt", "Hook::InitPostOpt"),
    ("slurm_spank_local_user_init", "Hook::LocalUserInit"),
    ("slurm_spank_user_init", "Hook::UserInit"),
    ("slurm_spank_task_init_privileged", "Hook::TaskInitPrivileged"),
    ("slurm_spank_task_init", "Hook::TaskInit"),
    ("slurm_spank_task_post_fork", "Hook::TaskPostFork"),
    ("slurm_spank_task_exit", "Hook::TaskExit"),
    ("slurm_spank_job_epilog", "Hook::JobEpilog"),
    ("slurm_spank_slurmd_exit", "Hook::SlurmdExit"),
    ("slurm_spank_exit", "Hook::Exit"),
];
const CONTEXTS: &Words = &[
    ("local", "Context::Local"),
    ("remote", "Context::Remote"),
    ("allocator", "Context::Allocator"),
    ("slurmd", "Context::Slurmd"),
    ("job_script", "Context::JobScript"),
];
const MODES: &Words = &[("required", "Mode::Required"), ("optional", "Mode::Optional")];
const YES_NO: &Words = &[("yes", "true"), ("no", "false")];
const FAILS: &Words = &[
    ("yes", "Fails::Yes"),
    ("no", "Fails::No"),
    ("no(requeued)", "Fails::Requeued"),
    ("yes(no job)", "Fails::NoJob"),
];
const STATES: &Words = &[
    ("COMPLETED", "JobState::Completed"),
    ("FAILED", "JobState::Failed"),
    ("CANCELLED", "JobState::Cancelled"),
    ("PENDING", "JobState::Pending"),
];

/// A line of a file.
#[derive(Clone, Copy)]
struct At {
    file: &'static str,
    line: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl At {
    fn word(self, column: &str, word: &str, words: &Words) -> Result<&'static str, String> {
        words.iter().find(|(known, _)| *known == word).map(|(_, rust)| *rust).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
            format!("{self}: unknown {column} \"{word}\", known are: {}", known.join(", "))
        })
    }

    fn number<N: std::str::FromStr>(self, column: &str, word: &str) -> Result<N, String> {
        word.parse().map_err(|_| format!("{self}: {column} \"{word}\" is no number in range"))
    }

    /// 127 is what a shell answers for a command that is not there.
    fn exit(self, word: &str) -> Result<String, String> {
        match word {
            "waits" => Ok("Exit::Waits".to_owned()),
            "127" => Ok("Exit::NotFound".to_owned()),
            word => Ok(format!("Exit::Code({})", self.number::<u8>("exit", word)?)),
        }
    }

    fn failing(self, hook: &str, context: &str) -> Result<String, String> {
        if hook == "-" && context == "-" {
            return Ok("None".to_owned());
        }
        let hook = self.word("function", hook, HOOKS)?;
        Ok(format!("Some(({hook}, {}))", self.word("context", context, CONTEXTS)?))
    }

    fn job(self, state: &str, exit: &str, restarts: &str) -> Result<String, String> {
        if (state, exit, restarts) == ("none", "-", "-") {
            return Ok("None".to_owned());
        }
        let state = self.word("job_state", state, STATES)?;
        let (code, signal) = exit
            .split_once(':')
            .ok_or_else(|| format!("{self}: job_exitcode \"{exit}\" is not two numbers"))?;
        let code: u8 = self.number("job_exitcode", code)?;
        let signal: u8 = self.number("job_exitcode", signal)?;
        let restarts: u32 = self.number("restarts", restarts)?;
        Ok(format!(
            "Some(Job {{ state: {state}, exit: JobExit {{ code: {code}, signal: {signal} }}, \
             restarts: {restarts} }})"
        ))
    }

    fn reason(self, drained: &str, reason: &str) -> Result<String, String> {
        match (self.word("drained", drained, YES_NO)?, reason) {
            ("false", "-") => Ok("None".to_owned()),
            ("true", reason) if reason != "-" && !reason.contains(char::is_control) => {
                Ok(format!("Some({reason:?})"))
            }
            _ => Err(format!(
                "{self}: node_reason \"{}\" does not go with drained \"{drained}\"",
                reason.escape_debug()
            )),
        }
    }
}

/// The lines of a table, without comments and the header, which has to be the one given.
fn rows<'t, const N: usize>(
    file: &'static str,
    text: &'t str,
    header: [&str; N],
) -> Result<Vec<(At, [&'t str; N])>, String> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.starts_with('#'))
        .map(|(index, line)| (At { file, line: index + 1 }, line));
    let (at, first) = lines.next().ok_or_else(|| format!("{file}: no header"))?;
    if !first.split('\t').eq(header) {
        return Err(format!("{at}: the header is not: {}", header.join(" ")));
    }
    lines
        .map(|(at, line)| {
            let cells: Vec<&str> = line.split('\t').collect();
            let count = cells.len();
            let cells =
                cells.try_into().map_err(|_| format!("{at}: {count} columns instead of {N}"))?;
            Ok((at, cells))
        })
        .collect()
}

fn documented(at: At, cells: [&str; DOCUMENTED_HEADER.len()]) -> Result<String, String> {
    let [command, hook, context, exit, drains, fails] = cells;
    Ok(format!(
        "Documented {{ command: {}, hook: {}, context: {}, exit: {}, drains_node: {}, \
         fails_job: {} }}",
        at.word("command", command, COMMANDS)?,
        at.word("function", hook, HOOKS)?,
        at.word("context", context, CONTEXTS)?,
        at.number::<u8>("exit", exit)?,
        at.word("drains_node", drains, YES_NO)?,
        at.word("fails_job", fails, YES_NO)?,
    ))
}

/// The columns `documented` and `doc_*` repeat the other table; a test compares them.
fn observed(at: At, cells: [&str; OBSERVED_HEADER.len()]) -> Result<String, String> {
    let [release, _, command, hook, context, mode, exit, drained, rest @ ..] = cells;
    let [fails, state, job_exit, restarts, task_ran, reason, _, _, _] = rest;
    let job = at.job(state, job_exit, restarts)?;
    let fails_job = at.word("fails_job", fails, FAILS)?;
    if (fails_job == "Fails::NoJob") != (job == "None") {
        return Err(format!("{at}: job_state \"{state}\" does not go with fails_job \"{fails}\""));
    }
    Ok(format!(
        "Observed {{ release: {}, command: {}, failing: {}, mode: {}, exit: {}, \
         drain_reason: {}, fails_job: {fails_job}, job: {job}, task_ran: {} }}",
        at.word("slurm", release, RELEASES)?,
        at.word("command", command, COMMANDS)?,
        at.failing(hook, context)?,
        at.word("mode", mode, MODES)?,
        at.exit(exit)?,
        at.reason(drained, reason)?,
        at.word("task_ran", task_ran, YES_NO)?,
    ))
}

fn array(name: &str, of: &str, rows: &[String]) -> String {
    let mut text = format!("pub(super) static {name}: [{of}; {}] = [\n", rows.len());
    for row in rows {
        // Writing to a String does not fail.
        let _ = writeln!(text, "    {row},");
    }
    text + "];\n"
}

/// The Rust of both tables, given the text of both files.
///
/// # Errors
/// The file, the line and the word that is not understood.
pub fn generate(documented_text: &str, observed_text: &str) -> Result<String, String> {
    let page: Result<Vec<_>, String> = rows(DOCUMENTED, documented_text, DOCUMENTED_HEADER)?
        .into_iter()
        .map(|(at, cells)| documented(at, cells))
        .collect();
    let measured: Result<Vec<_>, String> = rows(OBSERVED, observed_text, OBSERVED_HEADER)?
        .into_iter()
        .map(|(at, cells)| observed(at, cells))
        .collect();
    Ok(array("DOCUMENTED", "Documented", &page?) + &array("OBSERVED", "Observed", &measured?))
}
