//! The instances of one plug-in in one process: which line of plugstack.conf a call belongs to.
//!
//! Slurm loads a `.so` that is listed twice once, and calls its hooks once per line (its own test
//! for that compares pointers and never fires). Lines with different arguments are independent
//! instances; a line that repeats another's arguments does nothing.
#![forbid(unsafe_code)]

use crate::handle::phase::Which;
use crate::hook::Args;

/// One line of plugstack.conf.
pub struct Instance<P> {
    /// The address of its argument array, which Slurm keeps for the life of the line.
    line: usize,
    pub args: Args,
    pub plugin: Option<P>,
    pub broken: bool,
}

/// Which instance a call is for.
pub enum Found<'i, P> {
    Instance(&'i mut Instance<P>),
    /// A line that repeats another's arguments; `first_time` says that this is news.
    Repeated {
        first_time: bool,
    },
}

pub struct Instances<P> {
    list: Vec<Instance<P>>,
    repeated: Vec<usize>,
    bare: Bare,
}

/// Lines without arguments have no array, so calls of theirs are told apart by counting: in `init`,
/// `job_prolog` and `job_epilog`, which run once per line and process, the second is a repetition;
/// the other hooks follow in turns.
struct Bare {
    lines: usize,
    calls: [usize; Which::ALL.len()],
}

impl Bare {
    /// Counts a call; true if it is one of the first bare line.
    fn is_first_line(&mut self, hook: Which) -> (bool, bool) {
        let Some(calls) = self.calls.get_mut(hook as usize) else {
            return (true, false);
        };
        let call = *calls;
        *calls += 1;
        let once_per_line = matches!(hook, Which::Init | Which::JobProlog | Which::JobEpilog);
        if once_per_line {
            let news = call >= self.lines && call > 0;
            self.lines = self.lines.max(call + 1);
            return (call == 0, news);
        }
        (call.is_multiple_of(self.lines.max(1)), false)
    }
}

impl<P> Instances<P> {
    pub const fn new() -> Self {
        Instances {
            list: Vec::new(),
            repeated: Vec::new(),
            bare: Bare { lines: 0, calls: [0; Which::ALL.len()] },
        }
    }

    /// The instance of a call of `hook` with these arguments at the address `line`.
    pub fn find(&mut self, hook: Which, line: usize, arguments: Vec<Vec<u8>>) -> Found<'_, P> {
        let args = Args(arguments);
        let line = if args.is_empty() { 0 } else { line };
        if line == 0 {
            let (first, news) = self.bare.is_first_line(hook);
            if !first {
                return Found::Repeated { first_time: news };
            }
        }
        let known = self.list.iter().position(|instance| instance.args == args);
        let at = known.unwrap_or_else(|| {
            self.list.push(Instance { line, args, plugin: None, broken: false });
            self.list.len() - 1
        });
        let first_time = !self.repeated.contains(&line);
        match self.list.get_mut(at) {
            Some(instance) if instance.line == line => Found::Instance(instance),
            _ => {
                if first_time {
                    self.repeated.push(line);
                }
                Found::Repeated { first_time }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|w| w.as_bytes().to_vec()).collect()
    }

    fn is_instance(found: Found<'_, ()>, words: &[&str]) -> bool {
        match found {
            Found::Instance(instance) => {
                instance.args.iter().eq(words.iter().map(|w| w.as_bytes()))
            }
            Found::Repeated { .. } => false,
        }
    }

    #[test]
    fn lines_with_different_arguments_are_independent() {
        let mut all = Instances::new();
        assert!(is_instance(all.find(Which::Init, 16, words(&["one"])), &["one"]));
        assert!(is_instance(all.find(Which::Init, 32, words(&["two"])), &["two"]));
        assert!(is_instance(all.find(Which::Exit, 16, words(&["one"])), &["one"]));
    }

    /// CASES A08.
    #[test]
    fn a_line_with_the_same_arguments_does_nothing_and_says_so_once() {
        let mut all: Instances<()> = Instances::new();
        assert!(is_instance(all.find(Which::Init, 16, words(&["x"])), &["x"]));
        assert!(matches!(
            all.find(Which::Init, 32, words(&["x"])),
            Found::Repeated { first_time: true }
        ));
        assert!(matches!(
            all.find(Which::Exit, 32, words(&["x"])),
            Found::Repeated { first_time: false }
        ));
        assert!(is_instance(all.find(Which::Exit, 16, words(&["x"])), &["x"]));
    }

    #[test]
    fn bare_lines_take_turns() {
        let mut all: Instances<()> = Instances::new();
        assert!(is_instance(all.find(Which::Init, 0, Vec::new()), &[]));
        assert!(matches!(
            all.find(Which::Init, 0, Vec::new()),
            Found::Repeated { first_time: true }
        ));
        for _ in 0..3 {
            assert!(is_instance(all.find(Which::TaskPostFork, 0, Vec::new()), &[]));
            assert!(matches!(
                all.find(Which::TaskPostFork, 0, Vec::new()),
                Found::Repeated { first_time: false }
            ));
        }
    }

    #[test]
    fn one_bare_line_gets_every_call() {
        let mut all: Instances<()> = Instances::new();
        for hook in [Which::Init, Which::TaskPostFork, Which::TaskPostFork, Which::Exit] {
            assert!(is_instance(all.find(hook, 0, Vec::new()), &[]));
        }
    }
}
