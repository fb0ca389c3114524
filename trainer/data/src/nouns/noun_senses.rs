//! Probability of each sense of a name in a photo, and the position of senses in a taxonomy.
//!
//! WordNet's table of nouns has no frequency counts, so a preference is derived from the available
//! data. The weight of a sense is the product of
//! - 1 for a physical thing (at or below WordNet's `physical entity`), [`ABSTRACT`] for the rest: a
//!   photo shows a beverage, not the act of drinking to excess;
//! - the square of the depth of the deepest taxonomy node at or above the sense (at least 1): a
//!   sense near many labels is closer to the subject of the taxonomy;
//! - [`FARTHER`] to the power of the number of edges up to that node: the watermelon directly below
//!   the fruits is more likely than the plant far below the vascular plants;
//! - `1 / r` where the name is the r-th one of its synset: the first name is the usual one;
//! - [`OTHER_CASE`] where the name differs from the synset's in case: `turkey` is more likely the
//!   bird than the country.
//!
//! The weights of a name's senses sum to 1.

use espalier_core::taxonomy::{Attachment, Taxonomy, attach};

use crate::nouns::wordnet::{NounIx, Nouns};

/// Id of WordNet's `physical entity`.
const PHYSICAL: &str = "n00001930";

/// Weight of a sense that is not a physical thing.
pub const ABSTRACT: f64 = 0.02;

/// Factor for every edge from a sense up to the taxonomy.
pub const FARTHER: f64 = 0.7;

/// Weight of a sense whose name is written in a different case.
pub const OTHER_CASE: f64 = 0.25;

/// A sense of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sense {
    /// The synset.
    pub noun: NounIx,
    /// Weight of the sense among all senses of the name, in `(0, 1]`.
    pub weight: f64,
}

/// All nouns with their positions in a taxonomy.
#[derive(Debug)]
pub struct NounSenses<'a> {
    nouns: &'a Nouns,
    physical: Option<NounIx>,
    places: Vec<Vec<Attachment>>,
    /// Product of the factors that depend only on the synset.
    base: Vec<f64>,
}

impl<'a> NounSenses<'a> {
    /// Attaches every noun to a taxonomy.
    pub fn new(taxonomy: &Taxonomy, nouns: &'a Nouns) -> Self {
        let physical = nouns.find(PHYSICAL);
        let all = || nouns.iter().map(|(ix, _)| ix);
        let places: Vec<_> = all().map(|ix| attach(taxonomy, nouns, ix.0)).collect();
        let base = all().zip(&places).map(|(ix, places)| {
            let is_physical = physical.is_none_or(|above| nouns.is_at_or_below(ix, above));
            let depth = places.iter().map(|place| taxonomy.depth(place.node)).max();
            let depth = f64::from(depth.unwrap_or(0).max(1));
            let edges = places.iter().map(Attachment::distance).min().unwrap_or(0);
            let near = FARTHER.powi(i32::try_from(edges).unwrap_or(i32::MAX));
            depth * depth * near * if is_physical { 1.0 } else { ABSTRACT }
        });
        let base = base.collect();
        Self {
            nouns,
            physical,
            places,
            base,
        }
    }

    /// Returns whether a noun is a physical thing; always true for a table without `physical
    /// entity`.
    pub fn is_physical(&self, noun: NounIx) -> bool {
        let physical = self.physical;
        physical.is_none_or(|above| self.nouns.is_at_or_below(noun, above))
    }

    /// Returns the deepest taxonomy nodes at or above a noun, with the path up to each; empty for
    /// an index of another table.
    pub fn places(&self, noun: NounIx) -> &[Attachment] {
        self.places.get(noun.0).map_or(&[], Vec::as_slice)
    }

    /// Returns the senses of a name, most likely first, ties in file order; empty for a name that
    /// is not a noun.
    pub fn of(&self, name: &str) -> Vec<Sense> {
        let senses = self.nouns.senses(name).iter();
        let weighed = senses.map(|&noun| Sense {
            noun,
            weight: self.raw_weight(name, noun),
        });
        let mut weighed: Vec<Sense> = weighed.collect();
        let sum: f64 = weighed.iter().map(|sense| sense.weight).sum();
        for sense in &mut weighed {
            sense.weight /= sum;
        }
        weighed.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        weighed
    }

    /// Returns the weight of a synset among the senses of a name; 0 if it does not have that name.
    pub fn weight(&self, name: &str, noun: NounIx) -> f64 {
        let senses = self.of(name);
        let sense = senses.iter().find(|sense| sense.noun == noun);
        sense.map_or(0.0, |sense| sense.weight)
    }

    fn raw_weight(&self, name: &str, noun: NounIx) -> f64 {
        let names = self.nouns.get(noun).map_or(&[][..], |n| n.names.as_slice());
        let name = name.trim().replace('_', " ");
        let lower = name.to_lowercase();
        let factor = (1_u32..)
            .zip(names)
            .filter(|(_, own)| own.to_lowercase() == lower);
        let best = factor
            .map(|(rank, own)| if *own == name { 1.0 } else { OTHER_CASE } / f64::from(rank))
            .fold(0.0, f64::max);
        best * self.base.get(noun.0).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        n00000001\tentity\t\t0\n\
        n00001930\tphysical entity\tn00000001\t0\n\
        n00000003\tanimal\tn00001930\t0\n\
        n00000004\tcat\tn00000003\t1\n";

    const NOUNS: &str = "synset\tnames\thypernyms\tgloss\n\
        n00000001\tentity\t\t\n\
        n00000002\tact|jaguar\tn00000001\tan abstraction\n\
        n00000003\tanimal|jaguar\tn00001930\t\n\
        n00000004\tcat\tn00000003\t\n\
        n00000005\tjaguar\tn00000004\ta big cat\n\
        n00000006\tJaguar\tn00001930\ta car\n\
        n00001930\tphysical entity\tn00000001\t\n";

    fn senses<R>(check: impl FnOnce(&Nouns, &NounSenses<'_>) -> R) -> R {
        let nouns = Nouns::parse(NOUNS).unwrap();
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        check(&nouns, &NounSenses::new(&taxonomy, &nouns))
    }

    #[test]
    fn physical_deep_and_first_names_are_preferred() {
        senses(|nouns, senses| {
            let found = senses.of("jaguar");
            let ids = found.iter().map(|s| nouns.get(s.noun).unwrap().id.as_str());
            assert!(ids.eq(["n00000005", "n00000003", "n00000006", "n00000002"]));
            // Depths 3, 2, 1 and 0 (counted as 1); one edge up, except for the second; ranks 1, 2,
            // 1 and 2; the third has another case, the fourth is an abstraction.
            let raw = [
                9.0 * FARTHER,
                4.0 / 2.0,
                FARTHER * OTHER_CASE,
                FARTHER * ABSTRACT / 2.0,
            ];
            for (sense, raw_weight) in found.iter().zip(raw) {
                let expected = raw_weight / raw.iter().sum::<f64>();
                assert!((sense.weight - expected).abs() < 1e-12, "{found:?}");
            }
            assert_eq!(senses.weight("jaguar", found[0].noun), found[0].weight);
            assert_eq!(senses.weight("cat", found[0].noun), 0.0);
            assert!(senses.of("zebra").is_empty());
        });
    }

    #[test]
    fn the_case_of_a_name_counts() {
        senses(|nouns, senses| {
            let car = nouns.find("n00000006").unwrap();
            assert!(senses.weight("Jaguar", car) > senses.weight("jaguar", car));
        });
    }

    #[test]
    fn places_are_the_deepest_nodes() {
        senses(|nouns, senses| {
            let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
            let big_cat = nouns.find("n00000005").unwrap();
            let place = &senses.places(big_cat)[0];
            assert_eq!((taxonomy.name(place.node), place.distance()), ("cat", 1));
        });
    }
}
