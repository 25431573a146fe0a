//! Options that a plug-in adds to srun, salloc and sbatch.
//!
//! An option is data, listed in [`Plugin::OPTIONS`](crate::Plugin::OPTIONS). The runtime registers it in
//! `slurm_spank_init` of every context where Slurm allows that, remembers what was given, and answers in
//! prolog and epilog too, where init never runs. A user can also give it by the environment variable
//! `SLURM_SPANK__SLURM_SPANK_OPTION_<plug-in>_<option>`, each character that is no letter or digit as `_`.
#![forbid(unsafe_code)]

use std::ffi::CStr;

use spank_sys::SPANK_OPTION_MAXLEN;

/// Whether an option takes an argument (`has_arg` of `struct spank_option`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasArg {
    /// `--name`.
    No,
    /// `--name=VALUE`.
    Required,
    /// `--name` or `--name=VALUE`.
    Optional,
}

/// What a check of an option gets.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The number of [`Opt::val`].
    pub val: i32,
    /// The argument; `None` where none was given or the option takes none.
    pub argument: Option<&'a [u8]>,
    /// False where the command was typed, true on the node.
    pub remote: bool,
}

/// Accepts an option or says what is wrong with it.
pub type Check = fn(Given<'_>) -> Result<(), String>;

/// An option.
#[derive(Debug)]
pub struct Opt {
    pub(crate) name: &'static CStr,
    pub(crate) usage: &'static CStr,
    pub(crate) arginfo: Option<&'static CStr>,
    pub(crate) has_arg: HasArg,
    pub(crate) val: i32,
    pub(crate) check: Option<Check>,
}

impl Opt {
    /// An option without an argument.
    ///
    /// # Panics
    /// At compile time, in a constant, if the name is empty or longer than the 75 characters that Slurm
    /// takes, holds a character that no command line could pass, or the usage is empty: Slurm refuses an
    /// option without it (spank.c, `spank_option_register`).
    #[allow(clippy::indexing_slicing)] // evaluated at compile time, within bounds
    pub const fn new(name: &'static CStr, usage: &'static CStr) -> Opt {
        let bytes = name.to_bytes();
        assert!(!bytes.is_empty(), "an option needs a name");
        assert!(bytes.len() <= SPANK_OPTION_MAXLEN as usize, "the name is longer than 75 bytes");
        assert!(!usage.to_bytes().is_empty(), "Slurm refuses an option without a usage text");
        let mut i = 0;
        while i < bytes.len() {
            let c = bytes[i];
            assert!(c.is_ascii_alphanumeric() || c == b'-' || c == b'_', "not an option's name");
            i += 1;
        }
        Opt { name, usage, arginfo: None, has_arg: HasArg::No, val: 0, check: None }
    }

    /// The same with a required argument, shown as `arginfo` in the help.
    pub const fn argument(mut self, arginfo: &'static CStr) -> Opt {
        self.arginfo = Some(arginfo);
        self.has_arg = HasArg::Required;
        self
    }

    /// The same with an argument that may be left out.
    pub const fn optional_argument(mut self, arginfo: &'static CStr) -> Opt {
        self.arginfo = Some(arginfo);
        self.has_arg = HasArg::Optional;
        self
    }

    /// The same with a number for its check.
    pub const fn val(mut self, val: i32) -> Opt {
        self.val = val;
        self
    }

    /// The same with a check. Where the command was typed, a refusal ends it with the text; on a node it
    /// is only logged and the option counts as not given, as Slurm does it.
    pub const fn check(mut self, check: Check) -> Opt {
        self.check = Some(check);
        self
    }

    /// The name.
    pub fn name(&self) -> &'static CStr {
        self.name
    }

    /// The name of the environment variable by which a user can give the option, for the plug-in `plugin`.
    pub fn variable(&self, plugin: &CStr) -> String {
        let canonical = |name: &CStr| -> String {
            name.to_bytes()
                .iter()
                .map(|c| if c.is_ascii_alphanumeric() { char::from(*c) } else { '_' })
                .collect()
        };
        format!("SLURM_SPANK__SLURM_SPANK_OPTION_{}_{}", canonical(plugin), canonical(self.name))
    }

    /// Sorts what Slurm passes as the argument: an option without one gets a text when it came by the
    /// environment, and Slurm turns "no value" into the text `(null)` on its way (spank.c,
    /// `_option_setenv`).
    pub(crate) fn argument_of(&self, text: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match self.has_arg {
            HasArg::No => None,
            HasArg::Required => text,
            HasArg::Optional => text.filter(|text| text != b"(null)" && !text.is_empty()),
        }
    }
}

/// How an option was given: every occurrence, in Slurm's order (sbatch: `#SBATCH` lines, environment,
/// command line; srun and salloc: environment, command line). On the nodes Slurm keeps the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occurrences(pub(crate) Vec<Option<Vec<u8>>>);

impl Occurrences {
    /// The argument of the last occurrence, which is the one that counts.
    pub fn argument(&self) -> Option<&[u8]> {
        self.0.last().and_then(|argument| argument.as_deref())
    }

    /// The argument of each occurrence.
    pub fn all(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.0.iter().map(|argument| argument.as_deref())
    }
}

/// What was given of each option in this process.
#[derive(Debug, Default)]
pub(crate) struct Values(Vec<(&'static CStr, Occurrences)>);

impl Values {
    pub(crate) const fn new() -> Values {
        Values(Vec::new())
    }

    /// Notes an occurrence. On a node an option counts once, although up to 23.11 Slurm calls back twice
    /// for it, for the message and for the environment.
    pub(crate) fn note(&mut self, opt: &Opt, argument: Option<Vec<u8>>, remote: bool) {
        let at = self.0.iter().position(|(name, _)| *name == opt.name).unwrap_or_else(|| {
            self.0.push((opt.name, Occurrences::default()));
            self.0.len() - 1
        });
        if let Some((_, occurrences)) = self.0.get_mut(at) {
            if remote {
                occurrences.0.clear();
            }
            occurrences.0.push(argument);
        }
    }

    pub(crate) fn get(&self, opt: &Opt) -> Option<&Occurrences> {
        self.0.iter().find(|(name, _)| *name == opt.name).map(|(_, occurrences)| occurrences)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Opt = Opt::new(c"site-flag", c"a flag");
    const MAYBE: Opt = Opt::new(c"site-tag", c"a tag").optional_argument(c"TAG").val(3);

    /// CASES A23.
    #[test]
    fn the_variable_of_an_option_has_two_underscores() {
        let name = "SLURM_SPANK__SLURM_SPANK_OPTION_ours_site_tag";
        assert_eq!(MAYBE.variable(c"ours"), name);
    }

    /// CASES A22.
    #[test]
    fn an_option_without_an_argument_has_none_whatever_the_route() {
        for text in [None, Some(b"1".to_vec()), Some(b"(null)".to_vec())] {
            assert_eq!(PLAIN.argument_of(text), None);
        }
        assert_eq!(MAYBE.argument_of(Some(b"(null)".to_vec())), None);
        assert_eq!(MAYBE.argument_of(Some(b"x".to_vec())), Some(b"x".to_vec()));
    }

    /// CASES A20.
    #[test]
    fn a_remote_occurrence_replaces_the_one_before() {
        let mut values = Values::default();
        for _ in 0..2 {
            values.note(&MAYBE, Some(b"/a:/b".to_vec()), true);
        }
        assert_eq!(values.get(&MAYBE).unwrap().all().count(), 1);
        let mut values = Values::default();
        values.note(&MAYBE, Some(b"fromenv".to_vec()), false);
        values.note(&MAYBE, Some(b"cli".to_vec()), false);
        let given = values.get(&MAYBE).unwrap();
        assert_eq!(given.argument(), Some(&b"cli"[..]));
        assert_eq!(given.all().count(), 2);
        assert!(values.get(&PLAIN).is_none());
    }

    proptest! {
        #[test]
        fn a_variable_is_a_name_whatever_the_plugin_is_called(name in "[ -~]{1,40}") {
            let plugin = std::ffi::CString::new(name).unwrap();
            let variable = PLAIN.variable(&plugin);
            prop_assert!(variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        }
    }
}
