//! Our program and that of the peers, on the same models.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::measure::Options;
use super::program::Program;
use crate::golden::python_for;
use crate::paths;
use crate::process::{command, run as execute};

const PEER: &str = "benches/peers/torch_peer.py";

/// Largest difference of features, relative to the largest one: the programs round differently.
const LARGEST_DIFFERENCE: f64 = 1e-4;

/// A model that is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// Name in the tables.
    pub(super) title: &'static str,
    /// Name of a preset, or of a bundle below `static/models`.
    pub(super) name: &'static str,
    /// Side of the images, where it is not the model's own.
    pub(super) side: Option<usize>,
}

impl Model {
    /// A request about this model for our program.
    pub(super) fn request(&self, mut request: Value) -> Value {
        request["model"] = json!(self.name);
        request["side"] = json!(self.side);
        request
    }
}

/// Our program, the peers, and the folder through which they share models.
pub(super) struct Programs {
    pub(super) ours: Program,
    pub(super) peers: Program,
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
        let script = root.join(PEER);
        let mut peers = match &options.python {
            Some(python) => command(python),
            None => python_for(&script)?,
        };
        Ok(Self {
            ours: Program::start(ours.current_dir(root))?,
            peers: Program::start(peers.arg(script).current_dir(root))?,
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
                let difference = found["difference"].as_f64().unwrap_or(f64::NAN);
                eprintln!("{}: {engine} differs by {difference:.1e}", model.title);
                if difference.is_nan() || difference > LARGEST_DIFFERENCE {
                    bail!(
                        "{}: {engine} does not compute our features: expected a relative \
                         difference of at most {LARGEST_DIFFERENCE}, found {difference}",
                        model.title
                    );
                }
            }
        }
        Ok(folder)
    }

    /// Names and versions.
    pub(super) fn versions(&self) -> String {
        format!("{}, {}", self.ours.engine, self.peers.engine)
    }
}
