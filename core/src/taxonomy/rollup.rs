//! Probabilities of inner nodes, and the path that they select.

use super::node::NodeIx;
use super::tree::Taxonomy;

/// Computes the probabilities of all nodes from those of the labelled ones: each node gets the sum
/// over the labelled nodes at or below it. Each label is counted once, even if several paths lead
/// to it.
///
/// `leaf_p` has the order of [`Taxonomy::labelled`], the result that of [`Taxonomy::nodes`]. Every
/// sum covers a subset of its parent's sum, in the same order. So no node gets more than any of its
/// parents, even with rounding. If `leaf_p` sums to 1, the root gets 1.
///
/// Missing values count as 0 and surplus values are ignored; callers check lengths where the values
/// come from.
pub fn roll_up(tax: &Taxonomy, leaf_p: &[f32]) -> Vec<f32> {
    let mut by_node = vec![0.0_f32; tax.nodes().len()];
    for (leaf, &p) in tax.labelled().iter().zip(leaf_p) {
        by_node[leaf.index()] = p;
    }
    let total = |ix: usize| -> f32 {
        let below = tax.labelled_below(NodeIx(ix as u32));
        // Sum in f64, so that thousands of labels sum to 1 and not to 1.0001.
        below
            .iter()
            .map(|leaf| f64::from(by_node[leaf.index()]))
            .sum::<f64>() as f32
    };
    (0..by_node.len()).map(total).collect()
}

/// A path that follows the probabilities of a photo down from the root.
#[derive(Clone, Debug, PartialEq)]
pub struct TaxonomyPath {
    /// Nodes from the root down with their probabilities; at least the root. The probabilities
    /// never increase if those given to [`descend`] do not.
    pub steps: Vec<(NodeIx, f32)>,
    /// Index in `steps` of the deepest node that the evidence supports; 0 if not even the root is supported.
    pub stop: usize,
}

/// Walks from the root along first parents, always to the child with the largest share (the first
/// of equals), until no child has a share above 0. The probabilities of the path are those of `p`.
///
/// The share of a node is the probability of the labels that reach it along first parents. So a
/// label with several parents attracts the walk only toward its first parent: a car leads to the
/// vehicles, although WordNet also counts wheeled vehicles among the containers, whose sum may be
/// larger.
///
/// `shares` and `p` have the order of [`Taxonomy::nodes`]; missing values count as 0. `shares` is a
/// result of [`roll_up`]; `p` may be calibrated separately for each node. The walk must not use
/// `p`: where each of hundreds of unlikely labels gets a small probability, the branch with most
/// labels would win. `supported` decides whether the path may stop at a node.
pub fn descend(
    tax: &Taxonomy,
    shares: &[f32],
    p: &[f32],
    supported: impl Fn(NodeIx) -> bool,
) -> TaxonomyPath {
    let of = |ix: NodeIx| p.get(ix.index()).copied().unwrap_or(0.0);
    let shares = first_parent_shares(tax, shares);
    let mut at = tax.root();
    let mut steps = vec![(at, of(at))];
    loop {
        let mut best: Option<(NodeIx, f64)> = None;
        for &child in tax.children(at) {
            let share = shares[child.index()];
            let continues_path = tax.node(child).parents.first() == Some(&at);
            if continues_path && share > best.map_or(0.0, |(_, b)| b) {
                best = Some((child, share));
            }
        }
        let Some((next, _)) = best else { break };
        steps.push((next, of(next)));
        at = next;
    }
    let stop = steps.iter().rposition(|&(ix, _)| supported(ix));
    TaxonomyPath {
        steps,
        stop: stop.unwrap_or(0),
    }
}

/// Returns for each node the sum of the own probabilities of the labels that reach it along first
/// parents.
///
/// The own probability of a label is its probability minus those of the labels below it.
fn first_parent_shares(tax: &Taxonomy, p: &[f32]) -> Vec<f64> {
    let mut labels = tax.labelled().to_vec();
    // A label has fewer labels below it than any label above it has, so sorting puts it first.
    labels.sort_by_key(|label| tax.labelled_below(*label).len());
    let mut own_shares = vec![0.0_f64; tax.nodes().len()];
    let mut shares = vec![0.0_f64; tax.nodes().len()];
    for label in labels {
        let all = f64::from(p.get(label.index()).copied().unwrap_or(0.0));
        let below = tax.labelled_below(label).iter();
        let below_sum: f64 = below.map(|other| own_shares[other.index()]).sum();
        own_shares[label.index()] = (all - below_sum).max(0.0);
        for node in tax.path_to(label) {
            shares[node.index()] += own_shares[label.index()];
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tree_of;
    use super::*;

    fn tax() -> Taxonomy {
        tree_of(
            "e = entity; a = animal < e; p = pet < e; *w = wolf < a; *d = dog < a|p; *u = pug < d; \
             *g = goldfish < a|p",
        )
    }

    #[test]
    fn a_label_keeps_what_the_labels_below_it_do_not_have() {
        let tax = tax();
        // Labels in the order of nodes: wolf, dog, pug, goldfish; a dog includes its pugs.
        let all = roll_up(&tax, &[0.1, 0.3, 0.4, 0.2]);
        let shares = first_parent_shares(&tax, &all);
        let share = |id: &str| shares[tax.find(id).unwrap().index()];
        let near = |id: &str, expected: f64| {
            assert!((share(id) - expected).abs() < 1e-6, "{id}: {}", share(id));
        };
        near("u", 0.4);
        near("d", 0.7);
        near("a", 1.0);
        near("e", 1.0);
        near("p", 0.0);
    }

    /// Returns a walk with probabilities that are not calibrated.
    fn walk(tax: &Taxonomy, p: &[f32], threshold: f32) -> TaxonomyPath {
        descend(tax, p, p, |ix| {
            p.get(ix.index()).is_some_and(|p| *p >= threshold)
        })
    }

    #[test]
    fn the_descent_goes_by_shares_and_stops_by_what_is_said() {
        let tax = tax();
        let shares = roll_up(&tax, &[0.0, 0.0, 1.0, 0.0]);
        // After calibration of each node alone, the many unlikely labels have more together than
        // the right one.
        let mut p = vec![0.6; tax.nodes().len()];
        p[tax.find("u").unwrap().index()] = 0.4;
        let descent = descend(&tax, &shares, &p, |ix| p[ix.index()] >= 0.5);
        assert_eq!(ids(&tax, &descent), "eadu");
        assert_eq!(descent.stop, 2);
    }

    fn ids(tax: &Taxonomy, path: &TaxonomyPath) -> String {
        let steps = path.steps.iter();
        steps.map(|&(ix, _)| tax.node(ix).id.as_str()).collect()
    }

    #[test]
    fn a_leaf_with_two_ways_up_counts_once() {
        // wolf, dog, pug, goldfish
        let p = roll_up(&tax(), &[0.1, 0.2, 0.3, 0.4]);
        let expected = [1.0, 1.0, 0.9, 0.1, 0.5, 0.3, 0.4];
        for (found, expected) in p.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{p:?}");
        }
    }

    #[test]
    fn the_descent_follows_the_largest_child_to_a_leaf() {
        let tax = tax();
        let p = roll_up(&tax, &[0.1, 0.2, 0.3, 0.4]);
        let descent = walk(&tax, &p, 0.45);
        assert_eq!(ids(&tax, &descent), "eadu");
        assert_eq!(descent.stop, 2);
        assert_eq!(walk(&tax, &p, 0.0).stop, 3);
        assert_eq!(walk(&tax, &p, 2.0).stop, 0);
    }

    #[test]
    fn the_descent_follows_first_parents() {
        // A car is a vehicle first and a container second; a bowl is a container alone.
        let tax = tree_of(
            "e = entity; k = container < e; v = vehicle < e; *c = car < v|k; *b = bowl < k",
        );
        let p = roll_up(&tax, &[0.75, 0.25]);
        // The container has the larger sum, but no path to the car leads through it.
        assert_eq!((p[1], p[2]), (1.0, 0.75));
        let descent = walk(&tax, &p, 0.5);
        assert_eq!((ids(&tax, &descent).as_str(), descent.stop), ("evc", 2));
    }

    #[test]
    fn the_descent_ends_where_no_child_has_anything() {
        let tax = tax();
        // All on the dog itself: its child, the pug, has nothing.
        let descent = walk(&tax, &roll_up(&tax, &[0.0, 1.0, 0.0, 0.0]), 0.5);
        assert_eq!((ids(&tax, &descent).as_str(), descent.stop), ("ead", 2));
        let empty = walk(&tax, &[], 0.5);
        assert_eq!((empty.steps, empty.stop), (vec![(tax.root(), 0.0)], 0));
        let not_a_number = walk(&tax, &[f32::NAN; 7], 0.5);
        assert_eq!((not_a_number.steps.len(), not_a_number.stop), (1, 0));
    }

    #[test]
    fn of_equal_children_the_first_is_taken() {
        let tax = tax();
        let descent = walk(&tax, &roll_up(&tax, &[0.5, 0.5, 0.0, 0.0]), 0.1);
        assert_eq!(ids(&tax, &descent), "eaw");
    }

    #[test]
    fn too_few_and_too_many_values_do_not_panic() {
        let tax = tax();
        assert_eq!(roll_up(&tax, &[0.25])[0], 0.25);
        assert_eq!(roll_up(&tax, &[0.25; 40])[0], 1.0);
        assert_eq!(roll_up(&tax, &[]), [0.0; 7]);
    }

    /// Returns a graph in which node `i` has parents among the nodes before it.
    fn any_taxonomy() -> impl Strategy<Value = Taxonomy> {
        let node = (
            proptest::collection::vec(any::<prop::sample::Index>(), 1..3),
            any::<bool>(),
        );
        proptest::collection::vec(node, 1..40).prop_map(|rows| {
            let mut text = "synset\tnames\thypernyms\tlabelled\nn0\tx\t\t1\n".to_owned();
            for (i, (parents, labelled)) in (1..).zip(rows) {
                let mut parents: Vec<usize> = parents.iter().map(|p| p.index(i)).collect();
                parents.dedup();
                let parents: Vec<String> = parents.iter().map(|p| format!("n{p}")).collect();
                let line = format!("n{i}\tx\t{}\t{}\n", parents.join("|"), u8::from(labelled));
                text.push_str(&line);
            }
            Taxonomy::from_tsv(&text).unwrap()
        })
    }

    proptest! {
        #[test]
        fn sums_never_grow_downward_and_are_one_at_the_root(
            tax in any_taxonomy(),
            raw in proptest::collection::vec(0.0_f32..1.0, 40),
            threshold in 0.0_f32..1.0,
        ) {
            let raw = &raw[..tax.labelled().len()];
            let sum: f32 = raw.iter().sum();
            prop_assume!(sum > 0.01);
            let leaf_p: Vec<f32> = raw.iter().map(|r| r / sum).collect();
            let p = roll_up(&tax, &leaf_p);
            prop_assert!((p[tax.root().index()] - 1.0).abs() < 1e-5);
            for (node, &value) in tax.nodes().iter().zip(&p) {
                for parent in &node.parents {
                    prop_assert!(p[parent.index()] >= value);
                }
            }
            let descent = walk(&tax, &p, threshold);
            prop_assert!(descent.steps.windows(2).all(|w| w[0].1 >= w[1].1));
            let stop = descent.steps[descent.stop].1;
            prop_assert!(stop >= threshold || descent.stop == 0);
            prop_assert!(descent.steps[descent.stop + 1..].iter().all(|&(_, p)| p < threshold));
        }

        #[test]
        fn ancestors_agree_with_children(tax in any_taxonomy()) {
            let all = || (0..tax.nodes().len() as u32).map(NodeIx);
            for a in all() {
                for b in all() {
                    // `a` is above `b` if some child of `a` is `b` or is above `b`.
                    let by_children =
                        tax.children(a).iter().any(|&c| c == b || tax.is_ancestor(c, b));
                    prop_assert_eq!(tax.is_ancestor(a, b), by_children);
                }
                let path = tax.path_to(a);
                prop_assert_eq!(path[0], tax.root());
                prop_assert!(path.windows(2).all(|w| tax.children(w[0]).contains(&w[1])));
                prop_assert!(path.len() > tax.depth(a) as usize);
                let below: Vec<NodeIx> = tax.labelled().iter().copied()
                    .filter(|&l| l == a || tax.is_ancestor(a, l)).collect();
                prop_assert_eq!(tax.labelled_below(a), below);
            }
            prop_assert_eq!(Taxonomy::from_tsv(&tax.to_tsv()).unwrap().to_tsv(), tax.to_tsv());
        }
    }
}
