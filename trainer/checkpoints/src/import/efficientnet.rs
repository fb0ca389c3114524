//! EfficientNet-Lite: an image encoder with a classifier. Parts that the file lacks (text encoder,
//! projection, space) start from random numbers.

use std::collections::BTreeMap;

use espalier_core::model::{DualConfig, Preset};
use espalier_core::nn::Norms;
use espalier_core::weights::Tensors;
use espalier_io::exit::usage;
use serde_json::json;

use super::choices::Choice;
use super::convert::{self, Match};
use super::pipeline::{self, About};
use super::projection::leading_directions;
use super::source::Files;
use super::store::Store;
use crate::classifier_file::Parts;
use crate::first_weights::{device, first_weights};
use crate::layout::{CLASSIFIER, Layout, PROJECTION, TensorMapping, classifier};
use crate::model_file::{ModelCard, Origin, preprocess};

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
pub struct Settings {
    /// Labels of the classifier, in class order; without them it is skipped.
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
    pub about: About,
}

/// Plan of an import, before its tensors are read.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The parts that every import has.
    pub common: pipeline::Plan,
    mappings: Vec<TensorMapping>,
    settings: Settings,
}

/// Returns the preset whose tensors fit a file best.
fn closest(store: &Store) -> (Preset, DualConfig) {
    let fitting = |preset: &Preset| {
        let config = preset.config();
        let mappings = Layout::EfficientnetLite.mappings(&config);
        let found = Match::of(store, Layout::EfficientnetLite, config.lift, &mappings);
        let misfits = found.missing.len() + found.misshapen.len();
        (misfits, found.unused.len())
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
/// [`Match::is_complete`].
pub fn plan(files: &Files, store: &mut Store, settings: Settings) -> anyhow::Result<Plan> {
    let (preset, mut config) = closest(store);
    if let (true, Some(inverted)) = (settings.frozen_norms, &mut config.vision.inverted) {
        inverted.norms = Norms::Frozen;
    }
    config.d_embed = settings.d_embed.unwrap_or(config.d_embed);
    config.vision.image_size = settings.image_size.unwrap_or(config.vision.image_size);
    config.validate()?;
    let classes = store.shape(CLASSIFIER[0].0).map_or(0, |shape| shape[0]);
    let mut mappings = Layout::EfficientnetLite.mappings(&config);
    if let Some(labels) = &settings.labels {
        let found = labels.len();
        if found != classes {
            return Err(usage(format!(
                "--labels: expected one label for each of the {classes} classes of the file, \
                 found {found}"
            )));
        }
        mappings.extend(classifier(&config, classes));
    }
    let mut matched = Match::of(store, Layout::EfficientnetLite, config.lift, &mappings);
    if settings.labels.is_none() {
        let is_classifier = |name: &String| CLASSIFIER.iter().any(|(theirs, _)| name == theirs);
        matched.unused.retain(|name| !is_classifier(name));
    }
    let choices = choices(preset, &config, &settings, classes);
    let method = settings.about.method.as_deref().unwrap_or(METHOD);
    let card = ModelCard {
        root_text: settings.about.root_text.clone(),
        origin: Some(Origin {
            source: files.label.clone(),
            layout: Some(Layout::EfficientnetLite),
            licence: settings.about.licence.clone(),
            preprocess: preprocess(&config),
            root: None,
            kept: BTreeMap::new(),
        }),
        ..ModelCard::new(config, method)
    };
    let common = pipeline::Plan {
        layout: Layout::EfficientnetLite,
        card,
        choices,
        matched,
    };
    Ok(Plan {
        common,
        mappings,
        settings,
    })
}

fn choices(
    preset: Preset,
    config: &DualConfig,
    settings: &Settings,
    classes: usize,
) -> Vec<Choice> {
    let by_seed = format!("the file has none; --seed {}", settings.seed);
    let random = |what| Choice::new(what, json!("random, not trained"), &by_seed);
    let (classifier, classifier_by) = match settings.labels {
        Some(_) => (format!("kept, {classes} classes"), "--labels"),
        None => ("skipped".to_owned(), "no --labels FILE"),
    };
    let norms = config.vision.inverted.as_ref().map(|i| i.norms);
    let norms_by = if settings.frozen_norms {
        "--frozen-norms"
    } else {
        "no --frozen-norms"
    };
    let flag_or_preset =
        |value: Option<usize>, flag: &'static str| value.map_or("the preset", |_| flag);
    vec![
        Choice::new("architecture", json!(preset.name()), "shapes of tensors"),
        Choice::new("norms in training", json!(norms), norms_by),
        Choice::new(
            "width of the embeddings",
            json!(config.d_embed),
            flag_or_preset(settings.d_embed, "--d-embed"),
        ),
        Choice::new(
            "side of the image",
            json!(config.vision.image_size),
            flag_or_preset(settings.image_size, "--image-size"),
        ),
        random("text encoder"),
        match settings.labels {
            Some(_) => Choice::new(
                "projection of images",
                json!("leading directions of the classifier"),
                "--labels",
            ),
            None => random("projection of images"),
        },
        random("projection of texts and space"),
        Choice::new("classifier", json!(classifier), classifier_by),
    ]
}

/// Reads the tensors of a plan that fits, and initialises those that the file lacks at random; also
/// returns the classifier. With one, the projection of images is initialised with its leading
/// directions.
///
/// # Errors
/// Bad usage: tensors that do not fit (all of them named), numbers that cannot be read or are not
/// finite.
pub fn tensors(store: &mut Store, plan: &Plan) -> anyhow::Result<(Tensors, Option<Parts>)> {
    let config = &plan.common.card.config;
    let mut found = convert::read_fitting(store, &plan.common.matched, &plan.mappings)?;
    let [weight, bias] = CLASSIFIER.map(|(_, ours)| found.tensors.remove(ours));
    let classifier = weight
        .zip(bias)
        .zip(plan.settings.labels.clone())
        .map(|((weight, bias), labels)| (weight, bias, labels));
    let mut tensors = first_weights(config, plan.settings.seed)?;
    tensors.tensors.extend(found.tensors);
    if let Some((weight, ..)) = &classifier
        && let Some(first) = leading_directions(weight, config.d_embed, &device()?)?
    {
        tensors.tensors.insert(PROJECTION.to_owned(), first);
    }
    Ok((tensors, classifier))
}
