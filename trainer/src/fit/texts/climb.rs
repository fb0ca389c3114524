//! Phrases climb the taxonomy: `king penguin` is at times called `bird` or `an animal`.
//!
//! A model that only ever reads the names of species has no place for the general words that a
//! ladder begins with. The phrase of a box is its general side (notation 2.3), so it is the one
//! that is replaced, by the name of an ancestor drawn anew at every step.

use std::sync::Arc;

use espalier_core::input::{TokenBatch, Tokenizer};
use espalier_core::taxonomy::{NodeIx, Taxonomy};

use crate::config::TrainConfig;
use crate::data::Batch;
use crate::data::records::random::{Purpose, Random};
use crate::words::with_article;

/// Replaces phrases by the names of ancestors.
pub struct Climber {
    taxonomy: Taxonomy,
    tokenizer: Arc<Tokenizer>,
    context: usize,
    probability: f32,
    seed: u64,
}

impl Climber {
    /// A climber with the probability `dataset.climb` of a configuration.
    #[must_use]
    pub fn new(taxonomy: Taxonomy, tokenizer: &Arc<Tokenizer>, config: &TrainConfig) -> Self {
        Self {
            taxonomy,
            tokenizer: Arc::clone(tokenizer),
            context: config.model.architecture().text.context,
            probability: config.dataset.climb,
            seed: config.train.seed,
        }
    }

    /// Ancestors of a node that can stand in a caption.
    fn ancestors(&self, ix: NodeIx) -> Vec<NodeIx> {
        let ancestors = self.taxonomy.ancestors(ix).iter().copied();
        ancestors.filter(|a| self.taxonomy.tells(*a)).collect()
    }

    /// Replace some phrases of a batch; the same ones whenever the same step is taken.
    pub fn apply(&self, batch: &mut Batch, step: u64) {
        let Some(phrases) = batch.phrases.as_mut().filter(|_| self.probability > 0.0) else {
            return;
        };
        let mut rows: Vec<Vec<u32>> = phrases
            .ids
            .chunks(phrases.len.max(1))
            .map(<[u32]>::to_vec)
            .collect();
        for (i, (row, synset)) in rows.iter_mut().zip(&batch.synsets).enumerate() {
            let mut random = Random::new(self.seed, Purpose::Climb, step, i as u64);
            let node = synset.as_ref().and_then(|id| self.taxonomy.find(id));
            let Some(node) = node.filter(|_| random.uniform() < self.probability) else {
                continue;
            };
            let ancestors = self.ancestors(node);
            if ancestors.is_empty() {
                continue;
            }
            let at = random.below(ancestors.len() as u32) as usize;
            let name = self.taxonomy.name(ancestors[at]);
            let text = if random.uniform() < 0.5 {
                with_article(name)
            } else {
                name.to_owned()
            };
            *row = self.tokenizer.encode(&text, self.context);
        }
        let len = rows.iter().map(Vec::len).max().unwrap_or(0);
        rows.iter_mut().for_each(|row| row.resize(len, 0));
        *phrases = TokenBatch {
            rows: rows.len(),
            len,
            ids: rows.concat(),
        };
    }
}
