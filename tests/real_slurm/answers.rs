//! Answers that have no consequences: positive numbers, other types, nothing, Lua errors.

use crate::site::{ALL_ZERO, Site, site};

/// The script with one function's answer replaced.
fn answering(function: &str, body: &str) -> String {
    let zero = format!("note(\"{function}\", step, info) return 0 end");
    let script = ALL_ZERO.replace(&zero, &format!("note(\"{function}\", step, info) {body} end"));
    assert_ne!(script, ALL_ZERO);
    script
}

/// The step runs, all three functions are called, and the log has one line with these words.
fn goes_on(site: &Site, script: &str, words: &[&str]) {
    site.set_script(script);
    let mark = site.cluster.mark();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(0), "ran\n"), "{script}\n{}", out.stderr);
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit", "init", "postfini"], "{script}");
    let log = site.cluster.since(&mark).slurmd("node1").to_owned();
    let line = log.lines().find(|line| words.iter().all(|word| line.contains(word)));
    assert!(line.is_some(), "no line with {words:?} for\n{script}\n{log}");
    assert!(!site.is_drained("node1"), "{script}");
}

/// SW-205 to SW-207, SW-218, SW-234, SW-235, SW-245.
#[test]
fn anything_but_a_negative_number_goes_on_and_is_logged() {
    let site = site(ALL_ZERO).start();
    for short in ["preinit", "init", "postfini"] {
        let name = format!("slurm_switch_step_{short}");
        let cases: [(&str, &[&str]); 7] = [
            ("return 5", &["error:", &name, "returned 5"]),
            ("return slurm.EAGAIN", &["error:", &name, "returned 11"]),
            ("return '-1'", &["error:", &name, "returned string and not a number"]),
            ("return {}", &["error:", &name, "returned table and not a number"]),
            ("", &["error:", &name, "returned nothing and not a number"]),
            ("error('boom')", &["error:", &name, "switch.lua:", "boom"]),
            ("local x = nil; return x.y", &["error:", &name, "attempt to index a nil value"]),
        ];
        for (body, words) in cases {
            goes_on(&site, &answering(short, body), words);
        }
    }
}

/// SW-206: script, line and traceback.
#[test]
fn a_lua_error_is_logged_with_its_traceback() {
    let site = site("").start();
    let script = format!(
        "local function deep()\n  error('boom')\nend\n{}",
        answering("preinit", "deep() return -1")
    );
    goes_on(&site, &script, &["traceback:", "slurm_switch_step_preinit", "switch.lua:", "deep"]);
}

/// SW-232, SW-217: −0.5 is a negative number as well.
#[test]
fn a_negative_fraction_is_negative() {
    let site = site(&answering("preinit", "return -0.5")).start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_ne!(out.code, Some(0));
    assert_eq!(out.stdout, "");
    site.wait_clean();
}

/// A global of a function's name that is something else is named, and nothing else happens.
#[test]
fn a_global_that_is_no_function_is_named() {
    let site = site("slurm_switch_step_preinit = 5\n").start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!(out.stdout, "ran\n");
    site.wait_clean();
    let said = site.said("node1");
    assert!(
        said.iter().any(|l| l.contains("slurm_switch_step_preinit is of type integer")),
        "{said:?}"
    );
}

/// SW-236 to SW-245, CASES A40, A44, A52: lines go to the daemon's log with their level and prefix,
/// and nothing of the script's goes to the user's terminal.
#[test]
fn what_the_script_logs_has_level_and_prefix() {
    let site = site(
        "slurm.log_info('top %d', 1)\n\
         function slurm_switch_step_preinit(step)\n\
           print('printed', 1, nil) io.write('lost')\n\
           slurm.log_info('%s %s', 'a', nil) slurm.log_error('50%%')\n\
           slurm.log_verbose('v') slurm.log_debug('d') slurm.log(0, 'level') slurm.error('e\\nf')\n\
           assert(slurm.SUCCESS == 0 and slurm.ERROR == -1 and slurm.FAILURE == -1)\n\
           assert(slurm.EAGAIN == 11)\n\
           local t = slurm.from_json(slurm.to_json({a = {1, 2}}))\n\
           local y = slurm.from_yaml(slurm.to_yaml({b = 'c'}))\n\
           local ok, message = pcall(slurm.from_json, '{')\n\
           slurm.log_info('%d %s %s', t.a[2], y.b, tostring(ok))\n\
           return 0\n\
         end\n",
    )
    .start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("ran\n", ""));
    site.wait_clean();
    let log = site.cluster.slurmd_log("node1");
    let name = "switch/lua: slurm_switch_step_preinit:";
    for line in [
        "switch/lua: load: top 1".to_owned(),
        format!("{name} printed\t1\tnil"),
        format!("{name} a nil"),
        format!("error: {name} 50%"),
        format!("{name} v"),
        format!("debug:  {name} d"),
        format!("{name} level"),
        format!("error: {name} e\\nf"),
        format!("{name} 2 c false"),
    ] {
        let line = line.replace('\t', "\\t");
        let found = log.replace('\t', "\\t").lines().any(|l| l.ends_with(&line));
        assert!(found, "no line ends with {line:?}\n{log}");
    }
    assert!(!log.contains("lost"));
}

/// `log=` keeps less than Slurm would.
#[test]
fn the_log_argument_drops_what_is_deeper() {
    let script = "function slurm_switch_step_preinit(step)\n\
                    slurm.log_info('an info') slurm.log_error('an error') return 0 end\n";
    let site = site(script).arguments("log=error").start();
    assert_eq!(site.run(&["srun", "--network=x", "true"]).code, Some(0));
    site.wait_clean();
    let log = site.cluster.slurmd_log("node1");
    assert!(log.contains("an error") && !log.contains("an info"), "{log}");
}
