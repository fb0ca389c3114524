//! Texts that a step changes in its batch, and texts that it adds.

mod hypernyms;
mod label_texts;
mod noun_texts;
mod order_texts;
mod phrasing;

use std::sync::Arc;

use espalier_core::input::Tokenizer;
use espalier_core::taxonomy::Taxonomy;
use espalier_data::Batch;
use espalier_data::batches::anchors::Anchors;
use espalier_data::batches::distill::Distill;
use espalier_data::batches::feature_rows::FeatureRows;

use self::hypernyms::HypernymReplacer;
use self::label_texts::LabelTexts;
use self::noun_texts::NounTexts;
use self::order_texts::OrderTexts;
use super::teacher::Teacher;
use crate::config::TrainConfig;

/// Samples texts that depend on the step and not on the position in the data.
pub(super) struct StepTexts {
    hypernyms: HypernymReplacer,
    labels: Option<LabelTexts>,
    order: Option<OrderTexts>,
    nouns: Option<NounTexts>,
    teacher: Option<Teacher>,
    /// Target directions of nodes and nouns, where the loss uses them.
    anchors: Option<Arc<Anchors>>,
}

impl StepTexts {
    /// Creates the texts of a configuration. `teacher` is the classifier that is distilled, if any,
    /// with the mapping of its classes to the labels.
    pub(super) fn new(
        taxonomy: &Taxonomy,
        tokenizer: &Arc<Tokenizer>,
        config: &TrainConfig,
        outliers: Option<Arc<FeatureRows>>,
        teacher: Option<(Teacher, Distill)>,
    ) -> anyhow::Result<Self> {
        let (teacher, distill) = teacher.unzip();
        let nouns = NounTexts::new(taxonomy, tokenizer, config)?;
        let anchors = teacher.as_ref().and_then(Teacher::anchors);
        let anchors = anchors.map(|nodes| match &nouns {
            Some(nouns) => nodes
                .clone()
                .with_directions(&nouns.directions(nodes.width)),
            None => nodes.clone(),
        });
        Ok(Self {
            anchors: anchors.map(Arc::new),
            teacher,
            hypernyms: HypernymReplacer::new(taxonomy.clone(), tokenizer, config),
            labels: LabelTexts::new(taxonomy.clone(), tokenizer, config, outliers, distill)?,
            order: OrderTexts::new(taxonomy.clone(), tokenizer, config)?,
            nouns,
        })
    }

    /// Changes a batch; the changes depend only on the seed and the step.
    pub(super) fn apply(&self, batch: &mut Batch, step: u64) -> anyhow::Result<()> {
        self.hypernyms.apply(batch, step);
        if let Some(labels) = &self.labels {
            let teacher = self.teacher.as_ref();
            let outputs = teacher.map(|teacher| teacher.outputs(batch, step));
            batch.labels = Some(labels.of_step(batch, step, outputs.transpose()?)?);
        }
        batch.order = self.order.as_ref().map(|order| order.of_step(step));
        batch.nouns = self.nouns.as_ref().map(|nouns| nouns.of_step(step));
        batch.anchors = self.anchors.clone();
        Ok(())
    }
}
