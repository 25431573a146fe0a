//! The worker: loads switch.lua and calls its functions, as the plug-in asks over a pipe.
//!
//! Requests come on standard input and replies go to standard output, which are one socket: a JSON
//! value a line (`switch_lua_core::wire`). It is moved away before the script is loaded, so whatever the script
//! or a program it starts reads or writes there is /dev/null.
//!
//! It forks twice: the process that slurmstepd started ends at once, so that the others are no
//! descendants of slurmstepd; a guard stays and kills the worker if the plug-in's end of the socket closes.

mod guard;
mod script;
mod setup;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;
use std::rc::Rc;

use switch_lua_core::wire::{Reply, Request, VERSION};

use script::Script;

/// Where replies go.
pub struct Replies(File);

impl Replies {
    /// Sends one reply. A plug-in that does not read any more has no use for a worker.
    pub fn send(&self, reply: &Reply) {
        let sent = serde_json::to_vec(reply).map_err(std::io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            (&self.0).write_all(&line)
        });
        if sent.is_err() {
            setup::leave();
        }
    }
}

fn main() -> ExitCode {
    let prepared = setup::socket().and_then(|pipes| Ok((pipes, setup::part()?)));
    let ((requests, replies), part) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            eprintln!(
                "switch-lua-worker: {error}; it is started by spank_switch_lua.so and is of no use \
                 by itself"
            );
            return ExitCode::from(2);
        }
    };
    let replies = Rc::new(Replies(replies));
    if let setup::Part::Guard(worker) = part {
        guard::watch(worker, requests, &replies);
    }
    serve(BufReader::new(requests), &replies);
    // Not by returning: closing the Lua state runs finalizers of the script, which nobody bounds.
    setup::leave()
}

/// Answers requests until there are no more.
fn serve(requests: BufReader<File>, replies: &Rc<Replies>) {
    let mut script: Option<Script> = None;
    for line in requests.lines() {
        let request = line.and_then(|line| Ok(serde_json::from_str::<Request>(&line)?));
        let reply = match (request, &script) {
            (Ok(Request::Load { version, .. }), _) if version != VERSION => Reply::NotLoaded {
                reason: format!(
                    "the plug-in speaks version {version} and its worker {VERSION}: install both anew"
                ),
            },
            (Ok(Request::Load { script: path, .. }), None) => match Script::load(&path, replies) {
                Ok((loaded, reply)) => {
                    script = Some(loaded);
                    reply
                }
                Err(reason) => Reply::NotLoaded { reason },
            },
            (Ok(Request::Call { function, step }), Some(script)) => script.call(function, &step),
            (Ok(Request::Finish), _) => return,
            (Ok(_), _) => Reply::NotLoaded { reason: "asked out of order".into() },
            (Err(error), _) => Reply::NotLoaded { reason: format!("the request: {error}") },
        };
        replies.send(&reply);
    }
}
