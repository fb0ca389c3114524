//! HyperLex: pairs of words with a score of how much one is a type of the other (notation 5.7).

use std::path::{Path, PathBuf};

use espalier_io::disk::read;

use crate::records::coverage::Coverage;
use crate::records::error::{DataError, Result};
use crate::records::walk;

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "HyperLex as published: blank-separated text whose first line begins with \
    WORD1 WORD2 POS TYPE AVG_SCORE, or a folder with hyperlex-all.txt";

/// Pairs with their human ratings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hyperlex {
    /// Pairs in the order of the file.
    pub pairs: Vec<Pair>,
    /// Counts of available and missing items; items are pairs.
    pub coverage: Coverage,
}

/// One pair: "Is `specific` a type of `general`?"
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The first word.
    pub specific: String,
    /// The second word.
    pub general: String,
    /// Part of speech: `N` or `V`.
    pub pos: String,
    /// Mean rating, 0 to 6.
    pub score: f64,
}

const COLUMNS: [&str; 4] = ["WORD1", "WORD2", "POS", "AVG_SCORE"];

fn text_file(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    if !path.is_dir() {
        return Err(DataError::layout(path, EXPECTED, "no such file or folder"));
    }
    let all = walk::files_below(path)?.files;
    let named = |name: &str| {
        all.iter()
            .find(|p| p.file_name().is_some_and(|n| n == name))
    };
    let file = named("hyperlex-all.txt").or_else(|| named("hyperlex.txt"));
    let none = || DataError::layout(path, EXPECTED, "no hyperlex-all.txt");
    file.cloned().ok_or_else(none)
}

impl Hyperlex {
    /// Reads a file, or the file in a folder.
    ///
    /// # Errors
    /// If it cannot be read, has a wrong header, or has no pair.
    pub fn open(path: &Path) -> Result<Self> {
        let file = text_file(path)?;
        let text = read::text(&file).map_err(DataError::io(&file))?;
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let header: Vec<&str> = header.split_whitespace().collect();
        let positions = COLUMNS.map(|column| header.iter().position(|h| *h == column));
        let [Some(word1), Some(word2), Some(pos), Some(score)] = positions else {
            let found = format!("a first line `{}`", header.join(" "));
            return Err(DataError::layout(&file, EXPECTED, found));
        };
        let mut data = Self::default();
        let mut seen = std::collections::BTreeSet::new();
        let lines = (2_u64..).zip(lines);
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let location = format!("line {number}");
            let field = |position: usize| fields.get(position).copied();
            let value = field(score).and_then(|s| s.parse::<f64>().ok());
            let value = value.filter(|v| v.is_finite());
            let (Some(specific), Some(general), Some(pos), Some(value)) =
                (field(word1), field(word2), field(pos), value)
            else {
                let cause = "line without two words, a part of speech and a score";
                data.coverage.miss(cause, &location);
                continue;
            };
            if !seen.insert((specific, general)) {
                data.coverage.note("pair given twice", 1, &location);
            }
            data.coverage.usable(1);
            data.pairs.push(Pair {
                specific: specific.to_owned(),
                general: general.to_owned(),
                pos: pos.to_owned(),
                score: value,
            });
        }
        if data.pairs.is_empty() {
            return Err(DataError::layout(&file, EXPECTED, "no pair"));
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_broken_lines_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hyperlex-all.txt");
        let text = "WORD1 WORD2 POS TYPE AVG_SCORE AVG_SCORE_0_10 STD SCORES..\n\
            sausage food N hyp-2 5.80 9.67 0.40 6 5\nrun move V hyp-1 x\nrun move V hyp-1 5.5\n\
            run move V hyp-1 5.0\n";
        std::fs::write(&path, text).unwrap();
        let data = Hyperlex::open(dir.path()).unwrap();
        assert_eq!(data.pairs.len(), 3);
        let first = Pair {
            specific: "sausage".to_owned(),
            general: "food".to_owned(),
            pos: "N".to_owned(),
            score: 5.8,
        };
        assert_eq!(data.pairs[0], first);
        assert_eq!((data.coverage.expected, data.coverage.found), (4, 3));
        assert_eq!(data.coverage.odd["pair given twice"].count, 1);
    }

    #[test]
    fn another_file_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.txt");
        let error = |path: &Path| Hyperlex::open(path).unwrap_err().to_string();
        std::fs::write(&path, "a b c\n").unwrap();
        let other = error(&path);
        assert!(other.contains("WORD1 WORD2") && other.contains("found a first line `a b c`"));
        assert!(error(dir.path()).contains("hyperlex-all.txt"));
        std::fs::write(&path, "WORD1 WORD2 POS TYPE AVG_SCORE\n").unwrap();
        assert!(error(&path).ends_with("found no pair"));
    }
}
