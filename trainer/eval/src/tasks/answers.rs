//! A model's answers for labelled images, and the result of a task on them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::Coverage;

use super::classes::Classes;
use super::classified::Classified;
use crate::embedded::Embedded;
use crate::search::Ranked;
use crate::task::{Confusion, Context, TaskResult, named};

/// Maximum number of wrong answers shown.
const CONFUSIONS: usize = 30;

/// Images with their answers.
pub struct Answers {
    /// All images.
    pub images: Rc<Embedded>,
    /// Classes to choose from.
    pub classes: Classes,
    /// Indices of the images that are evaluated.
    pub evaluated: Vec<usize>,
    /// The class of each evaluated image.
    pub truth: Vec<usize>,
    /// The best classes of each evaluated image.
    pub ranked: Ranked,
    /// The answers of the classifier of `--classifier`, if given.
    pub classified: Option<Classified>,
    /// Number of images that were skipped, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What is available and what is unusual.
    pub coverage: Coverage,
    /// Prompt set.
    pub prompts: String,
    /// The split or range that was used, if the data has several.
    pub split: Option<String>,
    /// The taxonomy of the classes.
    pub taxonomy: Taxonomy,
    /// Its source, as [`Context::taxonomy`] names it.
    pub source: &'static str,
}

impl Answers {
    /// Returns the result of a task with these metrics; `evaluated` is the number of answers
    /// evaluated.
    pub fn outcome(
        self,
        cx: &Context<'_, '_>,
        evaluated: usize,
        metrics: BTreeMap<String, f64>,
    ) -> TaskResult {
        let mut settings = named([("resize", cx.resize_name(ResizeMode::CentreCrop))]);
        let classified = self.classified.as_ref();
        settings.extend(classified.map(|c| ("classifier".to_owned(), c.describe())));
        let of_classes = self.classes.nodes.iter().any(Option::is_some);
        settings.extend(of_classes.then(|| ("taxonomy".to_owned(), self.source.to_owned())));
        settings.extend(self.split.clone().map(|split| ("split".to_owned(), split)));
        TaskResult {
            n: evaluated,
            classes: self.classes.labels.len(),
            metrics,
            confusions: confusions(&self),
            settings,
            prompts: self.prompts,
            left_out: self.left_out,
            coverage: Some(self.coverage),
            ..TaskResult::default()
        }
    }
}

/// Returns the most frequent wrong answers, at most [`CONFUSIONS`]; those with the shallowest common
/// ancestor first.
fn confusions(answers: &Answers) -> Vec<Confusion> {
    let mut pairs: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (i, (truth, row)) in answers.truth.iter().zip(&answers.evaluated).enumerate() {
        if let Some(answer) = answers.ranked.items(i).first().map(|c| *c as usize)
            && answer != *truth
        {
            pairs.entry((*truth, answer)).or_default().push(*row);
        }
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    pairs.truncate(CONFUSIONS);
    let taxonomy = &answers.taxonomy;
    let Classes { names, nodes, .. } = &answers.classes;
    let confusion = |((truth, answer), rows): ((usize, usize), Vec<usize>)| {
        let both = nodes[truth].zip(nodes[answer]);
        let ancestor = both.and_then(|(t, a)| nearest_common_ancestor(taxonomy, t, a));
        let shown = rows.iter().take(4);
        let keys = shown.map(|row| answers.images.about.keys[*row].clone());
        Confusion {
            truth: names[truth].clone(),
            answer: names[answer].clone(),
            ancestor: ancestor.map_or_else(String::new, |ix| taxonomy.name(ix).to_owned()),
            depth: ancestor.map_or(0, |ix| taxonomy.depth(ix)),
            count: rows.len(),
            examples: keys.collect(),
        }
    };
    let mut found: Vec<Confusion> = pairs.into_iter().map(confusion).collect();
    found.sort_by_key(|c| c.depth);
    found
}

/// Returns the deepest common ancestor of two nodes (or one of the nodes itself).
fn nearest_common_ancestor(taxonomy: &Taxonomy, a: NodeIx, b: NodeIx) -> Option<NodeIx> {
    let up = |ix: NodeIx| -> BTreeSet<NodeIx> {
        taxonomy.ancestors(ix).iter().copied().chain([ix]).collect()
    };
    let (a, b) = (up(a), up(b));
    a.intersection(&b)
        .copied()
        .max_by_key(|ix| taxonomy.depth(*ix))
}
