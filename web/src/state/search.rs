//! Searches concepts by name, synonym or id, and finds the closest names if there is no match.

use espalier_core::taxonomy::{Lexicon, NodeIx, Taxonomy};
use espalier_core::words::singulars;
use strsim::normalized_damerau_levenshtein;

/// Maximum number of results.
pub const MAX_HITS: usize = 12;

/// Number of closest names that are offered if nothing matches.
pub const MAX_CLOSEST: usize = 5;

/// A concept that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The concept.
    pub node: NodeIx,
    /// The name, synonym or id that matched.
    pub by: String,
}

/// Ranks how well a text matches the query, smaller is better; `None` without a match.
fn rank(text: &str, query: &str) -> Option<u8> {
    let text = text.to_lowercase();
    let words = || text.split([' ', '-', '_']);
    if text == query {
        Some(0)
    } else if text.starts_with(query) {
        Some(1)
    } else if words().any(|word| word.starts_with(query)) {
        Some(2)
    } else if query.chars().count() > 2 && text.contains(query) {
        Some(3)
    } else {
        None
    }
}

/// Returns the concept that a word of everyday language belongs to, by a lexicon of nouns: `kitty`
/// finds the cat. The lexicon also knows plurals.
pub fn find_noun(tree: &Taxonomy, nouns: &Lexicon, query: &str) -> Vec<Hit> {
    let query = query.trim().to_lowercase();
    let names = std::iter::once(query.clone()).chain(singulars(&query));
    let found = names.filter_map(|name| nouns.find(tree, &name)).next();
    let hit = |node| Hit { node, by: query };
    found.map(hit).into_iter().collect()
}

/// Returns the concepts with a name closest to the query, at most [`MAX_CLOSEST`], the closest
/// first. Each word of a name counts as a name, too.
pub fn closest(tree: &Taxonomy, query: &str) -> Vec<Hit> {
    let query = query.trim().to_lowercase();
    let similarity = |name: &String| {
        let name = name.to_lowercase();
        let words = name.split(' ').chain(std::iter::once(name.as_str()));
        let each = words.map(|word| normalized_damerau_levenshtein(word, &query));
        each.fold(0.0, f64::max)
    };
    let mut ranked: Vec<(f64, Hit)> = Vec::new();
    for (node, names) in (0..).map(NodeIx).zip(tree.nodes().iter().map(|n| &n.names)) {
        let best = names.iter().map(|name| (similarity(name), name));
        let best = best.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.len().cmp(&a.1.len())));
        if let Some((similarity, name)) = best {
            let by = name.clone();
            ranked.push((similarity, Hit { node, by }));
        }
    }
    ranked.sort_by(|(a, hit), (b, other)| {
        let by_length = hit.by.len().cmp(&other.by.len());
        b.total_cmp(a)
            .then(by_length)
            .then(hit.node.cmp(&other.node))
    });
    ranked.truncate(MAX_CLOSEST);
    ranked.into_iter().map(|(_, hit)| hit).collect()
}

/// Returns the concepts that match best, at most [`MAX_HITS`]. Ranks exact matches before prefixes,
/// prefixes before those of later words, and these before substrings; then first names before
/// synonyms.
pub fn find(tree: &Taxonomy, query: &str) -> Vec<Hit> {
    let query = query.trim().to_lowercase();
    if query.is_empty() {
        return Vec::new();
    }
    let mut ranked: Vec<(u8, usize, usize, Hit)> = Vec::new();
    for (ix, node) in (0..).map(NodeIx).zip(tree.nodes()) {
        let names = node.names.iter().enumerate();
        let ids = std::iter::once((node.names.len(), &node.id));
        let best = names
            .chain(ids)
            .filter_map(|(at, text)| Some((rank(text, &query)?, at, text)))
            .min();
        if let Some((rank, at, text)) = best {
            let by = text.clone();
            ranked.push((rank, at.min(1), by.len(), Hit { node: ix, by }));
        }
    }
    ranked.sort_by_key(|(rank, at, length, hit)| (*rank, *at, *length, hit.node));
    ranked.truncate(MAX_HITS);
    ranked.into_iter().map(|(_, _, _, hit)| hit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        n1\tanimal|beast\t\t0\n\
        n2\tbird\tn1\t0\n\
        n3\tsong thrush|throstle\tn2\t1\n\
        n4\tthrush\tn2\t1\n\
        n5\tladybird\tn1\t1\n";

    fn found(query: &str) -> Vec<String> {
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        find(&tree, query).into_iter().map(|hit| hit.by).collect()
    }

    #[test]
    fn exact_matches_rank_before_prefixes_and_these_before_substrings() {
        assert_eq!(found("thrush"), ["thrush", "song thrush"]);
        assert_eq!(found(" Bird"), ["bird", "ladybird"]);
        assert_eq!(found("b"), ["bird", "beast"]);
    }

    #[test]
    fn synonyms_and_ids_are_found() {
        assert_eq!(found("throstle"), ["throstle"]);
        assert_eq!(found("n5"), ["n5"]);
    }

    #[test]
    fn a_near_miss_finds_the_closest_names() {
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        let by = |query| {
            closest(&tree, query)
                .into_iter()
                .map(|hit| hit.by)
                .collect::<Vec<_>>()
        };
        assert_eq!(by("trush")[..2], ["thrush", "song thrush"]);
        assert_eq!(by("brid")[0], "bird");
        assert_eq!(by("qqqq").len(), MAX_CLOSEST);
    }

    #[test]
    fn a_word_of_everyday_language_finds_its_concept() {
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        let nouns = Lexicon::new([("birdie".to_owned(), "n2".to_owned())]);
        for query in ["birdie", "Birdies "] {
            let hits = find_noun(&tree, &nouns, query);
            assert_eq!(hits.len(), 1, "{query}");
            assert_eq!(tree.name(hits[0].node), "bird");
        }
        assert!(find_noun(&tree, &nouns, "zebra").is_empty());
    }

    #[test]
    fn an_empty_query_finds_nothing() {
        assert!(found("  ").is_empty() && found("zebra").is_empty());
    }
}
