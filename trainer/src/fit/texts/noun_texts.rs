//! Names of nouns and of the taxonomy nodes that they belong to, sampled for a training step.
//!
//! Photos train the labels. Words that are no label are learned from a table of nouns: the contrast
//! of a noun with taxonomy nodes places it near the deepest node at or above it. A smaller share of
//! the target goes to nodes further up, so the nodes between the root and the labels are placed
//! too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context;
use espalier_core::input::Tokenizer;
use espalier_core::taxonomy::{NodeIx, Taxonomy};

use super::phrasing::phrase;
use crate::config::TrainConfig;
use crate::data::Batch;
use crate::data::batches::text_batch::NounBatch;
use crate::data::nouns::generality::Generality;
use crate::data::nouns::noun_senses::NounSenses;
use crate::data::nouns::wordnet::Nouns;
use crate::data::records::random::{Purpose, Random};

/// Share of the samples that are names of taxonomy nodes; the others are any noun.
const FROM_TAXONOMY: f32 = 0.35;
/// Share of a noun's target that goes to the deepest node at or above it; the rest goes to one of
/// that node's ancestors.
const DEEPEST: f32 = 0.7;
/// Probability to stop at each ancestor, starting with the nearest (geometric distribution).
const STOP_CLIMBING: f32 = 0.4;
/// Factor on the sampling weight of a name with a capital letter: most are names of people and
/// places.
const PROPER_NAME: f64 = 0.1;
/// The sampling weight of a name falls with this power of its number of tokens. The vocabulary's
/// merges were learned from captions, so frequent words have few tokens.
const LENGTH_POWER: f64 = 1.5;

/// A name that can be sampled, and the nodes that it belongs to with their shares.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    places: Vec<(NodeIx, f32)>,
    generality: f32,
}

/// Samples the nouns of a step.
pub struct NounTexts {
    taxonomy: Taxonomy,
    /// Names of nodes, then of other nouns.
    of_nodes: Vec<Entry>,
    of_nouns: Vec<Entry>,
    /// Cumulative sampling weights of the nouns.
    cumulative: Vec<f64>,
    /// Generality of each node of the taxonomy.
    node_generality: Vec<f32>,
    tokenizer: Arc<Tokenizer>,
    context: usize,
    count: usize,
    seed: u64,
}

impl NounTexts {
    /// Creates the texts for `loss.nouns` of a configuration; none where that is 0.
    ///
    /// # Errors
    /// A missing or broken `dataset.nouns`; no noun that belongs to a node.
    pub fn new(
        taxonomy: &Taxonomy,
        tokenizer: &Arc<Tokenizer>,
        config: &TrainConfig,
    ) -> anyhow::Result<Option<Self>> {
        let Some(path) = config
            .dataset
            .nouns
            .as_ref()
            .filter(|_| config.loss.nouns > 0.0)
        else {
            return Ok(None);
        };
        let nouns = Nouns::open(path)?;
        let texts = Self::of(taxonomy, &nouns, tokenizer, config);
        let texts = texts.with_context(|| format!("dataset.nouns: {}", path.display()))?;
        Ok(Some(texts))
    }

    fn of(
        taxonomy: &Taxonomy,
        nouns: &Nouns,
        tokenizer: &Arc<Tokenizer>,
        config: &TrainConfig,
    ) -> anyhow::Result<Self> {
        let senses = NounSenses::new(taxonomy, nouns);
        let generality = Generality::new(taxonomy, nouns, &senses);
        // A noun that belongs to no node is only used for the generality term.
        let takes_all = config.loss.generality > 0.0;
        let names: BTreeSet<&str> = nouns
            .iter()
            .flat_map(|(_, noun)| noun.names.iter().map(String::as_str))
            .collect();
        let (mut of_nouns, mut cumulative, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for name in names {
            let places = places(taxonomy, &senses, name);
            if places.is_empty() && !takes_all {
                continue;
            }
            let tokens = tokenizer
                .encode(name, usize::MAX)
                .len()
                .saturating_sub(2)
                .max(1);
            let known = senses.of(name).len() as f64;
            let mut weight = known.sqrt() / (tokens as f64).powf(LENGTH_POWER);
            if name.chars().any(char::is_uppercase) {
                weight *= PROPER_NAME;
            }
            sum += weight;
            cumulative.push(sum);
            of_nouns.push(Entry {
                name: name.to_owned(),
                places,
                generality: generality.of_name(name),
            });
        }
        let nodes = (0..taxonomy.nodes().len() as u32).map(NodeIx);
        let node_generality: Vec<f32> = nodes.map(|ix| generality.of_node(ix)).collect();
        let of_nodes = node_names(taxonomy, &node_generality);
        anyhow::ensure!(
            !of_nouns.is_empty() && !of_nodes.is_empty(),
            "expected nouns at or below nodes of the taxonomy, found none of {}; both are matched by \
             synset id, such as `{}`",
            nouns.len(),
            taxonomy.node(taxonomy.root()).id
        );
        Ok(Self {
            taxonomy: taxonomy.clone(),
            of_nodes,
            of_nouns,
            cumulative,
            node_generality,
            tokenizer: Arc::clone(tokenizer),
            context: config.model.architecture().text.context,
            count: config.dataset.nouns_per_step,
            seed: config.train.seed,
        })
    }

    /// Adds nouns to a batch; the choice depends only on the seed and the step.
    pub fn apply(&self, batch: &mut Batch, step: u64) {
        batch.nouns = Some(self.batch(step));
    }

    fn batch(&self, step: u64) -> NounBatch {
        let random = &mut Random::new(self.seed, Purpose::Nouns, step, 0);
        let mut columns: BTreeMap<NodeIx, usize> = BTreeMap::new();
        let mut order: Vec<NodeIx> = Vec::new();
        let mut rows: Vec<Vec<(usize, f32)>> = Vec::with_capacity(self.count);
        let (mut texts, mut below) = (Vec::with_capacity(self.count), Vec::new());
        let mut generality = Vec::with_capacity(self.count);
        for row in 0..self.count {
            let entry = self.draw(random);
            texts.push(phrase(&entry.name, random));
            generality.push(entry.generality);
            let mut shares = Vec::new();
            let mut add = |node: NodeIx, share: f32, is_above: bool| {
                let column = *columns.entry(node).or_insert_with(|| {
                    order.push(node);
                    order.len() - 1
                });
                shares.push((column, share));
                if is_above {
                    below.push((row, column));
                }
            };
            for &(node, share) in &entry.places {
                let is_above = !self.is_name_of(&entry.name, node);
                match self.ancestor(node, random) {
                    Some(above) => {
                        add(node, share * DEEPEST, is_above);
                        add(above, share * (1.0 - DEEPEST), true);
                    }
                    None => add(node, share, is_above),
                }
            }
            rows.push(shares);
        }
        let mut targets = vec![0.0; rows.len() * order.len()];
        for (row, shares) in rows.iter().enumerate() {
            for (column, share) in shares {
                targets[row * order.len() + column] += share;
            }
        }
        let nodes: Vec<String> = order
            .iter()
            .map(|ix| phrase(self.taxonomy.name(*ix), random))
            .collect();
        generality.extend(order.iter().map(|ix| self.node_generality[ix.index()]));
        NounBatch {
            generality,
            nouns: self.tokenizer.encode_batch(&texts, self.context),
            nodes: self.tokenizer.encode_batch(&nodes, self.context),
            columns: order,
            targets,
            below,
        }
    }

    fn is_name_of(&self, name: &str, node: NodeIx) -> bool {
        self.taxonomy.node(node).names.iter().any(|own| own == name)
    }

    fn draw(&self, random: &mut Random) -> &Entry {
        if random.uniform() < FROM_TAXONOMY {
            return &self.of_nodes[random.below(self.of_nodes.len() as u32) as usize];
        }
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let at = f64::from(random.uniform()) * total;
        let found = self.cumulative.partition_point(|sum| *sum <= at);
        &self.of_nouns[found.min(self.of_nouns.len() - 1)]
    }

    /// Samples a nameable ancestor of a node, near ones more often; `None` where there is none.
    fn ancestor(&self, node: NodeIx, random: &mut Random) -> Option<NodeIx> {
        let mut path = self.taxonomy.path_to(node);
        path.pop();
        let mut up = path
            .into_iter()
            .rev()
            .filter(|ix| self.taxonomy.is_nameable(*ix));
        let mut found = up.next()?;
        while random.uniform() >= STOP_CLIMBING {
            match up.next() {
                Some(next) => found = next,
                None => break,
            }
        }
        Some(found)
    }
}

/// Lists every name of every node that people commonly name, synonyms included.
fn node_names(taxonomy: &Taxonomy, generality: &[f32]) -> Vec<Entry> {
    let nodes = (0..).map(NodeIx).zip(taxonomy.nodes());
    let nameable = nodes.filter(|(ix, node)| node.labelled || taxonomy.is_nameable(*ix));
    nameable
        .flat_map(|(ix, node)| node.names.iter().map(move |name| (ix, name)))
        .map(|(ix, name)| Entry {
            name: name.clone(),
            places: vec![(ix, 1.0)],
            generality: generality[ix.index()],
        })
        .collect()
}

/// Nodes that a name belongs to, over all its senses; shares sum to 1. A node without a common name
/// is replaced by its nearest ancestor with one; senses without such a node are left out.
fn places(taxonomy: &Taxonomy, senses: &NounSenses<'_>, name: &str) -> Vec<(NodeIx, f32)> {
    let mut shares: BTreeMap<NodeIx, f64> = BTreeMap::new();
    for sense in senses.of(name) {
        let attached = senses.places(sense.noun);
        for place in attached {
            let node = taxonomy.nameable_above(place.node);
            if taxonomy.is_nameable(node) || taxonomy.node(node).labelled {
                *shares.entry(node).or_default() += sense.weight / attached.len() as f64;
            }
        }
    }
    // Senses that photos hardly ever show would only blur the target.
    let largest = shares.values().copied().fold(0.0, f64::max);
    shares.retain(|_, share| *share > 0.2 * largest);
    let sum: f64 = shares.values().sum();
    let normal = |(node, share): (NodeIx, f64)| (node, (share / sum) as f32);
    shares.into_iter().map(normal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model_file::MERGES;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        n00000001\tentity\t\t0\n\
        n00000002\tanimal\tn00000001\t0\n\
        n00000003\tdog|domestic dog\tn00000002\t1\n\
        n00000004\tcat\tn00000002\t1\n\
        n00000005\ttool\tn00000001\t0\n\
        n00000006\thammer\tn00000005\t1\n\
        n00000007\tsaw\tn00000005\t1\n\
        n00000008\tpliers\tn00000005\t1\n\
        n00000009\tspade\tn00000005\t1\n";

    const NOUNS: &str = "synset\tnames\thypernyms\tgloss\n\
        n00000001\tentity\t\t\n\
        n00000002\tanimal\tn00000001\t\n\
        n00000003\tdog|domestic dog\tn00000002\t\n\
        n00000010\tpuppy\tn00000003\t\n\
        n00000011\thappiness\tn00000001\t\n\
        n00000012\thorse\tn00000002\t\n";

    fn texts() -> NounTexts {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), NOUNS).unwrap();
        let nouns = Nouns::open(file.path()).unwrap();
        let tokenizer = Arc::new(Tokenizer::from_merges(MERGES, 8192).unwrap());
        let pairs = ["dataset.nouns_per_step=32".to_owned()];
        let config = TrainConfig::resolve(None, toml::Table::new(), &pairs).unwrap();
        NounTexts::of(
            &Taxonomy::from_tsv(TREE).unwrap(),
            &nouns,
            &tokenizer,
            &config,
        )
        .unwrap()
    }

    #[test]
    fn nouns_belong_to_the_deepest_nodes_above_them() {
        let texts = texts();
        let place = |name: &str| {
            let entry = texts.of_nouns.iter().find(|entry| entry.name == name);
            let entry = entry.map(|e| e.places[0].0);
            entry.map(|ix| texts.taxonomy.name(ix).to_owned())
        };
        assert_eq!(place("puppy").as_deref(), Some("dog"));
        assert_eq!(place("horse").as_deref(), Some("animal"));
        // No ancestor has a common name.
        assert_eq!(place("happiness"), None);
    }

    #[test]
    fn targets_sum_to_one_and_nodes_above_are_known() {
        let texts = texts();
        let batch = texts.batch(3);
        assert_eq!(batch, texts.batch(3));
        assert_ne!(batch, texts.batch(4));
        assert_eq!(batch.nouns.rows, 32);
        for row in batch.targets.chunks(batch.nodes.rows) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        }
        assert!(!batch.below.is_empty());
        for (row, column) in &batch.below {
            assert!(batch.targets[row * batch.nodes.rows + column] > 0.0);
            let (noun, node) = (
                batch.generality[*row],
                batch.generality[batch.nouns.rows + column],
            );
            assert!(
                noun < node,
                "what lies above is more general: {noun} {node}"
            );
        }
        assert_eq!(batch.generality.len(), batch.nouns.rows + batch.nodes.rows);
    }
}
