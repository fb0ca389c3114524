//! Severity of a wrong prediction, measured in the taxonomy (notation 6.3).
//!
//! For the predicted node `p` and the true node `t`, let `A(x)` be the strict ancestors of `x`
//! (without `x`, with the root):
//!
//! | | |
//! |---|---|
//! | tree-induced error | edges of the shortest path between `p` and `t`, up and down in any order |
//! | the same over an ancestor | edges from both up to a common ancestor; the same in a tree |
//! | LCA | `\|A(p)\| - \|A(p) n A(t)\| + 1`; `lca_max` takes the larger of both sides |
//! | Jaccard | `\|A(p) n A(t)\| / \|A(p) u A(t)\|` |
//! | precision, recall | `\|A(p) n A(t)\| / \|A(p)\|`, `\|A(p) n A(t)\| / \|A(t)\|` |
//!
//! So a correct prediction has LCA 1, and a wrong sibling has Jaccard, precision and recall 1.

use serde::{Deserialize, Serialize};

use super::node::NodeIx;
use super::tree::Taxonomy;

/// Scores of one prediction, or means of many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HierarchyScores {
    /// Tree-induced error: edges of the shortest undirected path between prediction and truth, 0 if
    /// they are the same node.
    pub tie: f64,
    /// The smallest sum of edges from both up to a common ancestor (or to one of the two). It is
    /// larger than `tie` only with nodes of several parents, over which a path may go down and up
    /// again.
    pub tie_ancestor: f64,
    /// Number of ancestors of the prediction that the truth does not have, plus 1; at least 1.
    pub lca: f64,
    /// The same for the node that has more ancestors; at least `lca`.
    pub lca_max: f64,
    /// Shared ancestors as a fraction of all, 0 to 1.
    pub jaccard: f64,
    /// Shared ancestors as a fraction of the prediction's, 0 to 1.
    pub hierarchical_precision: f64,
    /// Shared ancestors as a fraction of the truth's, 0 to 1.
    pub hierarchical_recall: f64,
}

/// Scores one prediction. A fraction of no ancestors (of the root) is 1.
pub fn score(tax: &Taxonomy, predicted: NodeIx, truth: NodeIx) -> HierarchyScores {
    let (above_p, above_t) = (tax.ancestors(predicted), tax.ancestors(truth));
    let shared = above_p
        .iter()
        .filter(|a| above_t.binary_search(a).is_ok())
        .count();
    let (count_p, count_t) = (above_p.len(), above_t.len());
    HierarchyScores {
        tie: f64::from(edges_between(tax, predicted, truth)),
        tie_ancestor: f64::from(edges_over_ancestor(tax, predicted, truth)),
        lca: (count_p - shared + 1) as f64,
        lca_max: (count_p.max(count_t) - shared + 1) as f64,
        jaccard: share(shared, count_p + count_t - shared),
        hierarchical_precision: share(shared, count_p),
        hierarchical_recall: share(shared, count_t),
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

/// Returns the edges of the shortest undirected path between two nodes: searched level by level from
/// one to the other.
fn edges_between(tax: &Taxonomy, a: NodeIx, b: NodeIx) -> u32 {
    // In a taxonomy without nodes of several parents, or where an ancestor is next to both, there is
    // nothing shorter.
    let most = edges_over_ancestor(tax, a, b);
    if most <= 2 {
        return most;
    }
    let mut seen = vec![false; tax.nodes().len()];
    let mut level = vec![a];
    for steps in 0..most {
        let mut next = Vec::new();
        for ix in level {
            if ix == b {
                return steps;
            }
            let parents = tax.nodes().get(ix.index()).map_or(&[][..], |n| &n.parents);
            for &other in parents.iter().chain(tax.children(ix)) {
                if !std::mem::replace(&mut seen[other.index()], true) {
                    next.push(other);
                }
            }
        }
        level = next;
    }
    most
}

/// Returns the smallest sum of edges from both nodes up to a common ancestor.
fn edges_over_ancestor(tax: &Taxonomy, a: NodeIx, b: NodeIx) -> u32 {
    let (up_a, up_b) = (ways_up(tax, a), ways_up(tax, b));
    let common = up_a.iter().filter_map(|(ix, steps)| {
        let at = up_b.binary_search_by_key(ix, |&(other, _)| other).ok()?;
        Some(steps + up_b[at].1)
    });
    // The root is above everything, so there is always a common ancestor.
    common.min().unwrap_or(0)
}

/// Returns the node and all its ancestors with the fewest steps up to each, sorted by node.
fn ways_up(tax: &Taxonomy, from: NodeIx) -> Vec<(NodeIx, u32)> {
    let mut steps = vec![(from, 0)];
    let mut done = 0;
    while let Some(&(ix, count)) = steps.get(done) {
        done += 1;
        for &parent in tax.nodes().get(ix.index()).map_or(&[][..], |n| &n.parents) {
            if steps.iter().all(|&(seen, _)| seen != parent) {
                steps.push((parent, count + 1));
            }
        }
    }
    steps.sort_unstable();
    steps
}

/// Returns the means of scores; `None` if there are none.
pub fn mean(scores: &[HierarchyScores]) -> Option<HierarchyScores> {
    if scores.is_empty() {
        return None;
    }
    let mean = |value: fn(&HierarchyScores) -> f64| {
        scores.iter().map(value).sum::<f64>() / scores.len() as f64
    };
    Some(HierarchyScores {
        tie: mean(|s| s.tie),
        tie_ancestor: mean(|s| s.tie_ancestor),
        lca: mean(|s| s.lca),
        lca_max: mean(|s| s.lca_max),
        jaccard: mean(|s| s.jaccard),
        hierarchical_precision: mean(|s| s.hierarchical_precision),
        hierarchical_recall: mean(|s| s.hierarchical_recall),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tree_of;
    use super::*;

    /// Two chains that branch below `shared` common nodes: `p` has `above_p` ancestors in total,
    /// `t` has `above_t`.
    fn forked(above_p: usize, above_t: usize, shared: usize) -> Taxonomy {
        let mut rows = "s1 = x".to_owned();
        let mut add = |id: String, parent: String| {
            rows.push_str(&format!("; {id} = x < {parent}"));
            id
        };
        let mut trunk = "s1".to_owned();
        for i in 2..=shared {
            trunk = add(format!("s{i}"), trunk);
        }
        for (name, above) in [("p", above_p), ("t", above_t)] {
            let mut at = trunk.clone();
            for i in shared..above {
                at = add(format!("{name}{i}"), at);
            }
            add(format!("*{name}"), at);
        }
        tree_of(&rows)
    }

    fn scored(tax: &Taxonomy, predicted: &str, truth: &str) -> HierarchyScores {
        score(tax, tax.find(predicted).unwrap(), tax.find(truth).unwrap())
    }

    #[test]
    fn reference_values_of_pairs_are_reproduced() {
        // notation 9.5: sizes of A(p), A(t) and both; TIE, LCA, J, P, R.
        let rows = [
            ((10, 9, 7), 7.0, 4.0, 0.583_333, 0.7, 0.777_778),
            ((12, 14, 9), 10.0, 4.0, 0.529_412, 0.75, 0.642_857),
            ((6, 7, 6), 3.0, 1.0, 0.857_143, 1.0, 0.857_143),
            ((12, 11, 3), 19.0, 10.0, 0.15, 0.25, 0.272_727),
            ((5, 5, 5), 2.0, 1.0, 1.0, 1.0, 1.0),
        ];
        for ((p, t, shared), tie, lca, jaccard, precision, recall) in rows {
            let s = scored(&forked(p, t, shared), "p", "t");
            assert_eq!((s.tie, s.lca), (tie, lca), "{p} {t} {shared}");
            assert!((s.jaccard - jaccard).abs() < 1e-6, "{s:?}");
            assert!((s.hierarchical_precision - precision).abs() < 1e-6, "{s:?}");
            assert!((s.hierarchical_recall - recall).abs() < 1e-6, "{s:?}");
        }
    }

    #[test]
    fn a_correct_prediction_has_no_error_and_lca_one() {
        let s = scored(&forked(10, 9, 7), "p", "p");
        let expected = HierarchyScores {
            tie: 0.0,
            tie_ancestor: 0.0,
            lca: 1.0,
            lca_max: 1.0,
            jaccard: 1.0,
            hierarchical_precision: 1.0,
            hierarchical_recall: 1.0,
        };
        assert_eq!(s, expected);
    }

    #[test]
    fn with_several_parents_the_shortest_way_counts() {
        // b and c are four edges apart through the root, and two through their shared parent h.
        let tax = tree_of("r = x; k = x < r; m = x < k; *b = x < m|h; *c = x < r|h; h = x < k");
        let s = scored(&tax, "b", "c");
        assert_eq!(s.tie, 2.0);
        // A(b) = r k m h, A(c) = r k h.
        assert_eq!((s.lca, s.jaccard, s.hierarchical_recall), (2.0, 0.75, 1.0));
        // The common ancestor may be one of the two nodes.
        assert_eq!(scored(&tax, "b", "k").tie, 2.0);
        let root = scored(&tax, "r", "r");
        assert_eq!((root.tie, root.lca, root.jaccard), (0.0, 1.0, 1.0));
        assert_eq!(scored(&tax, "b", "r").hierarchical_recall, 1.0);
    }

    #[test]
    fn a_path_may_go_down_to_a_shared_child_and_up_again() {
        // a and b are deep in two branches; s is a child of both.
        let tax = tree_of("r = x; k = x < r; m = x < r; *a = x < k; *b = x < m; *s = x < a|b");
        let found = scored(&tax, "a", "b");
        assert_eq!((found.tie, found.tie_ancestor), (2.0, 4.0));
        let found = scored(&tax, "k", "b");
        assert_eq!((found.tie, found.tie_ancestor), (3.0, 3.0));
        let found = scored(&tax, "k", "m");
        assert_eq!((found.tie, found.tie_ancestor), (2.0, 2.0));
    }

    #[test]
    fn means_are_means() {
        let tax = forked(10, 9, 7);
        let m = mean(&[scored(&tax, "p", "p"), scored(&tax, "p", "t")]).unwrap();
        assert_eq!((m.tie, m.lca), (3.5, 2.5));
        assert!((m.hierarchical_precision - 0.85).abs() < 1e-12);
        assert_eq!(mean(&[]), None);
    }

    proptest! {
        #[test]
        fn in_a_tree_everything_follows_from_three_numbers(
            shared in 1_usize..9, extra_p in 0_usize..9, extra_t in 0_usize..9,
        ) {
            let tax = forked(shared + extra_p, shared + extra_t, shared);
            let s = scored(&tax, "p", "t");
            prop_assert_eq!(s.tie, (extra_p + extra_t + 2) as f64);
            prop_assert_eq!(s.tie_ancestor, s.tie);
            // It is one-sided, and its maximum is not.
            prop_assert_eq!(s.lca, (extra_p + 1) as f64);
            prop_assert_eq!(s.lca_max, (extra_p.max(extra_t) + 1) as f64);
            let back = scored(&tax, "t", "p");
            prop_assert_eq!((s.tie, s.lca_max), (back.tie, back.lca_max));
            prop_assert_eq!(s.hierarchical_precision, back.hierarchical_recall);
        }
    }
}
