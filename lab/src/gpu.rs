//! `cargo xtask gpu`: builds the measuring program for a GPU, carries it to a machine that has one, and
//! compares its training steps with PyTorch's there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use xtask::names::name_of;
use xtask::paths;
use xtask::process::{command, run as execute, shown};

use crate::bench::{Comparison, LITE0, Program, VIT, check_parameters, table};

/// Files of the measuring program and of the peer.
const PROGRAM: &str = "throughput";
const PEERS: &str = "benches/peers";
/// The folder on the machine with the GPU.
const CARRIED: &str = "espalier-gpu";

/// A backend for GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GpuBackend {
    /// Vulkan, Metal or DirectX
    Wgpu,
    /// NVIDIA's GPUs
    Cuda,
}

/// Machine, programs and duration of the measurement.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Machine with a GPU, as ssh names it, with the same system and processor architecture; if omitted, this one
    #[arg(long)]
    host: Option<String>,
    /// Backend of the build
    #[arg(long, value_enum, default_value = "wgpu")]
    backend: GpuBackend,
    /// A Python with PyTorch on that machine; without it only Espalier is measured
    #[arg(long)]
    python: Option<String>,
    /// PyTorch's name of the GPU
    #[arg(long, default_value = "cuda")]
    torch_device: String,
    /// Rounds; each runs both programs once, in alternating order
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of each program in each round
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

/// Builds the measuring program with a backend for GPUs, without symbols; returns its path.
///
/// # Errors
/// If it does not compile.
pub fn build(root: &Path, backend: GpuBackend) -> Result<PathBuf> {
    // Other features are another compilation of all packages; it must not replace the usual one.
    let target = paths::target(root).join("gpu");
    let mut cargo = command("cargo");
    cargo.args(["build", "-p", "espalier-trainer", "--example", PROGRAM]);
    cargo
        .args(paths::QUICK)
        .args(["--features", &name_of(&backend)]);
    cargo.env("CARGO_PROFILE_QUICK_STRIP", "symbols");
    execute(cargo.arg("--target-dir").arg(&target).current_dir(root))
        .context("the measuring program could not be built for a GPU")?;
    Ok(target.join("quick/examples").join(PROGRAM))
}

/// The machine with the GPU.
struct Machine {
    /// `None` for this one.
    host: Option<String>,
    /// The folder of the files that were copied there.
    folder: String,
}

impl Machine {
    /// Copies the program and the scripts of the peer there.
    fn carry(host: Option<&str>, root: &Path, program: &Path) -> Result<Self> {
        let local = || paths::target(root).join("gpu").join(CARRIED);
        let machine = Self {
            host: host.map(str::to_owned),
            folder: host.map_or_else(|| local().display().to_string(), |_| CARRIED.to_owned()),
        };
        let folder = &machine.folder;
        let mut unpack = machine.shell(&format!("mkdir -p '{folder}' && tar -C '{folder}' -xzf -"));
        let mut pack = command("tar");
        pack.arg("-C")
            .arg(program.parent().context("a program in a folder")?);
        pack.args(["-cz", PROGRAM, "-C"]).arg(root.join(PEERS));
        let scripts = [
            "clock.py",
            "gpu_peer.py",
            "hycoclip.py",
            "networks.py",
            "training.py",
        ];
        let mut packed = pack
            .args(scripts)
            .stdout(Stdio::piped())
            .spawn()
            .context("tar cannot be started")?;
        let bytes = packed.stdout.take().context("its output is a pipe")?;
        execute(unpack.stdin(bytes))?;
        if !packed.wait()?.success() {
            bail!("`{}` failed; its message is above", shown(&pack));
        }
        Ok(machine)
    }

    /// Returns a command line on the machine.
    fn shell(&self, line: &str) -> Command {
        let mut shell = match &self.host {
            Some(host) => {
                let mut ssh = command("ssh");
                ssh.arg(host);
                ssh
            }
            None => {
                let mut sh = command("sh");
                sh.arg("-c");
                sh
            }
        };
        shell.arg(line);
        shell
    }

    /// Starts a program in the folder.
    fn start(&self, line: &str) -> Result<Program> {
        Program::start(&mut self.shell(&format!("cd '{}' && {line}", self.folder)))
    }
}

/// Returns the losses of some steps from the same weights, by the measuring program on a backend. `model` is a name and the
/// side of its images.
///
/// # Errors
/// If the program fails.
pub fn losses(
    program: &Path,
    backend: &str,
    (model, side): (&str, Option<usize>),
    [batch, steps]: [usize; 2],
) -> Result<Vec<f64>> {
    let mut measuring = command(program);
    // In pieces, each batch norm would know the images of its piece only.
    measuring.args(["--backend", backend, "--pieces", "1"]);
    let found = Program::start(&mut measuring)?.ask(&json!({
        "do": "losses", "model": model, "side": side, "batch": batch, "steps": steps,
    }))?;
    serde_json::from_value(found["losses"].clone())
        .with_context(|| format!("expected losses, found {found}"))
}

/// Measures and prints the table.
///
/// # Errors
/// If the program cannot be built, carried or run, or trains another model than its peer.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let program = build(root, options.backend)?;
    let machine = Machine::carry(options.host.as_deref(), root, &program)?;
    let backend = name_of(&options.backend);
    let mut ours = machine.start(&format!("./{PROGRAM} --backend {backend}"))?;
    let mut peer = match &options.python {
        Some(python) => {
            let device = &options.torch_device;
            Some(machine.start(&format!("{python} gpu_peer.py {device}"))?)
        }
        None => None,
    };
    let espalier = "Espalier";
    let names: Vec<&'static str> = [espalier]
        .into_iter()
        .chain(peer.as_ref().map(|_| "PyTorch"))
        .collect();
    let (mut comparisons, mut speeds) = (Vec::new(), Vec::new());
    for trained in [VIT, LITE0] {
        let (model, folder) = (&trained.model, trained.model.name);
        ours.ask(&model.request(json!({ "do": "write", "folder": folder })))?;
        let work = json!({
            "do": "train", "batch": trained.samples, "seconds": options.seconds, "folder": folder,
        });
        let mut learned = None;
        let comparison = Comparison::measure(trained.title(), &names, options.rounds, |name| {
            let found = match &mut peer {
                Some(peer) if name != espalier => peer.ask(&work)?,
                _ => ours.ask(&model.request(work.clone()))?,
            };
            check_parameters(&mut learned, &found)?;
            Ok(found)
        })?;
        speeds.push(comparison.speeds(2 * trained.samples));
        comparisons.push(comparison);
    }
    println!("{}", speeds.join("\n"));
    if let Some(peer) = &peer {
        println!(
            "\n{} beside {}\n\n{}",
            ours.engine,
            peer.engine,
            table(&comparisons)
        );
    }
    Ok(())
}
