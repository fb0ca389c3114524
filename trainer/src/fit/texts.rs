//! What a step changes in the texts of its batch.

use std::sync::Arc;

use espalier_core::input::Tokenizer;
use espalier_core::taxonomy::Taxonomy;

use crate::config::TrainConfig;
use crate::data::Batch;
use crate::data::climb::Climber;
use crate::data::label_texts::LabelTexts;
use crate::data::order_texts::OrderTexts;

/// Draws what depends on the step and not on the place in the data.
pub(super) struct StepTexts {
    climber: Climber,
    labels: Option<LabelTexts>,
    order: Option<OrderTexts>,
}

impl StepTexts {
    /// As a configuration says.
    pub(super) fn new(
        taxonomy: &Taxonomy,
        tokenizer: &Arc<Tokenizer>,
        config: &TrainConfig,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            climber: Climber::new(taxonomy.clone(), tokenizer, config),
            labels: LabelTexts::new(taxonomy.clone(), tokenizer, config)?,
            order: OrderTexts::new(taxonomy.clone(), tokenizer, config)?,
        })
    }

    /// Change a batch; the same way whenever the same step is taken.
    pub(super) fn apply(&self, batch: &mut Batch, step: u64) {
        self.climber.apply(batch, step);
        if let Some(labels) = &self.labels {
            labels.apply(batch, step);
        }
        if let Some(order) = &self.order {
            order.apply(batch, step);
        }
    }
}
