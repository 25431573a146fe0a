//! A cluster with the probe, whose plugstack.conf line a test changes as it goes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use slurm_test_cluster::{Builder, Cluster, Output};

use crate::site::SOON;

/// A plug-in of this workspace: the one that the variable names, as these tests may run where nothing
/// can be built, or else built as these tests are.
fn object(variable: &str, package: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let exe = std::env::current_exe().unwrap();
    let profile = exe.parent().unwrap().parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", package, "--target-dir"]).arg(profile.parent().unwrap());
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    profile.join(format!("lib{}.so", package.replace('-', "_")))
}

fn probe() -> &'static Path {
    static PROBE: OnceLock<PathBuf> = OnceLock::new();
    PROBE.get_or_init(|| object("SPANK_TEST_PROBE", "spank-probe"))
}

/// The example plug-in that installs.
pub fn renice() -> &'static Path {
    static RENICE: OnceLock<PathBuf> = OnceLock::new();
    RENICE.get_or_init(|| object("SPANK_TEST_RENICE", "spank-renice"))
}

/// What the probe noted of one hook.
#[derive(Clone, Debug)]
pub struct Line(String);

impl Line {
    /// The words in their order.
    pub fn words(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split(' ').map(|word| word.split_once('=').unwrap())
    }

    pub fn get(&self, key: &str) -> &str {
        let value = self.words().find(|(it, _)| *it == key).map(|(_, value)| value);
        value.unwrap_or_else(|| panic!("no {key} in {}", self.0))
    }

    /// Such as `init/remote/batch`.
    pub fn place(&self) -> String {
        format!("{}/{}/{}", self.get("hook"), self.get("context"), self.get("step"))
    }
}

/// A cluster with the probe.
pub struct Lab {
    pub cluster: Cluster,
}

/// The plugstack.conf line, of which `{dir}` is the cluster's directory.
fn line(mode: &str, arguments: &str) -> String {
    format!("{mode} {} record={{dir}}/record {arguments}\n", probe().display())
}

/// Starts a cluster with a required probe: slurmd has to know of its prolog and epilog from the start.
pub fn lab(arguments: &str, change: impl FnOnce(Builder) -> Builder) -> Lab {
    use std::os::unix::fs::PermissionsExt;
    let builder = Cluster::builder().plugstack(&line("required", arguments)).file("record", "");
    let cluster = change(builder).start().unwrap();
    let record = cluster.dir().join("record");
    std::fs::set_permissions(record, std::fs::Permissions::from_mode(0o666)).unwrap();
    Lab { cluster }
}

impl Lab {
    /// Replaces plugstack.conf, which clients and steps read when they start, by a line for the probe.
    pub fn set(&self, mode: &str, arguments: &str) {
        self.plugstack(&line(mode, arguments));
    }

    /// The same with two lines.
    pub fn set_two(&self, one: &str, two: &str) {
        self.plugstack(&format!("{}{}", line("required", one), line("required", two)));
    }

    /// Replaces the whole file, and forgets what was noted.
    pub fn plugstack(&self, text: &str) {
        let text = text.replace("{dir}", &self.cluster.dir().to_string_lossy());
        std::fs::write(self.cluster.dir().join("etc/plugstack.conf"), text).unwrap();
        self.forget();
    }

    pub fn forget(&self) {
        std::fs::write(self.cluster.dir().join("record"), "").unwrap();
    }

    /// What was noted since.
    pub fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(self.cluster.dir().join("record")).unwrap();
        text.lines().map(|line| Line(line.to_owned())).collect()
    }

    /// The first line of a hook such as `init/remote/normal`.
    pub fn at(&self, place: &str) -> Line {
        let lines = self.lines();
        let found = lines.iter().find(|line| line.place() == place).cloned();
        found.unwrap_or_else(|| panic!("no {place} in {lines:#?}"))
    }

    /// Runs a command as the job user, with a variable that the probe looks for.
    pub fn run(&self, words: &[&str]) -> Output {
        self.cluster.user(words).env("PROBE_GIVEN", "yes").output()
    }

    /// Waits until nothing runs; the epilog is over then too.
    pub fn settle(&self) {
        self.cluster.wait_idle(SOON);
    }
}

/// The version as Slurm's commands tell it.
pub fn version(cluster: &Cluster) -> String {
    let out = cluster.root(&["scontrol", "-V"]).output().stdout;
    out.split_whitespace().last().unwrap().to_owned()
}
