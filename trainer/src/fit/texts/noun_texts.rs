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
use espalier_data::batches::text_batch::NounBatch;
use espalier_data::nouns::concepts::{Concept, Concepts};
use espalier_data::nouns::generality::Generality;
use espalier_data::nouns::noun_senses::NounSenses;
use espalier_data::nouns::wordnet::Nouns;
use espalier_data::records::random::{Purpose, Random};

use super::phrasing::phrase;
use crate::config::TrainConfig;

/// Share of the samples that are names of taxonomy nodes; the others are any noun.
const FROM_TAXONOMY: f32 = 0.35;
/// Share of a noun's target that goes to the deepest node at or above it; the rest goes to one of
/// that node's ancestors.
const DEEPEST: f32 = 0.7;
/// Share of a noun's target that goes to a concept outside the taxonomy that is nearer than any node.
const CONCEPT: f64 = 0.25;
/// Probability to stop at each ancestor, starting with the nearest (geometric distribution).
const STOP_CLIMBING: f32 = 0.4;
/// Factor on the sampling weight of a name with a capital letter: most are names of people and
/// places.
const PROPER_NAME: f64 = 0.1;
/// The sampling weight of a name falls with this power of its number of tokens. The vocabulary's
/// merges were learned from captions, so frequent words have few tokens.
const LENGTH_POWER: f64 = 2.0;
/// The sampling weight of a name grows with this power of its number of senses: frequent words have
/// many.
const SENSE_POWER: f64 = 0.75;

/// What nouns belong to: a node of the taxonomy, or a general noun outside it.
struct Target {
    /// Its names, the usual one first.
    names: Vec<String>,
    generality: f32,
    /// Indices of the targets above it that people commonly name, the nearest first.
    above: Vec<usize>,
}

/// A name that can be sampled, and the indices of the targets that it belongs to with their shares.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    places: Vec<(usize, f32)>,
    generality: f32,
}

/// Samples the nouns of a step.
pub struct NounTexts {
    /// The nodes of the taxonomy, then the concepts.
    targets: Vec<Target>,
    concepts: Concepts,
    /// Names of nodes, then of other nouns.
    of_nodes: Vec<Entry>,
    of_nouns: Vec<Entry>,
    /// Cumulative sampling weights of the nouns.
    cumulative: Vec<f64>,
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
        let path = config.dataset.nouns.as_ref();
        let Some(path) = path.filter(|_| config.loss.nouns > 0.0) else {
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
        let concepts = Concepts::new(taxonomy, nouns, &generality, config.dataset.general_nouns);
        // A noun that belongs to no target is only used for the generality term.
        let takes_all = config.loss.generality > 0.0;
        let names = nouns.iter().flat_map(|(_, noun)| &noun.names);
        let names: BTreeSet<&String> = names.collect();
        let (mut of_nouns, mut cumulative, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for name in names {
            let places = places(taxonomy, nouns, &concepts, &senses, name);
            if places.is_empty() && !takes_all {
                continue;
            }
            sum += weight(name, senses.of(name).len(), tokenizer);
            cumulative.push(sum);
            of_nouns.push(Entry {
                name: name.clone(),
                places,
                generality: generality.of_name(name),
            });
        }
        let targets = targets(taxonomy, &concepts, &generality);
        let of_nodes = node_names(taxonomy, &targets);
        anyhow::ensure!(
            !of_nouns.is_empty() && !of_nodes.is_empty(),
            "expected nouns at or below nodes of the taxonomy, found none of {}; both are matched by \
             synset id, such as `{}`",
            nouns.len(),
            taxonomy.node(taxonomy.root()).id
        );
        Ok(Self {
            targets,
            concepts,
            of_nodes,
            of_nouns,
            cumulative,
            tokenizer: Arc::clone(tokenizer),
            context: config.model.architecture().text.context,
            count: config.dataset.nouns_per_step,
            seed: config.train.seed,
        })
    }

    /// Returns the nouns of a step; the choice depends only on the seed and the step.
    pub fn of_step(&self, step: u64) -> NounBatch {
        let random = &mut Random::new(self.seed, Purpose::Nouns, step, 0);
        let mut column_of: BTreeMap<usize, usize> = BTreeMap::new();
        let mut columns: Vec<usize> = Vec::new();
        let mut rows: Vec<Vec<(usize, f32)>> = Vec::with_capacity(self.count);
        let (mut texts, mut below) = (Vec::with_capacity(self.count), Vec::new());
        let mut generality = Vec::with_capacity(self.count);
        for row in 0..self.count {
            let entry = self.draw(random);
            texts.push(phrase(&entry.name, random));
            generality.push(entry.generality);
            let mut shares = Vec::new();
            let mut add = |target: usize, share: f32, is_above: bool| {
                let column = *column_of.entry(target).or_insert_with(|| {
                    columns.push(target);
                    columns.len() - 1
                });
                shares.push((column, share));
                if is_above {
                    below.push((row, column));
                }
            };
            for &(target, share) in &entry.places {
                let is_above = !self.targets[target].names.contains(&entry.name);
                match self.ancestor(target, random) {
                    Some(above) => {
                        add(target, share * DEEPEST, is_above);
                        add(above, share * (1.0 - DEEPEST), true);
                    }
                    None => add(target, share, is_above),
                }
            }
            rows.push(shares);
        }
        let mut targets = vec![0.0; rows.len() * columns.len()];
        for (row, shares) in rows.iter().enumerate() {
            for (column, share) in shares {
                targets[row * columns.len() + column] += share;
            }
        }
        let mut nodes = Vec::with_capacity(columns.len());
        for target in columns.iter().map(|target| &self.targets[*target]) {
            nodes.push(phrase(&target.names[0], random));
            generality.push(target.generality);
        }
        NounBatch {
            generality,
            nouns: self.tokenizer.encode_batch(&texts, self.context),
            nodes: self.tokenizer.encode_batch(&nodes, self.context),
            columns,
            targets,
            below,
        }
    }

    /// Returns the target directions of the concepts, `[concepts, width]`.
    pub fn directions(&self, width: usize) -> Vec<f32> {
        self.concepts.directions(width)
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

    /// Samples a nameable ancestor of a target, near ones more often; `None` where there is none.
    fn ancestor(&self, target: usize, random: &mut Random) -> Option<usize> {
        let mut up = self.targets[target].above.iter().copied();
        let mut found = up.next()?;
        while random.uniform() >= STOP_CLIMBING
            && let Some(next) = up.next()
        {
            found = next;
        }
        Some(found)
    }
}

/// Returns the sampling weight of a noun with this number of senses.
fn weight(name: &str, senses: usize, tokenizer: &Tokenizer) -> f64 {
    // Without the start and the end.
    let tokens = tokenizer.encode(name, usize::MAX).len().saturating_sub(2);
    let mut weight = (senses as f64).powf(SENSE_POWER) / (tokens.max(1) as f64).powf(LENGTH_POWER);
    if name.chars().any(char::is_uppercase) {
        weight *= PROPER_NAME;
    }
    weight
}

/// Lists the nodes of a taxonomy, then the concepts outside it.
fn targets(taxonomy: &Taxonomy, concepts: &Concepts, generality: &Generality<'_>) -> Vec<Target> {
    let nodes = (0..taxonomy.nodes().len() as u32).map(NodeIx);
    let nameable: Vec<bool> = nodes.clone().map(|ix| taxonomy.is_nameable(ix)).collect();
    let of_node = |ix: NodeIx| {
        let above = taxonomy.path_to(ix).into_iter().rev().skip(1);
        let above = above.map(NodeIx::index).filter(|at| nameable[*at]);
        Target {
            names: taxonomy.node(ix).names.clone(),
            generality: generality.of_node(ix),
            above: above.collect(),
        }
    };
    let of_concept = |concept: &Concept| Target {
        names: vec![concept.name.clone()],
        generality: concept.generality,
        above: concept.above.iter().map(|at| nameable.len() + at).collect(),
    };
    let concepts = concepts.all().iter().map(of_concept);
    nodes.map(of_node).chain(concepts).collect()
}

/// Lists every name of every node that people commonly name, synonyms included.
fn node_names(taxonomy: &Taxonomy, targets: &[Target]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for ((ix, node), target) in (0..).map(NodeIx).zip(taxonomy.nodes()).zip(targets) {
        if node.labelled || taxonomy.is_nameable(ix) {
            entries.extend(node.names.iter().map(|name| Entry {
                name: name.clone(),
                places: vec![(ix.index(), 1.0)],
                generality: target.generality,
            }));
        }
    }
    entries
}

/// Returns the indices of the targets that a name belongs to, over all its senses; shares sum to 1.
/// A node without a common name is replaced by its nearest ancestor with one. A concept nearer than
/// the node takes the share [`CONCEPT`], and all of it without such a node; senses without either are
/// left out.
fn places(
    taxonomy: &Taxonomy,
    nouns: &Nouns,
    concepts: &Concepts,
    senses: &NounSenses<'_>,
    name: &str,
) -> Vec<(usize, f32)> {
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    for sense in senses.of(name) {
        let attached = senses.places(sense.noun);
        let nameable = attached.iter().filter_map(|place| {
            let node = taxonomy.nameable_above(place.node);
            let is_target = taxonomy.is_nameable(node) || taxonomy.node(node).labelled;
            is_target.then(|| (node, place.distance()))
        });
        let nameable: Vec<(NodeIx, usize)> = nameable.collect();
        let edges = nameable.iter().map(|(_, edges)| *edges).min();
        let concept = concepts.nearest(nouns, sense.noun);
        let concept = concept.filter(|(_, up)| edges.is_none_or(|edges| *up < edges));
        let of_concept = match (&concept, nameable.is_empty()) {
            (None, _) => 0.0,
            (Some(_), true) => 1.0,
            (Some(_), false) => CONCEPT,
        };
        if let Some((index, _)) = concept {
            let target = taxonomy.nodes().len() + index;
            *shares.entry(target).or_default() += sense.weight * of_concept;
        }
        for (node, _) in nameable {
            let share = sense.weight * (1.0 - of_concept) / attached.len() as f64;
            *shares.entry(node.index()).or_default() += share;
        }
    }
    // Senses that photos hardly ever show would only blur the target.
    let largest = shares.values().copied().fold(0.0, f64::max);
    shares.retain(|_, share| *share > 0.2 * largest);
    let sum: f64 = shares.values().sum();
    let normal = |(target, share): (usize, f64)| (target, (share / sum) as f32);
    shares.into_iter().map(normal).collect()
}

#[cfg(test)]
mod tests {
    use espalier_checkpoints::model_file::MERGES;

    use super::*;

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
        n00000013\tstate\tn00000001\t\n\
        n00000011\thappiness\tn00000013\t\n\
        n00000012\thorse\tn00000002\t\n";

    fn texts() -> NounTexts {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), NOUNS).unwrap();
        let nouns = Nouns::open(file.path()).unwrap();
        let tokenizer = Arc::new(Tokenizer::from_merges(MERGES, 8192).unwrap());
        let pairs = ["dataset.nouns_per_step=32", "dataset.general_nouns=2"];
        let config = TrainConfig::of_pairs(&pairs).unwrap();
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        NounTexts::of(&tree, &nouns, &tokenizer, &config).unwrap()
    }

    #[test]
    fn nouns_belong_to_the_deepest_nodes_above_them() {
        let texts = texts();
        let place = |name: &str| {
            let entry = texts.of_nouns.iter().find(|entry| entry.name == name);
            texts.targets[entry.unwrap().places[0].0].names[0].as_str()
        };
        assert_eq!(place("puppy"), "dog");
        assert_eq!(place("horse"), "animal");
        assert_eq!(place("happiness"), "state");
    }

    #[test]
    fn targets_sum_to_one_and_nodes_above_are_known() {
        let texts = texts();
        let batch = texts.of_step(3);
        assert_eq!(batch, texts.of_step(3));
        assert_ne!(batch, texts.of_step(4));
        assert_eq!(batch.nouns.rows, 32);
        for row in batch.targets.chunks(batch.nodes.rows) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        }
        assert!(!batch.below.is_empty());
        for (row, column) in &batch.below {
            assert!(batch.targets[row * batch.nodes.rows + column] > 0.0);
            let node = batch.generality[batch.nouns.rows + column];
            let noun = batch.generality[*row];
            assert!(noun < node, "what lies above is more general");
        }
        assert_eq!(batch.generality.len(), batch.nouns.rows + batch.nodes.rows);
    }
}
