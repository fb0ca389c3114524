//! Lookup of the node that a typed phrase names.

use super::{NodeIx, Taxonomy};

use crate::words::singulars;

const ARTICLES: [&str; 3] = ["a ", "an ", "the "];

/// Prepositions that may follow the head of a noun phrase.
const PREPOSITIONS: [&str; 10] = [
    "of", "on", "in", "with", "at", "for", "by", "from", "near", "to",
];

/// Nouns that, before "of", name a container or a group of the thing that follows.
const HOLDERS: [&str; 20] = [
    "basket", "bottle", "bouquet", "bowl", "box", "bucket", "cup", "flock", "glass", "handful",
    "jar", "loaf", "mug", "pitcher", "plate", "pod", "pot", "school", "stack", "swarm",
];

/// Nouns that state the amount of a thing, or that it is in a picture, but not what it is.
const MEASURES: [&str; 18] = [
    "bit", "bunch", "couple", "group", "herd", "image", "kind", "lot", "pack", "pair", "photo",
    "picture", "piece", "pile", "set", "slice", "sort", "type",
];

impl Taxonomy {
    /// Returns the node that a phrase names, ignoring articles and case, or whose id it is. Nodes
    /// with this displayed (first) name take precedence over nodes with this name as a synonym;
    /// among several the first in the file is taken.
    #[must_use]
    pub fn named(&self, phrase: &str) -> Option<NodeIx> {
        let normalised = without_article(phrase);
        let matches = |name: &String| without_article(name) == normalised;
        let nodes = || (0..).map(NodeIx).zip(self.nodes());
        let by_first_name = || nodes().find(|(_, node)| node.names.first().is_some_and(matches));
        let by_synonym = || nodes().find(|(_, node)| node.names.iter().any(matches));
        self.find(phrase)
            .or_else(|| by_first_name().or_else(by_synonym).map(|(ix, _)| ix))
    }
}

/// Looks up the head of a noun phrase, in the singular or the plural: `trucks` of `my old trucks`,
/// `cutlery` of `cutlery on a table`, `jeans` of `a pair of jeans`. If `known` has several endings
/// of the phrase, the longest one is taken, so that a hot dog is not looked up as a dog.
pub fn by_head<T>(phrase: &str, known: &impl Fn(&str) -> Option<T>) -> Option<T> {
    let phrase = phrase.to_lowercase();
    let words: Vec<&str> = phrase
        .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    // In English the head is the last word before any preposition.
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let end = rest.iter().position(|word| PREPOSITIONS.contains(word));
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        let is_of = after.first() == Some(&"of");
        let is_other = part
            .last()
            .is_some_and(|head| is_one_of(head, &MEASURES) || (is_of && is_one_of(head, &HOLDERS)));
        let mut ends = (0..part.len()).map(|from| part[from..].join(" "));
        let result = ends.find_map(|end| find_singular_or_plural(&end, known));
        if let Some(result) = result.filter(|_| !is_other) {
            return Some(result);
        }
        rest = after.get(1..).unwrap_or_default();
    }
    None
}

/// Looks up a name; if `known` does not have it, looks up the words that it may be the plural of.
fn find_singular_or_plural<T>(name: &str, known: &impl Fn(&str) -> Option<T>) -> Option<T> {
    known(name).or_else(|| singulars(name).iter().find_map(|single| known(single)))
}

/// Returns whether a word is in a list, in the singular or the plural.
fn is_one_of(word: &str, list: &[&str]) -> bool {
    let single = singulars(word);
    list.iter()
        .any(|item| *item == word || single.iter().any(|s| s == item))
}

/// Returns a name in lower case, without a leading article.
fn without_article(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    let rest = ARTICLES
        .iter()
        .find_map(|article| lower.strip_prefix(article));
    rest.map(str::to_owned).unwrap_or(lower)
}

#[cfg(test)]
mod tests {
    use super::super::tree_of;
    use super::*;

    #[test]
    fn first_names_take_precedence_over_synonyms() {
        let tree = "r = thing; *m = construction crane|crane < r; *b = crane|wader < r";
        let taxonomy = tree_of(tree);
        let named = |phrase| {
            taxonomy
                .named(phrase)
                .map(|ix| taxonomy.node(ix).id.as_str())
        };
        assert_eq!(named("A Crane "), Some("b"));
        assert_eq!(named("the wader"), Some("b"));
        assert_eq!(named("construction crane"), Some("m"));
        assert_eq!(named("r"), Some("r"));
        assert_eq!(named("cranes"), None);
    }

    #[test]
    fn a_vessel_is_the_head_unless_something_is_in_it() {
        let known = |name: &str| {
            ["cup", "coffee", "table", "chair"]
                .into_iter()
                .find(|k| *k == name)
        };
        let head = |phrase| by_head(phrase, &known);
        assert_eq!(head("a cup of coffee"), Some("coffee"));
        assert_eq!(head("a cup on a table"), Some("cup"));
        assert_eq!(head("a pair on a table"), Some("table"));
        // A chair holds nothing.
        assert_eq!(head("a chair of coffee"), Some("chair"));
    }

    #[test]
    fn the_head_of_a_phrase_names_a_node() {
        let tree = "r = thing; *d = dog < r; *h = hot dog < r; c = cutlery < r; \
            *j = jean|blue jean < r; *k = knife < c; *t = table < r; *p = picture < r";
        let taxonomy = tree_of(tree);
        let named = |phrase| {
            let node = by_head(phrase, &|name| taxonomy.named(name));
            node.map(|ix| taxonomy.node(ix).id.as_str())
        };
        for (phrase, id) in [
            ("my two big dogs", "d"),
            ("Hot dogs", "h"),
            ("cutlery on a table", "c"),
            ("a pair of jeans", "j"),
            ("grandma's sharp knives", "k"),
            ("a picture of a dog", "d"),
            ("a bowl of cutlery", "c"),
            ("a bowl on the table", "t"),
        ] {
            assert_eq!(named(phrase), Some(id), "{phrase}");
        }
        assert_eq!(named("a dogma"), None);
        assert_eq!(named(""), None);
    }
}
