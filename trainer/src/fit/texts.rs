//! What a step changes in the texts of its batch.

use std::sync::Arc;

use espalier_core::input::Tokenizer;
use espalier_core::taxonomy::Taxonomy;

use super::teacher::Teacher;
use crate::config::TrainConfig;
use crate::data::Batch;
use crate::data::climb::Climber;
use crate::data::distill::Distill;
use crate::data::features::FeatureRows;
use crate::data::label_texts::LabelTexts;
use crate::data::noun_texts::NounTexts;
use crate::data::order_texts::OrderTexts;

/// Draws what depends on the step and not on the place in the data.
pub(super) struct StepTexts {
    climber: Climber,
    labels: Option<LabelTexts>,
    order: Option<OrderTexts>,
    nouns: Option<NounTexts>,
    teacher: Option<Teacher>,
}

impl StepTexts {
    /// As a configuration says. `teacher` is the classifier that is distilled, if one is, with how
    /// its classes fit the labels.
    pub(super) fn new(
        taxonomy: &Taxonomy,
        tokenizer: &Arc<Tokenizer>,
        config: &TrainConfig,
        outliers: Option<Arc<FeatureRows>>,
        teacher: Option<(Teacher, Distill)>,
    ) -> anyhow::Result<Self> {
        let (teacher, distill) = teacher.unzip();
        Ok(Self {
            teacher,
            climber: Climber::new(taxonomy.clone(), tokenizer, config),
            labels: LabelTexts::new(taxonomy.clone(), tokenizer, config, outliers, distill)?,
            order: OrderTexts::new(taxonomy.clone(), tokenizer, config)?,
            nouns: NounTexts::new(taxonomy, tokenizer, config)?,
        })
    }

    /// Change a batch; the same way whenever the same step is taken.
    ///
    /// # Errors
    /// When the device fails.
    pub(super) fn apply(&self, batch: &mut Batch, step: u64) -> anyhow::Result<()> {
        self.climber.apply(batch, step);
        if let Some(labels) = &self.labels {
            let taught = self
                .teacher
                .as_ref()
                .map(|teacher| teacher.look(batch, step));
            labels.apply(batch, step, taught.transpose()?);
        }
        if let Some(order) = &self.order {
            order.apply(batch, step);
        }
        if let Some(nouns) = &self.nouns {
            nouns.apply(batch, step);
        }
        batch.anchors = self.teacher.as_ref().and_then(Teacher::anchors);
        Ok(())
    }
}
