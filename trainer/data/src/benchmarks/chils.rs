//! Two-level label sets in the format of CHILS: a JSON object that maps each superclass to its
//! subclasses (notation 6.6).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::records::error::{DataError, Result};

/// Expected file layout, for error messages.
pub const EXPECTED: &str =
    "a CHILS label list: a JSON object {\"superclass\": [\"subclass\", ..], ..}";

/// Superclasses with their subclasses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TwoLevels {
    /// Subclasses of each superclass, in the order of the file.
    pub below: BTreeMap<String, Vec<String>>,
}

impl TwoLevels {
    /// Reads a label list.
    ///
    /// # Errors
    /// If it cannot be read or has no pair.
    pub fn open(path: &Path) -> Result<Self> {
        let below: BTreeMap<String, Vec<String>> = DataError::read_json(path, EXPECTED)?;
        if below.values().all(Vec::is_empty) {
            return Err(DataError::layout(path, EXPECTED, "no subclass"));
        }
        Ok(Self { below })
    }

    /// Returns all names, superclasses and subclasses, without duplicates, sorted.
    pub fn labels(&self) -> Vec<String> {
        let all = self.below.keys().chain(self.below.values().flatten());
        let labels: BTreeSet<&String> = all.collect();
        labels.into_iter().cloned().collect()
    }

    /// Returns the superclass of a subclass, the first if there are several.
    pub fn above(&self, subclass: &str) -> Option<&str> {
        let mut all = self.below.iter();
        let found = all.find(|(_, list)| list.iter().any(|s| s == subclass));
        found.map(|(superclass, _)| superclass.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_levels_are_labels() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("living17.json");
        let json = r#"{"bear": ["ice bear", "sloth bear"], "bear cub": ["bear"]}"#;
        std::fs::write(&path, json).unwrap();
        let classes = TwoLevels::open(&path).unwrap();
        let labels = ["bear", "bear cub", "ice bear", "sloth bear"];
        assert_eq!(classes.labels(), labels);
        assert_eq!(classes.above("sloth bear"), Some("bear"));
        assert_eq!(classes.above("cat"), None);
        for other in [r#"{"bear": []}"#, "[]"] {
            std::fs::write(&path, other).unwrap();
            let error = TwoLevels::open(&path).unwrap_err();
            assert!(error.to_string().contains("CHILS"), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
