//! Searches concepts by name, synonym or id.

use espalier_core::taxonomy::{NodeIx, Taxonomy};

/// Maximum number of results.
pub const MOST: usize = 12;

/// A concept that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The concept.
    pub node: NodeIx,
    /// The name, synonym or id that matched.
    pub by: String,
}

/// Ranks how well a text matches the query, smaller is better; `None` without a match.
fn rank(text: &str, sought: &str) -> Option<u8> {
    let text = text.to_lowercase();
    let words = || text.split([' ', '-', '_']);
    if text == sought {
        Some(0)
    } else if text.starts_with(sought) {
        Some(1)
    } else if words().any(|word| word.starts_with(sought)) {
        Some(2)
    } else if sought.chars().count() > 2 && text.contains(sought) {
        Some(3)
    } else {
        None
    }
}

/// Returns the concepts that match best, at most [`MOST`]. Ranks exact matches before prefixes,
/// prefixes before those of later words, and these before substrings; then first names before
/// synonyms.
#[must_use]
pub fn find(tree: &Taxonomy, sought: &str) -> Vec<Hit> {
    let sought = sought.trim().to_lowercase();
    if sought.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(u8, usize, usize, Hit)> = Vec::new();
    for (ix, node) in (0..).map(NodeIx).zip(tree.nodes()) {
        let names = node.names.iter().enumerate();
        let ids = std::iter::once((node.names.len(), &node.id));
        let best = names
            .chain(ids)
            .filter_map(|(at, text)| Some((rank(text, &sought)?, at, text)))
            .min();
        if let Some((rank, at, text)) = best {
            let by = text.clone();
            found.push((rank, at.min(1), by.len(), Hit { node: ix, by }));
        }
    }
    found.sort_by_key(|(rank, at, length, hit)| (*rank, *at, *length, hit.node));
    found.truncate(MOST);
    found.into_iter().map(|(_, _, _, hit)| hit).collect()
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

    fn found(sought: &str) -> Vec<String> {
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        find(&tree, sought).into_iter().map(|hit| hit.by).collect()
    }

    #[test]
    fn whole_names_come_before_beginnings_and_these_before_parts() {
        assert_eq!(found("thrush"), ["thrush", "song thrush"]);
        assert_eq!(found(" Bird"), ["bird", "ladybird"]);
        assert_eq!(found("b"), ["bird", "beast"]);
    }

    #[test]
    fn synonyms_and_ids_are_found_and_said() {
        assert_eq!(found("throstle"), ["throstle"]);
        assert_eq!(found("n5"), ["n5"]);
    }

    #[test]
    fn nothing_sought_is_nothing_found() {
        assert!(found("  ").is_empty() && found("zebra").is_empty());
    }
}
