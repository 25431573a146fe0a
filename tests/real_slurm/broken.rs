//! What can be broken around the script: slurmctld, the state directory, a record, the script itself,
//! the plugstack.conf line. No node is drained by any of it, and nothing that needs no script suffers.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::site::{ALL_ZERO, SOON, Site, site};

const TEXT: &str = "Error configuring interconnect";

/// Steps without --network run, managed ones fail with one line about it, nothing is drained.
fn only_managed_steps_fail(site: &Site, words: &[&str]) {
    let mark = site.cluster.mark();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_ne!(out.code, Some(0), "{words:?}");
    assert_eq!(out.stdout, "", "{words:?}");
    assert_eq!(out.stderr.matches(TEXT).count(), 1, "{}", out.stderr);
    let log = site.cluster.since(&mark).slurmd("node1").to_owned();
    let lines: Vec<&str> = log
        .lines()
        .filter(|l| l.contains("error: switch/lua: ") && words.iter().all(|w| l.contains(w)))
        // The epilog of the job may have come by, and says what is wrong as well.
        .filter(|line| line.contains("] ["))
        .collect();
    assert_eq!(lines.len(), 1, "lines with {words:?}: {lines:#?}\n{log}");
    everything_else_goes_on(site);
    assert_eq!(site.functions(), Vec::<String>::new(), "{words:?}");
}

fn everything_else_goes_on(site: &Site) {
    let out = site.run(&["srun", "-Q", "echo", "ran"]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(0), "ran\n"), "{}", out.stderr);
    assert_eq!(out.stderr, "");
    let job = site.cluster.sbatch("#!/bin/sh\ntrue\n", &["--network=x"]);
    let ended = site.cluster.wait_job(job, SOON);
    assert_eq!((ended.state.as_str(), ended.restarts), ("COMPLETED", 0));
    site.cluster.wait_idle(SOON);
    assert!(!site.is_drained("node1"));
}

/// SW-022 to SW-030, CASES A51: each way in which a script cannot be loaded, one clear line.
#[test]
fn a_script_that_cannot_be_loaded_fails_managed_steps_alone() {
    let site = site(ALL_ZERO).start();
    let path = site.cluster.dir().join("etc/switch.lua");
    let name = path.to_str().unwrap().to_owned();
    let write = |text: &[u8]| {
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir(&path);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    };
    write(b"function f(\n");
    only_managed_steps_fail(&site, &["switch/lua", &name]);
    write(b"\nerror('at top level')\n");
    only_managed_steps_fail(&site, &["switch/lua", "switch.lua:2:", "at top level"]);
    write(b"return 7\n");
    only_managed_steps_fail(&site, &["switch/lua", &name, "returned 7 on load"]);
    write(b"return slurm.ERROR\n");
    only_managed_steps_fail(&site, &["switch/lua", &name, "returned -1 on load"]);
    write(b"\x1bLua");
    only_managed_steps_fail(&site, &["switch/lua", &name]);
    write(b"");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    only_managed_steps_fail(&site, &["switch/lua", &name, "666"]);
    write(b"");
    chown(&path, Some(site.cluster.job_user().0), None).unwrap();
    only_managed_steps_fail(&site, &["switch/lua", &name, "owned by"]);
    std::fs::remove_file(&path).unwrap();
    only_managed_steps_fail(&site, &["switch/lua", "Unable to stat", &name]);
    std::fs::create_dir(&path).unwrap();
    only_managed_steps_fail(&site, &["switch/lua", &name]);
    std::fs::remove_dir(&path).unwrap();
    // And these load: SW-027, and what editors leave in files.
    let loads: [&[u8]; 7] = [
        b"",
        b"return",
        b"return 0",
        b"return 'x'",
        b"\xef\xbb\xbf-- BOM",
        b"#!/usr/bin/lua\n",
        b"--\r\nx = 1\r\n",
    ];
    for text in loads {
        write(text);
        let out = site.run(&["srun", "--network=x", "echo", "ran"]);
        assert_eq!(out.stdout, "ran\n", "{:?}: {}", text.escape_ascii().to_string(), out.stderr);
    }
    site.wait_clean();
}

/// A wrong word in plugstack.conf stops neither slurmd nor a submission nor an unmanaged job.
#[test]
fn a_typo_in_the_plugstack_line_fails_managed_steps_alone() {
    for typo in ["drian=now", "timeout=soon", "verbose", "script=switch.lua"] {
        let site = site(ALL_ZERO).arguments(typo).start();
        let log = site.cluster.slurmd_log("node1");
        let at_start =
            log.lines().filter(|l| l.contains("error: switch/lua") && l.contains(typo)).count();
        assert_eq!(at_start, 1, "{log}");
        only_managed_steps_fail(&site, &["switch/lua", "plugstack.conf argument", typo]);
        site.cluster.stop_slurmd("node1");
        site.cluster.start_slurmd("node1");
        everything_else_goes_on(&site);
    }
}

/// What would fail each managed step is said when slurmd starts, and so is what is in force.
#[test]
fn slurmd_says_at_its_start_what_is_configured_and_what_is_missing() {
    let at_start = |arguments: &str| {
        let site = site(ALL_ZERO).arguments(arguments).start();
        site.said("node1")
    };
    let said = at_start("drain=now");
    assert!(said.iter().any(|l| l.contains("switch/lua: version") && l.contains("drain=now")));
    assert!(!said.iter().any(|l| l.contains("error:")), "{said:#?}");
    let said = at_start("script=/no/switch.lua state_dir=/no/state");
    for words in ["script /no/switch.lua is no file", "above state_dir=/no/state is missing"] {
        assert!(said.iter().any(|l| l.contains("error: ") && l.contains(words)), "{said:#?}");
    }
}

fn mount(at: &Path, options: &str) {
    let out = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "spank-test"])
        .arg(at)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

fn unmount(at: &Path) {
    assert!(Command::new("umount").arg(at).status().unwrap().success());
}

#[test]
fn a_state_directory_that_cannot_be_used_fails_managed_steps_alone() {
    let site = site(ALL_ZERO).arguments("state_dir={dir}/bad/state").start();
    let bad = site.cluster.dir().join("bad");
    let state = bad.join("state");
    let name = state.to_str().unwrap().to_owned();
    // The folder above is missing.
    only_managed_steps_fail(&site, &["switch/lua", &name, "the folder above it"]);
    std::fs::create_dir(&bad).unwrap();
    // A link, and a folder of the user's.
    std::fs::create_dir(bad.join("real")).unwrap();
    symlink(bad.join("real"), &state).unwrap();
    only_managed_steps_fail(&site, &["switch/lua", &name, "a link"]);
    std::fs::remove_file(&state).unwrap();
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
    let user = site.cluster.job_user().0;
    chown(&state, Some(user), None).unwrap();
    let owned = format!("owned by uid {user}");
    only_managed_steps_fail(&site, &["switch/lua", &name, &owned]);
    std::fs::remove_dir(&state).unwrap();
    // Read-only, and full.
    mount(&bad, "size=64k,mode=755");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
    let remount = |options: &str| {
        let out = Command::new("mount").args(["-o", options]).arg(&bad).status().unwrap();
        assert!(out.success());
    };
    remount("remount,ro");
    only_managed_steps_fail(&site, &["switch/lua", &name, "Read-only file system"]);
    remount("remount,rw");
    let filler = std::fs::write(bad.join("filler"), vec![1u8; 1 << 20]);
    assert!(filler.is_err());
    only_managed_steps_fail(&site, &["switch/lua", &name, "No space left on device"]);
    std::fs::remove_file(bad.join("filler")).unwrap();
    // And with room again it works.
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!(out.stdout, "ran\n");
    site.cluster.wait_idle(SOON);
    assert_eq!(site.functions(), ["preinit", "init", "postfini"]);
    unmount(&bad);
}

/// A torn record is named, and neither the step that comes nor the postfini that is owed is lost.
#[test]
fn a_record_that_is_cut_in_half_is_named_and_loses_nothing() {
    let site = site(&ALL_ZERO.replace(
        "note(\"postfini\", step, info) return 0 end",
        "note(\"postfini\", step, info) if step.orphans then return -1 end return 0 end",
    ))
    .start();
    let command = "srun sleep 61235 & while [ ! -e cut ]; do sleep 0.05; done; \
                   srun -n1 --overlap true; echo $?; touch second; wait";
    let salloc = site.cluster.user(&["salloc", "--network=x", "sh", "-c", command]).spawn();
    site.cluster.wait_for("the first step", SOON, || {
        site.cluster.processes_of_user().iter().any(|(_, title)| title.ends_with("/sleep 61235"))
    });
    let job = site.state_dir().join("node1:job-1");
    for file in ["job", "0.0.step"] {
        let text = std::fs::read(job.join(file)).unwrap();
        std::fs::write(job.join(file), &text[..text.len() / 2]).unwrap();
    }
    std::fs::write(site.cluster.work().join("cut"), "").unwrap();
    site.cluster.wait_for("the second step", SOON, || site.cluster.work().join("second").exists());
    let stepd = site.cluster.stepds().into_iter().find(|stepd| stepd.step == "0").unwrap();
    assert_eq!(site.cluster.root(&["kill", "-9", &stepd.pid.to_string()]).output().code, Some(0));
    assert_eq!(site.cluster.root(&["scancel", "1"]).output().code, Some(0));
    let out = salloc.wait();
    assert!(out.stdout.contains("0\n"), "{}\n{}", out.stdout, out.stderr);
    // The torn step's postfini ran in the epilog, and its answer counted.
    site.cluster.wait_for("the drain", SOON, || site.is_drained("node1"));
    site.wait_clean();
    let functions = site.functions();
    assert_eq!(functions, ["preinit", "init", "preinit", "init", "postfini", "postfini"]);
    let said = site.said("node1");
    for file in ["node1:job-1/job", "node1:job-1/0.0.step"] {
        let torn = said.iter().any(|l| l.contains(file) && l.contains("torn or foreign"));
        assert!(torn, "{file}\n{said:#?}");
    }
}

/// The step of a job whose record slurmctld does not give: `on_lookup_failure=`.
///
/// slurmctld is stopped while the node's prolog runs, which is after the step was made and before
/// its slurmstepd starts.
fn look_up_fails(arguments: &str, network_in_environment: bool) -> (Site, Option<i32>, String) {
    let prolog = "#!/bin/sh\ntouch {dir}/in_prolog\n\
                  while [ ! -e {dir}/go ]; do sleep 0.05; done\n";
    let site = site(ALL_ZERO)
        .arguments(arguments)
        .with(|b| b.slurm_conf("Prolog={dir}/etc/prolog\nMessageTimeout=2\n"))
        .start();
    let dir = site.cluster.dir().to_owned();
    let prolog = prolog.replace("{dir}", dir.to_str().unwrap());
    std::fs::write(dir.join("etc/prolog"), prolog).unwrap();
    std::fs::set_permissions(dir.join("etc/prolog"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    let mut run = site.cluster.user(&["srun", "--network=x", "echo", "ran"]);
    if network_in_environment {
        // From 24.05 on srun does it itself (SLURM-FACTS, section 5).
        run = run.env("SLURM_NETWORK", "x");
    }
    let srun = run.timeout(3 * SOON).spawn();
    site.cluster.wait_for("the prolog", SOON, || dir.join("in_prolog").exists());
    site.cluster.stop_slurmctld();
    std::fs::write(dir.join("go"), "").unwrap();
    site.cluster.wait_for("the look-up to fail", 2 * SOON, || {
        site.said("node1").iter().any(|line| line.contains("slurm_load_job(job 1)"))
    });
    // Without it slurmstepd cannot report the step's end.
    site.cluster.start_slurmctld();
    let out = srun.wait();
    (site, out.code, out.stdout)
}

#[test]
fn a_look_up_that_fails_fails_a_step_that_says_it_is_managed() {
    let (site, code, stdout) = look_up_fails("", true);
    assert_ne!(code, Some(0));
    assert_eq!(stdout, "");
    site.wait_clean();
    assert!(!site.is_drained("node1"));
    assert_eq!(site.functions(), Vec::<String>::new());
    let said = site.said("node1");
    assert!(said.iter().any(|l| l.contains(TEXT) && l.contains("SLURM_NETWORK")), "{said:#?}");
}

#[test]
fn a_look_up_that_fails_is_ignored_otherwise() {
    for (arguments, in_environment) in [("", false), ("on_lookup_failure=ignore", true)] {
        let (site, code, stdout) = look_up_fails(arguments, in_environment);
        if !in_environment && site.cluster.version() >= (24, 5) {
            // There srun always says so in the step's environment, as the test above has it.
            assert_ne!(code, Some(0));
            continue;
        }
        assert_eq!((code, stdout.as_str()), (Some(0), "ran\n"), "{arguments}");
        site.wait_clean();
        assert!(!site.is_drained("node1"));
        let said = site.said("node1");
        let line = said.iter().filter(|l| l.contains("it is not known whether")).count();
        assert_eq!(line, 1, "{said:#?}");
    }
}
