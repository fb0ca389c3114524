//! Searches concepts by name, synonym or id.

use espalier_core::taxonomy::{NodeIx, Taxonomy};

/// Maximum number of results.
pub const MAX_HITS: usize = 12;

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

/// Returns the concepts that match best, at most [`MAX_HITS`]. Ranks exact matches before prefixes,
/// prefixes before those of later words, and these before substrings; then first names before
/// synonyms.
#[must_use]
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
#[allow(clippy::unwrap_used)]
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
    fn an_empty_query_finds_nothing() {
        assert!(found("  ").is_empty() && found("zebra").is_empty());
    }
}
