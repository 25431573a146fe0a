//! The example script that is shipped: its directives on the nodes, and that they are off.

use crate::site::{Site, site};

const EXAMPLE: &str = include_str!("../../plugins/switch-lua/switch.lua.example");
const REFUSAL: &str = "Error configuring interconnect";
const WHOLE: [&str; 3] = ["preinit", "init", "postfini"];

/// The script with some of the settings at its top changed.
fn example(settings: &[(&str, &str)]) -> String {
    let mut script = EXAMPLE.to_owned();
    for (name, value) in settings {
        let line = format!("local {name} = false\n");
        assert!(script.contains(&line), "{name}");
        script = script.replace(&line, &format!("local {name} = {value}\n"));
    }
    script
}

fn with_directives() -> String {
    example(&[("ALLOW_DIRECTIVES", "true")])
}

/// What came of one job.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    log: String,
    drained: bool,
}

/// Runs a step with these words, and puts the node back into service.
fn run(site: &Site, words: &str, command: &str) -> Ran {
    let mark = site.cluster.mark();
    let network = format!("--network=switchlua:{words}");
    let out = site.run(&["srun", &network, "sh", "-c", command]);
    site.wait_clean();
    let drained = site.is_drained("node1");
    if drained {
        site.cluster.resume("node1");
    }
    Ran {
        code: out.code,
        stdout: out.stdout,
        stderr: out.stderr,
        log: site.cluster.since(&mark).slurmd("node1").to_owned(),
        drained,
    }
}

impl Ran {
    /// The step functions that the script says were called.
    fn calls(&self) -> Vec<&str> {
        self.log
            .lines()
            .filter_map(|line| line.split_once("switchlua: step_"))
            .filter_map(|(_, call)| call.split_once("(): StepId="))
            .map(|(function, _)| function)
            .collect()
    }

    fn went_on(&self, words: &str) {
        assert_eq!(self.code, Some(0), "{words}: {}", self.stderr);
        assert_eq!(self.stdout, "ran\n", "{words}");
        assert_eq!(self.calls(), WHOLE, "{words}\n{}", self.log);
        assert!(!self.drained, "{words}");
    }
}

/// SW-203 to SW-207, SW-217, SW-218, SW-232 to SW-235, SW-287, SW-288.
#[test]
fn every_directive_has_the_effect_that_the_example_tells_of() {
    let site = site(&with_directives()).start();
    for function in WHOLE {
        let name = format!("slurm_switch_step_{function}");
        let said = [
            ("positive", format!("error: switch/lua: {name}: returned 7")),
            ("string", format!("{name}: returned string")),
            ("nothing", format!("{name}: returned nothing")),
            ("crash", "switchlua: this error was asked for".to_owned()),
        ];
        for (answer, said) in said {
            let words = format!("{function}_{answer}");
            let ran = run(&site, &words, "echo ran");
            ran.went_on(&words);
            let line = ran.log.lines().find(|line| line.contains(&said));
            let line = line.unwrap_or_else(|| panic!("{words}: no {said:?}\n{}", ran.log));
            assert!(line.contains("error:"), "{words}: {line}");
        }
        let words = format!("{function}_fail");
        let ran = run(&site, &words, "echo ran");
        if function == "postfini" {
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ran\n"));
            assert!(ran.drained);
            assert_eq!(ran.calls(), WHOLE);
            continue;
        }
        assert_ne!(ran.code, Some(0), "{words}");
        assert_eq!(ran.stdout, "", "{words}");
        assert!(ran.stderr.contains(REFUSAL), "{words}: {}", ran.stderr);
        assert!(!ran.drained, "{words}");
        let expected = if function == "preinit" { &WHOLE[..1] } else { &WHOLE };
        assert_eq!(ran.calls(), expected, "{words}");
    }
}

/// SW-214, SW-216, SW-219 to SW-224.
#[test]
fn env_sets_each_kind_of_value() {
    let site = site(&with_directives()).start();
    let show = "echo $SWITCHLUA_TEXT/$SWITCHLUA_NUMBER/$SWITCHLUA_FLOAT/$SWITCHLUA_TRUE/\
                ${SWITCHLUA_FALSE-unset}/${SWITCHLUA_TABLE-unset}";
    let ran = run(&site, "env", show);
    assert_eq!(ran.stdout, "set by switch.lua/42/4/1/unset/unset\n");
    assert_eq!(ran.log.matches("skipped").count(), 2, "{}", ran.log);
    let out = site
        .cluster
        .user(&["srun", "--network=switchlua:env", "sh", "-c", show])
        .env("SWITCHLUA_FALSE", "was set")
        .output();
    assert_eq!(out.stdout, "set by switch.lua/42/4/1/unset/unset\n");
    site.wait_clean();

    let ran = run(&site, "env_string", "echo ran");
    ran.went_on("env_string");
    assert!(ran.log.contains("string"), "{}", ran.log);
}

/// The first word that is for a function counts; one that is for none is named.
#[test]
fn words_are_combined_and_a_wrong_one_is_named() {
    let site = site(&with_directives()).start();
    let ran = run(&site, "env+preinit_positive+postfini_fail+preinit_fail", "echo $SWITCHLUA_TEXT");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, "set by switch.lua\n");
    assert!(ran.drained);
    let ran = run(&site, "preinit_fial", "echo ran");
    ran.went_on("preinit_fial");
    assert!(ran.log.contains("switchlua: there is no directive preinit_fial"), "{}", ran.log);
    // Words of the controller's functions are no mistake, and nothing to the nodes.
    let ran = run(&site, "defer", "echo ran");
    ran.went_on("defer");
    assert!(!ran.log.contains("no directive"), "{}", ran.log);
}

/// A call that never ends counts as a Lua error.
#[test]
fn hang_is_ended_and_the_step_goes_on() {
    let site = site(&with_directives()).arguments("timeout=1").start();
    for function in WHOLE {
        let words = format!("{function}_hang");
        run(&site, &words, "echo ran").went_on(&words);
    }
}

/// SW-181 to SW-184, SW-190, SW-191: a setting, as this function gets no argument.
#[test]
fn special_steps_are_a_setting() {
    for (value, variable) in
        [("true", "set by switch.lua"), ("false", "unset"), ("\"crash\"", "unset")]
    {
        let script = example(&[("ALLOW_DIRECTIVES", "true"), ("SPECIAL_STEPS", value)]);
        let site = site(&script).start();
        let script = "#!/bin/sh\necho ${SWITCHLUA_TEXT-unset}\n";
        let options = ["--network=switchlua:env", "-o", "out"];
        let job = site.cluster.sbatch(script, &options);
        let ended = site.cluster.wait_job(job, crate::site::SOON);
        assert_eq!(ended.state, "COMPLETED", "{value}");
        site.wait_clean();
        let out = std::fs::read_to_string(site.cluster.work().join("out")).unwrap();
        assert_eq!(out.trim(), variable, "{value}");
    }
}

/// SW-283, SW-288, SW-290: as it is shipped, no user can do anything with it.
#[test]
fn with_the_directives_off_they_do_nothing() {
    let site = site(EXAMPLE).start();
    for words in
        ["preinit_fail", "preinit_crash", "init_fail", "init_hang", "postfini_fail", "nonsense"]
    {
        let ran = run(&site, words, "echo ran");
        ran.went_on(words);
        assert!(ran.log.contains("switch/lua: load: switchlua: script loaded"), "{}", ran.log);
        assert!(!ran.log.contains("error:"), "{}", ran.log);
    }
    let ran = run(&site, "env", "echo ${SWITCHLUA_TEXT-unset}");
    assert_eq!(ran.stdout, "unset\n");
}
