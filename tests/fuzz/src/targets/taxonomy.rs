//! Taxonomies: those of bundles, and the trees that visitors supply. Vocabularies of statements.

use espalier_core::statements::{Number, Vocabulary};
use espalier_core::taxonomy::{Lexicon, Taxonomy, by_head, descend, roll_up};
use espalier_web::state::search::{Hit, find};

/// Reads a taxonomy in every format and looks up names in it; reads the same text as a list of
/// nouns.
///
/// # Panics
/// If the relations of a taxonomy contradict each other, or if it cannot be written and read again.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let readers = [Taxonomy::from_tsv, Taxonomy::from_text, Taxonomy::from_file];
    for tree in readers.iter().filter_map(|read| read(text).ok()) {
        check(&tree);
        let word = text.lines().next_back().unwrap_or_default();
        let _ = by_head(word, &|name| tree.named(name));
        let known = |hit: &Hit| hit.node.index() < tree.nodes().len();
        assert!(find(&tree, word).iter().all(known));
    }
    if let Ok(vocabulary) = Vocabulary::from_tsv(text) {
        check_statements(&vocabulary, text);
    }
    if let Ok(nouns) = Lexicon::from_tsv(text, "nouns.tsv") {
        let written = nouns.to_tsv();
        let again = Lexicon::from_tsv(&written, "nouns.tsv");
        let again = again.unwrap_or_else(|e| panic!("written again: {e}"));
        assert_eq!(again.len(), nouns.len());
    }
}

fn check_statements(vocabulary: &Vocabulary, text: &str) {
    let again = Vocabulary::from_tsv(&vocabulary.to_tsv());
    let again = again.unwrap_or_else(|e| panic!("written again: {e}"));
    assert_eq!(again.parts(), vocabulary.parts());
    for part in vocabulary.parts() {
        let statement = vocabulary.statement([part.id.as_str()], Number::Crowd);
        let statement = statement.unwrap_or_else(|e| panic!("`{}`: {e}", part.id));
        let growth = statement.growth(vocabulary);
        for pair in growth.windows(2) {
            assert!(pair[1].entails(&pair[0], vocabulary));
        }
    }
    let line = text.lines().next_back().unwrap_or_default();
    let _ = vocabulary.mentions(line).statement().text(vocabulary);
}

fn check(tree: &Taxonomy) {
    let labels = tree.labelled().len();
    for (ix, node) in tree.nodes().iter().enumerate() {
        let at = tree.find(&node.id);
        let at = at.unwrap_or_else(|| panic!("`{}` is not found by its id", node.id));
        assert_eq!(at.index(), ix);
        assert!(!tree.name(at).is_empty());
        let path = tree.path_to(at);
        assert_eq!(path.first(), Some(&tree.root()));
        assert!(tree.depth(at) as usize <= path.len());
        let above = tree.nameable_above(at);
        assert!(above == at || tree.is_ancestor(above, at));
    }
    assert_eq!(tree.labelled_below(tree.root()).len(), labels);
    if labels > 0 {
        let p = roll_up(tree, &vec![1.0 / labels as f32; labels]);
        assert!(p.iter().all(|p| p.is_finite()));
        let descent = descend(tree, &p, &p, |ix| tree.is_nameable(ix));
        assert!(descent.stop < descent.steps.len());
    }
    let written = tree.to_tsv();
    let again = Taxonomy::from_tsv(&written).unwrap_or_else(|e| panic!("written again: {e}"));
    assert_eq!(again.nodes(), tree.nodes());
}
