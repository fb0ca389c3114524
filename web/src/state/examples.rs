//! Chooses the labels whose example photos are shown next to an answer.

use espalier_core::taxonomy::{NodeIx, Taxonomy};

/// Number of alternatives.
const ALTERNATIVES: usize = 4;

/// Smallest probability that puts an alternative first. Less probable ones follow by their place in
/// the tree: the probabilities of most labels are too small to be compared.
const MIN_P: f32 = 0.02;

/// Labels whose example photos are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// The most probable label at or below the node where the answer stops.
    pub answer: Option<NodeIx>,
    /// Other labels: those that are probable enough, most probable first, then those nearest to the
    /// answer in the tree.
    pub alternatives: Vec<NodeIx>,
}

impl Examples {
    /// Chooses among the labels that have an example photo. `p` is the probability of each node.
    pub fn choose(
        tree: &Taxonomy,
        p: &[f32],
        stop: &str,
        has_example: impl Fn(&str) -> bool,
    ) -> Self {
        let of = |ix: &NodeIx| p.get(ix.index()).copied().unwrap_or(0.0);
        let labels = tree.labelled().iter().copied();
        let mut labels: Vec<NodeIx> = labels
            .filter(|ix| has_example(&tree.node(*ix).id))
            .collect();
        labels.sort_by(|a, b| of(b).total_cmp(&of(a)));
        let stop = tree.find(stop);
        let is_below =
            |ix: NodeIx| stop.is_some_and(|stop| stop == ix || tree.is_ancestor(stop, ix));
        let answer = labels.iter().copied().find(|ix| is_below(*ix));
        labels.retain(|ix| Some(*ix) != answer);
        let best = answer.or(stop).unwrap_or(tree.root());
        let common = |ix: &NodeIx| tree.depth(tree.common(*ix, best));
        let few = labels.iter().take_while(|ix| of(ix) >= MIN_P).count();
        labels[few..].sort_by_key(|ix| std::cmp::Reverse(common(ix)));
        labels.truncate(ALTERNATIVES);
        Self {
            answer,
            alternatives: labels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_and_the_next_most_probable_labels_are_chosen() {
        let tree = Taxonomy::from_tsv(
            "synset\tnames\thypernyms\tlabelled\nr\tthing\t\t0\na\tanimal\tr\t0\nc\tcat\ta\t1\n\
             d\tdog\ta\t1\nt\ttable\tr\t1\nb\tball\tr\t1\n",
        )
        .unwrap();
        let node = |id: &str| tree.find(id).unwrap();
        let mut p = vec![0.0; tree.nodes().len()];
        for (id, value) in [
            ("r", 1.0),
            ("a", 0.6),
            ("c", 0.01),
            ("d", 0.4),
            ("t", 0.3),
            ("b", 0.015),
        ] {
            p[node(id).index()] = value;
        }
        let all = Examples::choose(&tree, &p, "a", |_| true);
        assert_eq!(all.answer, Some(node("d")));
        let alternatives = ["t", "c", "b"].map(node);
        assert_eq!(all.alternatives, alternatives);
        let without_dogs = Examples::choose(&tree, &p, "a", |id| id != "d");
        assert_eq!(without_dogs.answer, Some(node("c")));
        assert_eq!(
            Examples::choose(&tree, &p, "d", |id| id != "d").answer,
            None
        );
    }
}
