//! Measures inference and training on this machine's CPU, on request.
//!
//! The program reads one request per line from standard input, as JSON, and answers each with one
//! line of JSON. `benches/peers/torch_peer.py` does the same work in PyTorch and ONNX Runtime;
//! `cargo xtask bench` sends requests to both in turn. A training step is the one of `trainer fit`
//! on a batch in memory; inference uses the kernels of `espalier_core`.
//!
//! ```text
//! echo '{"do":"train","model":"vit_t8_64","batch":64,"seconds":10}' |
//!     cargo run --release -p espalier-trainer --example throughput
//! ```

mod clock;
mod files;
mod inference;
mod models;
mod operations;
mod sections;
mod training;

use std::io::{BufRead, stdin};
use std::path::PathBuf;

use anyhow::{Context, Result};
use burn::tensor::Device;
use clap::Parser;
use espalier_trainer::device::Backend;
use serde::Deserialize;
use serde_json::{Value, json};

use self::inference::Inference;
use self::models::{ModelName, Models};
use self::training::Training;

/// Measure inference and training on request.
#[derive(Parser)]
struct Args {
    /// Folder of the bundles.
    #[arg(long, default_value = "static/models")]
    models: PathBuf,
    /// Threads of a training step.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Pieces that a training batch is cut into, each with a thread of its own; as many as threads
    /// where not given.
    #[arg(long)]
    pieces: Option<usize>,
    /// Backend of training steps; inference always runs on the CPU.
    #[arg(long, value_enum, default_value = "flex")]
    backend: Backend,
    /// Let the allocator give freed blocks back to the system, as it does by default.
    #[arg(long)]
    give_back: bool,
}

/// What is asked of this program.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    /// Writes an image encoder, images and their features, for the peer.
    Write {
        #[serde(flatten)]
        model: ModelName,
        folder: PathBuf,
    },
    /// Measures inference.
    Infer {
        #[serde(flatten)]
        model: ModelName,
        batch: usize,
        threads: usize,
        seconds: f64,
    },
    /// Measures training steps.
    Train {
        #[serde(flatten)]
        model: ModelName,
        batch: usize,
        seconds: f64,
    },
    /// Trains for some steps and answers with their losses.
    Losses {
        #[serde(flatten)]
        model: ModelName,
        batch: usize,
        steps: usize,
    },
    /// Measures the parts of a training step.
    Sections {
        #[serde(flatten)]
        model: ModelName,
        batch: usize,
        seconds: f64,
    },
    /// Measures the operations of an encoder of inverted residuals.
    Operations {
        #[serde(flatten)]
        model: ModelName,
        threads: usize,
        seconds: f64,
    },
}

/// The state between requests.
struct Server {
    models: Models,
    inference: Inference,
    /// One model at a time: a step needs much memory.
    training: Option<Training>,
    pieces: usize,
    device: Device,
}

impl Server {
    fn answer(&mut self, request: Request) -> Result<Value> {
        match request {
            Request::Write { model, folder } => files::write(&self.models, &model, &folder),
            Request::Infer {
                model,
                batch,
                threads,
                seconds,
            } => self
                .inference
                .measure(&self.models, &model, (batch, threads), seconds),
            Request::Train {
                model,
                batch,
                seconds,
            } => self.training(&model, batch)?.measure(seconds),
            Request::Losses {
                model,
                batch,
                steps,
            } => {
                self.training(&model, batch)?;
                let training = self.training.take().context("a model in training")?;
                training.losses(steps)
            }
            Request::Sections {
                model,
                batch,
                seconds,
            } => {
                self.training(&model, batch)?;
                let training = self.training.take().context("a model in training")?;
                sections::measure(training, seconds)
            }
            Request::Operations {
                model,
                threads,
                seconds,
            } => operations::measure(&self.models, &model, threads, seconds),
        }
    }

    /// Returns the training of a model. Only the latest one is kept, to bound the
    /// memory.
    fn training(&mut self, model: &ModelName, batch: usize) -> Result<&mut Training> {
        if self
            .training
            .as_ref()
            .is_some_and(|t| !t.is_of(model, batch))
        {
            self.training = None;
        }
        match &mut self.training {
            Some(training) => Ok(training),
            none => {
                let on = (self.pieces, &self.device);
                Ok(none.insert(Training::new(&self.models, model, batch, on)?))
            }
        }
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.give_back {
        espalier_trainer::memory::keep_freed_blocks();
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads)
        .build_global()?;
    let mut server = Server {
        models: Models {
            folder: args.models,
        },
        inference: Inference::default(),
        training: None,
        // Only a CPU computes pieces at the same time.
        pieces: match args.backend.resolve() {
            Backend::Flex => args.pieces.unwrap_or(args.threads),
            _ => 1,
        },
        device: args.backend.device()?,
    };
    let version = env!("CARGO_PKG_VERSION");
    println!("{}", json!({ "engine": format!("Espalier {version}") }));
    for line in stdin().lock().lines() {
        let line = line?;
        let request: Request = serde_json::from_str(&line)
            .with_context(|| format!("expected a request as JSON, found `{line}`"))?;
        println!("{}", server.answer(request)?);
    }
    Ok(())
}
