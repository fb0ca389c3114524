//! `cargo xtask torture --ranks`: one run in several processes is killed at random moments and resumed
//! with another number of processes each time. It must read every record that an unbroken run reads, in
//! the same order, and have the same losses.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xtask::process::command;

use super::chance::Chance;
use super::process::wait;

/// Longest time of an attempt.
const PATIENCE: Duration = Duration::from_secs(600);
/// Most processes of an attempt.
const MOST: u64 = 4;
/// Longest time from the start of an attempt to a kill that may hit any moment, in milliseconds.
const FROM_START: u64 = 4_000;
/// Longest time from a new checkpoint to a kill, in milliseconds.
const FROM_CHECKPOINT: u64 = 1_000;
/// One kill in so many does not wait for a new checkpoint.
const AT_ANY_MOMENT: u64 = 4;
/// Steps that a run does for each kill: enough that it has not ended before the last one.
const STEPS_A_KILL: u32 = 15;
/// Largest relative difference of a loss: other numbers of processes add gradients in other groups.
/// The runs learn slowly, since training in larger steps amplifies such a difference a thousand times
/// within a hundred steps.
const TOLERANCE: f64 = 1e-5;

/// What a campaign counted.
#[derive(Clone, Debug, Default)]
pub struct Kills {
    seed: u64,
    kills: u32,
    /// Kills after which the run went on from another checkpoint than before.
    with_progress: u32,
    steps: u32,
    /// Largest relative difference of a loss from the unbroken run.
    difference: f64,
    /// What differs from the unbroken run.
    pub violations: Vec<String>,
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} kills with seed {} in {} steps, {} of them after a new checkpoint; largest relative \
             difference of a loss from the unbroken run {:.1e}; {} violations",
            self.kills,
            self.seed,
            self.steps,
            self.with_progress,
            self.difference,
            self.violations.len()
        )?;
        for violation in &self.violations {
            writeln!(f, "  {violation}")?;
        }
        Ok(())
    }
}

/// When a rank is killed, in milliseconds.
#[derive(Clone, Copy, Debug)]
enum Moment {
    FromStart(u64),
    FromCheckpoint(u64),
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromStart(after) => write!(f, "{after} ms after the start"),
            Self::FromCheckpoint(after) => write!(f, "{after} ms after a new checkpoint"),
        }
    }
}

/// A run below a folder of logs.
struct Job<'a> {
    trainer: &'a Path,
    logs: PathBuf,
    steps: u32,
}

/// Runs a campaign of `kills` kills with a `trainer` that was built with MPI.
///
/// # Errors
/// If a run fails that nothing has killed, or the launcher is missing.
pub fn campaign(trainer: &Path, kills: u32, seed: u64) -> Result<Kills> {
    let folder = tempfile::tempdir().context("a temporary folder")?;
    let steps = kills * STEPS_A_KILL + STEPS_A_KILL;
    let job = |name: &str| Job {
        trainer,
        logs: folder.path().join(name),
        steps,
    };
    let (unbroken, killed) = (job("unbroken"), job("killed"));
    unbroken.complete(1)?;
    let mut chance = Chance::new(seed);
    let mut counts = Kills {
        seed,
        kills,
        steps,
        ..Kills::default()
    };
    let mut processes = 0;
    for number in 1..=kills {
        // Another number of processes than before.
        let drawn = chance.below(MOST - 1) + 1;
        processes = if drawn >= processes { drawn + 1 } else { drawn };
        let before = killed.last();
        let moment = if chance.below(AT_ANY_MOMENT) == 0 {
            Moment::FromStart(chance.below(FROM_START))
        } else {
            Moment::FromCheckpoint(chance.below(FROM_CHECKPOINT))
        };
        let victim = chance.below(processes);
        let found = killed.intervene(processes, victim, moment)?;
        let after = killed.last();
        counts.with_progress += u32::from(before != after);
        eprintln!(
            "{number}/{kills}: {processes} processes, rank {victim} killed {moment}: {found}; last \
             checkpoint {}",
            after.as_deref().unwrap_or("none")
        );
    }
    killed.complete(1 + chance.below(MOST))?;
    compare(&unbroken.metrics()?, &killed.metrics()?, &mut counts);
    counts.violations.extend(killed.temporary_files());
    Ok(counts)
}

impl Job<'_> {
    /// Starts the run, or resumes it.
    fn start(&self, processes: u64) -> Result<Child> {
        let mut run = match processes {
            1 => command(self.trainer),
            _ => {
                let mut launcher = command("mpirun");
                let options = "--allow-run-as-root --oversubscribe --bind-to none -n";
                launcher.args(options.split(' ')).arg(processes.to_string());
                launcher.arg(self.trainer);
                launcher
            }
        };
        let fixed = "fit --dataset synthetic --method hycoclip --model vit_t8_64 --batch-size 8 --lanes 4 \
                     --warmup 2 --lr 1e-5 --workers 1 --deterministic --save-frequency 3 --name a \
                     train.log_frequency=1 dataset.synthetic_records=1024";
        run.args(fixed.split_whitespace());
        run.arg("--logs").arg(&self.logs);
        run.args(["--steps", &self.steps.to_string()]);
        if self.logs.join("a/config.toml").exists() {
            run.args(["--resume", "latest"]);
        }
        fs::create_dir_all(&self.logs)?;
        let said = fs::File::create(self.logs.join("said.txt"))?;
        run.stdout(Stdio::null()).stderr(said);
        run.spawn()
            .with_context(|| format!("starting {}", run.get_program().display()))
    }

    /// Runs to the last step.
    fn complete(&self, processes: u64) -> Result<()> {
        let mut child = self.start(processes)?;
        let status = ended(&mut child)?;
        ensure!(
            status == Some(0),
            "expected a run of {processes} processes that ends well, found exit code {status:?}:\n{}",
            self.said()
        );
        Ok(())
    }

    /// Starts the run, kills one rank at a moment, and returns how the others ended.
    fn intervene(&self, processes: u64, victim: u64, moment: Moment) -> Result<String> {
        let before = self.last();
        let mut child = self.start(processes)?;
        let (Moment::FromStart(after) | Moment::FromCheckpoint(after)) = moment;
        if matches!(moment, Moment::FromCheckpoint(_)) {
            let begun = Instant::now();
            while self.last() == before && child.try_wait()?.is_none() {
                ensure!(
                    begun.elapsed() < PATIENCE,
                    "expected a new checkpoint, found none:\n{}",
                    self.said()
                );
                sleep(Duration::from_millis(20));
            }
        }
        sleep(Duration::from_millis(after));
        let target = match processes {
            1 => Some(child.id()),
            _ => self.process_of(victim),
        };
        let Some(target) = target.filter(|_| matches!(child.try_wait(), Ok(None))) else {
            // It has not started its ranks yet: the launcher is killed, and with it all of them.
            child.kill()?;
            child.wait()?;
            self.wait_for_ranks()?;
            return Ok("before its ranks had started".to_owned());
        };
        let _ = command("kill")
            .args(["-KILL", &target.to_string()])
            .output();
        let status = ended(&mut child)?;
        self.wait_for_ranks()?;
        if status == Some(0) {
            bail!("expected that a killed rank ends the run with an error, found exit code 0");
        }
        Ok(match status {
            Some(code) => format!("exit code {code}"),
            None => "ended by the signal".to_owned(),
        })
    }

    /// Waits until no process of the run is left, so that the next attempt is alone.
    fn wait_for_ranks(&self) -> Result<()> {
        let begun = Instant::now();
        while let Some(left) = self.processes().next() {
            ensure!(
                begun.elapsed() < PATIENCE,
                "process {left} outlives its run"
            );
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Returns the processes of the program that work on this run.
    fn processes(&self) -> impl Iterator<Item = u32> {
        let logs = self.logs.display().to_string();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(move |id| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.split(|b| *b == 0).any(|word| word == logs.as_bytes())
        })
    }

    fn process_of(&self, rank: u64) -> Option<u32> {
        let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
        self.processes().find(|id| {
            let variables = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            variables.split(|b| *b == 0).any(|v| v == wanted.as_bytes())
        })
    }

    fn said(&self) -> String {
        fs::read_to_string(self.logs.join("said.txt")).unwrap_or_default()
    }

    /// Returns the name of the last checkpoint.
    fn last(&self) -> Option<String> {
        let text = fs::read_to_string(self.logs.join("a/last_checkpoint.txt")).ok()?;
        Some(text.trim().to_owned())
    }

    /// Returns the lines of the metrics.
    fn metrics(&self) -> Result<Vec<Value>> {
        let path = self.logs.join("a/metrics.jsonl");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let line = |line| serde_json::from_str(line).with_context(|| path.display().to_string());
        text.lines().map(line).collect()
    }

    /// Returns the temporary files that are left.
    fn temporary_files(&self) -> Vec<String> {
        let folders = [self.logs.join("a"), self.logs.join("a/checkpoints")];
        let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .filter(|name| name.starts_with('.'))
            .map(|name| format!("left behind: {name}"))
            .collect()
    }
}

/// Waits for the end of a process; returns its exit code.
fn ended(child: &mut Child) -> Result<Option<i32>> {
    let Some(status) = wait(child, Instant::now() + PATIENCE)? else {
        child.kill()?;
        bail!("expected a run that ends, found one that hangs");
    };
    Ok(status.code())
}

/// Compares the steps of two runs.
fn compare(expected: &[Value], found: &[Value], counts: &mut Kills) {
    if expected.len() != found.len() {
        let (expected, found) = (expected.len(), found.len());
        counts
            .violations
            .push(format!("expected {expected} steps, found {found}"));
    }
    for (expected, found) in expected.iter().zip(found) {
        for name in ["step", "epoch", "index", "samples", "skipped", "lr"] {
            if expected[name] != found[name] {
                counts.violations.push(format!(
                    "step {}: expected {name} {}, found {}",
                    expected["step"], expected[name], found[name]
                ));
            }
        }
        let loss = |line: &Value| line["loss"].as_f64().unwrap_or(f64::NAN);
        let difference = (loss(found) - loss(expected)).abs() / loss(expected).abs();
        if difference.is_nan() || difference > TOLERANCE {
            counts.violations.push(format!(
                "step {}: expected loss {}, found {}",
                expected["step"],
                loss(expected),
                loss(found)
            ));
        }
        counts.difference = counts.difference.max(difference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_record_or_loss_is_a_violation() {
        let line =
            |index: u64, loss: f64| serde_json::json!({"step": 1, "index": index, "loss": loss});
        let violations = |found: Value| {
            let mut counts = Kills::default();
            compare(&[line(8, 2.0)], &[found], &mut counts);
            counts.violations
        };
        assert!(violations(line(8, 2.000_01)).is_empty());
        assert_eq!(
            violations(line(16, 2.0)),
            ["step 1: expected index 8, found 16"]
        );
        assert_eq!(violations(line(8, 2.5)).len(), 1);
        assert_eq!(
            violations(serde_json::json!({"step": 1, "index": 8})).len(),
            1
        );
    }
}
