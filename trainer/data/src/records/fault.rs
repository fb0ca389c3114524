//! Broken records: why one is skipped, and the counts by cause.

use std::collections::BTreeMap;
use std::fmt;

use espalier_io::storage;
use serde::{Deserialize, Serialize};

/// Records from which on a share of broken ones is a limit as it stands.
const MANY: u64 = 1000;

/// Why a record cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The shard is truncated.
    ShardEndsEarly,
    /// The shard, or this part of it, cannot be read.
    ShardDamaged,
    /// There is no image. The alias is the name in feature caches of earlier versions.
    #[serde(alias = "missing_picture")]
    MissingImage,
    /// The bytes are not an image, or the image is truncated or unsupported.
    #[serde(alias = "unreadable_picture")]
    UnreadableImage,
    /// There is no caption, or a blank one.
    MissingCaption,
    /// The caption or a phrase is not UTF-8.
    UnreadableText,
    /// The `.json` or the number of boxes cannot be read.
    UnreadableMetadata,
    /// A member that the record should have is not there.
    MissingMember,
    /// A chain of texts with a wrong number of tiers.
    WrongTiers,
    /// Object storage failed; the record may be good, so the run must end.
    StorageFailed,
}

impl Cause {
    /// Returns the description printed in reports.
    pub fn description(self) -> &'static str {
        match self {
            Self::ShardEndsEarly => "shard ends early",
            Self::ShardDamaged => "shard cannot be read",
            Self::MissingImage => "no image",
            Self::UnreadableImage => "image cannot be read",
            Self::MissingCaption => "no caption",
            Self::UnreadableText => "text is not UTF-8",
            Self::UnreadableMetadata => "metadata cannot be read",
            Self::MissingMember => "member is missing",
            Self::WrongTiers => "wrong number of tiers",
            Self::StorageFailed => "storage failed",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

/// A cause with its details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The cause.
    pub cause: Cause,
    /// Details, for the example in a report.
    pub detail: String,
}

impl Fault {
    /// Creates a fault with its details.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Self {
            cause,
            detail: detail.into(),
        }
    }

    /// Creates the fault of a shard that cannot be read, or of storage that failed.
    pub fn of_reading(error: &std::io::Error) -> Self {
        let cause = if storage::is_failure(error) {
            Cause::StorageFailed
        } else {
            Cause::ShardDamaged
        };
        Self::new(cause, error.to_string())
    }

    /// Attaches the fault to the record `key`.
    pub fn of(self, key: impl Into<String>) -> Broken {
        Broken {
            key: key.into(),
            fault: self,
        }
    }
}

/// A record that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Key of the record, as far as it is known.
    pub key: String,
    /// Why it cannot be used.
    pub fault: Fault,
}

/// The first record broken by a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// Shard of the record.
    pub file: String,
    /// Key of the record.
    pub key: String,
    /// What exactly is wrong.
    pub detail: String,
}

/// Number of records broken by a cause, with an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseCount {
    /// Number of records.
    pub count: u64,
    /// The first such record.
    pub example: Example,
}

/// Counts of records read and records skipped.
///
/// A record without a usable box is not broken: it is counted separately and does not count towards
/// `--max-broken`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenCounts {
    /// Records read, including broken ones.
    pub seen: u64,
    /// Valid records skipped because the method needs a box and none was usable.
    pub no_usable_box: u64,
    /// Valid records skipped because the method needs a chain of texts and the record has none: no label in
    /// the taxonomy, or a caption that mentions too little.
    #[serde(default)]
    pub no_chain: u64,
    /// Broken records by cause.
    pub by_cause: BTreeMap<Cause, CauseCount>,
}

impl BrokenCounts {
    /// Counts one broken record of the shard `file`. The caller increments `seen`.
    pub fn add(&mut self, file: &str, broken: &Broken) {
        self.by_cause
            .entry(broken.fault.cause)
            .and_modify(|entry| entry.count += 1)
            .or_insert_with(|| CauseCount {
                count: 1,
                example: Example {
                    file: file.to_owned(),
                    key: broken.key.clone(),
                    detail: broken.fault.detail.clone(),
                },
            });
    }

    /// Adds the counts of a later part; existing examples are kept.
    pub fn merge(&mut self, later: &Self) {
        self.seen += later.seen;
        self.no_usable_box += later.no_usable_box;
        self.no_chain += later.no_chain;
        for (&cause, entry) in &later.by_cause {
            self.by_cause
                .entry(cause)
                .and_modify(|mine| mine.count += entry.count)
                .or_insert_with(|| entry.clone());
        }
    }

    /// Returns the number of broken records.
    pub fn broken(&self) -> u64 {
        self.by_cause.values().map(|entry| entry.count).sum()
    }

    /// Returns the fraction of broken records among those seen, in [0, 1]; 0 when none was seen.
    pub fn fraction(&self) -> f64 {
        if self.seen == 0 {
            0.0
        } else {
            self.broken() as f64 / self.seen as f64
        }
    }

    /// Returns whether more records are broken than a share allows. Among few records a small share means little:
    /// of fewer than 1,000, a half may be broken, unless the share is 0, which allows none.
    pub fn exceed(&self, max_broken: f64) -> bool {
        let share = match self.seen < MANY && max_broken > 0.0 {
            true => max_broken.max(0.5),
            false => max_broken,
        };
        self.fraction() > share
    }
}

/// Prints one line per cause with its example, then the number of records without a usable box.
impl fmt::Display for BrokenCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for (cause, CauseCount { count, example }) in &self.by_cause {
            let Example { file, key, detail } = example;
            lines.push(format!(
                "  {cause}: {count} (for example {file}, record {key}: {detail})"
            ));
        }
        if self.no_usable_box > 0 {
            lines.push(format!(
                "  no usable box: {} (no box, or none as large as dataset.min_box_px)",
                self.no_usable_box
            ));
        }
        if self.no_chain > 0 {
            lines.push(format!("  no chain of texts: {}", self.no_chain));
        }
        if lines.is_empty() {
            lines.push("  nothing was skipped".to_owned());
        }
        f.write_str(&lines.join("\n"))
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(key: &str, cause: Cause) -> Broken {
        Fault::new(cause, "because").of(key)
    }

    fn seen(seen: u64) -> BrokenCounts {
        BrokenCounts {
            seen,
            ..BrokenCounts::default()
        }
    }

    #[test]
    fn counts_keep_the_first_example_of_each_cause() {
        let (mut first, mut second) = (seen(2), seen(8));
        first.add("a.tar", &broken("1", Cause::UnreadableImage));
        second.no_usable_box = 1;
        second.add("b.tar", &broken("2", Cause::UnreadableImage));
        second.add("b.tar", &broken("3", Cause::MissingCaption));
        first.merge(&second);
        assert_eq!(first.broken(), 3);
        assert!((first.fraction() - 0.3).abs() < 1e-12);
        assert_eq!(
            first.to_string(),
            "  image cannot be read: 2 (for example a.tar, record 1: because)\n  \
             no caption: 1 (for example b.tar, record 3: because)\n  \
             no usable box: 1 (no box, or none as large as dataset.min_box_px)"
        );
    }

    #[test]
    fn a_share_is_a_limit_only_among_many_records() {
        let exceed = |count: u64, of: u64, max_broken: f64| {
            let mut counts = seen(of);
            for _ in 0..count {
                counts.add("a.tar", &broken("1", Cause::UnreadableImage));
            }
            counts.exceed(max_broken)
        };
        assert!(!exceed(1, 50, 0.01) && !exceed(6, 34, 0.01) && !exceed(40, 300, 0.01));
        assert!(exceed(1, 50, 0.0) && exceed(160, 300, 0.01));
        assert!(exceed(11, 1000, 0.01) && !exceed(10, 1000, 0.01));
    }

    #[test]
    fn nothing_seen_is_nothing_broken() {
        assert!(BrokenCounts::default().fraction().abs() < 1e-12);
        assert_eq!(BrokenCounts::default().to_string(), "  nothing was skipped");
    }
}
