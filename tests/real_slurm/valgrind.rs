//! slurmstepd and sbatch under valgrind's memcheck, with our plug-ins loaded: no error of ours.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::site::{ALL_ZERO, SOON, Site, site};

/// The errors in valgrind's logs that have a frame of one of our objects.
///
/// The logs lie in the user's folder: each task is a valgrind of its own until its exec.
fn ours(site: &Site, prefix: &str) -> (usize, Vec<String>) {
    let mut logs = 0;
    let mut errors = Vec::new();
    for entry in std::fs::read_dir(site.cluster.work()).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_str().unwrap().starts_with(prefix) {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        logs += usize::from(text.contains("ERROR SUMMARY"));
        // A block ends with a line that holds nothing but valgrind's mark.
        let mut block = String::new();
        for line in text.lines() {
            let content = line.trim_start_matches(|c: char| c == '=' || c.is_ascii_digit()).trim();
            if content.is_empty() {
                let guilty =
                    ["libspank_", "spank::", "switch_lua"].iter().any(|w| block.contains(w));
                if guilty && (block.contains(" at 0x") || block.contains("at 0x")) {
                    errors.push(std::mem::take(&mut block));
                }
                block.clear();
            } else {
                block.push_str(content);
                block.push('\n');
            }
        }
    }
    (logs, errors)
}

#[test]
fn memcheck_finds_nothing_of_ours_in_slurmstepd_and_sbatch() {
    let site = site(ALL_ZERO).start();
    let dir = site.cluster.dir().display().to_string();
    let wrapper = site.cluster.dir().join("etc/slurmstepd");
    let command = format!(
        "#!/bin/sh\nexec valgrind --leak-check=no --log-file={dir}/work/stepd-%p.log \
         /usr/sbin/slurmstepd \"$@\"\n"
    );
    std::fs::write(&wrapper, command).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    site.cluster.stop_slurmd("node1");
    let conf = site.cluster.conf().to_str().unwrap().to_owned();
    let wrapper = wrapper.to_str().unwrap();
    let mut slurmd =
        site.cluster.root(&["slurmd", "-D", "-N", "node1", "-f", &conf, "-d", wrapper]).spawn();
    site.cluster.wait_for("slurmd under the wrapper", SOON, || {
        slurmd.is_running() && site.state("node1").starts_with("IDLE")
    });
    let client = format!("--log-file={dir}/work/sbatch-%p.log");
    let out = site
        .cluster
        .user(&["valgrind", "--leak-check=no", &client, "sbatch", "--network=x", "-W", "--wrap"])
        .output();
    assert_ne!(out.code, Some(0), "an sbatch without a command: its exit hook runs all the same");
    let words = ["--network=x", "-n2", "-W", "--wrap", "srun true"];
    let sbatch = [&["valgrind", "--leak-check=no", &client, "sbatch"][..], &words].concat();
    let out = site.cluster.user(&sbatch).timeout(Duration::from_secs(300)).output();
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    site.cluster.wait_for("postfini", 2 * SOON, || site.calls().len() == 3);
    site.wait_clean();
    let (logs, errors) = ours(&site, "stepd-");
    // The batch step, the step, and the epilog.
    assert!(logs >= 3, "{logs} logs");
    assert!(errors.is_empty(), "{errors:#?}");
    let (logs, errors) = ours(&site, "sbatch-");
    assert_eq!(logs, 2);
    assert!(errors.is_empty(), "{errors:#?}");
    drop(slurmd);
}
