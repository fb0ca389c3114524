//! The results of several tasks, of which some may fail.

use espalier_io::exit::usage;
use espalier_io::output::note;

use super::report::Evaluated;
use crate::exit_code::code;

/// Results, and the tasks that have none.
#[derive(Default)]
pub(super) struct Results {
    /// Results in the order of the tasks.
    pub(super) done: Vec<Evaluated>,
    /// Names of the tasks that failed, each with its error.
    failed: Vec<String>,
}

impl Results {
    /// Adds the result of a task. The other tasks go on after bad data of one.
    ///
    /// # Errors
    /// Any other failure.
    pub(super) fn add(
        &mut self,
        name: &str,
        result: anyhow::Result<Evaluated>,
    ) -> anyhow::Result<()> {
        match result {
            Ok(result) => self.done.push(result),
            Err(error) if code(&error) == 2 => {
                note(format_args!("{name} has no result; going on"));
                self.failed.push(format!("{name}: {error:#}"));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Fails if a task has failed.
    ///
    /// # Errors
    /// Bad usage with the error of each task.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        match self.failed.as_slice() {
            [] => Ok(()),
            [one] if self.done.is_empty() => Err(usage(one.clone())),
            several => Err(usage(format!(
                "{} of {} tasks have no result:\n{}",
                several.len(),
                several.len() + self.done.len(),
                several.join("\n")
            ))),
        }
    }
}
