//! Pairs of a general and a more specific text: along paths of the taxonomy, and of chains of captions.

use std::sync::Arc;

use anyhow::Context;
use espalier_core::caption::prompts::prompt;
use espalier_core::input::{TokenBatch, Tokenizer};
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_core::words::with_article;
use espalier_data::formats::hierarcaps::Hierarcaps;
use espalier_data::records::random::{Purpose, Random};
use espalier_eval::prompts;

use crate::config::TrainConfig;

/// Samples pairs of texts.
pub struct OrderTexts {
    taxonomy: Taxonomy,
    /// Paths of at least two nodes, from below the root to a label.
    paths: Vec<Vec<NodeIx>>,
    /// Chains of captions, from general to specific; may be empty.
    chains: Vec<Vec<String>>,
    tokenizer: Arc<Tokenizer>,
    context: usize,
    prompts: Vec<String>,
    /// Number of pairs in a step.
    count: usize,
    seed: u64,
}

impl OrderTexts {
    /// Creates the texts for `loss.order` of a configuration; none where that is 0, or where the
    /// taxonomy has no two nodes one below the other and there are no chains.
    ///
    /// # Errors
    /// Chains that cannot be read.
    pub fn new(
        taxonomy: Taxonomy,
        tokenizer: &Arc<Tokenizer>,
        config: &TrainConfig,
    ) -> anyhow::Result<Option<Self>> {
        if config.loss.order == 0.0 {
            return Ok(None);
        }
        let below_root = |ix: &NodeIx| taxonomy.path_to(*ix)[1..].to_vec();
        let paths = taxonomy.labelled().iter().map(below_root);
        let paths: Vec<Vec<NodeIx>> = paths.filter(|path| path.len() > 1).collect();
        let files = &config.dataset.chains;
        let chains = match files.is_empty() {
            true => Vec::new(),
            false => Hierarcaps::open(files, 0)
                .context("dataset.chains")?
                .chains()
                .map(|chain| chain.positives.clone())
                .collect(),
        };
        Ok((!paths.is_empty() || !chains.is_empty()).then_some(Self {
            paths,
            chains,
            tokenizer: Arc::clone(tokenizer),
            context: config.model.architecture().text.context,
            prompts: prompts::templates(prompts::SIMPLE)?,
            count: config.dataset.order_pairs,
            seed: config.train.seed,
            taxonomy,
        }))
    }

    /// Returns the general texts of a step, then the specific ones; the choice depends only on the seed
    /// and the step.
    pub fn of_step(&self, step: u64) -> TokenBatch {
        let random = &mut Random::new(self.seed, Purpose::Order, step, 0);
        let pairs: Vec<[String; 2]> = (0..self.count).map(|_| self.pair(random)).collect();
        let side = |at: usize| pairs.iter().map(move |pair| pair[at].clone());
        let texts: Vec<String> = side(0).chain(side(1)).collect();
        self.tokenizer.encode_batch(&texts, self.context)
    }

    /// Samples a pair, the general text first: of a chain, or of a path. Where there are both, either
    /// is as likely.
    fn pair(&self, random: &mut Random) -> [String; 2] {
        let of_chain = match (self.chains.is_empty(), self.paths.is_empty()) {
            (false, false) => random.below(2) == 0,
            (no_chains, _) => !no_chains,
        };
        if !of_chain {
            return self.pair_of_path(random);
        }
        let chain = &self.chains[random.below(self.chains.len() as u32) as usize];
        two_below(chain.len(), random).map(|tier| chain[tier].clone())
    }

    /// Samples two nodes of a path, both in the same form: bare names, names with articles, names in a
    /// prompt, or names along the path as in chains of ranks.
    fn pair_of_path(&self, random: &mut Random) -> [String; 2] {
        let path = &self.paths[random.below(self.paths.len() as u32) as usize];
        let [general, specific] = two_below(path.len(), random);
        let mut draw_below = |n: usize| random.below(n as u32) as usize;
        let name = |at: usize| self.taxonomy.name(path[at]);
        let (form, template) = (draw_below(4), &self.prompts[draw_below(self.prompts.len())]);
        // Chains of ranks skip some nodes of the path.
        let included: Vec<usize> = (0..=specific)
            .filter(|at| [general, specific].contains(at) || draw_below(2) == 0)
            .collect();
        let joined = |last: usize| {
            let names = included.iter().filter(|at| **at <= last);
            names.map(|at| name(*at)).collect::<Vec<_>>().join(" ")
        };
        [general, specific].map(|at| match form {
            0 => name(at).to_owned(),
            1 => with_article(name(at)),
            2 => prompt(template, name(at)),
            _ => joined(at),
        })
    }
}

/// Samples two different numbers below `n`, which is at least 2, the smaller one first.
fn two_below(n: usize, random: &mut Random) -> [usize; 2] {
    let first = random.below(n as u32 - 1) as usize;
    let others = (n - first - 1) as u32;
    [first, first + 1 + random.below(others) as usize]
}

#[cfg(test)]
mod tests {
    use espalier_checkpoints::model_file::MERGES;

    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        r\tthing\t\t0\na\tanimal\tr\t0\nb\tbird\ta\t0\np\tpenguin\tb\t1\nc\tcup\tr\t1\n";

    fn texts(tree: &str, pairs: &[&str]) -> Option<OrderTexts> {
        let config = TrainConfig::of_pairs(pairs).unwrap();
        let tokenizer = Arc::new(Tokenizer::from_merges(MERGES, 8192).unwrap());
        OrderTexts::new(Taxonomy::from_tsv(tree).unwrap(), &tokenizer, &config).unwrap()
    }

    #[test]
    fn the_second_text_of_a_pair_is_more_specific() {
        let texts = texts(TREE, &["loss.order=1"]).unwrap();
        let random = &mut Random::new(0, Purpose::Order, 0, 0);
        let depth = |text: &str| {
            let names = ["animal", "bird", "penguin"];
            names.iter().rposition(|name| text.contains(name))
        };
        let mut joined = 0;
        for _ in 0..200 {
            let [general, specific] = texts.pair(random);
            // The path of the cup has only one node below the root, and no pair contains the root.
            assert!(depth(&general).unwrap() < depth(&specific).unwrap());
            joined += u32::from(specific == "animal bird penguin");
        }
        assert!(joined > 0);
    }

    #[test]
    fn half_of_the_pairs_are_of_the_chains_if_there_are_any() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chains.csv");
        let rows = "positive,negative\none => two => three => four,a => b => c => d\n";
        std::fs::write(&file, rows).unwrap();
        let chains = format!("dataset.chains=[\"{}\"]", file.display());
        let texts = texts(TREE, &["loss.order=1", &chains]).unwrap();
        let random = &mut Random::new(0, Purpose::Order, 0, 0);
        let tiers = ["one", "two", "three", "four"];
        let tier = |text: &str| tiers.iter().position(|tier| *tier == text);
        let mut of_chains = 0;
        for _ in 0..200 {
            let [general, specific] = texts.pair(random);
            if let (Some(general), Some(specific)) = (tier(&general), tier(&specific)) {
                assert!(general < specific);
                of_chains += 1;
            }
        }
        assert!((70..130).contains(&of_chains), "{of_chains}");
    }

    #[test]
    fn without_weight_or_without_paths_there_are_no_pairs() {
        assert!(texts(TREE, &["loss.order=0"]).is_none());
        let flat = "synset\tnames\thypernyms\tlabelled\nr\tthing\t\t0\nc\tcup\tr\t1\n";
        assert!(texts(flat, &["loss.order=1"]).is_none());
    }
}
