//! Distillation teacher: the classifier that came with the image encoder.

use anyhow::Context;
use burn::tensor::Device;
use espalier_checkpoints::{classifier_file, model_file};
use espalier_core::model::Classifier;
use espalier_core::taxonomy::Taxonomy;
use espalier_data::Batch;
use espalier_data::batches::anchors::Anchors;
use espalier_data::batches::distill::{Distill, TEACHER_FRACTION, TeacherOutputs};
use espalier_data::batches::feature_rows::{FeatureRows, Features};
use espalier_data::records::random::{Purpose, Random};
use espalier_eval::tensors::{feature_tensor, values};
use espalier_io::exit::usage;

use super::class_features::{ClassFeatures, Covariance};
use super::neighbours::Neighbours;
use super::plan::Run;
use crate::config::DatasetConfig;

/// Number of features whose logits are computed at a time.
const BLOCK: usize = 4096;
/// Number of samples on which a run reports the confidence of the classifier.
const PROBE: usize = 512;

/// A classifier of images that uses the same features as the model.
pub(super) struct Teacher {
    classifier: Classifier,
    device: Device,
    /// Gaussians of the classes, groups of similar classes, and number of samples per step.
    drawn: Option<(ClassFeatures, Neighbours, usize)>,
    /// Directions of the taxonomy's nodes, where the loss uses them.
    anchors: Option<Anchors>,
    seed: u64,
}

/// Returns the largest probability of each row of logits, averaged over rows.
fn mean_confidence(logits: &[f32], classes: usize) -> f64 {
    let confidence = |row: &[f32]| {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers = row.iter().map(|v| f64::from((v - largest).exp()));
        1.0 / powers.sum::<f64>()
    };
    let rows = logits.chunks_exact(classes.max(1));
    let count = rows.len().max(1) as f64;
    rows.map(confidence).sum::<f64>() / count
}

impl Teacher {
    fn logits(&self, features: &Features) -> anyhow::Result<Vec<f32>> {
        if features.count == 0 {
            return Ok(Vec::new());
        }
        let features = feature_tensor(features, &self.device);
        values(self.classifier.forward(features))
    }

    /// Computes the logits of a batch and of the features sampled for its step.
    pub(super) fn outputs(&self, batch: &Batch, step: u64) -> anyhow::Result<TeacherOutputs> {
        let mut logits = Vec::new();
        for images in std::iter::once(&batch.images).chain(batch.content.box_images()) {
            let features = images.features();
            let features = features
                .context("loss.distill: expected cached features in the batch, found none")?;
            logits.extend(self.logits(features)?);
        }
        let drawn = match &self.drawn {
            Some((gaussians, groups, count)) => {
                let mut random = Random::new(self.seed, Purpose::SyntheticFeatures, step, 0);
                let classes =
                    groups.draw(count * TEACHER_FRACTION.0 / TEACHER_FRACTION.1, &mut random);
                let drawn = gaussians.draw(*count, &classes, &mut random);
                let features = Features {
                    count: *count,
                    width: self.classifier.d_feature(),
                    values: values(drawn)?,
                };
                let logits = self.logits(&features)?;
                Some((features, logits))
            }
            None => None,
        };
        Ok(TeacherOutputs { logits, drawn })
    }

    /// Returns the target directions for the texts of nodes, where the loss uses them.
    pub(super) fn anchors(&self) -> Option<&Anchors> {
        self.anchors.as_ref()
    }

    /// Prepares to sample features of `labelled`, the classes of labels.
    fn with_sampled_features(
        mut self,
        rows: &FeatureRows,
        labelled: &[usize],
        settings: &DatasetConfig,
        log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let (views, count) = (settings.feature_views as usize, settings.synthetic_features);
        let first_views: Vec<u32> = (0..rows.count() as u32).step_by(views).collect();
        let classes = self.classifier.classes();
        let (mut photos, mut predicted, mut photo_confidence) = (Vec::new(), Vec::new(), 0.0);
        for block in first_views.chunks(BLOCK) {
            let features = rows.gather(block);
            let logits = self.logits(&features)?;
            let most_likely = |row: &[f32]| {
                let largest = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                largest.map_or(0, |(at, _)| at)
            };
            predicted.extend(logits.chunks_exact(classes).map(most_likely));
            photo_confidence +=
                mean_confidence(&logits, classes) * block.len() as f64 / first_views.len() as f64;
            photos.extend(features.values);
        }
        let width = rows.width();
        let covariance = Covariance::estimate(&photos, width, &predicted, classes, &self.device)?;
        drop(photos);
        let kind = if covariance.within {
            "within the classes that the classifier predicts"
        } else {
            "around their mean (too few for a covariance within classes)"
        };
        let weight = self.classifier.linear.weight.val().transpose();
        let groups = Neighbours::new(weight.clone(), labelled)?;
        let gaussians = ClassFeatures::new(covariance, weight, settings, &self.device)?;
        let mut random = Random::new(self.seed, Purpose::SyntheticFeatures, 0, 1);
        let probe = gaussians.draw(PROBE, labelled, &mut random);
        let sample_confidence = mean_confidence(&values(self.classifier.forward(probe))?, classes);
        log(&format!(
            "samples {count} features per step from {} classes, with the covariance of {} cached \
             features {kind}; mean of the classifier's largest probability: {sample_confidence:.2} \
             on sampled features, {photo_confidence:.2} on photos and crops",
            labelled.len(),
            predicted.len()
        ))?;
        self.drawn = Some((gaussians, groups, count));
        Ok(self)
    }
}

impl Run {
    /// Computes the target directions for the texts of nodes. These are the centred rows of the
    /// classifier, projected as features are by the checkpoint that the run starts from, and their
    /// means. The projection may be trained; the directions stay fixed.
    fn anchors(&self, classifier: &Classifier) -> anyhow::Result<Anchors> {
        let init = self.config.model.init.as_ref();
        let init = init.context("loss.anchor: expected --init, found none")?;
        let image = model_file::open(init, &self.device)?.encoder.image;
        let projected = classifier.directions(&image.visual_proj);
        let width = projected.dims()[1];
        let (taxonomy, classes) = (&self.source.taxonomy, &classifier.labels);
        Ok(Anchors::new(taxonomy, classes, &values(projected)?, width))
    }

    /// Reads the classifier of the checkpoint that the run starts from, where the loss distils it,
    /// and maps its classes to the labels. `rows` are the cached features of the training data.
    pub(super) fn teacher(
        &self,
        rows: Option<&FeatureRows>,
        log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<(Teacher, Distill)>> {
        let (l, d) = (&self.config.loss, &self.config.dataset);
        if l.distill == 0.0 {
            return Ok(None);
        }
        let checkpoint = self.resume.as_ref().or(self.config.model.init.as_ref());
        let checkpoint = checkpoint.ok_or_else(|| {
            usage(
                "loss.distill: expected --init with a checkpoint that has a classifier, found none",
            )
        })?;
        let rows = rows.filter(|rows| rows.count() > 0).ok_or_else(|| {
            usage("loss.distill: expected records with images in --data, found none")
        })?;
        let classifier = classifier_file::read(checkpoint, &self.device)?;
        let (temperature, max_labels) = (l.distill_temperature, l.distill_labels);
        let (taxonomy, classes) = (&self.source.taxonomy, &classifier.labels);
        let (distill, message) = Distill::new(taxonomy, classes, temperature, max_labels)
            .map_err(|e| usage(format!("loss.distill: {e}")))?;
        if let Some(message) = message {
            log(&message)?;
        }
        let labelled = classes_of_labels(taxonomy, classes);
        let mut teacher = Teacher {
            classifier,
            device: self.device.clone(),
            drawn: None,
            anchors: None,
            seed: self.config.train.seed,
        };
        if l.anchor > 0.0 {
            teacher.anchors = Some(self.anchors(&teacher.classifier)?);
        }
        if d.synthetic_features == 0 {
            return Ok(Some((teacher, distill)));
        }
        let teacher = teacher.with_sampled_features(rows, &labelled, d, log)?;
        Ok(Some((teacher, distill)))
    }
}

/// Returns the indices of the classes that are labels of the taxonomy.
fn classes_of_labels(taxonomy: &Taxonomy, classes: &[String]) -> Vec<usize> {
    let is_label = |class: &String| {
        let node = taxonomy.find(class);
        node.is_some_and(|ix| taxonomy.node(ix).labelled)
    };
    let all = 0..classes.len();
    all.filter(|at| is_label(&classes[*at])).collect()
}
