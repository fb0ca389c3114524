//! What the methods share: points of images, captions, boxes and chains of texts.

use anyhow::bail;
use burn::tensor::Tensor;
use espalier_core::loss::{
    Contrast, HycoclipPoints, LossTerms, ORDER_MARGIN, label_contrast, radial_generality,
    radial_order,
};
use espalier_core::math::normalize;
use espalier_core::model::{Lift, Tokens};

use super::definition::StepContext;
use crate::fit::inputs::{ChainInputs, ImageTensor, StepContent};

/// Factor on the cosines of texts and anchors before the softmax over the nodes. With a factor of 1
/// the softmax could not separate a text from hundreds of others; with a factor near 100 the nodes
/// around the correct one would get no share (CLIP learns a factor between 14 and 100).
const ANCHOR_SCALE: f32 = 20.0;

/// Weight of the variance of the labels' logarithmic radii relative to the angles to their anchors.
/// With distances, a label nearer to the root has an advantage for every image; a variance of 1e-4
/// changes logits by as much as a change of 0.003 in a cosine.
const RADIUS_VARIANCE_WEIGHT: f64 = 30.0;

impl StepContext<'_> {
    /// Returns minus the curvature, `[1, 1]`.
    ///
    /// # Errors
    /// If the embedding space of the model is another one.
    pub(super) fn curvature(&self) -> anyhow::Result<Tensor<2>> {
        match &self.model.lift {
            Lift::Lorentz(lift) => Ok(lift.curv.row()),
            _ => bail!("expected a model with a Lorentz space, found another space"),
        }
    }

    /// Returns how the images and texts of the batch are contrasted, with the learned scale.
    pub(super) fn contrast(&self) -> Contrast {
        self.contrast_with(self.model.logit_scale.value())
    }

    /// Returns how the images and texts of the batch are contrasted, with the scale `[1]`.
    pub(super) fn contrast_with(&self, scale: Tensor<1>) -> Contrast {
        Contrast::from(scale)
            .in_blocks(Some(self.contrast_rows))
            .within(self.inputs.same_images.clone())
    }

    /// Returns the features of batches of images, one batch after the other, from the patches of
    /// this step, `[n, d]`.
    pub(super) fn features(&self, images: Vec<ImageTensor>) -> Tensor<2> {
        self.encoders.images(images, self.inputs.keep.clone())
    }

    /// Returns the points of texts, `[n, d]`.
    fn text_points(&self, tokens: &Tokens) -> Tensor<2> {
        self.model.lift.text(self.encoders.texts(tokens))
    }

    /// Returns the points of images and captions. Where a batch has boxes, the boxes and their
    /// phrases are further pairs ("with boxes", notation 2.3).
    pub(super) fn pairs(&self) -> (Tensor<2>, Tensor<2>) {
        if let StepContent::Boxed { images, phrases } = &self.inputs.content {
            let p = self.boxed_points(images, phrases);
            return (
                Tensor::cat(vec![p.image, p.box_image], 0),
                Tensor::cat(vec![p.text, p.box_text], 0),
            );
        }
        let features = self.features(vec![self.inputs.images.clone()]);
        let texts = self.text_points(&self.inputs.captions);
        (self.model.lift.image(features), texts)
    }

    /// Returns the points of images, captions, boxes and phrases.
    ///
    /// # Errors
    /// If the batch has no boxes.
    pub(super) fn hycoclip_points(&self) -> anyhow::Result<HycoclipPoints<2>> {
        match &self.inputs.content {
            StepContent::Boxed { images, phrases } => Ok(self.boxed_points(images, phrases)),
            _ => bail!("expected a batch with boxes, found none"),
        }
    }

    fn boxed_points(&self, box_images: &ImageTensor, phrases: &Tokens) -> HycoclipPoints<2> {
        // Images and crops share one forward pass: one large matrix product beats two small ones.
        let batch = self.inputs.images.rows();
        let images = vec![self.inputs.images.clone(), box_images.clone()];
        let points = self.model.lift.image(self.features(images));
        HycoclipPoints {
            image: points.clone().narrow(0, 0, batch),
            box_image: points.narrow(0, batch, batch),
            text: self.text_points(&self.inputs.captions),
            box_text: self.text_points(phrases),
        }
    }

    /// Adds the contrast of images with all labels to a loss, where the run uses it, and the
    /// contrast of outlier images with their own target.
    ///
    /// `image_points [n b, d]`: `n` images of each sample, in blocks of `b` samples; `similarity` of
    /// points `[n b, d]` and `[l, d]` is `[n b, l]`.
    pub(super) fn with_labels(
        &self,
        terms: LossTerms,
        image_points: Tensor<2>,
        similarity: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
    ) -> LossTerms {
        let Some(labels) = &self.inputs.labels else {
            return terms;
        };
        let [rows, _] = image_points.dims();
        let [samples, _] = labels.targets.dims();
        let targets = labels.targets.clone().repeat_dim(0, rows / samples.max(1));
        let texts = self.text_points(&labels.texts);
        let scale = self.model.logit_scale.value();
        let points = (image_points.clone(), texts.clone());
        let terms = self.with_classifier_targets(terms, points, scale.clone(), &similarity);
        if self.loss_config.labels == 0.0 {
            return terms;
        }
        let similarities = similarity(image_points, texts.clone());
        let term = label_contrast(similarities, targets, scale.clone());
        let terms = terms.plus("labels", self.loss_config.labels, term);
        let Some((outliers, target)) = &labels.outliers else {
            return terms;
        };
        let image_points = self.model.lift.image(self.features(vec![outliers.clone()]));
        let [rows, _] = image_points.dims();
        let targets = target.clone().repeat_dim(0, rows);
        // The scale is detached: this term may move the outlier images, but not lower the scale of
        // all others.
        let term = label_contrast(similarity(image_points, texts), targets, scale.detach());
        terms.plus("outliers", self.loss_config.outliers, term)
    }

    /// Adds the distillation of the classifier to a loss, for methods without the contrast of
    /// [`with_labels`](Self::with_labels).
    pub(super) fn with_distillation(
        &self,
        terms: LossTerms,
        image_points: Tensor<2>,
        scale: Tensor<1>,
        similarity: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
    ) -> LossTerms {
        let Some(labels) = &self.inputs.labels else {
            return terms;
        };
        let texts = self.text_points(&labels.texts);
        self.with_classifier_targets(terms, (image_points, texts), scale, &similarity)
    }

    /// Adds the cross-entropy between the classifier's probabilities and the softmax of the scaled
    /// similarities of images and label texts, and the same for features sampled from the
    /// classifier.
    ///
    /// `image_points [n b, d]`, `texts [l, d]`, `scale [1]`
    fn with_classifier_targets(
        &self,
        terms: LossTerms,
        (image_points, texts): (Tensor<2>, Tensor<2>),
        scale: Tensor<1>,
        similarity: &impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
    ) -> LossTerms {
        let labels = self.inputs.labels.as_ref();
        let Some(distill) = labels.and_then(|labels| labels.distill.as_ref()) else {
            return terms;
        };
        let known = texts.narrow(0, 0, distill.labels);
        let terms = match (&self.inputs.anchors, labels) {
            (Some(anchors), Some(labels)) => {
                let nodes = labels.nodes.clone().narrow(0, 0, distill.labels);
                let anchors = anchors.clone().select(0, nodes);
                let cosines = (normalize(known.clone()) * anchors).sum_dim(1);
                let log_norms = known.clone().square().sum_dim(1).log() * 0.5;
                let log_norm_variance = (log_norms.clone() - log_norms.mean_dim(0)).square().mean();
                let weight = self.loss_config.anchor;
                let terms = terms.plus("anchor", weight, (cosines.neg() + 1.0).mean());
                let weight = weight * RADIUS_VARIANCE_WEIGHT;
                terms.plus("anchor_radius", weight, log_norm_variance)
            }
            _ => terms,
        };
        let term = |image_points, targets| {
            let similarities = similarity(image_points, known.clone());
            label_contrast(similarities, targets, scale.clone())
        };
        let first = term(image_points, distill.targets.clone());
        let terms = terms.plus("distill", self.loss_config.distill, first);
        let Some((features, targets)) = &distill.drawn else {
            return terms;
        };
        let drawn = self.features(vec![ImageTensor::Features(features.clone())]);
        let second = term(self.model.lift.image(drawn), targets.clone());
        terms.plus("synthetic", self.loss_config.distill, second)
    }

    /// Adds the contrast of nouns with the taxonomy nodes that they belong to, where the run uses
    /// it. Each noun is contrasted with all nodes of the step, as an image is with labels. With
    /// `radius`, nouns are also ordered: each should lie farther from the root than the nodes above
    /// it, and where the run uses generalities, each lies at the radius of its generality.
    ///
    /// Where the run has anchors, nouns and the names of nodes are classified by their cosines with
    /// the anchors of all nodes, which stay fixed while the texts learn.
    ///
    /// `similarity` of points `[n, d]` and `[m, d]` is `[n, m]`, `radius` of points `[n, d]` is
    /// `[n, 1]`.
    pub(super) fn with_nouns(
        &self,
        terms: LossTerms,
        similarity: impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2>,
        radius: Option<&dyn Fn(Tensor<2>) -> Tensor<2>>,
    ) -> LossTerms {
        let Some(inputs) = &self.inputs.nouns else {
            return terms;
        };
        let nouns = self.text_points(&inputs.nouns);
        let nodes = self.text_points(&inputs.nodes);
        let (similarities, scale) = match &self.inputs.anchors {
            Some(anchors) => {
                let texts = normalize(Tensor::cat(vec![nouns.clone(), nodes.clone()], 0));
                let scale = Tensor::from_floats([ANCHOR_SCALE], &texts.device());
                (texts.matmul(anchors.clone().transpose()), scale)
            }
            None => (
                similarity(nouns.clone(), nodes.clone()),
                // The scale belongs to the contrast of images; nouns must not change it.
                self.model.logit_scale.value().detach(),
            ),
        };
        let term = label_contrast(similarities, inputs.targets.clone(), scale);
        let terms = terms.plus("nouns", self.loss_config.nouns, term);
        let Some(radius) = radius else {
            return terms;
        };
        let (noun_radii, node_radii) = (radius(nouns), radius(nodes));
        let terms = if self.loss_config.generality > 0.0 {
            let all = Tensor::cat(vec![noun_radii.clone(), node_radii.clone()], 0);
            let term = radial_generality(all, inputs.generality.clone());
            terms.plus("generality", self.loss_config.generality, term)
        } else {
            terms
        };
        let [rows, columns] = inputs.below.clone();
        if rows.dims() == [0] {
            return terms;
        }
        let (general, specific) = (node_radii.select(0, columns), noun_radii.select(0, rows));
        let term = radial_order(general, specific, ORDER_MARGIN);
        let weight = self.loss_config.nouns * self.loss_config.order;
        terms.plus("nouns_order", weight, term)
    }

    /// Adds the order of texts by their radii, and the variance of the logarithmic radii of the captions
    /// `[b, d]`, to a loss, where the run uses them; `radius` of points `[n, d]` is `[n, 1]`.
    pub(super) fn with_radii(
        &self,
        terms: LossTerms,
        captions: Tensor<2>,
        radius: impl Fn(Tensor<2>) -> Tensor<2>,
    ) -> LossTerms {
        let terms = if self.loss_config.caption_radius > 0.0 {
            let radii = radius(captions);
            let equal = radii.zeros_like();
            let term = radial_generality(radii, equal);
            terms.plus("caption_radius", self.loss_config.caption_radius, term)
        } else {
            terms
        };
        let Some(texts) = &self.inputs.order else {
            return terms;
        };
        let radii = radius(self.text_points(texts));
        let [rows, _] = radii.dims();
        let half = |from| radii.clone().narrow(0, from, rows / 2);
        let term = radial_order(half(0), half(rows / 2), ORDER_MARGIN);
        terms.plus("order", self.loss_config.order, term)
    }

    /// Returns the chains of the batch.
    ///
    /// # Errors
    /// If it has none.
    pub(super) fn chains(&self) -> anyhow::Result<&ChainInputs> {
        match &self.inputs.content {
            StepContent::Chains(chains) => Ok(chains),
            _ => bail!("expected a batch with chains of texts, found none"),
        }
    }

    /// Returns the unit vectors of the chains' texts.
    pub(super) fn chain_points(&self, chains: &ChainInputs) -> ChainPoints {
        let features = self.encoders.texts(&chains.texts);
        ChainPoints::split(features.select(0, chains.rows.clone()), chains.tiers)
    }

    /// Returns the same points by the frozen text encoder, where the method needs it.
    pub(super) fn frozen_chain_points(&self, chains: &ChainInputs) -> Option<ChainPoints> {
        let features = self.encoders.frozen_texts(self.frozen?, &chains.texts);
        let features = features.select(0, chains.rows.clone().inner());
        Some(ChainPoints::split(features.autodiff(), chains.tiers))
    }
}

/// Unit vectors of texts of chains.
pub(super) struct ChainPoints {
    /// `[b, tiers, d]`
    pub(super) positives: Tensor<3>,
    /// `[b, tiers, d]`
    pub(super) negatives: Tensor<3>,
    /// `[1, d]`
    pub(super) root: Tensor<2>,
}

impl ChainPoints {
    /// Splits rows that are ordered as in [`ChainInputs::rows`].
    fn split(features: Tensor<2>, tiers: usize) -> Self {
        let points = normalize(features);
        let [rows, d] = points.dims();
        let half = (rows - 1) / 2;
        let part = |from: usize| {
            let part = points.clone().narrow(0, from, half);
            part.reshape([half / tiers, tiers, d])
        };
        Self {
            positives: part(0),
            negatives: part(half),
            root: points.clone().narrow(0, rows - 1, 1),
        }
    }

    /// Returns the positives, then the negatives, `[2 b tiers, d]`.
    pub(super) fn rows(self) -> Tensor<2> {
        let [b, tiers, d] = self.positives.dims();
        Tensor::cat(vec![self.positives, self.negatives], 0).reshape([2 * b * tiers, d])
    }
}
