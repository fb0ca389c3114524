//! One process under a fault.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use xtask::process::command;

/// Longest time of any command; a longer one hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// User and group without rights, for faults of permissions when the campaign runs as root.
const NOBODY: u32 = 65_534;

/// Conditions that a process runs under. Its limits are set by the shell that becomes it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conditions<'a> {
    /// Address space in KiB.
    pub(super) memory: Option<u64>,
    /// Size of a file in units of 512 bytes. Writing beyond it is an error, not a signal.
    pub(super) file: Option<u64>,
    /// The intervention, and the time until it.
    pub(super) intervention: Option<(Duration, Intervention<'a>)>,
    /// Whether it runs as a user without rights.
    pub(super) as_nobody: bool,
}

/// What happens to the process after some time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Intervention<'a> {
    Signal(&'static str),
    /// SIGTERM, and again after this time.
    TermTwice(Duration),
    /// This folder and those below can no longer be written to.
    ReadOnly(&'a Path),
}

/// How a process ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) time: Duration,
    /// Whether it still ran when the intervention came.
    pub(super) affected: bool,
    pub(super) hung: bool,
}

impl Ended {
    /// Returns the exit code, or the number of the signal below zero.
    pub(super) fn code(&self) -> i32 {
        let signal = self.status.signal().map(|signal| -signal);
        self.status.code().or(signal).unwrap_or(i32::MIN)
    }
}

/// Returns whether this process is root's.
pub(super) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|of| std::os::unix::fs::MetadataExt::uid(&of) == 0)
}

/// Runs a program with arguments, `logs` being a folder for what it says.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(
    program: &Path,
    arguments: &[String],
    logs: &Path,
    conditions: Conditions<'_>,
) -> Result<Ended> {
    let mut process = under(program, conditions);
    let (out, err) = (logs.join("stdout"), logs.join("stderr"));
    process
        .args(arguments)
        .current_dir(logs)
        .env("HOME", logs)
        .env("XDG_CACHE_HOME", logs.join("cache"))
        .env("RUST_BACKTRACE", "0")
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?);
    if conditions.as_nobody {
        process.uid(NOBODY).gid(NOBODY);
    }
    let begun = Instant::now();
    let mut child = process.spawn().context("starting trainer")?;
    let mut affected = false;
    if let Some((after, intervention)) = conditions.intervention
        && wait(&mut child, begun + after)?.is_none()
    {
        affected = true;
        intervene(&child, intervention)?;
    }
    let (status, hung) = match wait(&mut child, begun + PATIENCE)? {
        Some(status) => (status, false),
        None => {
            child.kill()?;
            (child.wait()?, true)
        }
    };
    let text = |path: &Path| fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned());
    Ok(Ended {
        status,
        stdout: text(&out)?,
        stderr: text(&err)?,
        time: begun.elapsed(),
        affected,
        hung,
    })
}

fn under(program: &Path, conditions: Conditions<'_>) -> Command {
    if conditions.memory.is_none() && conditions.file.is_none() {
        return command(program);
    }
    let word = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
    let mut shell = command("sh");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -v \"$1\"; ulimit -f \"$2\"; shift 2; exec \"$@\"",
        "sh",
        &word(conditions.memory),
        &word(conditions.file),
    ]);
    shell.arg(program);
    shell
}

/// Waits until a moment; returns the status if the process ends before.
pub(super) fn wait(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        sleep(left.min(Duration::from_millis(2)));
    }
}

fn intervene(child: &Child, intervention: Intervention<'_>) -> Result<()> {
    let signal = |name: &str| {
        let pid = child.id().to_string();
        // A process that has just ended needs no signal.
        let _ = command("kill").args([format!("-{name}"), pid]).output();
    };
    match intervention {
        Intervention::Signal(name) => signal(name),
        Intervention::TermTwice(pause) => {
            signal("TERM");
            sleep(pause);
            signal("TERM");
        }
        Intervention::ReadOnly(folder) => set_mode(folder, 0o555)?,
    }
    Ok(())
}

/// Sets the mode of a folder and of all folders below it.
///
/// # Errors
/// If the system refuses; a folder that has gone meanwhile is none.
pub(super) fn set_mode(folder: &Path, mode: u32) -> io::Result<()> {
    let set = || fs::set_permissions(folder, fs::Permissions::from_mode(mode));
    // A folder is opened before it is read, and closed after.
    if mode & 0o200 != 0 {
        missing_is_fine(set())?;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            set_mode(&entry.path(), mode)?;
        }
    }
    missing_is_fine(set())
}

fn missing_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Gives a folder and all below it to the user without rights.
///
/// # Errors
/// If the system refuses.
pub(super) fn give_to_nobody(path: &Path) -> io::Result<()> {
    chown(path, Some(NOBODY), Some(NOBODY))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)?.flatten() {
            give_to_nobody(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, conditions: Conditions<'_>) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-c".to_owned(), script.to_owned()];
        run(Path::new("/bin/sh"), &arguments, folder.path(), conditions).unwrap()
    }

    fn after(milliseconds: u64, intervention: Intervention<'_>) -> Conditions<'_> {
        Conditions {
            intervention: Some((Duration::from_millis(milliseconds), intervention)),
            ..Conditions::default()
        }
    }

    #[test]
    fn a_process_that_ends_before_the_signal_is_not_affected() {
        let kill = after(5_000, Intervention::Signal("KILL"));
        let ended = shell("echo a; echo b >&2; exit 3", kill);
        assert_eq!(
            (ended.code(), ended.affected, ended.hung),
            (3, false, false)
        );
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("a\n", "b\n")
        );
    }

    #[test]
    fn signals_reach_the_process_and_are_its_code() {
        let ended = shell("sleep 60", after(50, Intervention::Signal("KILL")));
        assert_eq!((ended.code(), ended.affected), (-9, true));
        let script = "S=$(date +%s); n=0; trap 'n=$((n+1)); [ $n = 2 ] && exit 9' TERM; \
                      while [ $(($(date +%s) - S)) -lt 20 ]; do sleep 0.05; done";
        let twice = Intervention::TermTwice(Duration::from_millis(300));
        let ended = shell(script, after(300, twice));
        assert_eq!((ended.code(), ended.affected), (9, true));
    }

    #[test]
    fn a_limit_of_a_file_is_an_error_of_the_write() {
        let conditions = Conditions {
            file: Some(2),
            ..Conditions::default()
        };
        let ended = shell(
            "head -c 5000 /dev/zero > big; echo $?; wc -c < big",
            conditions,
        );
        let lines: Vec<&str> = ended.stdout.split_whitespace().collect();
        assert_eq!(lines, ["1", "1024"], "{ended:?}");
    }
}
