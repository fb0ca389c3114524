//! Availability of a benchmark: how many items its index lists, how many are usable, and why the
//! others are not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Items of one kind: how many there are, and one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cases {
    /// Number of items.
    pub count: u64,
    /// The first of them.
    pub example: String,
}

/// Item counts of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Items listed by the benchmark's own index.
    pub expected: u64,
    /// Items that are usable.
    pub found: u64,
    /// Unusable items by cause.
    pub missing: BTreeMap<String, Cases>,
    /// Irregular items that were used anyway, by kind: duplicate ids, ties, texts without a
    /// partner.
    pub odd: BTreeMap<String, Cases>,
    /// Entries of folders that are no items, by the rule that leaves them out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, Cases>,
}

impl Cases {
    /// Describes the items in a line: `cause: 3, for example a.jpg`.
    pub fn line(&self, cause: &str) -> String {
        match self.example.is_empty() {
            true => format!("{cause}: {}", self.count),
            false => format!("{cause}: {}, for example {}", self.count, self.example),
        }
    }
}

/// Counts items of a kind.
pub(crate) fn add(to: &mut BTreeMap<String, Cases>, cause: &str, count: u64, example: &str) {
    if count == 0 {
        return;
    }
    let entry = to.entry(cause.to_owned()).or_default();
    if entry.count == 0 {
        example.clone_into(&mut entry.example);
    }
    entry.count += count;
}

impl Coverage {
    /// Counts usable items.
    pub fn usable(&mut self, count: u64) {
        self.expected += count;
        self.found += count;
    }

    /// Counts one unusable item.
    pub fn miss(&mut self, cause: &str, example: &str) {
        self.expected += 1;
        add(&mut self.missing, cause, 1, example);
    }

    /// Counts items that the benchmark lists but the data lacks.
    pub fn absent(&mut self, cause: &str, count: u64) {
        self.expected += count;
        add(&mut self.missing, cause, count, "");
    }

    /// Moves items that were counted as usable to the missing ones.
    pub fn lose(&mut self, cause: &str, count: u64, example: &str) {
        self.found = self.found.saturating_sub(count);
        add(&mut self.missing, cause, count, example);
    }

    /// Counts irregular items that were used anyway.
    pub fn note(&mut self, kind: &str, count: u64, example: &str) {
        add(&mut self.odd, kind, count, example);
    }

    /// Returns whether every expected item is usable.
    pub fn is_complete(&self) -> bool {
        self.found == self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_and_missing_items_add_up_to_the_expected_ones() {
        let mut coverage = Coverage::default();
        coverage.usable(5);
        coverage.miss("image not there", "a.jpg");
        coverage.miss("image not there", "b.jpg");
        coverage.lose("image cannot be read", 1, "c.jpg");
        coverage.lose("another cause", 0, "");
        coverage.note("id given twice", 1, "7");
        assert_eq!((coverage.expected, coverage.found), (7, 4));
        let missing: u64 = coverage.missing.values().map(|m| m.count).sum();
        assert_eq!(coverage.found + missing, coverage.expected);
        assert_eq!(coverage.missing["image not there"].example, "a.jpg");
        assert_eq!(coverage.missing.len(), 2);
        assert!(!coverage.is_complete() && Coverage::default().is_complete());
    }
}
