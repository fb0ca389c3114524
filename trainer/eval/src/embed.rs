//! Embeddings of labelled images, of texts, and of classes.

use std::collections::BTreeSet;
use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use espalier_checkpoints::model_file::Model;
use espalier_core::geometry::{LogScalar, Space};
use espalier_core::math::normalize;
use espalier_core::model::{Lift, LiftKind};
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::{Dataset, EvalSet};

use super::prompts;
use crate::encoders::{ImagePoints, TextFeatures};
use crate::tensors::{matrix, rows};

/// Number of classes whose prompts are encoded at a time.
const CLASSES: usize = 512;

fn row_matrix(rows: &[Vec<f32>], device: &Device) -> Tensor<2> {
    matrix(rows.concat(), rows.first().map_or(0, Vec::len), device)
}

/// Returns the points of texts.
///
/// # Errors
/// When the device fails.
pub fn texts(encoder: &TextFeatures<'_>, texts: &[String]) -> anyhow::Result<Vec<Vec<f32>>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let features = row_matrix(&encoder.of(texts)?, encoder.device);
    rows(encoder.model.encoder.lift.text(features))
}

/// Returns the points of classes by name: the mean over the prompts of a set (notation 6.1).
/// Hyperbolic models average features and lift the mean; CLIP averages unit vectors and normalises
/// the mean.
///
/// # Errors
/// Bad usage for an unknown prompt set, or when the device fails.
pub fn named(
    encoder: &TextFeatures<'_>,
    names: &[String],
    set: &str,
) -> anyhow::Result<Vec<Vec<f32>>> {
    let lift = &encoder.model.encoder.lift;
    // Encodes the prompts of a few classes at a time: all of them together could exhaust the
    // memory.
    let mut out = Vec::with_capacity(names.len());
    for names in names.chunks(CLASSES) {
        let prompts: Vec<Vec<String>> = names
            .iter()
            .map(|name| prompts::fill(set, name))
            .collect::<Result<_, _>>()?;
        let each = prompts.first().map_or(1, Vec::len);
        let mut features = row_matrix(&encoder.of(&prompts.concat())?, encoder.device);
        if matches!(lift, Lift::Sphere(_)) {
            features = normalize(features);
        }
        let [n, width] = features.dims();
        let means = features
            .reshape([n / each, each, width])
            .mean_dim(1)
            .reshape([n / each, width]);
        out.extend(rows(lift.text(means))?);
    }
    Ok(out)
}

/// Returns the first names of taxonomy nodes.
pub fn names(taxonomy: &Taxonomy, nodes: &[NodeIx]) -> Vec<String> {
    let names = nodes.iter().map(|ix| taxonomy.name(*ix));
    names.map(str::to_owned).collect()
}

/// Returns the points of taxonomy nodes by their first names; see [`named`].
///
/// # Errors
/// Bad usage for an unknown prompt set, or when the device fails.
pub fn classes(
    encoder: &TextFeatures<'_>,
    taxonomy: &Taxonomy,
    nodes: &[NodeIx],
    set: &str,
) -> anyhow::Result<Vec<Vec<f32>>> {
    named(encoder, &names(taxonomy, nodes), set)
}

/// Returns the space of a model's embeddings.
///
/// # Errors
/// When the device fails.
pub fn space(model: &Model, device: &Device) -> anyhow::Result<Space> {
    let curvatures = |c: &LogScalar| -> anyhow::Result<Vec<f64>> {
        let values = rows(c.value().unsqueeze())?.concat();
        Ok(values.into_iter().map(f64::from).collect())
    };
    Ok(match (&model.encoder.lift, model.card.config.lift) {
        (Lift::Lorentz(l), _) => Space::Lorentz {
            curvature: curvatures(&l.curv)?[0],
        },
        (Lift::Product(p), LiftKind::Product { join, .. }) => Space::Product {
            curvatures: curvatures(&p.curvs)?,
            join,
        },
        _ => Space::Sphere {
            root: match &model.root {
                Some(root) => root.clone(),
                None => {
                    let encoder = TextFeatures::new(model, device)?;
                    texts(&encoder, std::slice::from_ref(&model.card.root_text))?.concat()
                }
            },
        },
    })
}

/// Labelled images and their points.
#[derive(Clone, Debug, Default)]
pub struct Labelled {
    /// Points, row by row.
    pub points: Vec<Vec<f32>>,
    /// Label of each.
    pub labels: Vec<NodeIx>,
    /// Images without a label.
    pub unlabelled: u64,
    /// Images whose label is not in the taxonomy.
    pub unknown: u64,
    /// Records that could not be read.
    pub broken: u64,
}

/// Returns the first labels of all readable records.
pub fn labels_of(data: &dyn Dataset) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for (at, unit) in data.units().iter().enumerate() {
        let Ok(records) = data.load(at) else { continue };
        let rows = (0..unit.records as usize).filter_map(|row| records.read(row).ok());
        labels.extend(rows.flat_map(|record| record.synsets));
    }
    labels
}

/// Limits of reading labelled images.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Images per batch.
    pub batch_size: usize,
    /// Maximum number of images to read.
    pub most: usize,
    /// Stops when the share of broken records exceeds this.
    pub max_broken: f64,
}

/// Embeds the labelled images of a dataset.
///
/// # Errors
/// [`espalier_data::DataError`], also when the share of broken records exceeds `max_broken`.
pub fn labelled(
    model: &Model,
    data: Arc<dyn Dataset>,
    taxonomy: &Taxonomy,
    limits: ReadLimits,
    device: &Device,
) -> anyhow::Result<Labelled> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut set = EvalSet::new(data, model.preprocess, limits.batch_size, workers)?;
    let encoder = ImagePoints::new(model, device)?;
    let mut found = Labelled::default();
    while found.labels.len() < limits.most {
        let Some(batch) = set.next() else { break };
        let points = encoder.of(&batch.images)?;
        for (point, label) in points.into_iter().zip(batch.labels) {
            match label.map(|id| taxonomy.find(&id)) {
                None => found.unlabelled += 1,
                Some(None) => found.unknown += 1,
                Some(Some(ix)) if found.labels.len() < limits.most => {
                    found.points.push(point);
                    found.labels.push(ix);
                }
                Some(Some(_)) => {}
            }
        }
    }
    found.broken = set.counts().broken();
    set.check_broken(limits.max_broken)?;
    Ok(found)
}
