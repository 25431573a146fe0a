//! Small C objects of the tests, compiled when they are needed.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A shared object in a folder of its own.
pub struct Compiled {
    folder: tempfile::TempDir,
    name: String,
}

impl Compiled {
    /// Compiles `tests/real_slurm/NAME.c`.
    pub fn new(name: &str, flags: &[&str]) -> Compiled {
        let folder = tempfile::Builder::new().permissions(world_readable()).tempdir().unwrap();
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/real_slurm/{name}.c"));
        let object = Compiled { folder, name: name.to_owned() };
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(object.path())
            .arg(source)
            .args(flags)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        object
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join(format!("{}.so", self.name))
    }

    /// A plugstack.conf line for it.
    pub fn required(&self) -> String {
        format!("required {}\n", self.path().display())
    }
}

/// srun, as the user, loads plug-ins too.
fn world_readable() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o755)
}
