//! Scripts that reach out, hang, crash and grow: over at the deadline, and nothing is left of them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::compiled::Compiled;
use crate::site::{SOON, Site, site};

/// Runs a managed step whose preinit has this body, with `timeout=2`: it runs, and soon.
fn goes_on(site: &Site, body: &str, words: &[&str]) {
    site.set_script(&format!(
        "function slurm_switch_step_preinit(step) note('preinit', step)\n{body}\nend\n\
         function slurm_switch_step_init(step) note('init', step) return 0 end\n"
    ));
    let mark = site.cluster.mark();
    let start = Instant::now();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!((out.code, out.stdout.as_str()), (Some(0), "ran\n"), "{body}\n{}", out.stderr);
    assert!(start.elapsed() < Duration::from_secs(20), "{body}: {:?}", start.elapsed());
    site.wait_clean();
    assert_eq!(site.functions(), ["preinit", "init"], "{body}");
    let log = site.cluster.since(&mark).slurmd("node1").to_owned();
    let told = log
        .lines()
        .any(|l| l.contains("error: switch/lua") && words.iter().all(|word| l.contains(word)));
    assert!(told, "no line with {words:?} for {body}\n{log}");
    assert!(!site.is_drained("node1"));
    nothing_left();
}

/// No process of a script is left: they all sleep for a number of seconds that only they use.
fn nothing_left() {
    let deadline = Instant::now() + SOON;
    while Command::new("pgrep").args(["-f", "sleep 61236"]).status().unwrap().success() {
        assert!(Instant::now() < deadline, "a child of a script is left");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn loops_sleeps_and_exits_are_over_at_the_deadline() {
    let site = site("").arguments("timeout=2").start();
    let late = ["slurm_switch_step_preinit", "no answer within 2 s"];
    goes_on(&site, "while true do end", &late);
    goes_on(&site, "while true do pcall(function() while true do end end) end", &late);
    goes_on(
        &site,
        "return string.rep('a', 40):find(string.rep('a?', 40) .. string.rep('a', 40))",
        &late,
    );
    goes_on(&site, "os.execute('sleep 61236 & sleep 61236')", &late);
    goes_on(&site, "return io.popen('sleep 61236'):read('a')", &late);
    goes_on(&site, "os.exit(3)", &["os.exit is not available"]);
    goes_on(&site, "pcall(os.exit) return 'x'", &["returned string and not a number"]);
    goes_on(&site, "os.execute('kill -9 $PPID')", &["killed by signal 9"]);
}

/// In time, the memory is what ends it.
#[test]
fn growth_ends_at_the_memory_limit() {
    let site = site("").arguments("timeout=15").start();
    goes_on(
        &site,
        "local t = {} while true do t[#t + 1] = string.rep('x', 1 << 20) .. #t end",
        &["slurm_switch_step_preinit", "memory"],
    );
}

/// The same at the top level: such a script cannot be loaded.
#[test]
fn a_top_level_that_hangs_fails_the_step_at_the_deadline() {
    let site = site("while true do end").arguments("timeout=1").start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_ne!(out.code, Some(0));
    assert_eq!(out.stdout, "");
    assert!(site.said("node1").iter().any(|line| line.contains("no answer within 1 s")));
    site.wait_clean();
    assert!(!site.is_drained("node1"));
}

#[test]
fn a_c_module_that_crashes_is_a_failed_call() {
    let module = Compiled::new("crash", &[]);
    let site = site("").start();
    let body = format!(
        "package.cpath = '{}/?.so' local crash = require('crash')",
        module.folder().display()
    );
    goes_on(&site, &body, &["the worker ended without an answer", "killed by signal 11"]);
}

/// SW-066: LuaSocket works; CASES A42: the user's LUA_PATH does not matter.
#[test]
fn lua_socket_talks_to_a_server_whatever_the_users_lua_path_says() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (stream, _) = server.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        writeln!(&stream, "hello {}", line.trim()).unwrap();
    });
    let site = site(&format!(
        "local socket = require('socket')\n\
         function slurm_switch_step_init(step)\n\
           local c = assert(socket.connect('127.0.0.1', {port}))\n\
           c:send('job ' .. step.job_id .. '\\n')\n\
           local reply = assert(c:receive())\n\
           c:close()\n\
           return 0, {{REPLY = reply}}\n\
         end\n"
    ))
    .start();
    let fake = site.cluster.work().join("socket.lua");
    std::fs::write(&fake, "error('the module of a user')").unwrap();
    let path = site.cluster.work().join("?.lua");
    let path = path.to_str().unwrap();
    let out = site
        .cluster
        .user(&["srun", "--network=x", "sh", "-c", "echo $REPLY"])
        .env("LUA_PATH", path)
        .env("LUA_PATH_5_4", path)
        .env("LUA_CPATH", path)
        .env("LUA_INIT", "os.exit(1)")
        .output();
    assert_eq!(out.stdout, "hello job 1\n", "{}", out.stderr);
    answering.join().unwrap();
    site.wait_clean();
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let site = site("").arguments("timeout=2").start();
    let body =
        format!("local c = require('socket').connect('127.0.0.1', {port}) return c:receive()");
    goes_on(&site, &body, &["slurm_switch_step_preinit", "no answer within 2 s"]);
    drop(server);
}

/// SW-195: what a function leaves running is not cleaned up, and holds nothing of Slurm's open.
#[test]
fn what_a_function_starts_is_left_alone() {
    let site = site(
        "function slurm_switch_step_preinit(step)\n\
           os.execute('sleep 61237 </dev/null >/dev/null 2>&1 &') return 0\n\
         end\n",
    )
    .start();
    let out = site.run(&["srun", "--network=x", "echo", "ran"]);
    assert_eq!(out.stdout, "ran\n");
    site.wait_clean();
    let found = Command::new("pgrep").args(["-f", "sleep 61237"]).output().unwrap();
    let pid = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    assert!(!pid.is_empty(), "it was ended");
    for fd in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
        let target = std::fs::read_link(fd.unwrap().path()).unwrap();
        assert_eq!(target.to_str(), Some("/dev/null"));
    }
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
}
