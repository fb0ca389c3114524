//! Inputs of a run, opened once: data, taxonomy and chains of texts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use espalier_checkpoints::model_file::ModelCard;
use espalier_core::statements::Vocabulary;
use espalier_core::taxonomy::Taxonomy;
use espalier_data::formats::levels::{self, Purpose};
use espalier_data::formats::registry::{self, Need};
use espalier_data::formats::{captions, labels, open, synthetic};
use espalier_data::records::caption_chains::CaptionChains;
use espalier_data::records::lineage::Lineages;
use espalier_data::{Dataset, Grit, Hierarcaps, Mixture, Needs, Splits, Synthetic};
use espalier_io::disk::read;
use espalier_io::exit::usage;
use toml::Table;

use crate::config::{DatasetKind, MethodName, TrainConfig};

/// The data of a run and its companion files.
pub struct Source {
    /// Records.
    pub data: Arc<dyn Dataset>,
    /// Taxonomy of their labels.
    pub taxonomy: Taxonomy,
    /// Chains of the labels, for methods that need chains when the records have none.
    pub lineages: Option<Arc<Lineages>>,
    /// Chains of captions, for methods that need chains on images with captions.
    pub caption_chains: Option<Arc<CaptionChains>>,
}

/// Returns the configuration of the run that produced a model, if its card records it.
pub fn run_config(card: &ModelCard) -> Option<TrainConfig> {
    let table: Table = card.run.parse().ok()?;
    TrainConfig::resolve(None, table, &[]).ok()
}

/// Reads the taxonomy of a configuration.
///
/// # Errors
/// Bad usage when the file cannot be read, a taxonomy error naming the line.
pub fn taxonomy(config: &TrainConfig) -> anyhow::Result<Taxonomy> {
    let d = &config.dataset;
    match (&d.taxonomy, d.kind) {
        (None, DatasetKind::Synthetic) => Ok(Taxonomy::from_tsv(&synthetic::taxonomy_tsv())?),
        (flag, _) => open::taxonomy(flag.as_deref(), &d.data),
    }
}

/// Reads a vocabulary of statements; the shipped one if no file is named. `option` names it in errors.
///
/// # Errors
/// Bad usage for a file that cannot be read, naming the line.
pub fn statements(file: Option<&Path>, option: &str) -> anyhow::Result<Vocabulary> {
    let Some(file) = file else {
        return Ok(Vocabulary::everyday()?);
    };
    let place = |error: String| usage(format!("{option} {}: {error}", file.display()));
    let text = read::text(file).map_err(|e| place(e.to_string()))?;
    Vocabulary::from_tsv(&text).map_err(|e| place(e.to_string()))
}

/// Returns whether the records are texts only.
fn is_text_only(config: &TrainConfig) -> bool {
    let d = &config.dataset;
    d.kind == DatasetKind::Hierarcaps
        || d.kind == DatasetKind::Taxonomy && open::taxonomy_file(&d.data).is_some()
}

/// Rejects a method if this kind of data does not meet its needs.
fn check_data(config: &TrainConfig, needs: Needs) -> anyhow::Result<()> {
    let method = config.train.method.name();
    if config.dataset.kind == DatasetKind::Captions {
        return match needs {
            Needs::Parts => Err(usage(format!(
                "--method {method} needs boxes and where they are, but --dataset captions has only images \
                 and captions; every other method can be trained on these"
            ))),
            _ => Ok(()),
        };
    }
    let expected = match needs {
        Needs::Chains => return Ok(()),
        Needs::Captions => "images with captions",
        Needs::Boxes => "images with captions and boxes",
        Needs::Parts => "images with boxes",
    };
    if is_text_only(config) {
        return Err(usage(format!(
            "--method {method} needs {expected}, but the data contains only texts; the methods for \
             chains of texts are re, ec and rcme"
        )));
    }
    Ok(())
}

impl Source {
    /// Opens the files of a configuration; reads only headers and small files.
    ///
    /// # Errors
    /// Bad usage when the method cannot use such data, [`espalier_data::DataError`] or a taxonomy
    /// error naming what is wrong with which file.
    pub fn open(config: &TrainConfig) -> anyhow::Result<Self> {
        Self::open_splits(config, Splits::TRAINING)
    }

    /// Opens the validation data of a configuration, if it names any.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of_validation(config: &TrainConfig) -> anyhow::Result<Option<Self>> {
        if config.dataset.val_data.is_empty() {
            return Ok(None);
        }
        let mut config = config.clone();
        config.dataset.data = std::mem::take(&mut config.dataset.val_data);
        config.dataset.weights.clear();
        Self::open_splits(&config, Splits::VALIDATION).map(Some)
    }

    fn open_splits(config: &TrainConfig, splits: Splits<'_>) -> anyhow::Result<Self> {
        let d = &config.dataset;
        let method = config.train.method.build(&config.loss);
        let needs = config.train.method.needs(&config.loss);
        check_data(config, needs)?;
        let taxonomy = taxonomy(config)?;
        let of_captions = needs == Needs::Chains && d.kind == DatasetKind::Captions;
        let needs_lineages =
            needs == Needs::Chains && d.kind != DatasetKind::Hierarcaps && !of_captions;
        let lineages = if needs_lineages {
            let (tiers, text) = (d.tiers, d.rank_text);
            let lineages = Lineages::new(taxonomy.clone(), tiers, text, method.negatives())?;
            Some(Arc::new(lineages))
        } else {
            None
        };
        let open_dataset =
            |paths: &[PathBuf]| dataset(config, (paths, splits), lineages.as_deref());
        let data = if d.weights.is_empty() {
            open_dataset(&d.data)?
        } else {
            let weighted = d.data.iter().zip(&d.weights);
            let sources = weighted
                .map(|(path, weight)| Ok((open_dataset(std::slice::from_ref(path))?, *weight)));
            Arc::new(Mixture::new(sources.collect::<anyhow::Result<_>>()?))
        };
        let caption_chains = if of_captions {
            let vocabulary = Arc::new(statements(d.statements.as_deref(), "dataset.statements")?);
            Some(Arc::new(CaptionChains::new(vocabulary, method.negatives())))
        } else {
            None
        };
        Ok(Self {
            data,
            taxonomy,
            lineages,
            caption_chains,
        })
    }
}

/// Opens shards of GRIT; a method that needs no boxes also takes shards without them.
fn grit(config: &TrainConfig, paths: &[PathBuf]) -> anyhow::Result<Grit> {
    let method = config.train.method;
    if method.needs(&config.loss) == Needs::Captions {
        return Ok(Grit::with_captions(paths)?);
    }
    let others = MethodName::value_variants().iter();
    let others = others.filter(|other| other.needs(&config.loss) == Needs::Captions);
    let others: Vec<&str> = others.map(|other| other.name()).collect();
    Grit::open(paths).map_err(|error| match Grit::with_captions(paths) {
        Ok(_) => usage(format!(
            "{error}\n--method {} needs boxes with --dataset grit, but this data has images and captions alone; \
             train one of {} on it, or name --dataset captions, which every method but parts can use",
            method.name(),
            others.join(", ")
        )),
        Err(_) => error.into(),
    })
}

/// Returns the dataset of some paths.
fn dataset(
    config: &TrainConfig,
    (paths, splits): (&[PathBuf], Splits<'_>),
    lineages: Option<&Lineages>,
) -> anyhow::Result<Arc<dyn Dataset>> {
    let d = &config.dataset;
    let purpose = match splits == Splits::VALIDATION {
        true => Purpose::Evaluation,
        false => Purpose::Training,
    };
    Ok(match (d.kind, open::taxonomy_file(paths), lineages) {
        (DatasetKind::Taxonomy, Some(file), Some(lineages)) => {
            Arc::new(labels::table(file.display().to_string(), lineages.labels()))
        }
        (DatasetKind::Taxonomy, ..) => {
            registry::open(&levels::resolved(paths, purpose), Need::Labels)?
        }
        (DatasetKind::Captions, ..) => captions::open(paths, splits)?,
        (DatasetKind::Grit, ..) => Arc::new(grit(config, paths)?),
        (DatasetKind::Hierarcaps, ..) => Arc::new(Hierarcaps::open(paths, d.drop_tier)?),
        (DatasetKind::Parts, ..) => registry::open(paths, Need::Boxes)?,
        (DatasetKind::Synthetic, ..) => {
            // The smallest usable box grows with the model's images, so the drawn images grow too.
            let side = config.model.architecture().vision.image_size as u32;
            let side = side.max(synthetic::SIDE);
            Arc::new(Synthetic::new(d.synthetic_records, side, config.train.seed))
        }
    })
}
