//! Which concepts are worth saying.

use super::{NodeIx, Taxonomy};

/// Largest share of all labels that a node may lie above and still tell something.
const TELLING: f64 = 0.6;

/// Nodes of WordNet 3.0 that a person skips who tells what is on a photo: a bottle is an artifact
/// and a container, and an instrumentality to WordNet alone. They stay in the tree.
const UNSAID: [&str; 24] = [
    "n00020090", // substance
    "n00020827", // matter
    "n01466257", // chordate
    "n01661818", // diapsid
    "n01886756", // placental
    "n01909422", // coelenterate
    "n02232951", // dictyopterous insect
    "n02274024", // lepidopterous insect
    "n02394477", // even-toed ungulate
    "n02401031", // bovid
    "n02470899", // anthropoid ape
    "n03076708", // commodity
    "n03093574", // consumer goods
    "n03100490", // conveyance
    "n03122748", // covering
    "n03257877", // durables
    "n03575240", // instrumentality
    "n03738472", // mechanism
    "n03839993", // obstruction
    "n04170037", // self-propelled vehicle
    "n07566863", // starches
    "n07570720", // nutriment
    "n07710007", // solanaceous vegetable
    "n15046900", // solid
];

impl Taxonomy {
    /// Whether naming a node tells anything of what is seen: it has labels at or below it, and not
    /// nearly all of them, as `entity` and `whole` have.
    pub fn tells(&self, ix: NodeIx) -> bool {
        let (below, all) = (self.labelled_below(ix).len(), self.labelled().len());
        below > 0 && (below as f64 <= TELLING * all as f64 || all == 1)
    }

    /// Whether a person would name a node to say what is seen: it [tells](Self::tells) something in a
    /// word that is not WordNet's alone.
    pub fn is_said(&self, ix: NodeIx) -> bool {
        self.tells(ix)
            && !self
                .nodes()
                .get(ix.index())
                .is_some_and(|n| is_unsaid(&n.id))
    }

    /// The nearest node at or above one that a person would name, or the node itself where there is
    /// none.
    pub fn said_above(&self, ix: NodeIx) -> NodeIx {
        let mut up = self.path_to(ix).into_iter().rev();
        up.find(|above| self.is_said(*above)).unwrap_or(ix)
    }
}

/// Whether a node is one that a person skips.
fn is_unsaid(id: &str) -> bool {
    UNSAID.binary_search(&id).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_said_is_found_upwards() {
        let tree = "synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\n\
                    a\tartifact\tr\t0\nn03575240\tinstrumentality\ta\t0\n\
                    t\ttable\tn03575240\t1\nb\tbird\tr\t1\n";
        let taxonomy = Taxonomy::from_tsv(tree).unwrap();
        let above = |id: &str| {
            let said = taxonomy.said_above(taxonomy.find(id).unwrap());
            taxonomy.node(said).id.as_str()
        };
        assert_eq!(
            ["t", "n03575240", "a", "r"].map(above),
            ["t", "a", "a", "r"]
        );
    }

    #[test]
    fn every_one_is_found() {
        assert!(UNSAID.is_sorted());
        assert!(UNSAID.iter().all(|id| is_unsaid(id)));
        assert!(!is_unsaid("n00015388"), "animal");
    }
}
