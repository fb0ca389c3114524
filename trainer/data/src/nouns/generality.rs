//! Generality of a name: the number of nouns at or below its synset.
//!
//! A noun with many nouns below it is seldom a type of a noun with few.

use espalier_core::taxonomy::{Attachment, NodeIx, Taxonomy};

use crate::nouns::noun_senses::NounSenses;
use crate::nouns::wordnet::{NounIx, Nouns};

/// Size of a noun below a label; a label has size 1. Images are not distinguished more finely than
/// labels, but words are.
const BELOW_LABEL: f64 = 0.6;

/// Sizes of all nouns.
#[derive(Debug)]
pub struct Generality<'a> {
    taxonomy: &'a Taxonomy,
    nouns: &'a Nouns,
    senses: &'a NounSenses<'a>,
    sizes: Vec<f64>,
}

impl<'a> Generality<'a> {
    /// Counts the nouns at and below each noun, along all hypernyms. All labels of the taxonomy
    /// have size 1, regardless of the nouns below them.
    pub fn new(taxonomy: &'a Taxonomy, nouns: &'a Nouns, senses: &'a NounSenses<'a>) -> Self {
        let mut sizes = vec![0.0; nouns.len()];
        for (ix, _) in nouns.iter() {
            for (above, _) in nouns.at_and_above(ix) {
                sizes[above.0] += 1.0;
            }
        }
        for (ix, _) in nouns.iter() {
            let places = senses.places(ix).iter();
            let label = places.filter(|place| taxonomy.node(place.node).labelled);
            if let Some(edges) = label.map(Attachment::distance).min() {
                sizes[ix.0] = if edges == 0 { 1.0 } else { BELOW_LABEL };
            }
        }
        Self {
            taxonomy,
            nouns,
            senses,
            sizes,
        }
    }

    /// Returns the generality of a taxonomy node: 0 for a label, otherwise the logarithm of its
    /// size.
    pub fn of_node(&self, node: NodeIx) -> f32 {
        if self.taxonomy.node(node).labelled {
            return 0.0;
        }
        let found = self.nouns.find(&self.taxonomy.node(node).id);
        let labels = || self.taxonomy.labelled_below(node).len().max(1) as f64;
        found.map_or_else(labels, |noun| self.sizes[noun.0]).ln() as f32
    }

    /// Returns the generality of a noun: the logarithm of its size.
    pub fn of_noun(&self, noun: NounIx) -> f32 {
        self.sizes[noun.0].ln() as f32
    }

    /// Returns the generality of a name: the logarithm of the mean size of its senses, weighted by
    /// their probability; 0 for a name that is not a noun.
    pub fn of_name(&self, name: &str) -> f32 {
        let senses = self.senses.of(name);
        if senses.is_empty() {
            return 0.0;
        }
        let sizes = senses.iter().map(|s| s.weight * self.sizes[s.noun.0]);
        sizes.sum::<f64>().ln() as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        n1\tentity\t\t0\n\
        n2\tanimal\tn1\t0\n\
        n3\tdog\tn2\t1\n\
        other\tthings\tn1\t0\n\
        x\tx\tother\t1\n\
        y\ty\tother\t1\n";

    const NOUNS: &str = "synset\tnames\thypernyms\tgloss\n\
        n1\tentity\t\t\n\
        n2\tanimal\tn1\t\n\
        n3\tdog\tn2\t\n\
        n4\tpuppy|pup\tn3\t\n\
        n5\thorse\tn2\t\n\
        n6\tidea|pup\tn1\t\n";

    #[test]
    fn general_names_have_many_nouns_below() {
        let nouns = Nouns::parse(NOUNS).unwrap();
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let senses = NounSenses::new(&taxonomy, &nouns);
        let generality = Generality::new(&taxonomy, &nouns, &senses);
        let near = |found: f32, size: f32| assert!((found - size.ln()).abs() < 1e-5, "{found}");
        near(generality.of_name("entity"), 6.0);
        near(generality.of_name("animal"), 4.0);
        near(generality.of_name("horse"), 1.0);
        // All labels are equally general, regardless of the nouns below them.
        near(generality.of_name("dog"), 1.0);
        near(generality.of_name("puppy"), BELOW_LABEL as f32);
        near(generality.of_name("nobody knows it"), 1.0);
        let node = |id| generality.of_node(taxonomy.find(id).unwrap());
        near(node("n2"), 4.0);
        near(node("n3"), 1.0);
        // Not in the table: its size is the number of its labels.
        near(node("other"), 2.0);
        let of_both = |sense: f32| (1.0 - sense) * BELOW_LABEL as f32 + sense;
        let idea = senses.weight("pup", nouns.find("n6").unwrap()) as f32;
        near(generality.of_name("pup"), of_both(idea));
    }
}
