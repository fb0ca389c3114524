//! One round: a task, a fault at a random moment, and the same task again.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use xtask::files::copy_folder;
use xtask::names::name_of;
use xtask::process::{capture, command, succeeds};

use super::chance::Chance;
use super::check::{self, Files, after_fault, after_success};
use super::fault::Fault;
use super::inputs::Inputs;
use super::process::{Conditions, Ended, Intervention, give_to_nobody, is_root, run, set_mode};
use super::task::Task;

/// Kibibytes of address space between which the limit of memory is drawn, on a logarithmic scale.
const MEMORY: (f64, f64) = (30_000.0, 3_000_000.0);

/// The result of an unbroken run.
struct Reference {
    files: Files,
    metrics: Option<serde_json::Value>,
    time: Duration,
    bytes: u64,
}

/// Inputs, references, and what this machine can do.
pub(super) struct Campaign {
    inputs: Inputs,
    folder: PathBuf,
    references: BTreeMap<Task, Reference>,
    /// Whether a small disk can be mounted; otherwise the size of files is limited.
    mounts: bool,
    is_root: bool,
}

/// What came of a round.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The task.
    pub task: Task,
    /// The fault.
    pub fault: Fault,
    /// Whether the command was still running when the fault came, or failed because of it.
    pub affected: bool,
    /// Exit code of the first attempt, or the number of the signal below zero.
    pub code: i32,
    /// What should not have happened.
    pub violations: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (task, fault) = (name_of(&self.task), name_of(&self.fault));
        write!(f, "{task}, {fault}: ended with {}", self.code)?;
        for violation in &self.violations {
            write!(f, "\n  VIOLATION {violation}")?;
        }
        Ok(())
    }
}

/// Where a round takes place.
struct Place {
    /// Folder of the results.
    out: PathBuf,
    /// Folder of standard output and error.
    logs: PathBuf,
    /// A mounted disk, unmounted at the end.
    disk: Option<Disk>,
}

struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf, bytes: u64) -> Result<Self> {
        fs::create_dir_all(&at)?;
        let size = format!("size={bytes}");
        capture(
            command("mount")
                .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
                .arg(&at),
        )?;
        Ok(Self(at))
    }

    fn grow(&self) -> Result<()> {
        let grown = ["-o", "remount,size=2g"];
        capture(command("mount").args(grown).arg(&self.0)).map(drop)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = succeeds(command("umount").arg(&self.0));
    }
}

impl Campaign {
    /// Runs every task once without a fault.
    pub(super) fn new(inputs: Inputs, folder: &Path, tasks: &[Task]) -> Result<Self> {
        let probe = folder.join("probe");
        let mut campaign = Self {
            inputs,
            folder: folder.join("round"),
            references: BTreeMap::new(),
            mounts: Disk::mount(probe, 1 << 20).is_ok(),
            is_root: is_root(),
        };
        for &task in tasks {
            let place = campaign.place(None)?;
            let ended = campaign.start(task, None, &place, false, Conditions::default())?;
            if ended.code() != 0 {
                bail!("{} without a fault: {}", name_of(&task), ended.stderr);
            }
            let files = check::read(&place.out)?;
            let reference = Reference {
                metrics: metrics(&ended.stdout),
                time: ended.time,
                bytes: files.values().map(|bytes| bytes.len() as u64).sum(),
                files,
            };
            campaign.references.insert(task, reference);
        }
        Ok(campaign)
    }

    /// Returns how a full disk is made here, in words.
    pub(super) fn disk(&self) -> &'static str {
        if self.mounts {
            "a mounted disk of limited size"
        } else {
            "a limit of the size of files"
        }
    }

    fn reference(&self, task: Task) -> Result<&Reference> {
        self.references.get(&task).context("a reference")
    }

    /// Makes an empty folder for a round, on a disk of this size if one is given.
    fn place(&self, disk: Option<u64>) -> Result<Place> {
        if self.folder.exists() {
            set_mode(&self.folder, 0o755)?;
            fs::remove_dir_all(&self.folder)?;
        }
        let logs = self.folder.join("logs");
        fs::create_dir_all(&logs)?;
        let disk = disk
            .map(|bytes| Disk::mount(self.folder.join("disk"), bytes))
            .transpose()?;
        let above = disk.as_ref().map_or(self.folder.as_path(), |disk| &disk.0);
        let out = above.join("out");
        fs::create_dir(&out)?;
        Ok(Place { out, logs, disk })
    }

    fn start(
        &self,
        task: Task,
        input: Option<&Path>,
        place: &Place,
        again: bool,
        conditions: Conditions<'_>,
    ) -> Result<Ended> {
        let of_all = task.input().map(|name| self.inputs.folder.join(name));
        let input = input.map(Path::to_owned).or(of_all).unwrap_or_default();
        let arguments = task.arguments(&self.inputs, &input, &place.out, again);
        run(&self.inputs.trainer, &arguments, &place.logs, conditions)
    }

    /// Runs a task under a fault, checks what it left, and runs it again.
    pub(super) fn round(&self, task: Task, fault: Fault, chance: &mut Chance) -> Result<Outcome> {
        let reference = self.reference(task)?;
        // A little longer than the run, so that faults come at its end, too.
        let after = reference.time.mul_f64(1.05 * chance.fraction());
        let size = (reference.bytes as f64 * 1.1 * chance.fraction()) as u64;
        let on_disk = fault == Fault::FullDisk && self.mounts;
        let place = self.place(on_disk.then_some(size.max(4096)))?;
        let mut input = None;
        let mut conditions = Conditions::default();
        let mut intervene = |intervention| conditions.intervention = Some((after, intervention));
        match fault {
            Fault::Kill => intervene(Intervention::Signal("KILL")),
            Fault::Term => intervene(Intervention::Signal("TERM")),
            Fault::TermTwice => {
                let pause = Duration::from_millis(chance.below(200));
                intervene(Intervention::TermTwice(pause));
            }
            Fault::FullDisk => conditions.file = (!on_disk).then_some(size / 512),
            Fault::NoPermission => {
                if self.is_root {
                    give_to_nobody(&place.out)?;
                    give_to_nobody(&place.logs)?;
                }
                intervene(Intervention::ReadOnly(&place.out));
                conditions.as_nobody = self.is_root;
            }
            Fault::Cut => input = self.cut(task, &place, chance)?,
            Fault::Memory => {
                let (least, most) = MEMORY;
                let limit = least * (most / least).powf(chance.fraction());
                conditions.memory = Some(limit as u64);
            }
        }
        let again = fault == Fault::Cut && input.is_none();
        let first = self.start(task, input.as_deref(), &place, again, conditions)?;
        let (affected, code) = (first.affected || first.code() != 0, first.code());
        let mut violations = violations_of_ending(fault, &first);
        set_mode(&place.out, 0o755)?;
        let found = check::read(&place.out)?;
        // What a command makes of a damaged input is its own; a state that was cut is judged below.
        if fault != Fault::Cut {
            violations.extend(after_fault(task, &found, &reference.files));
        }
        if let Some(disk) = &place.disk {
            disk.grow()?;
        }
        // A task that continued from a state that was cut has been given again already.
        let second = if again && code == 0 {
            first
        } else {
            if fault == Fault::Cut && (again || code == 0) {
                // The damaged state was refused in words, and the user begins again; or the damage of the
                // input was counted and the rest used, and the whole input gets a new folder.
                fs::remove_dir_all(&place.out)?;
                fs::create_dir(&place.out)?;
            }
            self.start(task, None, &place, true, Conditions::default())?
        };
        if second.code() == 0 {
            let found = check::read(&place.out)?;
            violations.extend(after_success(task, &found, &reference.files));
            if metrics(&second.stdout) != reference.metrics {
                violations.push("other metrics than the unbroken run".to_owned());
            }
        } else {
            violations.push(format!(
                "given again, it ended with {}: {}",
                second.code(),
                last_lines(&second.stderr)
            ));
        }
        Ok(Outcome {
            task,
            fault,
            affected,
            code,
            violations,
        })
    }

    /// Cuts a file short: of a copy of the input, whose folder is returned, or of the state that the
    /// task continues from, which is put into the folder of results.
    fn cut(&self, task: Task, place: &Place, chance: &mut Chance) -> Result<Option<PathBuf>> {
        let state = matches!(task, Task::Fit | Task::Eval);
        let folder = match task.input().filter(|_| !state) {
            Some(name) => {
                let copied = self.folder.join("input");
                copy_folder(&self.inputs.folder.join(name), &copied)?;
                copied
            }
            None => {
                let reference = self.reference(task)?;
                for (name, bytes) in &reference.files {
                    let path = place.out.join(name);
                    fs::create_dir_all(path.parent().unwrap_or(&place.out))?;
                    fs::write(path, bytes)?;
                }
                if task == Task::Fit {
                    // As after a kill before the last checkpoint.
                    fs::remove_dir_all(place.out.join("a/checkpoints/checkpoint_00000004"))?;
                    fs::write(
                        place.out.join("a/last_checkpoint.txt"),
                        "checkpoint_00000003\n",
                    )?;
                }
                place.out.clone()
            }
        };
        let files: Vec<(String, u64)> = check::read(&folder)?
            .into_iter()
            .filter(|(name, _)| !state || task.continues_from(name))
            .map(|(name, bytes)| (name, bytes.len() as u64))
            .collect();
        let (name, length) = chance.one_of(&files);
        let file = fs::OpenOptions::new().write(true).open(folder.join(name))?;
        file.set_len(chance.below(length))?;
        Ok((!state).then_some(folder))
    }
}

/// Returns the metrics in the JSON lines that an evaluation prints.
fn metrics(stdout: &str) -> Option<serde_json::Value> {
    let records = stdout
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let found: Vec<serde_json::Value> = records
        .filter_map(|record: serde_json::Value| record.get("metrics").cloned())
        .collect();
    (!found.is_empty()).then(|| found.into())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(4)..].join(" / ")
}

/// Checks how a command ended under a fault: by itself in words, or by the signal that was sent.
fn violations_of_ending(fault: Fault, ended: &Ended) -> Vec<String> {
    let mut violations = Vec::new();
    if ended.hung {
        violations.push("did not end within five minutes".to_owned());
        return violations;
    }
    let code = ended.code();
    let signals: &[i32] = match fault {
        Fault::Kill => &[-9],
        // A command without work to save is ended by the signal itself.
        Fault::Term | Fault::TermTwice => &[-15, 143],
        // Rust ends a process that gets no memory; so does the system one that gets no stack.
        Fault::Memory => &[-6, -11, 101, 127],
        Fault::FullDisk | Fault::NoPermission | Fault::Cut => &[],
    };
    if !(0..=3).contains(&code) && !signals.contains(&code) {
        violations.push(format!("ended with {code}: {}", last_lines(&ended.stderr)));
    }
    if ended.stderr.contains("panicked at") && fault != Fault::Memory {
        violations.push(format!("panicked: {}", last_lines(&ended.stderr)));
    }
    if (1..=3).contains(&code) && !ended.stderr.contains("error: ") {
        violations.push(format!("ended with {code} without a word of why"));
    }
    violations
}
