//! Data that a bundle is made from and measured on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::tensor::Device;
use espalier_checkpoints::model_file::{self, Model, ModelCard};
use espalier_checkpoints::{averaged, classifier_file};
use espalier_core::caption::CaptionEntry;
use espalier_core::model::{LiftKind, TextFamily};
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use espalier_data::Dataset;
use espalier_data::formats::condition::{Condition, split_condition};
use espalier_data::formats::open;
use espalier_data::formats::registry::{self, Need};
use espalier_data::nouns::wordnet::Nouns;
use espalier_io::exit::usage;
use espalier_io::output::note;

use crate::cli::ExportArgs;
use crate::export::{Contents, ExportDtype, captions, nouns};
use crate::fit::source::run_config;
use crate::fit::{Source, source};

/// Returns the taxonomy of the flag, else of the run, else the shipped one.
///
/// # Errors
/// Bad usage if the file cannot be read, or a taxonomy error naming the line.
pub fn taxonomy(flag: Option<&PathBuf>, card: &ModelCard) -> anyhow::Result<Taxonomy> {
    match (flag, run_config(card)) {
        (None, Some(config)) => source::taxonomy(&config),
        (flag, _) => open::taxonomy(flag.map(PathBuf::as_path), &[]),
    }
}

/// Labelled images on which a bundle is measured.
pub(super) struct Probe {
    pub(super) data: Arc<dyn Dataset>,
    /// Description of the images.
    pub(super) name: String,
    /// Whether they are the data that the model was trained on.
    pub(super) is_training: bool,
}

/// Returns the names of files without their folders, which mean nothing to readers of a manifest. A condition on the rows
/// stays, the folder of the photos does not.
pub(super) fn file_names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| {
        let (file, condition) = split_condition(path);
        let name = file.file_name().unwrap_or(file.as_os_str()).display();
        match condition {
            Some(Condition { column, value }) if column != "images" => {
                format!("{name}?{column}={value}")
            }
            _ => name.to_string(),
        }
    };
    paths.iter().map(name).collect()
}

/// Returns the probe: the data of the flag, else the run's validation data, else its training data.
fn probe(args: &ExportArgs, model: &Model) -> anyhow::Result<Probe> {
    let unseen = |data, name| Probe {
        data,
        name,
        is_training: false,
    };
    if !args.probe.is_empty() {
        let data = registry::open(&args.probe, Need::Labels)?;
        return Ok(unseen(data, file_names(&args.probe).join(", ")));
    }
    let config = run_config(&model.card).ok_or_else(|| {
        usage("the checkpoint records no training data; give labelled images with --probe")
    })?;
    let hint = "; give labelled images with --probe";
    if !config.dataset.val_data.is_empty() {
        let data = registry::open(&config.dataset.val_data, Need::Labels);
        let data = data.map_err(|e| usage(format!("the run's validation data: {e}{hint}")))?;
        return Ok(unseen(data, "the run's validation data".into()));
    }
    note(format_args!(
        "the run has no validation data; calibrating on its training data, which gives \
         overconfident probabilities"
    ));
    let source = Source::open(&config);
    let source = source.map_err(|e| usage(format!("the run's data: {e}{hint}")))?;
    Ok(Probe {
        data: source.data,
        name: "the run's training data, so the values are too high".into(),
        is_training: true,
    })
}

/// Returns the directions of the classes of a checkpoint's classifier by their ids, if the run pulled
/// texts toward them; the texts reach them nearly.
///
/// # Errors
/// Bad usage: a classifier that does not fit the model.
pub fn directions(
    checkpoint: &Path,
    model: &Model,
    device: &Device,
) -> anyhow::Result<BTreeMap<String, Vec<f32>>> {
    let anchored = run_config(&model.card).is_some_and(|config| config.loss.anchor > 0.0);
    let is_product = matches!(model.card.config.lift, LiftKind::Product { .. });
    if !anchored || is_product || classifier_file::bytes(checkpoint)?.is_none() {
        return Ok(BTreeMap::new());
    }
    let classifier = classifier_file::read(checkpoint, device)?;
    let rows = classifier.directions(&model.encoder.image.visual_proj);
    let values: Vec<f32> = rows.into_data().iter::<f32>().collect();
    let rows = values
        .chunks(model.card.config.d_embed)
        .map(<[f32]>::to_vec);
    Ok(classifier.labels.into_iter().zip(rows).collect())
}

/// A checkpoint and the data for its bundle.
pub(super) struct Inputs {
    /// The model with its weights in `f32`.
    pub(super) model: Model,
    /// Taxonomy.
    pub(super) taxonomy: Taxonomy,
    /// Captions.
    pub(super) captions: Vec<CaptionEntry>,
    /// Directions of labels by their ids.
    directions: BTreeMap<String, Vec<f32>>,
    /// Nouns that name no node.
    nouns: Lexicon,
    /// Labelled images on which the bundle is measured.
    pub(super) probe: Probe,
}

impl Inputs {
    /// Reads the checkpoint and the data that the flags name.
    pub(super) fn read(args: &ExportArgs, device: &Device) -> anyhow::Result<Self> {
        let model = match args.average {
            Some(count) => model_file::build(averaged::read(&args.checkpoint, count)?, device)?,
            None => model_file::open(&args.checkpoint, device)?,
        };
        if model.card.config.text.family != TextFamily::Clip {
            return Err(usage(
                "the text encoder is of BERT's family and too large for a page; train a small one with \
                 this model as model.text_teacher, and export that",
            ));
        }
        let taxonomy = taxonomy(args.taxonomy.as_ref(), &model.card)?;
        let captions = match &args.captions {
            Some(path) => captions::from_file(path, &taxonomy)?,
            None => captions::of_taxonomy(&taxonomy, !args.no_places),
        };
        let nouns = match &args.nouns {
            Some(path) => nouns::of_taxonomy(&taxonomy, &Nouns::open(path)?),
            None => Lexicon::default(),
        };
        Ok(Self {
            probe: probe(args, &model)?,
            directions: directions(&args.checkpoint, &model, device)?,
            model,
            taxonomy,
            captions,
            nouns,
        })
    }

    /// Returns the contents of a bundle whose tensors are stored as `dtype`.
    pub(super) fn contents(&self, name: &str, version: &str, dtype: ExportDtype) -> Contents<'_> {
        Contents {
            model: &self.model,
            taxonomy: &self.taxonomy,
            captions: self.captions.clone(),
            directions: &self.directions,
            nouns: &self.nouns,
            dtype,
            name: name.to_owned(),
            version: version.to_owned(),
        }
    }
}
