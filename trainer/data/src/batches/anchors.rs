//! Target directions for the texts of taxonomy nodes, from the class directions of a classifier.
//!
//! A label has the direction of its class. A node above labels has the mean direction of their
//! classes, since a general word names all of them. Texts that are not labels thus have a target
//! from the first step on, and the targets stay fixed during training.

use std::collections::HashMap;

use espalier_core::taxonomy::{NodeIx, Taxonomy};

/// Directions of the nodes of a taxonomy in the embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchors {
    /// Width of the embedding.
    pub width: usize,
    /// `[rows, width]`; the nodes come first, in the order of [`Taxonomy::nodes`]. The row of a node
    /// has length 1, or is 0 if no class lies at or below the node.
    pub values: Vec<f32>,
}

impl Anchors {
    /// Creates the anchors from synset ids `classes` and their directions `rows [classes, width]`,
    /// of length 1.
    pub fn new(taxonomy: &Taxonomy, classes: &[String], rows: &[f32], width: usize) -> Self {
        let rows: HashMap<&str, &[f32]> = classes
            .iter()
            .map(String::as_str)
            .zip(rows.chunks_exact(width.max(1)))
            .collect();
        let mut values = Vec::with_capacity(taxonomy.nodes().len() * width);
        for ix in (0..taxonomy.nodes().len() as u32).map(NodeIx) {
            let mut sum = vec![0.0_f32; width];
            for label in taxonomy.labelled_below(ix) {
                let Some(row) = rows.get(taxonomy.node(*label).id.as_str()) else {
                    continue;
                };
                sum.iter_mut().zip(*row).for_each(|(s, v)| *s += v);
            }
            let norm = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
            values.extend(sum.iter().map(|v| if norm > 0.0 { v / norm } else { 0.0 }));
        }
        Self { width, values }
    }

    /// Appends target directions of other texts, `[n, width]`, after those of the nodes.
    pub fn with_directions(mut self, directions: &[f32]) -> Self {
        self.values.extend_from_slice(directions);
        self
    }

    /// Returns the number of rows: the nodes, then the appended ones.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\na\tape\tr\t1\n\
                        b\tbee\tr\t1\nt\ttool\tr\t0\ns\tsaw\tt\t1\n";

    #[test]
    fn a_node_lies_in_the_mean_direction_of_its_classes() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let classes = ["b", "a"].map(str::to_owned);
        let anchors = Anchors::new(&taxonomy, &classes, &[0.0, 1.0, 1.0, 0.0], 2);
        let of = |id: &str| anchors.values[2 * taxonomy.find(id).unwrap().index()..][..2].to_vec();
        assert_eq!((of("a"), of("b")), (vec![1.0, 0.0], vec![0.0, 1.0]));
        let half = 0.5_f32.sqrt();
        assert!(of("r").iter().all(|v| (v - half).abs() < 1e-6));
        assert_eq!(of("t"), [0.0, 0.0], "the classifier knows nothing below it");
        assert_eq!(anchors.rows(), 5);
        let more = anchors.with_directions(&[0.6, 0.8]);
        assert_eq!((more.rows(), &more.values[10..]), (6, &[0.6, 0.8][..]));
    }
}
