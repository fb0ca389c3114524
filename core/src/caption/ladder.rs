//! Builds a ladder of captions from scores and radii.
//!
//! A ladder follows the photo's path in the taxonomy downwards, with at most one caption per node,
//! and ends with captions that describe more of the image. Its radii never decrease: among the
//! captions of all nodes it is the longest chain of non-decreasing radius, and among the longest
//! the one with the highest total score. If enough rungs remain, it begins at or above the node
//! where the path stops, so that its first rung is supported by the evidence.

use std::collections::BTreeSet;

use super::index::CaptionIndex;
use super::result::Rung;
use crate::taxonomy::{NodeIx, Taxonomy, TaxonomyPath};

/// With fewer rungs than this, a ladder may begin anywhere on the path; if it is still too short,
/// [`by_radius`] replaces it where that gives more rungs, without captions of nodes that are not on the path: a
/// building of a taxonomy with few levels is no animal.
const MIN_RUNGS: usize = 3;

/// Number of thresholds of [`by_radius`] (notation 6.4).
const THRESHOLDS: usize = 50;

/// Builds the ladder of a photo from the scores of all captions.
#[must_use]
pub fn build(
    index: &CaptionIndex,
    scores: &[f64],
    taxonomy: &Taxonomy,
    path: &TaxonomyPath,
) -> Vec<Rung> {
    let nodes = captioned_nodes(taxonomy, path, index);
    let levels = levels(index, scores, taxonomy, &nodes);
    let supported: Vec<NodeIx> = path.steps.iter().take(path.stop + 1).map(|s| s.0).collect();
    let starts = nodes.iter().filter(|ix| supported.contains(ix)).count();
    let mut chain = longest_chain(&levels, index.radii(), scores, starts);
    if chain.len() < MIN_RUNGS {
        chain = longest_chain(&levels, index.radii(), scores, levels.len());
    }
    if chain.len() < MIN_RUNGS {
        let mut fallback = by_radius(index, scores);
        let on_path = |id: &str| nodes.iter().any(|ix| taxonomy.node(*ix).id == id);
        fallback.retain(|i| index.entries()[*i].node.as_deref().is_none_or(on_path));
        if fallback.len() > chain.len() {
            chain = fallback;
        }
    }
    chain
        .into_iter()
        .map(|i| Rung {
            text: index.entries()[i].text.clone(),
            radius: index.radii()[i],
            similarity: scores[i],
            p: None,
            node: index.entries()[i].node.clone(),
        })
        .collect()
}

/// Returns the nodes of a path that can get a rung: nameable nodes with captions. Of nodes with the
/// same labels below them, only the most specific is kept.
fn captioned_nodes(taxonomy: &Taxonomy, path: &TaxonomyPath, index: &CaptionIndex) -> Vec<NodeIx> {
    let captioned: BTreeSet<&str> = index
        .entries()
        .iter()
        .filter_map(|e| e.node.as_deref())
        .collect();
    let mut nodes: Vec<NodeIx> = Vec::new();
    for (ix, _) in &path.steps {
        let below = taxonomy.labelled_below(*ix).len();
        if !taxonomy.is_nameable(*ix) || !captioned.contains(taxonomy.node(*ix).id.as_str()) {
            continue;
        }
        if nodes
            .last()
            .is_some_and(|last| taxonomy.labelled_below(*last).len() == below)
        {
            nodes.pop();
        }
        nodes.push(*ix);
    }
    nodes
}

/// Returns the candidates for each rung, general to specific: the name captions of each node, then
/// the best-scoring caption of the last node for each level of detail.
fn levels(
    index: &CaptionIndex,
    scores: &[f64],
    taxonomy: &Taxonomy,
    nodes: &[NodeIx],
) -> Vec<Vec<usize>> {
    let of = |ix: NodeIx, detail: u8| {
        let id = taxonomy.node(ix).id.as_str();
        let entries = index.entries().iter().enumerate();
        entries
            .filter(move |(_, e)| e.detail == detail && e.node.as_deref() == Some(id))
            .map(|(i, _)| i)
            .collect::<Vec<_>>()
    };
    let mut levels: Vec<Vec<usize>> = nodes.iter().map(|ix| of(*ix, 0)).collect();
    if let Some(last) = nodes.last() {
        let deepest = index.entries().iter().map(|e| e.detail).max().unwrap_or(0);
        for detail in 1..=deepest {
            let best = of(*last, detail)
                .into_iter()
                .max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
            levels.extend(best.map(|i| vec![i]));
        }
    }
    levels
}

/// Returns the longest chain that takes at most one candidate per level, begins in one of the first
/// `starts` levels, never decreases in radius and repeats no text. Of the longest chains, the one
/// with the largest sum of scores.
fn longest_chain(
    levels: &[Vec<usize>],
    radii: &[f64],
    scores: &[f64],
    starts: usize,
) -> Vec<usize> {
    struct Link {
        caption: usize,
        level: usize,
        rungs: usize,
        score: f64,
        previous: Option<usize>,
    }
    let mut links: Vec<Link> = Vec::new();
    for (level, candidates) in levels.iter().enumerate() {
        for caption in candidates {
            let previous = links
                .iter()
                .enumerate()
                .filter(|(_, l)| {
                    l.level < level && radii[l.caption] <= radii[*caption] && l.caption != *caption
                })
                .max_by(|(_, a), (_, b)| a.rungs.cmp(&b.rungs).then(a.score.total_cmp(&b.score)))
                .map(|(i, _)| i);
            if previous.is_none() && level >= starts {
                continue;
            }
            let (rungs, score) = previous.map_or((0, 0.0), |b| (links[b].rungs, links[b].score));
            links.push(Link {
                caption: *caption,
                level,
                rungs: rungs + 1,
                score: score + scores[*caption],
                previous,
            });
        }
    }
    let end = links
        .iter()
        .enumerate()
        .max_by(|(_, a), (_, b)| a.rungs.cmp(&b.rungs).then(a.score.total_cmp(&b.score)))
        .map(|(i, _)| i);
    let mut chain: Vec<usize> = std::iter::successors(end, |i| links[*i].previous)
        .map(|i| links[i].caption)
        .collect();
    chain.reverse();
    chain
}

/// Returns the best-scoring text within each of 50 growing radii, without repetition (notation
/// 6.4).
///
/// Radii and scores never decrease along the result: a text replaces the previous one only if it
/// scores higher and was outside the previous radius.
fn by_radius(index: &CaptionIndex, scores: &[f64]) -> Vec<usize> {
    let radii = index.radii();
    let lo = radii.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = radii.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut chain: Vec<usize> = Vec::new();
    for step in 0..THRESHOLDS {
        // The last threshold is exactly the largest radius, without rounding.
        let share = step as f64 / (THRESHOLDS - 1) as f64;
        let reach = if step + 1 == THRESHOLDS {
            hi
        } else {
            lo + (hi - lo) * share
        };
        let best = (0..radii.len())
            .filter(|i| radii[*i] <= reach)
            .max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        let is_repeated = |i: &usize| {
            chain
                .iter()
                .any(|c| index.entries()[*c].text == index.entries()[*i].text)
        };
        chain.extend(best.filter(|i| !is_repeated(i)));
    }
    chain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::index::{CaptionEntry, entry};
    use super::*;
    use crate::geometry::Space;
    use crate::taxonomy::tree_of;

    const TREE: &str = "r = thing; a = animal < r; b = bird < a; *p = penguin < b; \
        *w = thrush < b; *c = cat < a; *t = table < r; *u = chair < r";

    fn index(radii: &[f64; 5]) -> CaptionIndex {
        let entries = vec![
            entry("an animal", "a", 0),
            entry("a bird", "b", 0),
            entry("a penguin", "p", 0),
            entry("a penguin on the left", "p", 1),
            entry("a penguin on the right", "p", 1),
        ];
        let points = radii.iter().flat_map(|r| [r.sinh() as f32, 0.0]).collect();
        CaptionIndex::new(entries, points, 2, &Space::Lorentz { curvature: 1.0 }).unwrap()
    }

    /// Returns the ladder of a photo whose path goes to the penguin and stops at this step.
    fn ladder(index: &CaptionIndex, scores: &[f64; 5], stop: usize) -> Vec<Rung> {
        let taxonomy = tree_of(TREE);
        let step = |id: &str| (taxonomy.find(id).unwrap(), 0.9);
        let steps = ["r", "a", "b", "p"].map(step).to_vec();
        build(index, scores, &taxonomy, &TaxonomyPath { steps, stop })
    }

    fn texts(rungs: &[Rung]) -> Vec<&str> {
        rungs.iter().map(|rung| rung.text.as_str()).collect()
    }

    const FROM_ANIMAL: [&str; 3] = ["an animal", "a penguin", "a penguin on the right"];
    const FROM_BIRD: [&str; 3] = ["a bird", "a penguin", "a penguin on the right"];

    #[test]
    fn a_ladder_goes_down_the_path_and_ends_with_the_best_detail() {
        let index = index(&[0.1, 0.2, 0.3, 0.5, 0.4]);
        let rungs = ladder(&index, &[0.1, 0.2, 0.3, 0.2, 0.5], 3);
        let expected = ["an animal", "a bird", "a penguin", "a penguin on the right"];
        assert_eq!(texts(&rungs), expected);
    }

    #[test]
    fn a_rung_of_smaller_radius_is_skipped() {
        let index = index(&[0.1, 0.9, 0.3, 0.5, 0.4]);
        assert_eq!(texts(&ladder(&index, &[0.0; 5], 3)), FROM_ANIMAL);
    }

    #[test]
    fn a_ladder_begins_where_the_evidence_supports_it() {
        // The evidence supports only `an animal`; a ladder without it would have one rung more.
        let bird_first = index(&[0.4, 0.2, 0.3, 0.5, 0.45]);
        // Two rungs are too few for a ladder, so the start is no longer restricted to the evidence.
        assert_eq!(texts(&ladder(&bird_first, &[0.0; 5], 1)), FROM_BIRD);
        let animal_first = index(&[0.25, 0.2, 0.3, 0.5, 0.45]);
        assert_eq!(texts(&ladder(&animal_first, &[0.0; 5], 1)), FROM_ANIMAL);
        // `a bird` has the smallest radius and the best score, so it is the best at every radius; a start below the
        // evidence is tried before that.
        let rungs = ladder(&bird_first, &[-0.5, -0.1, -0.5, -0.5, -0.5], 1);
        assert_eq!(texts(&rungs), FROM_BIRD);
    }

    /// Five captions, of which only the first belongs to a node of the path.
    fn other_captions(texts: [&str; 5], radii: [f64; 5]) -> CaptionIndex {
        let entries = texts.into_iter().enumerate();
        let entries = entries.map(|(i, text)| CaptionEntry {
            text: text.into(),
            node: (i == 0).then(|| "a".into()),
            detail: 0,
        });
        let points = radii.iter().flat_map(|r| [r.sinh() as f32, 0.0]).collect();
        let space = Space::Lorentz { curvature: 1.0 };
        CaptionIndex::new(entries.collect(), points, 2, &space).unwrap()
    }

    #[test]
    fn a_path_with_few_captions_is_replaced_by_the_best_text_within_each_radius() {
        let captions = ["an animal", "fur", "a coat", "fur", "a thing"];
        let index = other_captions(captions, [0.5, 0.1, 0.3, 0.7, 0.4]);
        // `fur` is the best text twice, and is given once. `a thing` is never the best one.
        let rungs = ladder(&index, &[-0.3, -0.5, -0.4, -0.2, -0.45], 3);
        assert_eq!(texts(&rungs), ["fur", "a coat", "an animal"]);
        // The best text lies at the smallest radius: one rung, as on the path, which is kept.
        let rungs = ladder(&index, &[-0.3, -0.1, -0.4, -0.2, -0.45], 3);
        assert_eq!(texts(&rungs), ["an animal"]);
    }

    #[test]
    fn a_short_ladder_has_no_captions_of_other_nodes() {
        let taxonomy = tree_of("r = thing; *a = animal < r; *t = table < r");
        let entries = vec![entry("an animal", "a", 0), entry("a table", "t", 0)];
        let points = vec![0.1, 0.0, 0.5, 0.0];
        let space = Space::Lorentz { curvature: 1.0 };
        let index = CaptionIndex::new(entries, points, 2, &space).unwrap();
        let step = |id: &str| (taxonomy.find(id).unwrap(), 0.9);
        let steps = ["r", "t"].map(step).to_vec();
        let path = TaxonomyPath { steps, stop: 1 };
        let rungs = build(&index, &[-0.5, -0.1], &taxonomy, &path);
        assert_eq!(texts(&rungs), ["a table"]);
    }

    #[test]
    fn the_radii_of_texts_are_divided_into_fifty_thresholds() {
        // From 0 to 1, thresholds 24 and 25 are 0.4898 and 0.5102.
        let texts = ["a", "b", "c", "d", "e"];
        let chain = |radii| by_radius(&other_captions(texts, radii), &[0.0, 0.1, 0.2, 0.3, 0.4]);
        // Only one of two texts between two thresholds is named: that with the higher score.
        let between = [0.0, 0.495, 0.505, 0.8, 1.0];
        assert_eq!(chain(between), [0, 2, 3, 4]);
        assert_eq!(chain([0.0, 0.49, 0.5, 0.8, 1.0]), [0, 2, 3, 4]);
        let apart = [0.0, 0.488, 0.492, 0.8, 1.0];
        assert_eq!(chain(apart), [0, 1, 2, 3, 4]);
        // With another smallest radius, the thresholds are shifted and closer to each other.
        let shifted = [1.0, 1.495, 1.505, 1.8, 2.0];
        assert_eq!(chain(shifted), [0, 2, 3, 4]);
        let shifted = [1.0, 1.488, 1.492, 1.8, 2.0];
        assert_eq!(chain(shifted), [0, 1, 2, 3, 4]);
        // The next thresholds are 1.5102 and 1.5306.
        assert_eq!(chain([1.0, 1.505, 1.515, 1.8, 2.0]), [0, 1, 2, 3, 4]);
        let scaled = [2.0, 2.976, 2.984, 3.6, 4.0];
        assert_eq!(chain(scaled), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_text_with_the_largest_radius_is_reached_whatever_the_rounding() {
        for largest in 1..200 {
            let radii = [0.1, 0.11, 0.12, 0.13, 0.13 + f64::from(largest) * 0.013];
            let index = other_captions(["a", "b", "c", "d", "e"], radii);
            let chain = by_radius(&index, &[-1.0, -1.0, -1.0, -1.0, 0.0]);
            assert_eq!(chain.last(), Some(&4), "{radii:?}");
        }
    }

    #[test]
    fn the_longest_chain_with_the_largest_sum_of_scores_wins() {
        let radii = [0.1, 0.2, 0.2, 0.3];
        let levels = [vec![0], vec![1, 2], vec![3]];
        let chain = |scores: [f64; 4]| longest_chain(&levels, &radii, &scores, 3);
        assert_eq!(chain([-1.0, -3.0, -2.0, -1.0]), [0, 2, 3]);
        assert_eq!(chain([-1.0, -2.0, -3.0, -1.0]), [0, 1, 3]);
        // A caption cannot follow another one of its own level.
        let one = longest_chain(&[vec![0, 1, 2]], &radii, &[-1.0, -3.0, -2.0, 0.0], 3);
        assert_eq!(one, [0]);
        // Three rungs with bad scores are better than two with good ones.
        let levels = [vec![3], vec![0], vec![1], vec![2]];
        let radii = [0.1, 0.2, 0.3, 0.15];
        let long = longest_chain(&levels, &radii, &[-9.0, -9.0, -9.0, -0.1], 4);
        assert_eq!(long, [3, 1, 2]);
    }

    proptest! {
        #[test]
        fn radii_never_decrease_and_no_text_is_repeated(
            radii in prop::array::uniform5(0.0_f64..3.0),
            scores in prop::array::uniform5(-3.0_f64..0.0),
        ) {
            let rungs = ladder(&index(&radii), &scores, 3);
            prop_assert!(!rungs.is_empty());
            prop_assert!(rungs.windows(2).all(|w| w[0].radius <= w[1].radius));
            let distinct: BTreeSet<&str> = texts(&rungs).into_iter().collect();
            prop_assert_eq!(distinct.len(), rungs.len());
        }
    }
}
