//! The taxonomy of ImageNet's classes: its contents, its names, which must be plain words, and its
//! relations, which must be those of WordNet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use espalier_core::taxonomy::{Hypernyms, NodeIx, Taxonomy};
use espalier_trainer::data::benchmarks::typed_words;
use espalier_trainer::data::nouns::wordnet::Nouns;

const IMAGENET: &str = include_str!("../../../trainer/data/taxonomy/imagenet.tsv");

/// Words that only WordNet or a biologist uses; no name that is shown may contain one of them.
const JARGON: &str = "abstraction anapsid angiosperm artifact artiodactyl chordate coelenterate \
    confectionery conveyance diapsid durables edentate entity instrumentality malacostracan matter \
    nutriment oscine passerine perissodactyl placental spermatophyte teleost whole";

/// Labels, and the names on their paths that may be shown.
const PATHS: &str = "\
n01440764: animal > fish > fish of the carp family > tench
n02123045: animal > mammal > carnivore > feline > cat > domestic cat > tabby cat
n02109525: animal > mammal > carnivore > canine > dog > working dog > Saint Bernard
n02165456: animal > invertebrate > arthropod > insect > beetle > ladybug
n04285008: vehicle > wheeled vehicle > motor vehicle > car > sports car
n04120489: footwear > shoe > running shoe
n02992529: equipment > electronic equipment > telephone > mobile phone
n04399382: toy > teddy bear
n03452741: musical instrument > keyboard instrument > piano > grand piano
n03028079: structure > building > place of worship > church
n03127747: clothing > headgear > helmet > crash helmet
n02776631: structure > shop > bakery
n07745940: food > fresh produce > edible fruit > berry > strawberry
n07873807: food or drink > prepared dish > pizza
n10565667: person > diver > scuba diver
n09472597: high ground > mountain > volcano";

fn imagenet() -> Taxonomy {
    Taxonomy::from_tsv(IMAGENET).unwrap()
}

fn nodes(taxonomy: &Taxonomy) -> impl Iterator<Item = NodeIx> + use<> {
    (0..u32::try_from(taxonomy.nodes().len()).unwrap()).map(NodeIx)
}

/// Returns the names on a node's path that may be shown.
fn path(taxonomy: &Taxonomy, id: &str) -> String {
    let path = taxonomy.path_to(taxonomy.find(id).unwrap());
    let said = path.into_iter().filter(|ix| taxonomy.is_nameable(*ix));
    let names: Vec<&str> = said.map(|ix| taxonomy.name(ix)).collect();
    names.join(" > ")
}

#[test]
fn the_file_holds_what_its_readme_says() {
    let taxonomy = imagenet();
    let labels = taxonomy.labelled();
    assert_eq!((taxonomy.nodes().len(), labels.len()), (1860, 1000));
    assert_eq!(taxonomy.name(taxonomy.root()), "entity");
    assert_eq!(taxonomy.to_tsv(), IMAGENET);
    assert!(labels.iter().all(|ix| taxonomy.children(*ix).is_empty()));
}

#[test]
fn shown_names_differ_and_are_plain() {
    let taxonomy = imagenet();
    let mut by_name: BTreeMap<String, &str> = BTreeMap::new();
    for ix in nodes(&taxonomy).filter(|ix| taxonomy.is_nameable(*ix)) {
        let (name, id) = (taxonomy.name(ix), taxonomy.node(ix).id.as_str());
        if let Some(other) = by_name.insert(name.to_lowercase(), id) {
            panic!("`{name}` is shown for {other} and for {id}");
        }
        let is_jargon = |word: &str| JARGON.split(' ').any(|jargon| jargon == word);
        let is_plain =
            !name.split([' ', '-']).any(is_jargon) && !name.contains(['_', '(', ')', '/']);
        assert!(is_plain, "{id} is shown as `{name}`");
    }
    let labels = taxonomy.labelled();
    let names: BTreeSet<&str> = labels.iter().map(|ix| taxonomy.name(*ix)).collect();
    assert_eq!(names.len(), 1000);
    assert!(labels.iter().all(|ix| taxonomy.is_nameable(*ix)));
}

#[test]
fn paths_read_from_general_to_specific() {
    let taxonomy = imagenet();
    for line in PATHS.lines() {
        let (id, names) = line.split_once(": ").unwrap();
        assert_eq!(path(&taxonomy, id), names);
    }
}

#[test]
fn a_path_has_at_most_twelve_steps() {
    let taxonomy = imagenet();
    for &label in taxonomy.labelled() {
        let names = path(&taxonomy, &taxonomy.node(label).id);
        let steps = names.split(" > ").count();
        assert!(steps <= 12, "{names}");
    }
}

#[test]
#[ignore = "needs a table of WordNet's nouns, which ESPALIER_NOUNS names"]
fn every_relation_and_synonym_is_wordnets() {
    let path = std::env::var_os("ESPALIER_NOUNS").unwrap_or_else(|| {
        panic!(
            "ESPALIER_NOUNS is not set: expected the path of a table of WordNet's nouns, as \
             docs/locked-encoders.md describes it"
        )
    });
    let nouns = Nouns::open(Path::new(&path)).unwrap();
    let taxonomy = imagenet();
    for node in taxonomy.nodes() {
        let id = &node.id;
        let noun = nouns.find(id);
        let noun = noun.unwrap_or_else(|| panic!("{id} is not a synset of the table"));
        let ids = |concepts: &[usize]| -> BTreeSet<String> {
            concepts.iter().map(|c| nouns.id(*c).to_owned()).collect()
        };
        let parents = node.parents.iter().map(|ix| taxonomy.node(*ix).id.clone());
        let parents: BTreeSet<String> = parents.collect();
        assert_eq!(parents, ids(nouns.above(noun.0)), "{id}");
        // The first name may be ours; WordNet's follow it.
        let mut known = nouns.get(noun).unwrap().names.iter();
        assert!(known.all(|name| node.names.contains(name)), "{id}");
    }
}

#[test]
fn typed_words_are_no_names_of_labels_and_their_places_exist() {
    let taxonomy = imagenet();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/typed-words.tsv");
    let words = typed_words::open(&path, &taxonomy).unwrap();
    assert_eq!(words.len(), 200);
    for word in &words {
        let named = taxonomy.named(&word.text).map(|ix| taxonomy.node(ix));
        let is_label = named.is_some_and(|node| node.labelled);
        assert!(!is_label, "`{}` is a label", word.text);
        assert!(!word.nodes.contains(&taxonomy.root()));
    }
}
