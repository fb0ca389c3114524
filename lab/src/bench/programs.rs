//! Our program and that of the peers, on the same models.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::paths;
use xtask::process::{command, run as execute};

use super::measure::Options;
use super::program::Program;

const PEER: &str = "benches/peers/torch_peer.py";

/// Largest difference of features, relative to the largest one: the programs round differently.
const LARGEST_DIFFERENCE: f64 = 1e-4;

/// `OMP_WAIT_POLICY`: how PyTorch's threads wait for each other. By default they wait actively for a
/// while, which is faster on an idle machine; on one with other work, a waiting thread may keep the
/// one that it waits for from running.
const WAIT_POLICIES: [Option<&str>; 2] = [None, Some("passive")];

/// A model that is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    /// Name in the tables.
    pub(crate) title: &'static str,
    /// Name of a preset, or of a bundle below `static/models`.
    pub(crate) name: &'static str,
    /// Side of the images, where it is not the model's own.
    pub(crate) side: Option<usize>,
}

impl Model {
    /// Returns a request about this model for our program.
    pub(crate) fn request(&self, mut request: Value) -> Value {
        request["model"] = json!(self.name);
        request["side"] = json!(self.side);
        request
    }
}

/// Our program, the peers, and the folder through which they share models.
pub(super) struct Programs {
    pub(super) ours: Program,
    pub(super) peers: Program,
    wait_policy: &'static str,
    folder: TempDir,
}

impl Programs {
    /// Builds and starts both.
    pub(super) fn start(root: &Path, options: &Options) -> Result<Self> {
        let mut build = command("cargo");
        build.args(["build", "--release", "-p", "espalier-trainer"]);
        execute(build.args(["--example", "throughput"]).current_dir(root))
            .context("the throughput example could not be built")?;
        let mut ours = command(paths::release(root).join("examples/throughput"));
        ours.args(["--threads", &options.threads.to_string()]);
        let (wait_policy, peers) = start_peers(root, options)?;
        Ok(Self {
            ours: Program::start(ours.current_dir(root))?,
            peers,
            wait_policy,
            folder: tempfile::tempdir().context("cannot make a temporary folder")?,
        })
    }

    /// Gives the model to the peers; each engine must compute the same features for each batch.
    /// Returns the folder of the model's files.
    pub(super) fn share(
        &mut self,
        model: &Model,
        engines: &[&str],
        batches: &[usize],
    ) -> Result<Value> {
        let side = model.side.map(|side| side.to_string()).unwrap_or_default();
        let folder = json!(self.folder.path().join(format!("{}{side}", model.name)));
        let write = model.request(json!({ "do": "write", "folder": folder }));
        self.ours.ask(&write)?;
        for engine in engines {
            for batch in batches {
                let found = self.peers.ask(&json!({
                    "do": "check", "folder": folder, "engine": engine, "batch": batch,
                }))?;
                let engine = format!("{}: {engine}", model.title);
                let difference = check_difference(&engine, &found)?;
                eprintln!("{engine} differs by {difference:.1e}");
            }
        }
        Ok(folder)
    }

    /// Lets our program do some work with a model, or the engine of a peer with the model's files.
    pub(super) fn ask(
        &mut self,
        (model, folder): (&Model, &Value),
        engine: Option<&str>,
        mut work: Value,
    ) -> Result<Value> {
        match engine {
            None => self.ours.ask(&model.request(work)),
            Some(engine) => {
                work["folder"] = folder.clone();
                work["engine"] = json!(engine);
                self.peers.ask(&work)
            }
        }
    }

    /// Returns their names and versions.
    pub(super) fn versions(&self) -> String {
        format!(
            "{}, {} (OMP_WAIT_POLICY: {})",
            self.ours.engine, self.peers.engine, self.wait_policy
        )
    }
}

/// Checks and returns the `difference` of a peer's features from ours that the peer found.
///
/// # Errors
/// Fails if it is too large or not a number.
pub(super) fn check_difference(peer: &str, found: &Value) -> Result<f64> {
    let difference = found["difference"].as_f64().unwrap_or(f64::NAN);
    if difference.is_nan() || difference > LARGEST_DIFFERENCE {
        bail!(
            "{peer} does not compute our features: expected a relative difference of at most \
             {LARGEST_DIFFERENCE}, found {difference}"
        );
    }
    Ok(difference)
}

/// Starts the peers with the policy that is faster on this machine now.
fn start_peers(root: &Path, options: &Options) -> Result<(&'static str, Program)> {
    let script = root.join(PEER);
    let probe = json!({ "do": "probe", "threads": options.threads, "seconds": 1 });
    let mut best: Option<(f64, &str, Program)> = None;
    for policy in WAIT_POLICIES {
        let mut python = options.python(&script)?;
        python.arg(&script).current_dir(root);
        match policy {
            Some(policy) => python.env("OMP_WAIT_POLICY", policy),
            None => python.env_remove("OMP_WAIT_POLICY"),
        };
        let mut peers = Program::start(&mut python)?;
        let found = peers.ask(&probe)?;
        let seconds = found["seconds_per_image"]
            .as_f64()
            .with_context(|| format!("the probe of {PEER} measured nothing: {found}"))?;
        if best.as_ref().is_none_or(|(known, ..)| seconds < *known) {
            best = Some((seconds, policy.unwrap_or("default"), peers));
        }
    }
    let (_, policy, peers) = best.context("no policy was tried")?;
    Ok((policy, peers))
}
