//! Shows a site's switch.lua at work on a real Slurm of one node: run it with `make demo`.
//!
//! The script is the example that is shipped, with its directives switched on; the plug-in and its
//! worker are those that were built beside this program. Ends with 1 if anything did not come out
//! as it is told here, and with 2 if the cluster cannot be started.
#![forbid(unsafe_code)]

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use slurm_test_cluster::{Cluster, Node, Output};

const EXAMPLE: &str = include_str!("../plugins/switch-lua/switch.lua.example");
const SOON: Duration = Duration::from_secs(30);
const NODE: &str = "node1";

/// One job, and what has to come of it.
struct Scene {
    title: &'static str,
    /// Words that no shell would change.
    command: &'static [&'static str],
    /// What the user has to see, and whether the command succeeds.
    shows: &'static str,
    succeeds: bool,
    /// The functions that have to be called, in their order.
    calls: &'static [&'static str],
    drains: bool,
}

const SCENES: [Scene; 4] = [
    Scene {
        title: "A step is set up, gets an environment, and is torn down",
        command: &["srun", "--network=switchlua:env", "printenv", "SWITCHLUA_TEXT"],
        shows: "set by switch.lua",
        succeeds: true,
        calls: &["step_preinit", "step_init", "step_postfini"],
        drains: false,
    },
    Scene {
        title: "The script refuses: the step fails, the node stays in service",
        command: &["srun", "--network=switchlua:preinit_fail", "echo", "hello"],
        shows: "Error configuring interconnect",
        succeeds: false,
        calls: &["step_preinit"],
        drains: false,
    },
    Scene {
        title: "The teardown fails: the job succeeds, the node is drained",
        command: &["salloc", "--network=switchlua:postfini_fail", "srun", "echo", "hello"],
        shows: "hello",
        succeeds: true,
        calls: &["step_preinit", "step_init", "step_postfini"],
        drains: true,
    },
    Scene {
        title: "A job without --network: nothing is called",
        command: &["srun", "echo", "hello"],
        shows: "hello",
        succeeds: true,
        calls: &[],
        drains: false,
    },
];

fn main() -> ExitCode {
    let paint =
        Paint { on: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() };
    let cluster = match start() {
        Ok(cluster) => cluster,
        Err(why) => {
            eprintln!("demo: {why}");
            return ExitCode::from(2);
        }
    };
    for (number, scene) in (1..).zip(&SCENES) {
        if let Err(why) = play(&cluster, number, scene, &paint) {
            eprintln!("demo: scene {number} did not come out as told: {why}");
            return ExitCode::FAILURE;
        }
    }
    println!(
        "Shown: an environment, a refused step, a drained node, a job left alone. Next: README.md, Install."
    );
    ExitCode::SUCCESS
}

/// A cluster with the plug-in and the example script.
fn start() -> Result<Cluster, String> {
    let plugin = plugin()?;
    let script = EXAMPLE.replace("ALLOW_DIRECTIVES = false", "ALLOW_DIRECTIVES = true");
    if script == EXAMPLE {
        return Err("the example script has no line `ALLOW_DIRECTIVES = false`".to_owned());
    }
    let line = format!("required {} state_dir={{dir}}/switch\n", plugin.display());
    println!("Starting a private Slurm of one node ...");
    let cluster = Cluster::builder()
        .debug("info")
        .plugstack(&line)
        .file("etc/switch.lua", &script)
        .start()
        .map_err(|error| format!("{error:?}"))?;
    let version = cluster.root(&["sinfo", "--version"]).output();
    println!("{} is running, with this line in plugstack.conf:", version.stdout.trim());
    let dir = cluster.dir().to_string_lossy();
    println!("  {}\n", line.trim_end().replace("{dir}", &dir));
    Ok(cluster)
}

/// The plug-in beside this program, which lies in `examples` of the same folder.
fn plugin() -> Result<PathBuf, String> {
    let exe = std::env::current_exe().map_err(|error| format!("this program's place: {error}"))?;
    let folder = exe.ancestors().nth(2).unwrap_or(&exe);
    for name in ["libspank_switch_lua.so", "switch-lua-worker"] {
        if !folder.join(name).is_file() {
            return Err(format!(
                "{} is missing: run `make demo`, or build it with \
                 `cargo build -p spank-switch-lua -p switch-lua-worker`",
                folder.join(name).display()
            ));
        }
    }
    Ok(folder.join("libspank_switch_lua.so"))
}

fn play(cluster: &Cluster, number: u32, scene: &Scene, paint: &Paint) -> Result<(), String> {
    let title = format!("{number}. {}", scene.title);
    println!("{}", paint.title(&title));
    let command = scene.command.join(" ");
    row("command", &[paint.strong(&format!("$ {command}"))]);
    let mark = cluster.mark();
    // One stream, so that the lines come in the order in which a terminal would show them.
    let out = cluster.user(&["sh", "-c", &format!("exec {command} 2>&1")]);
    let out = out.output();
    row("user sees", &seen(&out));
    // The teardown is over when nothing is left of the step; only then is its log complete.
    cluster.wait_idle(SOON);
    let state_dir = cluster.dir().join("switch");
    cluster.wait_for("the teardown", SOON, || {
        std::fs::read_dir(&state_dir).is_ok_and(|entries| entries.count() == 0)
            || !state_dir.exists()
    });
    if scene.drains {
        cluster.wait_for("the drain", SOON, || is_drained(&cluster.node(NODE)));
    }
    let logs = cluster.since(&mark);
    let ours = ours(logs.slurmd(NODE));
    if ours.is_empty() {
        row("slurmd log", &["(nothing of switch/lua)".to_owned()]);
    } else {
        row("slurmd log", &ours);
    }
    let node = cluster.node(NODE);
    let mut state = format!("{NODE} is {}", node.state);
    if !node.reason.is_empty() {
        state.push_str(&format!(", reason: {}", node.reason));
    }
    row("node", &[state]);
    scene.verify(&out, &ours, &node)?;
    if scene.drains {
        row("", &["back with: scontrol update nodename=node1 state=resume".to_owned()]);
        cluster.resume(NODE);
    }
    println!();
    Ok(())
}

impl Scene {
    fn verify(&self, out: &Output, ours: &[String], node: &Node) -> Result<(), String> {
        if (out.code == Some(0)) != self.succeeds {
            return Err(match out.code {
                Some(code) => format!("the command ended with exit code {code}"),
                None => "the command was killed".to_owned(),
            });
        }
        if !out.stdout.contains(self.shows) {
            return Err(format!("the user did not see {:?}", self.shows));
        }
        let called: Vec<&str> = ours
            .iter()
            .filter_map(|line| {
                let (_, call) = line.split_once("switchlua: ")?;
                let (function, _) = call.split_once("(): StepId=")?;
                Some(function)
            })
            .collect();
        if called != self.calls {
            return Err(format!("called was {called:?}, not {:?}", self.calls));
        }
        if self.calls.is_empty() && !ours.is_empty() {
            return Err("the log has lines of switch/lua".to_owned());
        }
        let expected = if self.drains { "IDLE+DRAIN" } else { "IDLE" };
        if node.state != expected {
            return Err(format!("{NODE} is {}", node.state));
        }
        Ok(())
    }
}

fn is_drained(node: &Node) -> bool {
    node.state.contains("DRAIN")
}

/// The lines of a slurmd's log that are ours, without their time.
fn ours(log: &str) -> Vec<String> {
    log.lines()
        .filter(|line| line.contains("switch/lua: "))
        .map(|line| {
            let rest = line.split_once("] ").map_or(line, |(_, rest)| rest);
            rest.to_owned()
        })
        .collect()
}

/// What the command has written, and how it ended if that was badly.
fn seen(out: &Output) -> Vec<String> {
    let mut lines: Vec<String> = out.stdout.lines().map(str::to_owned).collect();
    match out.code {
        Some(0) => {}
        Some(code) => lines.push(format!("(exit code {code})")),
        None => lines.push("(ended by a signal, or by the time limit)".to_owned()),
    }
    lines
}

/// Prints lines behind a label; what is too long goes on below, further in.
fn row(label: &str, lines: &[String]) {
    let mut label = label;
    for line in lines {
        let mut indent = "";
        for part in wrapped(line) {
            println!("   {label:<11} {indent}{part}");
            (label, indent) = ("", "    ");
        }
    }
}

/// The line in parts of words that fit a terminal.
fn wrapped(line: &str) -> Vec<String> {
    const WIDTH: usize = 80;
    let mut parts: Vec<String> = vec![String::new()];
    for word in line.split(' ') {
        match parts.last_mut() {
            Some(part) if part.is_empty() => part.push_str(word),
            Some(part) if part.chars().count() + word.chars().count() < WIDTH => {
                part.push(' ');
                part.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
    }
    parts
}

/// Colour, where somebody looks at it.
struct Paint {
    on: bool,
}

impl Paint {
    fn title(&self, text: &str) -> String {
        self.with("1;36", text)
    }

    fn strong(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(&self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
