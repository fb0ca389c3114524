//! Nouns that name no node of a taxonomy, with the nodes they belong to.
//!
//! A text encoder of a few megabytes cannot memorise tens of thousands of nouns. Known nouns are
//! looked up here; the encoder handles the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::parse::names_of;
use super::{NodeIx, Taxonomy};
use crate::error::{CoreError, Result};
use crate::shown;

/// Nouns with the ids of their nodes. It is not tied to one taxonomy: [`find`](Self::find) returns
/// nothing for a node that the taxonomy lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lexicon {
    nodes: Vec<String>,
    /// Nouns in lower case, sorted, with indices into `nodes`.
    nouns: Vec<(String, u32)>,
}

impl Lexicon {
    /// Creates a lexicon from nouns with the ids of their nodes; of several entries for a noun the
    /// first is kept.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut places: BTreeMap<String, u32> = BTreeMap::new();
        let mut nodes = Vec::new();
        let nouns = entries.into_iter().map(|(noun, node)| {
            let place = *places.entry(node).or_insert_with_key(|node| {
                nodes.push(node.clone());
                nodes.len() as u32 - 1
            });
            (noun.to_lowercase(), place)
        });
        let mut nouns: Vec<(String, u32)> = nouns.collect();
        nouns.sort_by(|a, b| a.0.cmp(&b.0));
        nouns.dedup_by(|later, first| later.0 == first.0);
        Self { nodes, nouns }
    }

    /// Reads lines with the id of a node, a tab, and its nouns separated by `|`.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming `path` and the first line that is not of this form.
    pub fn from_tsv(text: &str, path: &str) -> Result<Self> {
        let mut entries = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let invalid =
                |reason: String| CoreError::bundle(path, format!("line {number}: {reason}"));
            let Some((node, nouns)) = line.split_once('\t').filter(|(node, _)| !node.is_empty())
            else {
                return Err(invalid(format!(
                    "expected the id of a node, a tab and nouns separated by `|`, found `{line}`"
                )));
            };
            shown::check(node).map_err(invalid)?;
            for noun in names_of(nouns) {
                shown::check(&noun).map_err(invalid)?;
                entries.push((noun, node.to_owned()));
            }
        }
        Ok(Self::new(entries))
    }

    /// Writes the format that [`from_tsv`](Self::from_tsv) reads.
    #[must_use]
    pub fn to_tsv(&self) -> String {
        let mut rows: Vec<Vec<&str>> = vec![Vec::new(); self.nodes.len()];
        for (noun, place) in &self.nouns {
            rows[*place as usize].push(noun);
        }
        let mut text = String::new();
        for (node, nouns) in self.nodes.iter().zip(rows) {
            let _ = writeln!(text, "{node}\t{}", nouns.join("|"));
        }
        text
    }

    /// Returns the number of nouns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nouns.len()
    }

    /// Returns whether there are no nouns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nouns.is_empty()
    }

    /// Returns the node that a noun belongs to, ignoring case; `None` for an unknown noun, or if
    /// `taxonomy` lacks the node.
    #[must_use]
    pub fn find(&self, taxonomy: &Taxonomy, noun: &str) -> Option<NodeIx> {
        let noun = noun.to_lowercase();
        let at = self.nouns.binary_search_by(|(entry, _)| entry.cmp(&noun));
        let at = at.ok()?;
        taxonomy.find(&self.nodes[self.nouns[at].1 as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree_of;
    use super::*;

    #[test]
    fn blanks_and_line_ends_are_no_part_of_a_noun() {
        let read = Lexicon::from_tsv("d\tpug | |hound\r\nc\t\r", "nouns.tsv").unwrap();
        assert_eq!(read.to_tsv(), "d\thound|pug\n");
    }

    #[test]
    fn nouns_are_found_in_any_case_after_a_round_trip() {
        let nouns = ["Puppy", "sneaker", "pug", "ghost", "pug"].into_iter();
        let entries = nouns.zip(["d", "s", "d", "g", "s"]);
        let entries = entries.map(|(noun, node)| (noun.to_owned(), node.to_owned()));
        let lexicon = Lexicon::new(entries);
        assert_eq!(lexicon.len(), 4);
        assert!(!lexicon.is_empty() && Lexicon::default().is_empty());
        let read = Lexicon::from_tsv(&lexicon.to_tsv(), "nouns.tsv").unwrap();
        assert_eq!(read, lexicon);
        let taxonomy = tree_of("r = thing; *d = dog < r; *s = shoe < r");
        let found = |noun| read.find(&taxonomy, noun).map(|ix| taxonomy.name(ix));
        assert_eq!(found("PUPPY"), Some("dog"));
        assert_eq!(found("pug"), Some("dog"), "the first entry is kept");
        assert_eq!(found("sneaker"), Some("shoe"));
        assert_eq!((found("ghost"), found("cat")), (None, None));
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let error = Lexicon::from_tsv("d\tpug\nno tab\n", "nouns.tsv").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("nouns.tsv: line 2"), "{error}");
    }
}
