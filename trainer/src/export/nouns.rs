//! The nouns of a bundle: words that people type but that name no node.

use std::collections::{BTreeSet, HashSet};

use espalier_core::taxonomy::{Lexicon, Taxonomy};
use espalier_data::nouns::noun_senses::NounSenses;
use espalier_data::nouns::wordnet::Nouns;

/// Every noun of a table for a physical thing, with the deepest node that people would name at or
/// above its most likely sense. Names of nodes and proper names are skipped.
pub fn of_taxonomy(taxonomy: &Taxonomy, nouns: &Nouns) -> Lexicon {
    let senses = NounSenses::new(taxonomy, nouns);
    let of_nodes = taxonomy.nodes().iter().flat_map(|node| &node.names);
    let of_nodes: HashSet<String> = of_nodes.map(|name| name.to_lowercase()).collect();
    let is_common = |name: &&str| {
        !name.chars().any(char::is_uppercase) && !name.contains('|') && !of_nodes.contains(*name)
    };
    let names: BTreeSet<&str> = nouns
        .iter()
        .flat_map(|(_, noun)| noun.names.iter().map(String::as_str))
        .filter(is_common)
        .collect();
    let place = |name: &str| {
        let sense = senses.of(name).into_iter().next()?;
        let places = senses.places(sense.noun).iter();
        let deepest = places.max_by_key(|place| taxonomy.depth(place.node))?;
        let node = taxonomy.nameable_above(deepest.node);
        let is_useful = senses.is_physical(sense.noun) && taxonomy.is_nameable(node);
        is_useful.then(|| (name.to_owned(), taxonomy.node(node).id.clone()))
    };
    Lexicon::new(names.into_iter().filter_map(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        n00001740\tentity\t\t0\n\
        n00001930\tphysical entity\tn00001740\t0\n\
        n00000002\tanimal\tn00001930\t0\n\
        n00000003\tdog\tn00000002\t1\n\
        n00000004\tcat\tn00000002\t1\n\
        n00000005\ttool\tn00001930\t0\n\
        n00000006\thammer\tn00000005\t1\n\
        n00000007\tsaw\tn00000005\t1\n\
        n00000008\tpliers\tn00000005\t1\n";

    const NOUNS: &str = "synset\tnames\thypernyms\tgloss\n\
        n00001740\tentity\t\t\n\
        n00001930\tphysical entity\tn00001740\t\n\
        n00000002\tanimal\tn00001930\t\n\
        n00000003\tdog\tn00000002\t\n\
        n00000010\tpuppy|Rex\tn00000003\t\n\
        n00000011\thappiness\tn00001740\t\n\
        n00000012\thorse\tn00000002\t\n";

    #[test]
    fn nouns_for_things_belong_to_the_node_above_them() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), NOUNS).unwrap();
        let nouns = Nouns::open(file.path()).unwrap();
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let lexicon = of_taxonomy(&taxonomy, &nouns);
        let place = |noun| lexicon.find(&taxonomy, noun).map(|ix| taxonomy.name(ix));
        assert_eq!(
            (place("puppy"), place("horse")),
            (Some("dog"), Some("animal"))
        );
        // An abstract noun, a proper name, and the name of a node, which is found without a
        // lexicon.
        assert_eq!(
            (place("happiness"), place("Rex"), place("dog")),
            (None, None, None)
        );
    }
}
