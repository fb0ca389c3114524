//! Programs that answer requests: one line of JSON for each line of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::process::shown;

/// A running program. It is started once and then measures in every round, so that it loads its
/// models only once.
pub(crate) struct Program {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Name and version of what it measures.
    pub(crate) engine: String,
}

impl Program {
    /// Starts a program, whose first line names its engine.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = shown(command);
        eprintln!("$ {name}");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{name}`"))?;
        let output = child.stdout.take().context("its output is a pipe")?;
        let mut program = Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
            name,
            engine: String::new(),
        };
        let first = program.line()?;
        program.engine = first["engine"].as_str().unwrap_or_default().to_owned();
        Ok(program)
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&mut self, request: &Value) -> Result<Value> {
        let input = self.input.as_mut().context("the program has ended")?;
        writeln!(input, "{request}")
            .and_then(|()| input.flush())
            .with_context(|| format!("`{}` does not accept {request}", self.name))?;
        self.line()
            .with_context(|| format!("no answer to {request}"))
    }

    fn line(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| {
            format!(
                "`{}`: expected a line of JSON, found {line:?}; its message is above",
                self.name
            )
        })
    }
}

impl Drop for Program {
    /// Closes the program's input, at which it ends by itself.
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use xtask::process::command;

    #[test]
    fn a_program_answers_each_request() {
        let mut echo = command("sh");
        echo.args(["-c", r#"echo '{"engine":"cat 1"}'; exec cat"#]);
        let mut program = Program::start(&mut echo).unwrap();
        assert_eq!(program.engine, "cat 1");
        for request in [json!({ "do": "this" }), json!({ "do": "that" })] {
            assert_eq!(program.ask(&request).unwrap(), request);
        }
    }

    #[test]
    fn a_program_that_ends_early_is_named_with_the_request() {
        let mut short = command("sh");
        short.args(["-c", r#"echo '{"engine":"x"}'; read line; exit 1"#]);
        let mut program = Program::start(&mut short).unwrap();
        let error = format!("{:#}", program.ask(&json!({ "do": "it" })).unwrap_err());
        assert!(
            error.contains(r#"{"do":"it"}"#) && error.contains("sh -c"),
            "{error}"
        );
    }
}
