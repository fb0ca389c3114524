//! Runs other programs: one place for echo, time limits, captured output and error texts.
//!
//! No child reads from standard input, so a run in the background cannot hang on a prompt.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Prefixes of the variables that `cargo run` sets for this package.
const OF_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// Returns a command without standard input.
///
/// It does not get the variables of this package either. The build script of `ring` depends on them, so
/// `ring` and the packages above it would be compiled again whenever a build is started by `cargo xtask`
/// after one from a shell.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if OF_PACKAGE.iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Returns the command line as a user would type it, for messages.
pub fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| {
        let arg = arg.to_string_lossy();
        if arg.is_empty() || arg.contains([' ', '*', '"', '$']) {
            format!("'{arg}'")
        } else {
            arg.into_owned()
        }
    }));
    words.join(" ")
}

/// Runs the command with its output shown.
///
/// # Errors
/// Fails if the program cannot be started or ends with a status other than 0.
pub fn run(command: &mut Command) -> Result<()> {
    echo(command);
    let status = command.status().with_context(|| cannot_start(command))?;
    check(command, status)
}

/// Runs the command silently and returns what it wrote to standard output.
///
/// # Errors
/// As [`run`]; the error then carries the end of the program's standard error.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({}):\n{}",
            shown(command),
            output.status,
            tail(&stderr, 12)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns whether the command can be started and ends with status 0; its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// Runs the command with its output shown, and kills it after `limit`.
///
/// # Errors
/// As [`run`], and when the limit was reached.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    echo(command);
    let mut child = command.spawn().with_context(|| cannot_start(command))?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return check(command, status);
        }
        if start.elapsed() > limit {
            child.kill().ok();
            child.wait().ok();
            bail!(
                "`{}` did not end within {} s",
                shown(command),
                limit.as_secs()
            );
        }
        sleep(Duration::from_millis(50));
    }
}

/// Runs the command, shows its standard output line by line and passes every line to `on_line`. A
/// status other than 0 is returned, not an error: the caller interprets it.
///
/// # Errors
/// Fails if the program cannot be started or its output cannot be read.
pub fn stream(command: &mut Command, mut on_line: impl FnMut(&str)) -> Result<ExitStatus> {
    echo(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| cannot_start(command))?;
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut bytes = Vec::new();
        // Reads bytes instead of `lines()`: a test may print invalid UTF-8.
        while reader.read_until(b'\n', &mut bytes)? > 0 {
            let line = String::from_utf8_lossy(&bytes);
            print!("{line}");
            on_line(line.trim_end());
            bytes.clear();
        }
    }
    Ok(child.wait()?)
}

/// Every file called `program` in the folders of the user's search path (in order) and then in `extra`.
pub fn candidates(program: &str, extra: &[PathBuf]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(extra.iter().cloned())
        .map(|folder| folder.join(program))
        .filter(|file| file.is_file())
        .collect()
}

/// Returns the first file called `program` on the user's search path.
pub fn on_path(program: &str) -> Option<PathBuf> {
    candidates(program, &[]).into_iter().next()
}

/// Returns the first file called `program` on the user's search path if it starts: on Ubuntu, a browser may
/// only ask to install a snap.
pub fn working(program: &str) -> Option<PathBuf> {
    on_path(program).filter(|found| succeeds(command(found).arg("--version")))
}

/// The user's search path with `folders` prepended, for a child.
///
/// # Errors
/// Fails if a folder's name contains the separator of search paths.
pub fn prepend(folders: &[&Path]) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let front = folders.iter().map(|f| f.to_path_buf());
    std::env::join_paths(front.chain(std::env::split_paths(&path)))
        .context("a tool's folder cannot be part of a search path")
}

fn echo(command: &Command) {
    eprintln!("$ {}", shown(command));
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() {
        Ok(())
    } else {
        bail!("`{}` failed ({status})", shown(command))
    }
}

fn cannot_start(command: &Command) -> String {
    format!(
        "cannot start `{}`: is it installed and on the PATH?",
        shown(command)
    )
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.trim_end().lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_does_not_get_the_variables_of_this_package() {
        // `cargo test` sets it, as `cargo run` does.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let c = command("cargo");
        let changed: Vec<_> = c.get_envs().collect();
        assert!(changed.contains(&(OsStr::new("CARGO_PKG_NAME"), None)));
        assert!(changed.contains(&(OsStr::new("CARGO_MANIFEST_DIR"), None)));
        assert!(!changed.iter().any(|(name, _)| *name == "PATH"));
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut c = command("cargo");
        c.args(["test", "--test", "a*", ""]);
        assert_eq!(shown(&c), "cargo test --test 'a*' ''");
    }

    #[test]
    fn a_failure_carries_the_end_of_standard_error() {
        let mut c = command("sh");
        c.args(["-c", "echo first >&2; echo last >&2; exit 3"]);
        let message = capture(&mut c).unwrap_err().to_string();
        assert!(
            message.contains("exit status: 3") && message.ends_with("last"),
            "{message}"
        );
    }

    #[test]
    fn a_command_past_its_limit_is_killed_and_named() {
        let start = Instant::now();
        let mut c = command("sleep");
        let message = run_within(c.arg("20"), Duration::from_millis(150))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("sleep 20") && message.contains("did not end"),
            "{message}"
        );
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn every_line_is_passed_on_even_if_it_is_not_utf8() {
        let mut lines = Vec::new();
        let mut c = command("printf");
        c.arg(r"one\n\377two\nthree");
        assert!(
            stream(&mut c, |l| lines.push(l.to_owned()))
                .unwrap()
                .success()
        );
        assert_eq!(lines, ["one", "\u{fffd}two", "three"]);
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let message = run(&mut command("no-such-program-here"))
            .unwrap_err()
            .to_string();
        assert!(message.contains("no-such-program-here"), "{message}");
    }

    #[test]
    fn prepended_folders_are_searched_first() {
        let path = prepend(&[Path::new("/tools")]).unwrap();
        let mut folders = std::env::split_paths(&path);
        assert_eq!(folders.next(), Some(PathBuf::from("/tools")));
        assert_eq!(
            folders.next(),
            std::env::split_paths(&std::env::var_os("PATH").unwrap()).next()
        );
    }
}
