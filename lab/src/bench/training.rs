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
pub(crate) struct Trained {
    pub(crate) model: Model,
    /// Samples of a step, each an image, a crop and two texts.
    pub(crate) samples: usize,
}

/// A vision transformer.
pub(crate) const VIT: Trained = Trained {
    model: Model {
        title: "`vit_t8_64`",
        name: "vit_t8_64",
        side: None,
    },
    samples: 64,
};

/// Convolutions.
const TINY: Trained = Trained {
    model: Model {
        title: "convolutions of the tiny model",
        name: "tiny",
        side: None,
    },
    samples: 64,
};

/// The architecture of the shipped model, with smaller images.
pub(crate) const LITE0: Trained = Trained {
    model: Model {
        title: "EfficientNet-Lite0 at 160 px",
        name: "efficientnet_lite0",
        side: Some(160),
    },
    samples: 16,
};

impl Trained {
    /// Returns what is measured, in words.
    pub(crate) fn title(&self) -> String {
        format!("step of {} images, {}", 2 * self.samples, self.model.title)
    }
}

/// Checks that a program trains as many parameters as `known`, which the first answer sets.
pub(crate) fn check_parameters(known: &mut Option<Value>, found: &Value) -> Result<()> {
    let found = &found["parameters"];
    let known = known.get_or_insert_with(|| found.clone());
    if *known != *found {
        bail!("not the same model: expected {known} learned parameters, found {found}");
    }
    Ok(())
}

/// Measures; returns the tables.
pub(super) fn run(programs: &mut Programs, options: &Options) -> Result<String> {
    let mut comparisons = Vec::new();
    let all: [(Trained, &[(&'static str, &str)]); 3] = [
        (VIT, &[PYTORCH]),
        (TINY, &[PYTORCH, CHANNELS_LAST]),
        (LITE0, &[PYTORCH, CHANNELS_LAST]),
    ];
    for (trained, peers) in &all {
        let folder = programs.share(&trained.model, &["torch"], &[1])?;
        comparisons.push(compare(programs, (trained, *peers), &folder, options)?);
    }
    let sections = VIT.model.request(json!({
        "do": "sections", "batch": VIT.samples, "seconds": options.seconds,
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
    (trained, peers): (&Trained, &[(&'static str, &str)]),
    folder: &Value,
    options: &Options,
) -> Result<Comparison> {
    // Our program was started with its number of threads.
    let work = json!({
        "do": "train", "batch": trained.samples, "threads": options.threads,
        "seconds": options.seconds,
    });
    let names: Vec<&str> = [ESPALIER]
        .into_iter()
        .chain(peers.iter().map(|(name, _)| *name))
        .collect();
    let mut learned = None;
    Comparison::measure(trained.title(), &names, options.rounds, |name| {
        let peer = peers.iter().find(|(peer, _)| *peer == name);
        let engine = peer.map(|(_, engine)| *engine);
        let found = programs.ask((&trained.model, folder), engine, work.clone())?;
        check_parameters(&mut learned, &found)?;
        Ok(found)
    })
}
