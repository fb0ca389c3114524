//! Inputs of a run, opened once: data, taxonomy and chains of texts.

use std::path::PathBuf;
use std::sync::Arc;

use espalier_core::taxonomy::Taxonomy;
use espalier_data::Needs;
use espalier_data::formats::registry::{self, Need};
use espalier_data::formats::{open, synthetic};
use espalier_data::records::lineage::Lineages;
use espalier_data::{Dataset, Grit, Hierarcaps, Labels, Mixture, Synthetic};
use espalier_io::exit::usage;

use crate::config::{DatasetKind, TrainConfig};

/// The data of a run and its companion files.
pub struct Source {
    /// Records.
    pub data: Arc<dyn Dataset>,
    /// Taxonomy of their labels.
    pub taxonomy: Taxonomy,
    /// Chains of the labels, for methods that need chains when the records have none.
    pub lineages: Option<Arc<Lineages>>,
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

/// Returns whether the records are texts only.
fn is_text_only(config: &TrainConfig) -> bool {
    let d = &config.dataset;
    d.kind == DatasetKind::Hierarcaps
        || d.kind == DatasetKind::Taxonomy && open::taxonomy_file(&d.data).is_some()
}

/// Rejects a method if this kind of data does not meet its needs.
fn check_data(config: &TrainConfig, needs: Needs) -> anyhow::Result<()> {
    let expected = match needs {
        Needs::Chains => return Ok(()),
        Needs::Captions => "images with captions",
        Needs::Boxes => "images with captions and boxes",
        Needs::Parts => "images with boxes",
    };
    if is_text_only(config) {
        return Err(usage(format!(
            "--method {} needs {expected}, but the data contains only texts; the methods for \
             chains of texts are re, ec and rcme",
            config.train.method.name()
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
        let d = &config.dataset;
        let method = config.train.method.build(&config.loss);
        let needs = config.train.method.needs(&config.loss);
        check_data(config, needs)?;
        let taxonomy = taxonomy(config)?;
        let needs_lineages = needs == Needs::Chains && d.kind != DatasetKind::Hierarcaps;
        let lineages = if needs_lineages {
            let (tiers, text) = (d.tiers, d.rank_text);
            let lineages = Lineages::new(taxonomy.clone(), tiers, text, method.negatives())?;
            Some(Arc::new(lineages))
        } else {
            None
        };
        let open_dataset = |paths: &[PathBuf]| dataset(config, paths, lineages.as_deref());
        let data = if d.weights.is_empty() {
            open_dataset(&d.data)?
        } else {
            let weighted = d.data.iter().zip(&d.weights);
            let sources = weighted
                .map(|(path, weight)| Ok((open_dataset(std::slice::from_ref(path))?, *weight)));
            Arc::new(Mixture::new(sources.collect::<anyhow::Result<_>>()?))
        };
        Ok(Self {
            data,
            taxonomy,
            lineages,
        })
    }
}

/// Returns the dataset of some paths.
fn dataset(
    config: &TrainConfig,
    paths: &[PathBuf],
    lineages: Option<&Lineages>,
) -> anyhow::Result<Arc<dyn Dataset>> {
    let d = &config.dataset;
    Ok(match (d.kind, open::taxonomy_file(paths), lineages) {
        (DatasetKind::Taxonomy, Some(file), Some(lineages)) => {
            Arc::new(Labels::new(file.display().to_string(), lineages.labels()))
        }
        (DatasetKind::Taxonomy, ..) => registry::open(paths, Need::Labels)?,
        (DatasetKind::Grit, ..) => Arc::new(Grit::open(paths)?),
        (DatasetKind::Hierarcaps, ..) => Arc::new(Hierarcaps::open(paths, d.drop_tier)?),
        (DatasetKind::Parts, ..) => registry::open(paths, Need::Boxes)?,
        (DatasetKind::Synthetic, ..) => {
            let seed = config.train.seed;
            Arc::new(Synthetic::new(d.synthetic_records, synthetic::SIDE, seed))
        }
    })
}
