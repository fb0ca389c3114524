//! Calls of the trainer, written as a user types them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::trainer_command;

/// A call of the trainer that has not begun.
pub struct Call(Command);

/// The exit code and the output of a call.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub said: String,
}

/// Returns a call with these words, which white space separates.
pub fn call(words: &str) -> Call {
    Call(trainer_command()).with(words)
}

/// Returns the logged values of the steps of a run.
#[track_caller]
pub fn metrics(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let value = |line| serde_json::from_str(line).unwrap();
    text.lines().map(value).collect()
}

impl Call {
    /// Adds words, which white space separates.
    pub fn with(mut self, words: &str) -> Self {
        self.0.args(words.split_whitespace());
        self
    }

    /// Adds one argument, which may contain white space.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.0.arg(arg);
        self
    }

    /// Adds arguments, which may contain white space.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.0.args(args);
        self
    }

    /// Adds an option and its value, which may contain white space.
    pub fn set(self, option: &str, value: impl AsRef<OsStr>) -> Self {
        self.arg(option).arg(value)
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Returns the command, to be started in another way.
    pub fn command(self) -> Command {
        self.0
    }

    /// Runs it to its end; it must not panic.
    #[track_caller]
    pub fn ended(mut self) -> Ended {
        let output = self.0.output();
        let output = output.unwrap_or_else(|e| panic!("{:?}: {e}", self.0));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let ended = Ended {
            code: output.status.code(),
            out: text(&output.stdout),
            said: text(&output.stderr),
        };
        let panicked = ended.said.contains("panicked");
        assert!(!panicked, "{:?}: {}", self.0, ended.said);
        ended
    }

    /// Runs it to its end, which must have this exit code and say these words.
    #[track_caller]
    pub fn ends_with(self, code: i32, words: &[&str]) -> Ended {
        let call = format!("{:?}", self.0);
        let ended = self.ended();
        assert_eq!(ended.code, Some(code), "{call}: {}", ended.said);
        for word in words {
            let said = &ended.said;
            assert!(said.contains(word), "{call}: no `{word}` in: {said}");
        }
        ended
    }

    /// Runs it to its end, which must be a success.
    #[track_caller]
    pub fn done(self) -> Ended {
        self.ends_with(0, &[])
    }

    /// Runs it to its end; it must be refused as bad usage with these words.
    #[track_caller]
    pub fn refused(self, words: &[&str]) -> Ended {
        self.ends_with(2, words)
    }

    /// Runs it to its end, which must be a success; returns the JSON that it prints.
    #[track_caller]
    pub fn json(self) -> Value {
        self.done().json()
    }
}

impl Ended {
    /// Returns standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let json = serde_json::from_str(&self.out);
        json.unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Returns standard output as JSON, one value a line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let json = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        self.out.lines().map(json).collect()
    }
}
