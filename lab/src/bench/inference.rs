//! Inference of image encoders on the CPU, beside ONNX Runtime and PyTorch.

use anyhow::Result;
use serde_json::{Value, json};

use super::measure::Options;
use super::parts;
use super::programs::{Model, Programs};
use super::rounds::{Comparison, table};

/// The shipped encoder, at its own resolution.
pub(super) const DEFAULT: Model = Model {
    title: "default model",
    name: "default",
    side: None,
};

const MODELS: [Model; 3] = [
    DEFAULT,
    Model {
        title: "CLIP ViT-B/32",
        name: "clip_vit_b32",
        side: None,
    },
    Model {
        title: "`vit_t8_64`",
        name: "vit_t8_64",
        side: None,
    },
];

const BATCHES: [usize; 2] = [1, 8];

/// Names in the table and names of the peer's engines.
const ESPALIER: &str = "Espalier";
const PEERS: [(&str, &str); 2] = [("ONNX Runtime", "onnx"), ("PyTorch", "torch")];

/// Measures; returns the tables.
pub(super) fn run(programs: &mut Programs, options: &Options) -> Result<String> {
    let mut threads = vec![1, options.threads];
    threads.dedup();
    let mut comparisons = Vec::new();
    for model in &MODELS {
        let folder = programs.share(model, &PEERS.map(|(_, engine)| engine), &BATCHES)?;
        for batch in BATCHES {
            for &threads in &threads {
                let work = json!({
                    "do": "infer", "batch": batch, "threads": threads, "seconds": options.seconds,
                });
                let title = format!(
                    "{}, batch {batch}, {threads} thread{}",
                    model.title,
                    if threads == 1 { "" } else { "s" }
                );
                comparisons.push(compare(programs, model, &folder, title, &work, options)?);
            }
        }
    }
    let operations = DEFAULT.request(json!({
        "do": "operations", "threads": 1, "seconds": options.seconds,
    }));
    let operations = programs.ours.ask(&operations)?;
    Ok(format!(
        "{}\n{}",
        table(&comparisons),
        parts::table("operation of the default encoder, 1 thread", &operations)
    ))
}

fn compare(
    programs: &mut Programs,
    model: &Model,
    folder: &Value,
    title: String,
    work: &Value,
    options: &Options,
) -> Result<Comparison> {
    let names = [ESPALIER, PEERS[0].0, PEERS[1].0];
    Comparison::measure(title, &names, options.rounds, |name| {
        match PEERS.iter().find(|(peer, _)| *peer == name) {
            Some((_, engine)) => {
                let mut request = work.clone();
                request["folder"] = folder.clone();
                request["engine"] = json!(engine);
                programs.peers.ask(&request)
            }
            None => programs.ours.ask(&model.request(work.clone())),
        }
    })
}
