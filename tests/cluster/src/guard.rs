//! A process that cleans up when the test process dies without dropping its cluster.
//!
//! It waits on a pipe: a word means that all is clean, the end of the pipe that the test process is
//! gone.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::process;

/// Follows the same rules as `proc::of_cluster`, except for descent: what shows neither the
/// environment nor an open file of the cluster is left alone.
const SCRIPT: &str = r#"
trap '' HUP INT TERM PIPE
dir=$1 keep=$2 uid=$3
if read -r word && [ "$word" = clean ]; then exit 0; fi
round=0
while [ "$round" -lt 100 ]; do
  found=
  for entry in /proc/[0-9]*; do
    pid=${entry#/proc/}
    [ "$pid" = "$$" ] && continue
    ours=
    if tr '\0' '\n' <"$entry/environ" | grep -qxF "SLURM_CONF=$dir/etc/slurm.conf"; then ours=1; fi
    case $(readlink "$entry/exe") in
      */slurm*|*/munge*) if ls -l "$entry/fd" | grep -qF " -> $dir/"; then ours=1; fi ;;
    esac
    case $(readlink "$entry/cwd") in
      "$dir"/*) if [ "$(stat -c %u "$entry")" = "$uid" ]; then ours=1; fi ;;
    esac
    if [ -n "$ours" ]; then kill -KILL "$pid"; found=1; fi
  done
  [ -z "$found" ] && break
  round=$((round + 1))
  sleep 0.1
done
shift 3
for name; do
  for top in /sys/fs/cgroup/*/"$name"; do
    [ -d "$top" ] && find "$top" -depth -type d -exec rmdir {} +
  done
done
[ "$keep" = keep ] || rm -rf "$dir"
"#;

/// The guard of one cluster.
pub(crate) struct Guard {
    child: Child,
}

impl Guard {
    /// Starts the guard of a directory, of jobs with this user and of control groups with these
    /// names.
    pub(crate) fn start(
        dir: &Path,
        keep: bool,
        job_uid: u32,
        cgroups: &[String],
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "slurm-guard"]).arg(dir).arg(if keep {
            "keep"
        } else {
            "remove"
        });
        command
            .arg(job_uid.to_string())
            .args(cgroups)
            .env_clear()
            .env("PATH", crate::config::PATH)
            .current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        process::detach(&mut command);
        Ok(Self { child: command.spawn()? })
    }

    /// Tells the guard that nothing is left to do.
    pub(crate) fn release(mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            let _ = pipe.write_all(b"clean\n");
        }
        let _ = self.child.wait();
    }
}
