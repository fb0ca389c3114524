//! Places a typed text in a taxonomy: at the node that its head names, or that the lexicon gives
//! for its head, else at the node whose embedding is nearest. The page and
//! `trainer eval --task words` both use these functions.

use serde::{Deserialize, Serialize};

use super::classifier::Classifier;
use super::index::CaptionIndex;
use crate::geometry::Space;
use crate::taxonomy::{Lexicon, NodeIx, Taxonomy, by_head};

/// Place of a text in a taxonomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// The node.
    pub node: NodeIx,
    /// How it was found.
    pub by: PlacedBy,
}

/// How a text's node was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacedBy {
    /// The text, or its head, is a name of the node.
    Name,
    /// The lexicon lists its head as a noun of the node.
    Noun,
    /// The node's embedding is the nearest.
    Embedding,
}

/// Returns the node that a text belongs to; the root if no node has an embedding.
///
/// `lexicon` lists nouns that are not names of nodes. `embedding` is the text's. `nodes` holds the
/// embeddings of [`Taxonomy::nodes`] in their order, `None` for nodes without one.
#[must_use]
pub fn place_text(
    taxonomy: &Taxonomy,
    space: &Space,
    lexicon: &Lexicon,
    text: &str,
    embedding: &[f32],
    nodes: &[Option<Vec<f32>>],
) -> TextPlace {
    let name = |name: &str| Some((taxonomy.named(name)?, PlacedBy::Name));
    let noun = |noun: &str| Some((lexicon.find(taxonomy, noun)?, PlacedBy::Noun));
    let known = |text: &str| name(text).or_else(|| noun(text));
    let (node, by) = name(text)
        .or_else(|| by_head(text, &known))
        .unwrap_or_else(|| {
            let nearest = nearest_node(space, embedding, nodes);
            (nearest.unwrap_or(taxonomy.root()), PlacedBy::Embedding)
        });
    TextPlace { node, by }
}

/// Returns the node whose embedding has the largest [logit](Space::logit) with a text's embedding:
/// the similarity that the model was trained with. The first one on ties; `None` if no node has an
/// embedding.
#[must_use]
pub fn nearest_node(space: &Space, text: &[f32], nodes: &[Option<Vec<f32>>]) -> Option<NodeIx> {
    let nodes = (0..).map(NodeIx).zip(nodes);
    let logits = nodes.filter_map(|(ix, node)| Some((ix, space.logit(node.as_ref()?, text))));
    let nearest = logits.reduce(|best, next| if next.1 > best.1 { next } else { best });
    nearest.map(|(ix, _)| ix)
}

/// Number of nodes that [`is_near`] compares with all others.
const SAMPLED_NODES: usize = 64;

/// One node in this many lies as near to another node as a text has to lie to a node.
const NEAR_SHARE: usize = 10;

/// Returns whether a text's embedding lies so near to a node that it can stand for it: nearer than
/// nine of ten nodes lie to their nearest neighbour. A text that the encoder does not understand
/// has a nearest node too, but a distant one. `nodes` is as in [`place_text`].
#[must_use]
pub fn is_near(space: &Space, text: &[f32], node: NodeIx, nodes: &[Option<Vec<f32>>]) -> bool {
    let Some(Some(found)) = nodes.get(node.index()) else {
        return false;
    };
    let known: Vec<&Vec<f32>> = nodes.iter().flatten().collect();
    let step = known.len().div_ceil(SAMPLED_NODES).max(1);
    let nearest = |(i, node): (usize, &&Vec<f32>)| {
        let others = known.iter().enumerate().filter(|(j, _)| i != *j);
        let logits = others.map(|(_, other)| space.logit(other, node));
        logits.fold(f64::NEG_INFINITY, f64::max)
    };
    let mut neighbours: Vec<f64> = known
        .iter()
        .enumerate()
        .step_by(step)
        .map(nearest)
        .collect();
    neighbours.sort_by(|a, b| b.total_cmp(a));
    let logit = space.logit(found, text);
    neighbours
        .get(neighbours.len() / NEAR_SHARE)
        .is_some_and(|limit| logit >= *limit)
}

/// Returns the embeddings of a bundle's taxonomy nodes, in the order of [`Taxonomy::nodes`]. A
/// label has the embedding of the classifier, another node that of its first caption that is a name
/// alone, or `None` if it has no such caption.
#[must_use]
pub fn node_embeddings(classifier: &Classifier, index: &CaptionIndex) -> Vec<Option<Vec<f32>>> {
    let taxonomy = classifier.taxonomy();
    let mut nodes = vec![None; taxonomy.nodes().len()];
    for (i, entry) in index.entries().iter().enumerate() {
        let node = entry.node.as_deref().and_then(|id| taxonomy.find(id));
        if let (Some(node), 0) = (node, entry.detail) {
            nodes[node.index()].get_or_insert_with(|| index.point(i).to_vec());
        }
    }
    for (ix, embedding) in taxonomy.labelled().iter().zip(classifier.labels()) {
        nodes[ix.index()] = Some(embedding.to_vec());
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::super::calibration::Calibration;
    use super::super::index::entry;
    use super::*;
    use crate::taxonomy::tree_of;

    const TREE: &str = "r = thing; a = animal < r; *c = cat < a; *t = table < r";

    fn sphere() -> Space {
        Space::Sphere {
            root: vec![-1.0, 0.0],
        }
    }

    fn embeddings() -> Vec<Option<Vec<f32>>> {
        vec![
            None,
            Some(vec![0.6, 0.8]),
            Some(vec![0.0, 1.0]),
            Some(vec![1.0, 0.0]),
        ]
    }

    #[test]
    fn a_text_is_placed_at_the_nearest_node_unless_it_names_one() {
        let taxonomy = tree_of(TREE);
        let lexicon = Lexicon::new([("stool".to_owned(), "t".to_owned())]);
        let place = |text: &str, point: [f32; 2]| {
            let place = place_text(&taxonomy, &sphere(), &lexicon, text, &point, &embeddings());
            (taxonomy.name(place.node), place.by)
        };
        assert_eq!(place("pets", [0.5, 0.866]), ("animal", PlacedBy::Embedding));
        assert_eq!(place("kitten", [-0.2, 0.98]), ("cat", PlacedBy::Embedding));
        assert_eq!(place("a table", [0.0, 1.0]), ("table", PlacedBy::Name));
        assert_eq!(place("my old stool", [0.0, 1.0]), ("table", PlacedBy::Noun));
    }

    #[test]
    fn the_first_of_equally_near_nodes_is_taken() {
        let mut nodes = embeddings();
        nodes[1] = nodes[2].clone();
        let nearest = nearest_node(&sphere(), &[0.0, 1.0], &nodes);
        assert_eq!(nearest, Some(NodeIx(1)));
    }

    #[test]
    fn a_text_is_near_if_it_is_nearer_than_nine_of_ten_neighbours() {
        // Twenty pairs of nodes on a circle; the pairs lie 1 to 20 thousandths apart.
        let at = |angle: f64| Some(vec![angle.cos() as f32, angle.sin() as f32]);
        let pair = |i: u32| {
            let from = f64::from(i) * 0.3;
            [at(from), at(from + f64::from(i + 1) * 1e-3)]
        };
        let nodes: Vec<_> = (0..20).flat_map(pair).collect();
        let near = |gap: f64| {
            let text = [(gap.cos()) as f32, (-gap.sin()) as f32];
            is_near(&sphere(), &text, NodeIx(0), &nodes)
        };
        // The forty distances begin with 1, 1, 2, 2, 3; the fifth is the limit.
        assert!(near(2.5e-3) && !near(3.5e-3));
        assert!(!is_near(&sphere(), &[1.0, 0.0], NodeIx(99), &nodes));
        assert!(!is_near(&sphere(), &[1.0, 0.0], NodeIx(0), &[None]));
    }

    #[test]
    fn without_embeddings_a_text_is_placed_at_the_root() {
        let taxonomy = tree_of(TREE);
        let (none, no_nouns) = (vec![None; 4], Lexicon::default());
        let point = [1.0, 0.0];
        let place = place_text(&taxonomy, &sphere(), &no_nouns, "kitten", &point, &none);
        assert_eq!(place.node, taxonomy.root());
        assert_eq!(place.by, PlacedBy::Embedding);
        assert_eq!(nearest_node(&sphere(), &[1.0, 0.0], &[]), None);
    }

    #[test]
    fn labels_and_named_nodes_have_embeddings() {
        let labels = vec![0.0, 1.0, 1.0, 0.0];
        let calibration = Calibration::of_scale(1.0);
        let classifier = Classifier::new(tree_of(TREE), labels, 2, calibration).unwrap();
        let entries = vec![
            entry("a thing on the left", "r", 1),
            entry("an animal", "a", 0),
            entry("a beast", "a", 0),
            entry("a cat", "c", 0),
        ];
        let points = vec![1.0, 0.0, 0.6, 0.8, 0.8, 0.6, -1.0, 0.0];
        let index = CaptionIndex::new(entries, points, 2, &sphere()).unwrap();
        assert_eq!(node_embeddings(&classifier, &index), embeddings());
    }
}
