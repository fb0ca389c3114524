//! Frequent wrong answers; those farthest off in the taxonomy first.

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::taxonomy::{NodeIx, Taxonomy};

use super::answers::Answers;
use crate::eval::task::Confusion;

/// The most frequent wrong answers, at most `most`; those with the shallowest common ancestor
/// first.
#[must_use]
pub fn confusions(of: &Answers, taxonomy: &Taxonomy, most: usize) -> Vec<Confusion> {
    let mut pairs: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (i, truth) in of.truth.iter().enumerate() {
        if let Some(answer) = of.ranked.items(i).first().map(|c| *c as usize)
            && answer != *truth
        {
            pairs
                .entry((*truth, answer))
                .or_default()
                .push(of.judged[i]);
        }
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, at)| std::cmp::Reverse(at.len()));
    pairs.truncate(most);
    let mut found: Vec<Confusion> = pairs
        .into_iter()
        .map(|((truth, answer), at)| {
            let nodes = (of.classes.nodes[truth], of.classes.nodes[answer]);
            let above = match nodes {
                (Some(t), Some(a)) => nearest(taxonomy, t, a),
                _ => None,
            };
            let keys = at
                .iter()
                .take(4)
                .map(|at| of.pictures.about.keys[*at].clone());
            Confusion {
                truth: of.classes.names[truth].clone(),
                answer: of.classes.names[answer].clone(),
                ancestor: above.map_or_else(String::new, |ix| taxonomy.name(ix).to_owned()),
                depth: above.map_or(0, |ix| taxonomy.depth(ix)),
                count: at.len(),
                examples: keys.collect(),
            }
        })
        .collect();
    found.sort_by_key(|c| c.depth);
    found
}

/// The deepest common ancestor of two nodes (or one of the nodes itself).
fn nearest(taxonomy: &Taxonomy, a: NodeIx, b: NodeIx) -> Option<NodeIx> {
    let up = |ix: NodeIx| -> BTreeSet<NodeIx> {
        taxonomy.ancestors(ix).iter().copied().chain([ix]).collect()
    };
    let (a, b) = (up(a), up(b));
    a.intersection(&b)
        .copied()
        .max_by_key(|ix| taxonomy.depth(*ix))
}
