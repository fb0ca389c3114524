//! Inference of image encoders on the CPU, beside ONNX Runtime and PyTorch.

use anyhow::Result;
use serde_json::json;

use super::measure::Options;
use super::parts;
use super::programs::{Model, Programs};
use super::rounds::{Comparison, table};
use super::training::VIT;

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
    VIT.model,
];

const BATCHES: [usize; 2] = [1, 8];

/// A program's name in the table, and the name of the peer's engine; for ours, of its arithmetic.
type Engine = (&'static str, &'static str);

const FLOATS: Engine = ("Espalier", "float32");
const INTEGERS: Engine = ("Espalier, int8", "int8");
const ONNX: Engine = ("ONNX Runtime", "onnx");
const ONNX_INT8: Engine = ("ONNX Runtime, int8", "onnx_int8");
const PYTORCH: Engine = ("PyTorch", "torch");

/// Measures; returns the tables.
pub(super) fn run(programs: &mut Programs, options: &Options) -> Result<String> {
    let mut threads = vec![1, options.threads];
    threads.dedup();
    let mut comparisons = Vec::new();
    for model in &MODELS {
        let folder = programs.share(model, &[ONNX.1, PYTORCH.1], &BATCHES)?;
        for batch in BATCHES {
            for &threads in &threads {
                let work = json!({
                    "do": "infer", "batch": batch, "threads": threads, "seconds": options.seconds,
                });
                for (engines, numbers) in [
                    ([FLOATS, ONNX, PYTORCH], ""),
                    ([INTEGERS, ONNX, ONNX_INT8], ", integers"),
                ] {
                    let title = format!(
                        "{}{numbers}, batch {batch}, {threads} thread{}",
                        model.title,
                        if threads == 1 { "" } else { "s" }
                    );
                    let names = engines.map(|(name, _)| name);
                    let ask = |name| {
                        let mut work = work.clone();
                        let peer = engines[1..].iter().find(|(known, _)| *known == name);
                        if peer.is_none() {
                            work["arithmetic"] = json!(engines[0].1);
                        }
                        programs.ask((model, &folder), peer.map(|(_, engine)| *engine), work)
                    };
                    comparisons.push(Comparison::measure(title, &names, options.rounds, ask)?);
                }
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
