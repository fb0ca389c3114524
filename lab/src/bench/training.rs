//! Training steps on the CPU, beside PyTorch.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::measure::Options;
use super::parts;
use super::programs::{Model, Programs};
use super::rounds::{Comparison, table};

const ESPALIER: &str = "Espalier";
const PYTORCH: (&str, &str) = ("PyTorch", "torch");
const CHANNELS_LAST: (&str, &str) = ("PyTorch, channels last", "torch_channels_last");

/// A model in training.
struct Trained {
    model: Model,
    /// Samples of a step, each an image, a crop and two texts.
    samples: usize,
    peers: &'static [(&'static str, &'static str)],
}

const TRAINED: [Trained; 3] = [
    Trained {
        model: Model {
            title: "`vit_t8_64`",
            name: "vit_t8_64",
            side: None,
        },
        samples: 64,
        peers: &[PYTORCH],
    },
    Trained {
        model: Model {
            title: "convolutions of the tiny model",
            name: "tiny",
            side: None,
        },
        samples: 64,
        peers: &[PYTORCH, CHANNELS_LAST],
    },
    Trained {
        model: Model {
            title: "EfficientNet-Lite0 at 160 px",
            name: "efficientnet_lite0",
            side: Some(160),
        },
        samples: 16,
        peers: &[PYTORCH, CHANNELS_LAST],
    },
];

/// Measures; returns the tables.
pub(super) fn run(programs: &mut Programs, options: &Options) -> Result<String> {
    let mut comparisons = Vec::new();
    for trained in &TRAINED {
        let folder = programs.share(&trained.model, &["torch"], &[1])?;
        comparisons.push(compare(programs, trained, &folder, options)?);
    }
    let sections = TRAINED[0].model.request(json!({
        "do": "sections", "batch": TRAINED[0].samples, "seconds": options.seconds,
    }));
    let sections = programs.ours.ask(&sections)?;
    Ok(format!(
        "{}\n{}",
        table(&comparisons),
        parts::table("part of a training step of `vit_t8_64`", &sections)
    ))
}

fn compare(
    programs: &mut Programs,
    trained: &Trained,
    folder: &Value,
    options: &Options,
) -> Result<Comparison> {
    let Trained {
        model,
        samples,
        peers,
    } = trained;
    let work = json!({ "do": "train", "batch": samples, "seconds": options.seconds });
    let names: Vec<&str> = [ESPALIER]
        .into_iter()
        .chain(peers.iter().map(|(name, _)| *name))
        .collect();
    let title = format!("step of {} images, {}", 2 * samples, model.title);
    let mut learned = None;
    Comparison::measure(title, &names, options.rounds, |name| {
        let found = match peers.iter().find(|(peer, _)| *peer == name) {
            Some((_, engine)) => {
                let mut request = work.clone();
                request["folder"] = folder.clone();
                request["engine"] = json!(engine);
                request["threads"] = json!(options.threads);
                programs.peers.ask(&request)?
            }
            None => programs.ours.ask(&model.request(work.clone()))?,
        };
        let parameters = found["parameters"].clone();
        let known = learned.get_or_insert_with(|| parameters.clone());
        if *known != parameters {
            bail!("not the same model: expected {known} learned parameters, found {parameters}");
        }
        Ok(found)
    })
}
