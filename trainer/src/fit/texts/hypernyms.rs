//! Replaces phrases by hypernyms: `king penguin` sometimes becomes `bird` or `an animal`.
//!
//! A model that reads only the names of species cannot place the general words at the start of a
//! ladder. The phrase of a box is the more general side of a pair (notation 2.3), so the phrase is
//! replaced by the name of an ancestor, drawn again at every step.

use std::sync::Arc;

use espalier_core::input::{TokenBatch, Tokenizer};
use espalier_core::taxonomy::Taxonomy;
use espalier_core::words::with_article;
use espalier_data::records::random::{Purpose, Random};
use espalier_data::{Batch, BatchContent};

use crate::config::TrainConfig;

/// Replaces phrases by the names of ancestors.
pub struct HypernymReplacer {
    taxonomy: Taxonomy,
    tokenizer: Arc<Tokenizer>,
    context: usize,
    probability: f32,
    seed: u64,
}

impl HypernymReplacer {
    /// Creates it with the probability `dataset.hypernym_prob` of a configuration.
    pub fn new(taxonomy: Taxonomy, tokenizer: &Arc<Tokenizer>, config: &TrainConfig) -> Self {
        Self {
            taxonomy,
            tokenizer: Arc::clone(tokenizer),
            context: config.model.architecture().text.context,
            probability: config.dataset.hypernym_prob,
            seed: config.train.seed,
        }
    }

    /// Replaces some phrases of a batch; the choice depends only on the seed and the step.
    pub fn apply(&self, batch: &mut Batch, step: u64) {
        let BatchContent::Boxed { phrases, .. } = &mut batch.content else {
            return;
        };
        if self.probability == 0.0 {
            return;
        }
        let rows = phrases.ids.chunks(phrases.len.max(1));
        let mut rows: Vec<Vec<u32>> = rows.map(<[u32]>::to_vec).collect();
        for (i, (row, synset)) in rows.iter_mut().zip(&batch.synsets).enumerate() {
            let mut random = Random::new(self.seed, Purpose::Hypernym, step, i as u64);
            let node = synset.as_ref().and_then(|id| self.taxonomy.find(id));
            let Some(node) = node.filter(|_| random.uniform() < self.probability) else {
                continue;
            };
            let mut ancestors = self.taxonomy.ancestors(node).to_vec();
            // Those that can be named in a caption.
            ancestors.retain(|ancestor| self.taxonomy.is_informative(*ancestor));
            if ancestors.is_empty() {
                continue;
            }
            let at = random.below(ancestors.len() as u32) as usize;
            let name = self.taxonomy.name(ancestors[at]);
            let text = match random.uniform() < 0.5 {
                true => with_article(name),
                false => name.to_owned(),
            };
            *row = self.tokenizer.encode(&text, self.context);
        }
        *phrases = TokenBatch::padded(rows.iter().map(Vec::as_slice));
    }
}
