//! What of a benchmark is there: how many items its index lists, how many can be used, and why the
//! others cannot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Items that are missing for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub example: String,
}

/// The count of a benchmark's items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Items that the benchmark has, by its own index.
    pub expected: u64,
    /// Items that were judged.
    pub found: u64,
    /// The others by cause.
    pub missing: BTreeMap<String, Missing>,
    /// What is odd and was still used, by kind: duplicate ids, ties, texts without a partner.
    pub odd: BTreeMap<String, Missing>,
}

fn add(to: &mut BTreeMap<String, Missing>, cause: &str, count: u64, example: &str) {
    if count == 0 {
        return;
    }
    let entry = to.entry(cause.to_owned()).or_default();
    if entry.count == 0 {
        example.clone_into(&mut entry.example);
    }
    entry.count += count;
}

impl Ledger {
    /// Count items that can be used.
    pub fn usable(&mut self, count: u64) {
        self.expected += count;
        self.found += count;
    }

    /// Count one item that cannot be used.
    pub fn miss(&mut self, cause: &str, example: &str) {
        self.expected += 1;
        add(&mut self.missing, cause, 1, example);
    }

    /// Count items that the benchmark has and the data has not.
    pub fn absent(&mut self, cause: &str, count: u64) {
        self.expected += count;
        add(&mut self.missing, cause, count, "");
    }

    /// Items counted as usable turn out not to be.
    pub fn lose(&mut self, cause: &str, count: u64, example: &str) {
        self.found = self.found.saturating_sub(count);
        add(&mut self.missing, cause, count, example);
    }

    /// Count something odd that was used all the same.
    pub fn note(&mut self, kind: &str, count: u64, example: &str) {
        add(&mut self.odd, kind, count, example);
    }

    /// Whether every item is there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.found == self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_and_what_is_missing_make_what_was_expected() {
        let mut ledger = Ledger::default();
        ledger.usable(5);
        ledger.miss("picture not there", "a.jpg");
        ledger.miss("picture not there", "b.jpg");
        ledger.lose("picture cannot be read", 1, "c.jpg");
        ledger.lose("nothing of this kind", 0, "");
        ledger.note("id given twice", 1, "7");
        assert_eq!((ledger.expected, ledger.found), (7, 4));
        let lost: u64 = ledger.missing.values().map(|m| m.count).sum();
        assert_eq!(ledger.found + lost, ledger.expected);
        assert_eq!(ledger.missing["picture not there"].example, "a.jpg");
        assert_eq!(ledger.missing.len(), 2);
        assert!(!ledger.is_whole() && Ledger::default().is_whole());
    }
}
