//! A test cluster with the switch-lua plug-in and a site's switch.lua that notes each call.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use slurm_test_cluster::{Builder, Cluster, Output};

/// Long enough for anything that is to happen at all on a loaded machine.
pub const SOON: Duration = Duration::from_secs(60);

/// What every test script begins with: `note(function, step)` appends a line to DIR/calls, and
/// `DIR` is the cluster's folder.
const PRELUDE: &str = r#"
local DIR = debug.getinfo(1, "S").source:match("^@(.*)/etc/[^/]*$")
local function uid()
  for line in io.lines("/proc/self/status") do
    local id = line:match("^Uid:%s+%d+%s+(%d+)")
    if id then return id end
  end
end
local function note(name, step, stepinfo)
  local f = assert(io.open(DIR .. "/calls", "a"))
  f:write(string.format("%s job=%d step=%s node=%s partition=%s network=%s sluid=%s uid=%s stepinfo=%s orphans=%s\n",
    name, step.job_id, tostring(step.step_id), step.node, tostring(step.partition),
    tostring(step.network), tostring(step.sluid), uid(), tostring(stepinfo), tostring(step.orphans)))
  f:close()
end
"#;

/// Functions that note their calls and answer 0.
pub const ALL_ZERO: &str = r#"
function slurm_switch_step_preinit(step, info) note("preinit", step, info) return 0 end
function slurm_switch_step_init(step, info) note("init", step, info) return 0 end
function slurm_switch_step_postfini(step, info) note("postfini", step, info) return 0 end
"#;

/// Builds the plug-in and its worker, and gives the plug-in's file.
fn build(target: &Path, flags: &[&str]) -> PathBuf {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "spank-switch-lua", "-p", "switch-lua-worker"]);
    build.arg("--target-dir").arg(target).args(flags);
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join(if flags.contains(&"--release") { "release" } else { "debug" })
}

/// A plug-in that is built already, as these tests may run where nothing can be built.
fn built(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

/// The plug-in, built as these tests are.
fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        if let Some(plugin) = built("SPANK_TEST_PLUGIN") {
            return plugin;
        }
        let exe = std::env::current_exe().unwrap();
        let profile = exe.parent().unwrap().parent().unwrap();
        let flags: &[&str] = if profile.ends_with("release") { &["--release"] } else { &[] };
        build(profile.parent().unwrap(), flags).join("libspank_switch_lua.so")
    })
}

/// The plug-in as `make install EPILOG=no` builds it.
fn plugin_without_epilog() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        if let Some(plugin) = built("SPANK_TEST_PLUGIN_NO_EPILOG") {
            return plugin;
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-epilog");
        let flags = ["--no-default-features", "--features", "switch-lua-worker/lua54"];
        build(&target, &flags).join("libspank_switch_lua.so")
    })
}

/// One call of the script, as it noted it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub function: String,
    pub line: String,
}

impl Call {
    /// The value of a field.
    pub fn get(&self, key: &str) -> &str {
        let start = format!("{key}=");
        self.line.split(' ').find_map(|word| word.strip_prefix(&start)).unwrap()
    }

    pub fn job(&self) -> u32 {
        self.get("job").parse().unwrap()
    }
}

/// How a site is set up.
pub struct Setup {
    builder: Builder,
    mode: &'static str,
    plugin: &'static Path,
    arguments: String,
    script: String,
    more: String,
}

/// A site with this script (after the prelude) and one node.
pub fn site(script: &str) -> Setup {
    Setup {
        builder: Cluster::builder(),
        mode: "required",
        plugin: plugin(),
        arguments: String::new(),
        script: format!("{PRELUDE}{script}"),
        more: String::new(),
    }
}

impl Setup {
    pub fn nodes(self, nodes: u32) -> Setup {
        self.with(|builder| builder.nodes(nodes.try_into().unwrap()))
    }

    pub fn with(mut self, change: impl FnOnce(Builder) -> Builder) -> Setup {
        self.builder = change(self.builder);
        self
    }

    pub fn optional(mut self) -> Setup {
        self.mode = "optional";
        self
    }

    /// With the plug-in that exports no job_epilog.
    pub fn without_epilog(mut self) -> Setup {
        self.plugin = plugin_without_epilog();
        self
    }

    /// More arguments of the plugstack.conf line.
    pub fn arguments(mut self, arguments: &str) -> Setup {
        self.arguments = arguments.to_owned();
        self
    }

    /// More lines of plugstack.conf, after ours.
    pub fn plugstack(mut self, lines: &str) -> Setup {
        self.more = lines.to_owned();
        self
    }

    pub fn start(self) -> Site {
        let Setup { builder, mode, plugin, arguments, script, more } = self;
        let plugin = plugin.display();
        let state = if arguments.contains("state_dir=") { "" } else { "state_dir={dir}/switch" };
        let line = format!("{mode} {plugin} {state} {arguments}\n{more}");
        let cluster = builder.plugstack(&line).file("etc/switch.lua", &script).start().unwrap();
        Site { cluster }
    }
}

/// A running cluster with the plug-in.
pub struct Site {
    pub cluster: Cluster,
}

impl Site {
    /// Replaces the script; each step loads it anew.
    pub fn set_script(&self, script: &str) {
        let path = self.cluster.dir().join("etc/switch.lua");
        std::fs::write(path, format!("{PRELUDE}{script}")).unwrap();
        let _ = std::fs::remove_file(self.cluster.dir().join("calls"));
    }

    /// The lines of a node's slurmd log that are ours, at a level above debug.
    pub fn said(&self, node: &str) -> Vec<String> {
        let log = self.cluster.slurmd_log(node);
        let ours = log.lines().filter(|l| l.contains("switch/lua") && !l.contains("debug"));
        ours.map(str::to_owned).collect()
    }

    /// Runs a command as the job user.
    pub fn run(&self, words: &[&str]) -> Output {
        self.cluster.user(words).output()
    }

    /// The calls that the script noted, in their order.
    pub fn calls(&self) -> Vec<Call> {
        std::fs::read_to_string(self.cluster.dir().join("calls"))
            .unwrap_or_default()
            .lines()
            .map(|line| Call {
                function: line.split(' ').next().unwrap().to_owned(),
                line: line.to_owned(),
            })
            .collect()
    }

    /// The names of the functions that were called, in their order.
    pub fn functions(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.function).collect()
    }

    pub fn state_dir(&self) -> PathBuf {
        self.cluster.dir().join("switch")
    }

    /// What lies in the state directory.
    pub fn records(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.state_dir()) else {
            return Vec::new();
        };
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Waits until every job has ended on its nodes, and nothing is left of any.
    pub fn wait_clean(&self) {
        self.cluster.wait_idle(SOON);
        self.cluster
            .wait_for("the state directory to be empty", SOON, || self.records().is_empty());
    }

    /// How many look-ups of one job slurmctld has answered.
    pub fn look_ups(&self) -> u32 {
        let out = self.cluster.root(&["sdiag"]).output();
        out.stdout
            .lines()
            .find(|line| line.contains("REQUEST_JOB_INFO_SINGLE"))
            .and_then(|line| line.split("count:").nth(1)?.split_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    }

    pub fn state(&self, node: &str) -> String {
        self.cluster.node(node).state
    }

    pub fn is_drained(&self, node: &str) -> bool {
        self.state(node).contains("DRAIN")
    }
}
