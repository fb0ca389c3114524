//! All nouns of WordNet: a table of synsets with their names, hypernyms and glosses.
//!
//! The columns `synset`, `names` (separated by `|`, the usual one first), `hypernyms` (separated by
//! `|`) and `gloss` are separated by tabs. The file is plain or compressed with gzip. One row, the
//! root, has no hypernym.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::iter;
use std::path::Path;

use espalier_core::taxonomy::Hypernyms;
use espalier_io::disk::read;

use crate::records::error::{DataError, Result};

/// Expected file format, for error messages.
pub const EXPECTED: &str = "a table of nouns: tab-separated, plain or gzip, with the header \
    synset, names, hypernyms, gloss";

const COLUMNS: [&str; 4] = ["synset", "names", "hypernyms", "gloss"];

/// WordNet's markers of adjective positions; they are not part of a name.
const MARKERS: [&str; 3] = ["(a)", "(p)", "(ip)"];

/// Most nouns above one noun; WordNet has some dozens.
const MAX_ABOVE: usize = 500;

/// Most hypernym relations above all nouns together, each counted once for every noun below it.
/// Everything that is later computed for each noun takes time in proportion to them; WordNet has
/// about a million.
const MAX_RELATIONS: usize = 20_000_000;

/// Index of a synset in [`Nouns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NounIx(pub usize);

/// A synset: a set of names with the same meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noun {
    /// Id, such as `n02121620`.
    pub id: String,
    /// Names, the usual one first; at least one, with blanks for underscores.
    pub names: Vec<String>,
    /// Indices of the direct hypernyms, in the order of the file.
    above: Vec<usize>,
}

/// All nouns.
#[derive(Clone, Debug, Default)]
pub struct Nouns {
    nouns: Vec<Noun>,
    by_id: HashMap<String, NounIx>,
    by_name: HashMap<String, Vec<NounIx>>,
}

impl Hypernyms for Nouns {
    fn id(&self, concept: usize) -> &str {
        &self.nouns[concept].id
    }

    fn above(&self, concept: usize) -> &[usize] {
        &self.nouns[concept].above
    }
}

impl Nouns {
    /// Reads a table, plain or compressed.
    ///
    /// # Errors
    /// [`DataError`] if the file cannot be read or decompressed. Also, with the line, for a wrong
    /// header, a wrong number of columns, an empty id or name, a duplicate id or a missing
    /// hypernym; and if there is no root or more than one.
    pub fn open(path: &Path) -> Result<Self> {
        let text = read::text(path).map_err(DataError::io(path))?;
        Self::parse(&text).map_err(|found| DataError::layout(path, EXPECTED, found))
    }

    /// Parses a table; the error is what was found instead, with its line.
    pub(super) fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut lines = (1_usize..).zip(text.lines());
        let header = lines.next().map_or("", |(_, line)| line);
        if !header.split('\t').map(str::trim).eq(COLUMNS) {
            return Err(format!("the first line `{header}`"));
        }
        let rows: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.trim().is_empty()).collect();
        let mut nouns = Self::default();
        let mut hypernyms = Vec::with_capacity(rows.len());
        for &(number, line) in &rows {
            let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
            let &[id, names, above, _gloss] = fields.as_slice() else {
                return Err(format!("{} columns in line {number}", fields.len()));
            };
            nouns
                .add(id, names)
                .map_err(|what| format!("{what} in line {number}"))?;
            hypernyms.push(above);
        }
        for (place, (above, (number, _))) in hypernyms.into_iter().zip(&rows).enumerate() {
            let mut seen = BTreeSet::new();
            for id in above.split('|').filter(|id| !id.is_empty()) {
                let Some(ix) = nouns.find(id) else {
                    return Err(format!(
                        "the hypernym `{id}`, which is no row, in line {number}"
                    ));
                };
                if seen.insert(ix.0) {
                    nouns.nouns[place].above.push(ix.0);
                }
            }
        }
        nouns
            .check_relations()
            .map_err(|(place, what)| format!("{what} in line {}", rows[place].0))?;
        let roots = nouns.nouns.iter().filter(|noun| noun.above.is_empty());
        let roots: Vec<&str> = roots.map(|noun| noun.id.as_str()).collect();
        match roots.as_slice() {
            [_] => Ok(nouns),
            [] => Err("no row without a hypernym".into()),
            [one, two, ..] => Err(format!("`{one}` and `{two}` both without a hypernym")),
        }
    }

    /// Adds a row without its hypernyms; the error describes the defect.
    fn add(&mut self, id: &str, names: &str) -> std::result::Result<(), String> {
        let ix = NounIx(self.nouns.len());
        let names: Vec<String> = names.split('|').map(clean).collect();
        if id.is_empty() {
            return Err("an empty synset".into());
        }
        if names.iter().any(String::is_empty) {
            return Err(format!("an empty name of `{id}`"));
        }
        if self.by_id.insert(id.to_owned(), ix).is_some() {
            return Err(format!("`{id}` for the second time"));
        }
        for name in &names {
            let senses = self.by_name.entry(name.to_lowercase()).or_default();
            if senses.last() != Some(&ix) {
                senses.push(ix);
            }
        }
        self.nouns.push(Noun {
            id: id.to_owned(),
            names,
            above: Vec::new(),
        });
        Ok(())
    }

    /// Checks that no noun has too many nouns above it, and that all relations together are not too
    /// many; the error is the index of a noun and the defect.
    fn check_relations(&self) -> std::result::Result<(), (usize, String)> {
        let mut relations = 0;
        // The noun from which each noun was last reached.
        let mut reached_from = vec![usize::MAX; self.nouns.len()];
        for (ix, noun) in self.nouns.iter().enumerate() {
            let (mut open, mut above) = (vec![ix], 0);
            reached_from[ix] = ix;
            while let Some(at) = open.pop() {
                relations += self.nouns[at].above.len();
                for &next in &self.nouns[at].above {
                    if reached_from[next] != ix {
                        reached_from[next] = ix;
                        above += 1;
                        open.push(next);
                    }
                }
                if above > MAX_ABOVE || relations > MAX_RELATIONS {
                    let what = format!(
                        "`{}` with more than {MAX_ABOVE} nouns above it, or more than \
                         {MAX_RELATIONS} relations above all nouns so far,",
                        noun.id
                    );
                    return Err((ix, what));
                }
            }
        }
        Ok(())
    }

    /// Returns the number of synsets.
    pub fn len(&self) -> usize {
        self.nouns.len()
    }

    /// Returns whether there are no synsets.
    pub fn is_empty(&self) -> bool {
        self.nouns.is_empty()
    }

    /// Iterates over all synsets with their indices, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (NounIx, &Noun)> {
        let nouns = self.nouns.iter().enumerate();
        nouns.map(|(i, noun)| (NounIx(i), noun))
    }

    /// Returns a synset; `None` for an index of another table.
    pub fn get(&self, ix: NounIx) -> Option<&Noun> {
        self.nouns.get(ix.0)
    }

    /// Returns the synset with an id.
    pub fn find(&self, id: &str) -> Option<NounIx> {
        self.by_id.get(id).copied()
    }

    /// Returns the synsets that have a name, ignoring case, in the order of the file. This order
    /// does not reflect how common a sense is; see [`crate::nouns::noun_senses`] for weights.
    pub fn senses(&self, name: &str) -> &[NounIx] {
        let senses = self.by_name.get(&clean(name).to_lowercase());
        senses.map_or(&[], Vec::as_slice)
    }

    /// Iterates over a noun and all nouns above it, along every hypernym, the nearest first, each with
    /// the number of edges up to it.
    pub(super) fn at_and_above(&self, ix: NounIx) -> impl Iterator<Item = (NounIx, usize)> {
        let (mut queue, mut seen) = (VecDeque::from([(ix.0, 0_usize)]), BTreeSet::from([ix.0]));
        iter::from_fn(move || {
            let (at, edges) = queue.pop_front()?;
            let above = self.nouns.get(at).into_iter().flat_map(|noun| &noun.above);
            let new = above.filter(|above| seen.insert(**above));
            queue.extend(new.map(|above| (*above, edges + 1)));
            Some((NounIx(at), edges))
        })
    }

    /// Returns whether `above` is at or above `ix`, along any hypernym.
    pub fn is_at_or_below(&self, ix: NounIx, above: NounIx) -> bool {
        self.at_and_above(ix).any(|(at, _)| at == above)
    }
}

/// Normalises a name: blanks for underscores, no marker, no surrounding blanks.
fn clean(name: &str) -> String {
    let name = name.trim();
    let bare = MARKERS.iter().find_map(|marker| name.strip_suffix(marker));
    bare.unwrap_or(name).replace('_', " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const TABLE: &str = "synset\tnames\thypernyms\tgloss\n\
        n1\tentity\t\tall there is\n\
        n3\tpickup_truck|Pickup\tn2\ta light truck\n\
        n2\tthing\tn1\t\n\
        n4\tpickup(p)\tn1|n2\tan act\n";

    fn open(bytes: &[u8]) -> Result<Nouns> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Nouns::open(file.path())
    }

    fn refused(rows: &str) -> String {
        let text = format!("synset\tnames\thypernyms\tgloss\n{rows}");
        open(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn names_are_cleaned_and_senses_found_whatever_their_case() {
        let nouns = open(TABLE.as_bytes()).unwrap();
        let truck = nouns.get(nouns.find("n3").unwrap()).unwrap();
        assert_eq!(truck.names, ["pickup truck", "Pickup"]);
        let id = |ix: &NounIx| nouns.get(*ix).unwrap().id.as_str();
        let ids = |name| -> Vec<&str> { nouns.senses(name).iter().map(id).collect() };
        assert_eq!(ids("pickup"), ["n3", "n4"]);
        assert_eq!(ids(" Pickup_Truck "), ["n3"]);
        assert!(ids("lorry").is_empty());
    }

    #[test]
    fn what_lies_above_is_found_along_every_hypernym() {
        let nouns = open(TABLE.as_bytes()).unwrap();
        let at = |id| nouns.find(id).unwrap();
        assert_eq!(nouns.above(at("n4").0), [at("n1").0, at("n2").0]);
        assert!(nouns.is_at_or_below(at("n3"), at("n1")));
        assert!(nouns.is_at_or_below(at("n3"), at("n3")));
        assert!(!nouns.is_at_or_below(at("n2"), at("n3")));
    }

    #[test]
    fn too_many_nouns_above_one_are_refused_with_the_line() {
        let chain = |length: usize| {
            let row = |n: usize| {
                let above = n.checked_sub(1).map(|above| format!("c{above}"));
                let above = above.unwrap_or_default();
                format!("c{n}\tname {n}\t{above}\t\n")
            };
            (0..length).map(row).collect::<String>()
        };
        let table = format!("{}\n{}", COLUMNS.join("\t"), chain(MAX_ABOVE + 1));
        assert_eq!(open(table.as_bytes()).unwrap().len(), MAX_ABOVE + 1);
        let message = refused(&chain(MAX_ABOVE + 2));
        let expected = "`c501` with more than 500 nouns above it";
        assert!(message.contains(expected), "{message}");
        assert!(message.ends_with("in line 503"), "{message}");
    }

    #[test]
    fn a_hypernym_that_is_named_twice_counts_once() {
        let nouns = open(format!("{TABLE}n5\tbus\tn2|n2|n1\t\n").as_bytes()).unwrap();
        let at = |id| nouns.find(id).unwrap();
        assert_eq!(nouns.above(at("n5").0), [at("n2").0, at("n1").0]);
    }

    #[test]
    fn a_compressed_table_is_read_and_a_broken_one_refused() {
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        zip.write_all(TABLE.as_bytes()).unwrap();
        let bytes = zip.finish().unwrap();
        assert_eq!(open(&bytes).unwrap().len(), 4);
        assert!(open(&bytes[..bytes.len() / 2]).is_err());
    }

    #[test]
    fn faults_are_named_with_their_line() {
        let cases = [
            ("n1\tx\t\n", "found 3 columns in line 2"),
            ("\tx\t\t\n", "found an empty synset in line 2"),
            ("n1\tx|\t\t\n", "found an empty name of `n1` in line 2"),
            (
                "n1\tx\t\t\nn1\ty\tn1\t\n",
                "found `n1` for the second time in line 3",
            ),
            (
                "n1\tx\t\t\nn2\ty\tn9\t\n",
                "found the hypernym `n9`, which is no row, in line 3",
            ),
            (
                "n1\tx\t\t\nn2\ty\t\t\n",
                "found `n1` and `n2` both without a hypernym",
            ),
            ("", "found no row without a hypernym"),
        ];
        for (rows, found) in cases {
            assert!(refused(rows).ends_with(found), "{}", refused(rows));
        }
        let other = open(b"a\tb\n").unwrap_err().to_string();
        assert!(other.contains("header synset, names") && other.ends_with("the first line `a\tb`"));
    }
}
