//! The place of a typed text in a taxonomy: the node whose name it is or ends with, else the one whose embedding is
//! nearest. The page and `trainer eval --task words` both use these functions.

use super::index::CaptionIndex;
use super::path::Classifier;
use crate::geometry::Space;
use crate::taxonomy::{NodeIx, Taxonomy};

/// Where a text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// The node.
    pub node: NodeIx,
    /// Whether the text is a name of the node, so that no embedding was asked.
    pub by_name: bool,
}

/// The node that a text belongs to; the root where no node has an embedding. `embedding` is that of the
/// text, `nodes` are those of [`Taxonomy::nodes`] in their order, none where a node has none.
#[must_use]
pub fn place_text(
    taxonomy: &Taxonomy,
    space: &Space,
    text: &str,
    embedding: &[f32],
    nodes: &[Option<Vec<f32>>],
) -> TextPlace {
    let named = taxonomy
        .named(text)
        .or_else(|| taxonomy.named_by_head(text));
    match named {
        Some(node) => TextPlace {
            node,
            by_name: true,
        },
        None => TextPlace {
            node: nearest_node(space, embedding, nodes).unwrap_or(taxonomy.root()),
            by_name: false,
        },
    }
}

/// The node whose embedding has the largest [logit](Space::logit) with a text's: the similarity that the
/// model was trained with. The first of equals; none where no node has an embedding.
#[must_use]
pub fn nearest_node(space: &Space, text: &[f32], nodes: &[Option<Vec<f32>>]) -> Option<NodeIx> {
    let mut best: Option<(NodeIx, f64)> = None;
    for (ix, node) in (0..).map(NodeIx).zip(nodes) {
        if let Some(logit) = node.as_ref().map(|node| space.logit(node, text))
            && best.is_none_or(|(_, highest)| logit > highest)
        {
            best = Some((ix, logit));
        }
    }
    best.map(|(ix, _)| ix)
}

/// Embeddings of a bundle's taxonomy nodes, in the order of [`Taxonomy::nodes`]: for labels those of the
/// classifier, for others that of the first caption that is a bare name; none where there is no such
/// caption.
#[must_use]
pub fn node_embeddings(classifier: &Classifier, index: &CaptionIndex) -> Vec<Option<Vec<f32>>> {
    let taxonomy = classifier.taxonomy();
    let mut nodes = vec![None; taxonomy.nodes().len()];
    for (place, entry) in index.entries().iter().enumerate() {
        let node = entry.node.as_deref().and_then(|id| taxonomy.find(id));
        if let (Some(node), 0) = (node, entry.detail) {
            nodes[node.index()].get_or_insert_with(|| index.point(place).to_vec());
        }
    }
    for (ix, embedding) in taxonomy.labelled().iter().zip(classifier.labels()) {
        nodes[ix.index()] = Some(embedding.to_vec());
    }
    nodes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::calibration::Calibration;
    use super::super::index::CaptionEntry;
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        r\tthing\t\t0\n\
        a\tanimal\tr\t0\n\
        c\tcat\ta\t1\n\
        t\ttable\tr\t1\n";

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
    fn a_text_lies_at_the_nearest_node_unless_it_names_one() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let place = |text: &str, at: [f32; 2]| {
            let place = place_text(&taxonomy, &sphere(), text, &at, &embeddings());
            (taxonomy.name(place.node), place.by_name)
        };
        assert_eq!(place("pets", [0.5, 0.866]), ("animal", false));
        assert_eq!(place("kitten", [-0.2, 0.98]), ("cat", false));
        assert_eq!(place("a table", [0.0, 1.0]), ("table", true));
    }

    #[test]
    fn without_embeddings_a_text_lies_at_the_root() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let none = vec![None; 4];
        let place = place_text(&taxonomy, &sphere(), "kitten", &[1.0, 0.0], &none);
        assert_eq!(
            place,
            TextPlace {
                node: taxonomy.root(),
                by_name: false
            }
        );
        assert_eq!(nearest_node(&sphere(), &[1.0, 0.0], &[]), None);
    }

    #[test]
    fn a_bundle_has_embeddings_of_labels_and_of_bare_names() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let labels = vec![0.0, 1.0, 1.0, 0.0];
        let classifier = Classifier::new(taxonomy, labels, 2, Calibration::of_scale(1.0)).unwrap();
        let entry = |text: &str, node: &str, detail| CaptionEntry {
            text: text.into(),
            node: Some(node.into()),
            detail,
        };
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
