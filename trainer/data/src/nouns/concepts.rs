//! General nouns outside a taxonomy: targets for the nouns that no photo shows.
//!
//! A taxonomy of photos has no node for most abstractions ("feeling", "ability") and for many kinds
//! of things. The nouns there with many nouns below them become targets of their own, next to the
//! nodes of the taxonomy.

use std::collections::{BTreeSet, HashMap};

use espalier_core::taxonomy::Taxonomy;

use crate::nouns::generality::Generality;
use crate::nouns::wordnet::{NounIx, Nouns};
use crate::records::random::{Purpose, Random};

/// Seed of the directions; they are the same in every run.
const SEED: u64 = 0;

/// A general noun outside the taxonomy.
#[derive(Clone, Debug, PartialEq)]
pub struct Concept {
    /// Its usual name.
    pub name: String,
    /// Its generality.
    pub generality: f32,
    /// Indices of all concepts above it, the nearest first.
    pub above: Vec<usize>,
}

/// All concepts, in the order of the table of nouns.
#[derive(Clone, Debug, Default)]
pub struct Concepts {
    all: Vec<Concept>,
    by_noun: HashMap<NounIx, usize>,
}

impl Concepts {
    /// Selects the nouns with at least `size` nouns at or below them, except nodes of the taxonomy
    /// and nouns above one. No concepts for a `size` of 0.
    pub fn new(
        taxonomy: &Taxonomy,
        nouns: &Nouns,
        generality: &Generality<'_>,
        size: usize,
    ) -> Self {
        if size == 0 {
            return Self::default();
        }
        let nodes = taxonomy.nodes().iter();
        let nodes = nodes.filter_map(|node| nouns.find(&node.id));
        let inside = nodes.flat_map(|node| nouns.at_and_above(node));
        let inside: BTreeSet<NounIx> = inside.map(|(ix, _)| ix).collect();
        let general = nouns.iter().filter(|(ix, _)| {
            generality.of_noun(*ix) >= (size as f32).ln() && !inside.contains(ix)
        });
        let chosen: Vec<NounIx> = general.map(|(ix, _)| ix).collect();
        let by_noun: HashMap<NounIx, usize> =
            chosen.iter().enumerate().map(|(i, ix)| (*ix, i)).collect();
        let concept = |&ix: &NounIx| {
            let above = nouns.at_and_above(ix).skip(1);
            let above = above.filter_map(|(ix, _)| by_noun.get(&ix).copied());
            let noun = nouns.get(ix);
            Concept {
                name: noun.map_or_else(String::new, |noun| noun.names[0].clone()),
                generality: generality.of_noun(ix),
                above: above.collect(),
            }
        };
        let all = chosen.iter().map(concept).collect();
        Self { all, by_noun }
    }

    /// Returns all concepts.
    pub fn all(&self) -> &[Concept] {
        &self.all
    }

    /// Returns the nearest concept at or above a noun with the number of edges up to it.
    pub fn nearest(&self, nouns: &Nouns, noun: NounIx) -> Option<(usize, usize)> {
        let mut all = nouns.at_and_above(noun);
        all.find_map(|(ix, edges)| Some((*self.by_noun.get(&ix)?, edges)))
    }

    /// Returns target directions of the texts of all concepts, `[concepts, width]`, each of length
    /// 1: the sum of a vector of random signs of the concept and those of all concepts above it, so that
    /// related concepts have similar directions.
    pub fn directions(&self, width: usize) -> Vec<f32> {
        let own = |index: usize| {
            let mut random = Random::new(SEED, Purpose::Nouns, index as u64, 1);
            (0..width).map(move |_| match random.uniform() < 0.5 {
                true => -1.0_f32,
                false => 1.0,
            })
        };
        let mut directions = Vec::with_capacity(self.all.len() * width);
        for (index, concept) in self.all.iter().enumerate() {
            let mut sum: Vec<f32> = own(index).collect();
            for above in &concept.above {
                sum.iter_mut().zip(own(*above)).for_each(|(s, v)| *s += v);
            }
            let norm = sum.iter().map(|v| v * v).sum::<f32>().sqrt();
            directions.extend(sum.iter().map(|v| v / norm.max(f32::MIN_POSITIVE)));
        }
        directions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nouns::noun_senses::NounSenses;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        n1\tentity\t\t0\n\
        n2\tanimal\tn1\t0\n\
        n3\tdog\tn2\t1\n";

    const NOUNS: &str = "synset\tnames\thypernyms\tgloss\n\
        n1\tentity\t\t\n\
        n2\tanimal\tn1\t\n\
        n3\tdog\tn2\t\n\
        n4\tabstraction\tn1\t\n\
        n5\tfeeling|sentiment\tn4\t\n\
        n6\tlove\tn5\t\n\
        n7\tbird\tn2\t\n\
        n8\teagle\tn7\t\n";

    fn concepts<R>(size: usize, check: impl FnOnce(&Nouns, &Concepts) -> R) -> R {
        let nouns = Nouns::parse(NOUNS).unwrap();
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let senses = NounSenses::new(&taxonomy, &nouns);
        let generality = Generality::new(&taxonomy, &nouns, &senses);
        check(&nouns, &Concepts::new(&taxonomy, &nouns, &generality, size))
    }

    #[test]
    fn general_nouns_outside_the_taxonomy_are_concepts() {
        concepts(2, |nouns, concepts| {
            let names: Vec<&str> = concepts.all.iter().map(|c| c.name.as_str()).collect();
            assert_eq!(names, ["abstraction", "feeling", "bird"]);
            assert_eq!(concepts.all[1].above, [0]);
            let near = |id| concepts.nearest(nouns, nouns.find(id).unwrap());
            assert_eq!(near("n6"), Some((1, 1)));
            assert_eq!(near("n4"), Some((0, 0)));
            assert_eq!(near("n3"), None);
        });
        concepts(0, |_, concepts| assert!(concepts.all.is_empty()));
    }

    #[test]
    fn related_concepts_have_similar_directions() {
        concepts(2, |_, concepts| {
            let width = 256;
            let rows = concepts.directions(width);
            let cosine = |a: usize, b: usize| -> f32 {
                let row = |i: usize| &rows[i * width..][..width];
                row(a).iter().zip(row(b)).map(|(x, y)| x * y).sum()
            };
            assert!((cosine(1, 1) - 1.0).abs() < 1e-5);
            assert!(cosine(0, 1) > 0.5 && cosine(0, 2).abs() < 0.3);
        });
    }
}
