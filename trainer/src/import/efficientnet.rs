//! EfficientNet-Lite: an image encoder with a classifier. Parts that the file lacks (text encoder,
//! projection, space) start from random numbers.

use std::collections::BTreeMap;

use burn::tensor::Device;
use espalier_core::model::{DualConfig, Preset};
use espalier_core::nn::Norms;
use espalier_core::weights::{HostTensor, Tensors, collect};
use serde_json::json;

use super::choices::Choice;
use super::convert::{self, Match};
use super::projection::leading_directions;
use super::source::Files;
use super::store::Store;
use crate::device::Backend;
use crate::exit::usage;
use crate::layout::{CLASSIFIER, Layout, TensorMapping, classifier};
use crate::model_file::{ModelCard, Origin, preprocess};

/// Our name of the projection of pooled features.
const PROJECTION: &str = "visual_proj.weight";
/// Architectures that can be distinguished by their shapes.
const PRESETS: [Preset; 3] = [
    Preset::EfficientnetLite0,
    Preset::EfficientnetLite1,
    Preset::EfficientnetLite2,
];

/// Name of the method in reports until the model is trained.
const METHOD: &str = "untrained";

/// Settings from the user in addition to the file.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Labels of the classifier, in class order; without them it is left out.
    pub labels: Option<Vec<String>>,
    /// Seed of the parts that the file lacks.
    pub seed: u64,
    /// Whether norms keep their running statistics fixed in training.
    pub frozen_norms: bool,
    /// Width of the embeddings; the preset's if not given.
    pub d_embed: Option<usize>,
    /// Side of images in pixels; the preset's if not given.
    pub image_size: Option<usize>,
    /// Method, licence and text of the root, as for other families.
    pub about: super::pipeline::About,
}

/// Plan of an import, before its tensors are read.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Metadata of the new checkpoint.
    pub card: ModelCard,
    /// Choices and their origins.
    pub choices: Vec<Choice>,
    /// How the tensors fit.
    pub matched: Match,
    pieces: Vec<TensorMapping>,
    wanted: Wanted,
}

/// A checkpoint in memory.
pub struct Imported {
    /// Tensors of the model.
    pub tensors: Tensors,
    /// Weight `[classes, d_model]`, bias `[classes]` and labels of the classifier.
    pub classifier: Option<(HostTensor, HostTensor, Vec<String>)>,
}

/// Returns whether a file is of this family.
#[must_use]
pub fn is_one(store: &Store) -> bool {
    Layout::of(store.names()) == Some(Layout::EfficientnetLite)
}

/// Returns the preset whose tensors fit a file best.
fn closest(store: &Store) -> (Preset, DualConfig) {
    let fitting = |preset: &Preset| {
        let config = preset.config();
        let pieces = Layout::EfficientnetLite.pieces(&config);
        let found = Match::of(store, Layout::EfficientnetLite, config.lift, &pieces);
        (
            found.missing.len() + found.misshapen.len(),
            found.unused.len(),
        )
    };
    let best = PRESETS.into_iter().min_by_key(fitting);
    let preset = best.unwrap_or(Preset::EfficientnetLite0);
    (preset, preset.config())
}

/// Determines which encoder a file holds and how it fits, without reading its tensors.
///
/// # Errors
/// Bad usage: a classifier whose number of classes differs from the number of labels, or a
/// configuration that cannot be built. Tensors that do not fit are not an error yet, see
/// [`Match::is_whole`].
pub fn plan(files: &Files, store: &mut Store, wanted: Wanted) -> anyhow::Result<Plan> {
    let (preset, mut config) = closest(store);
    if let (true, Some(inverted)) = (wanted.frozen_norms, &mut config.vision.inverted) {
        inverted.norms = Norms::Frozen;
    }
    config.d_embed = wanted.d_embed.unwrap_or(config.d_embed);
    config.vision.image_size = wanted.image_size.unwrap_or(config.vision.image_size);
    config.validate()?;
    let classes = store.shape(CLASSIFIER[0].0).map_or(0, |shape| shape[0]);
    let mut pieces = Layout::EfficientnetLite.pieces(&config);
    match &wanted.labels {
        Some(labels) if labels.len() == classes => {
            pieces.extend(classifier(&config, classes));
        }
        Some(labels) => {
            return Err(usage(format!(
                "--labels: expected one label for each of the {classes} classes of the file, \
                 found {}",
                labels.len()
            )));
        }
        None => {}
    }
    let mut matched = Match::of(store, Layout::EfficientnetLite, config.lift, &pieces);
    if wanted.labels.is_none() {
        let is_classifier = |name: &String| CLASSIFIER.iter().any(|(theirs, _)| name == theirs);
        matched.unused.retain(|name| !is_classifier(name));
    }
    let choices = choices(preset, &config, &wanted, classes);
    let method = wanted.about.method.as_deref().unwrap_or(METHOD);
    let card = ModelCard {
        method: method.to_owned(),
        step: 0,
        run: String::new(),
        root_text: wanted.about.root_text.clone(),
        origin: Some(Origin {
            source: files.label.clone(),
            layout: Layout::EfficientnetLite,
            licence: wanted.about.licence.clone(),
            preprocess: preprocess(&config),
            root: None,
            kept: BTreeMap::new(),
        }),
        config,
    };
    Ok(Plan {
        card,
        choices,
        matched,
        pieces,
        wanted,
    })
}

fn choices(preset: Preset, config: &DualConfig, wanted: &Wanted, classes: usize) -> Vec<Choice> {
    let by_seed = format!("the file has none; --seed {}", wanted.seed);
    let random = |what| Choice {
        what,
        value: json!("random, not trained"),
        by: by_seed.clone(),
    };
    let (kept, by) = match wanted.labels {
        Some(_) => (format!("kept, {classes} classes"), "--labels"),
        None => ("left out".to_owned(), "no --labels FILE"),
    };
    let norms = config.vision.inverted.as_ref().map(|i| i.norms);
    let of_norms = if wanted.frozen_norms {
        "--frozen-norms"
    } else {
        "no --frozen-norms"
    };
    let of = |given: Option<usize>, flag: &'static str| given.map_or("the preset", |_| flag);
    vec![
        Choice {
            what: "architecture",
            value: json!(preset.name()),
            by: "shapes of tensors".into(),
        },
        Choice {
            what: "norms in training",
            value: json!(norms),
            by: of_norms.into(),
        },
        Choice {
            what: "width of the embeddings",
            value: json!(config.d_embed),
            by: of(wanted.d_embed, "--d-embed").into(),
        },
        Choice {
            what: "side of the picture",
            value: json!(config.vision.image_size),
            by: of(wanted.image_size, "--image-size").into(),
        },
        random("text encoder"),
        match wanted.labels {
            Some(_) => Choice {
                what: "projection of images",
                value: json!("leading directions of the classifier"),
                by: "--labels".into(),
            },
            None => random("projection of images"),
        },
        random("projection of texts and space"),
        Choice {
            what: "classifier",
            value: json!(kept),
            by: by.into(),
        },
    ]
}

/// Reads the tensors of a plan that fits, and samples those that the file lacks. With a classifier,
/// the projection of images is initialised with the classifier's leading directions.
///
/// # Errors
/// Bad usage: tensors that do not fit (all of them named), numbers that cannot be read or are not
/// finite.
pub fn tensors(store: &mut Store, plan: &Plan) -> anyhow::Result<Imported> {
    if !plan.matched.is_whole() {
        return Err(usage(format!(
            "the tensors do not fit the architecture; nothing was written{}",
            plan.matched.faults()
        )));
    }
    let mut found = convert::read(store, &plan.pieces)?;
    for piece in &plan.pieces {
        let tensor = found.tensors.get(&piece.ours);
        if tensor.is_some_and(|t| t.data.iter().any(|v| !v.is_finite())) {
            return Err(usage(format!(
                "tensor `{}`: expected finite numbers, found NaN or infinity",
                piece.theirs.join(", ")
            )));
        }
    }
    let [weight, bias] = CLASSIFIER.map(|(_, ours)| found.tensors.remove(ours));
    let classifier = weight
        .zip(bias)
        .zip(plan.wanted.labels.clone())
        .map(|((weight, bias), labels)| (weight, bias, labels));
    let device = drawing_device()?;
    device.seed(plan.wanted.seed);
    let mut tensors = collect(&plan.card.config.init(&device))?;
    tensors.tensors.extend(found.tensors);
    if let Some((weight, ..)) = &classifier
        && let Some(first) = leading_directions(weight, plan.card.config.d_embed, &device)?
    {
        tensors.tensors.insert(PROJECTION.to_owned(), first);
    }
    Ok(Imported {
        tensors,
        classifier,
    })
}

/// Returns the CPU device if the program supports it, so that a seed gives the same numbers on
/// every machine; otherwise the default device.
fn drawing_device() -> anyhow::Result<Device> {
    Backend::Flex.device().or_else(|_| Backend::Auto.device())
}
