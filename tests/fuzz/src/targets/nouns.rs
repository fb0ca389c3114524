//! Words: tables of nouns, typed words, labels of a classifier, captions.

use std::sync::LazyLock;

use espalier_core::taxonomy::Taxonomy;
use espalier_trainer::data::benchmarks::typed_words;
use espalier_trainer::data::nouns::concepts::Concepts;
use espalier_trainer::data::nouns::generality::Generality;
use espalier_trainer::data::nouns::noun_senses::NounSenses;
use espalier_trainer::data::nouns::wordnet::Nouns;
use espalier_trainer::export::captions;
use espalier_trainer::import::labels;

use crate::input_files::InputFiles;

/// Nodes that the stored inputs name.
static TREE: LazyLock<Taxonomy> = LazyLock::new(|| {
    let text = "synset\tnames\thypernyms\tlabelled\n\
        e\tentity\t\t0\n\
        a\tanimal\te\t0\n\
        c\tcat\ta\t1\n\
        d\tdog\ta\t1\n";
    Taxonomy::from_tsv(text).unwrap_or_else(|e| panic!("{e}"))
});

/// Length of the directions of concepts.
const WIDTH: usize = 3;

const NAME: &str = "nouns.tsv";

thread_local! {
    static FILES: InputFiles = InputFiles::new(&[NAME], &[]);
}

/// Reads a table in each of the formats.
///
/// # Panics
/// If a noun cannot be found by what it is called, or the weights of its senses do not sum to 1.
pub fn run(input: &[u8]) {
    FILES.with(|files| {
        files.write(input);
        let path = files.path(NAME);
        if let Ok(nouns) = Nouns::open(&path) {
            check(&nouns);
        }
        if let Ok(words) = typed_words::open(&path, &TREE) {
            assert!(words.iter().all(|word| !word.nodes.is_empty()));
        }
        if let Ok(labels) = labels::read(&path) {
            assert!(!labels.is_empty());
        }
        if let Ok(captions) = captions::from_file(&path, &TREE) {
            assert!(!captions.is_empty());
        }
    });
}

fn check(nouns: &Nouns) {
    let senses = NounSenses::new(&TREE, nouns);
    let generality = Generality::new(&TREE, nouns, &senses);
    let concepts = Concepts::new(&TREE, nouns, &generality, 1);
    for (ix, noun) in nouns.iter() {
        assert_eq!(nouns.find(&noun.id), Some(ix));
        for name in &noun.names {
            let of = senses.of(name);
            assert!(of.iter().any(|sense| sense.noun == ix), "`{name}`");
            let sum: f64 = of.iter().map(|sense| sense.weight).sum();
            assert!((sum - 1.0).abs() < 1e-9, "weights of `{name}` sum to {sum}");
            assert!(!generality.of_name(name).is_nan());
        }
        assert!(nouns.is_at_or_below(ix, ix));
        let _ = concepts.nearest(nouns, ix);
    }
    let directions = concepts.directions(WIDTH);
    assert_eq!(directions.len(), WIDTH * concepts.all().len());
    assert!(directions.iter().all(|v| v.is_finite()));
}
