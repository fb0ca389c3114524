//! Frequent wrong answers; those farthest off in the taxonomy first.

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::taxonomy::{NodeIx, Taxonomy};

use super::answers::Answers;
use crate::task::Confusion;

/// Returns the most frequent wrong answers, at most `most`; those with the shallowest common
/// ancestor first.
pub fn confusions(answers: &Answers, taxonomy: &Taxonomy, most: usize) -> Vec<Confusion> {
    let mut pairs: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (i, truth) in answers.truth.iter().enumerate() {
        if let Some(answer) = answers.ranked.items(i).first().map(|c| *c as usize)
            && answer != *truth
        {
            pairs
                .entry((*truth, answer))
                .or_default()
                .push(answers.evaluated[i]);
        }
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    pairs.truncate(most);
    let mut found: Vec<Confusion> = pairs
        .into_iter()
        .map(|((truth, answer), rows)| {
            let nodes = (answers.classes.nodes[truth], answers.classes.nodes[answer]);
            let ancestor = match nodes {
                (Some(t), Some(a)) => nearest_common_ancestor(taxonomy, t, a),
                _ => None,
            };
            let keys = rows
                .iter()
                .take(4)
                .map(|row| answers.images.about.keys[*row].clone());
            Confusion {
                truth: answers.classes.names[truth].clone(),
                answer: answers.classes.names[answer].clone(),
                ancestor: ancestor.map_or_else(String::new, |ix| taxonomy.name(ix).to_owned()),
                depth: ancestor.map_or(0, |ix| taxonomy.depth(ix)),
                count: rows.len(),
                examples: keys.collect(),
            }
        })
        .collect();
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
