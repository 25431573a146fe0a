//! Options, the environment of prolog and epilog, and the task's command line, on the handles.
#![forbid(unsafe_code)]

use std::ffi::CString;

use super::caps::{BeforeExec, CanRegister, ControlEnv, GetOpt, OptionsKnown};
use super::{Handle, context};
use crate::env;
use crate::error::{Code, Error, Result};
use crate::option::{Occurrences, Opt};

impl<P, C> Handle<'_, P, C>
where
    (P, C): OptionsKnown,
{
    /// How an option was given; `None` if it was not. In prolog and epilog Slurm keeps its last
    /// occurrence, elsewhere all of this process are known.
    ///
    /// # Errors
    /// If Slurm refuses the question (in prolog and epilog).
    pub fn option(&self, opt: &Opt) -> Result<Option<Occurrences>> {
        if self.raw.context() == context::Which::JobScript {
            return self.ask(opt);
        }
        // Held for moments only, and by nobody who could panic.
        let options = self.options.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(options.values.get(opt).cloned())
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): GetOpt,
{
    /// The same asked from Slurm (`spank_option_getopt`), which looks an option up by its name alone: one
    /// of the same name of another plug-in answers as well.
    ///
    /// # Errors
    /// If Slurm refuses the question.
    pub fn getopt(&self, opt: &Opt) -> Result<Option<Occurrences>> {
        self.ask(opt)
    }
}

impl<P, C> Handle<'_, P, C> {
    fn ask(&self, opt: &Opt) -> Result<Option<Occurrences>> {
        let what = || opt.name.to_string_lossy().into_owned().into();
        self.raw
            .getopt(opt)
            .map(|given| given.map(|argument| Occurrences(vec![argument])))
            .map_err(|code| Error::Host { call: "spank_option_getopt", what: what(), code })
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): CanRegister,
{
    /// Registers one more option, for plug-ins that learn of their options at run time. Those of
    /// [`Plugin::OPTIONS`](crate::Plugin::OPTIONS) are registered by the runtime.
    ///
    /// # Errors
    /// If Slurm refuses it.
    pub fn register(&mut self, opt: &'static Opt) -> Result<()> {
        let mut options = self.options.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        options.register(&self.raw, opt)
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): ControlEnv,
{
    /// A variable of the environment of prolog and epilog, without its prefix `SPANK_`; `None` if it is
    /// not set.
    ///
    /// # Errors
    /// If the name holds a NUL byte, or in scrontab, which has no such environment.
    pub fn control_getenv(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        env::control_get(&self.raw, name)
    }

    /// Sets a variable for prolog and epilog, on the controller and on the nodes; they see it as
    /// `SPANK_<name>`. It is the user's value there: any user can set such variables.
    ///
    /// # Errors
    /// If it is set and `overwrite` is false; for a name or value that cannot be passed; in scrontab.
    pub fn control_setenv(&mut self, name: &[u8], value: &[u8], overwrite: bool) -> Result<()> {
        // Slurm keeps the old value without a word (spank_job_control_setenv, 22.05.8).
        if !overwrite && env::control_get(&self.raw, name)?.is_some() {
            let what = name.escape_ascii().to_string().into();
            let (call, code) = ("spank_job_control_setenv", Code::ENV_EXISTS);
            return Err(Error::Host { call, what, code });
        }
        env::control_set(&self.raw, name, value, overwrite)
    }

    /// Removes a variable of prolog and epilog.
    ///
    /// # Errors
    /// For a name that cannot be one; in scrontab.
    pub fn control_unsetenv(&mut self, name: &[u8]) -> Result<()> {
        env::control_unset(&self.raw, name)
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): BeforeExec,
{
    /// Puts words before the task's command line (`spank_prepend_task_argv`, 23.11 and later).
    ///
    /// # Errors
    /// [`Error::Unsupported`] on earlier releases; if a word holds a NUL byte, or there is no task.
    pub fn prepend_argv(&self, words: &[&[u8]]) -> Result<()> {
        let nul = |_| Error::Value {
            what: "a word of the command line".into(),
            reason: "holds a NUL byte",
        };
        let words: Vec<CString> =
            words.iter().map(|word| CString::new(*word)).collect::<Result<_, _>>().map_err(nul)?;
        let call = "spank_prepend_task_argv";
        match self.raw.prepend_argv(&words) {
            None => Err(Error::Unsupported { what: "spank_prepend_task_argv (23.11 and later)" }),
            Some(Ok(())) => Ok(()),
            Some(Err(code)) => Err(Error::Host { call, what: "the task".into(), code }),
        }
    }
}
