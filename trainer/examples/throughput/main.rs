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

/// A model and what is asked about it.
#[derive(Deserialize)]
struct Asked {
    #[serde(flatten)]
    model: ModelName,
    #[serde(flatten)]
    request: Request,
}

/// What is asked of this program.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    /// Writes an image encoder, images and their features, for the peer.
    Write { folder: PathBuf },
    /// Measures inference.
    Infer {
        batch: usize,
        threads: usize,
        seconds: f64,
    },
    /// Measures training steps.
    Train { batch: usize, seconds: f64 },
    /// Trains for some steps and answers with their losses.
    Losses { batch: usize, steps: usize },
    /// Measures the parts of a training step.
    Sections { batch: usize, seconds: f64 },
    /// Measures the operations of an encoder of inverted residuals.
    Operations { threads: usize, seconds: f64 },
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
    fn answer(&mut self, Asked { model, request }: Asked) -> Result<Value> {
        match request {
            Request::Write { folder } => files::write(&self.models, &model, &folder),
            Request::Infer {
                batch,
                threads,
                seconds,
            } => self
                .inference
                .measure(&self.models, &model, (batch, threads), seconds),
            Request::Train { batch, seconds } => {
                let mut training = self.training(&model, batch)?;
                let figures = training.measure(seconds);
                self.training = Some(training);
                figures
            }
            Request::Losses { batch, steps } => self.training(&model, batch)?.losses(steps),
            Request::Sections { batch, seconds } => {
                sections::measure(self.training(&model, batch)?, seconds)
            }
            Request::Operations { threads, seconds } => {
                operations::measure(&self.models, &model, threads, seconds)
            }
        }
    }

    /// Returns the training of a model: the one that was kept, or a new one.
    fn training(&mut self, model: &ModelName, batch: usize) -> Result<Training> {
        let kept = self.training.take();
        let on = (self.pieces, &self.device);
        match kept.filter(|training| training.is_of(model, batch)) {
            Some(training) => Ok(training),
            None => Training::new(&self.models, model, batch, on),
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
        let asked: Asked = serde_json::from_str(&line)
            .with_context(|| format!("expected a request as JSON, found `{line}`"))?;
        println!("{}", server.answer(asked)?);
    }
    Ok(())
}
