//! Typed errors of the data side: what was expected, what was found, where, and how to fix it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use espalier_io::disk::read;
use thiserror::Error;

use crate::records::fault::{Broken, BrokenCounts, Cause};

/// Result with [`DataError`].
pub type Result<T, E = DataError> = std::result::Result<T, E>;

/// Errors that stop the whole data pipeline.
///
/// A single unreadable record is not such an error: it is a
/// [`Fault`](crate::records::fault::Fault), which is skipped and counted.
/// [`DataError::exit_code`] returns the exit code of the command.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// A path that does not exist.
    #[error(
        "no such file or folder: {}; expected .parquet or .tar shards, a folder of them, or a glob \
         such as 'data/*.parquet'", .0.display()
    )]
    NoSuchPath(PathBuf),

    /// A file whose extension is not that of a shard.
    #[error("{}: expected a .parquet or .tar shard, found {found}", path.display())]
    UnknownKind {
        /// The path as given.
        path: PathBuf,
        /// The extension, or a note that there is none.
        found: String,
    },

    /// A folder or glob without a shard, or an empty list of paths.
    #[error("{place}: expected .parquet or .tar shards, found {found}")]
    NothingFound {
        /// The folder or glob as given.
        place: String,
        /// What was found instead.
        found: String,
    },

    /// An invalid glob.
    #[error("glob '{pattern}': {reason}")]
    Pattern {
        /// The glob as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },

    /// An address in object storage that cannot be used.
    #[error("{0}")]
    Address(String),

    /// A benchmark file with an unexpected layout, or a folder that lacks the file.
    #[error("{place}: expected {expected}; found {found}")]
    Layout {
        /// The file or folder.
        place: String,
        /// The expected layout.
        expected: String,
        /// What was found instead.
        found: String,
    },

    /// Shards without any complete record.
    #[error(
        "expected at least one complete record, found none in {}{detail}", places.join(", ")
    )]
    NoRecords {
        /// The shards, or the first of many.
        places: Vec<String>,
        /// The reason, where it is known.
        detail: String,
    },

    /// Fewer usable records than one batch needs.
    #[error(
        "expected at least {batch_size} usable records (one batch), found {usable} in {} records; \
         lower --batch-size, add data, or mend what is skipped\n{counts}", counts.seen
    )]
    TooFewUsable {
        /// Usable records found.
        usable: u64,
        /// Records that a batch needs.
        batch_size: usize,
        /// Counts of skipped records by cause.
        counts: Box<BrokenCounts>,
    },

    /// Fewer units than lanes.
    #[error(
        "expected at least one row group or tar for each of {lanes} lanes, found {units}; lower \
         --lanes, or split the data into more shards"
    )]
    TooFewUnits {
        /// Units of the dataset.
        units: usize,
        /// Lanes of the run.
        lanes: usize,
    },

    /// More broken records than allowed.
    #[error(
        "{} of {} records are broken ({:.2} %), more than the {:.2} % of --max-broken\n{counts}",
        counts.broken(), counts.seen, 100.0 * counts.fraction(), 100.0 * limit
    )]
    TooManyBroken {
        /// Allowed fraction.
        limit: f64,
        /// Counts of skipped records by cause.
        counts: Box<BrokenCounts>,
    },

    /// An invalid setting of the batcher.
    #[error("{field} must be {expected}, found {found}")]
    Setting {
        /// Name of the setting.
        field: &'static str,
        /// Allowed values.
        expected: &'static str,
        /// The given value.
        found: String,
    },

    /// A position beyond the end of the data, for example after the shards changed.
    #[error(
        "the run stopped at record {index} of epoch {epoch}, but the data contains {records} records; \
         resume with the data that the run was started with"
    )]
    Position {
        /// Epoch to continue in.
        epoch: u64,
        /// Record of that epoch.
        index: u64,
        /// Records in the data.
        records: u64,
    },

    /// A file whose columns or keys cannot be read, or a folder of prepared shards that is not complete or was
    /// started with different input.
    #[error("{}: {reason}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What is missing or different, and what to do.
        reason: String,
    },

    /// A file that cannot be read or written.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system error; part of the message, so no further cause.
        reason: std::io::Error,
    },

    /// Object storage that failed while records were read.
    #[error("{file}: {reason}")]
    Storage {
        /// The shard.
        file: String,
        /// What failed, and what to do.
        reason: String,
    },

    /// A failed worker thread.
    #[error("a data worker failed: {0}")]
    Worker(String),
}

impl DataError {
    /// Returns 1 for run-time failures, 2 for unusable data or settings.
    pub fn exit_code(&self) -> u8 {
        match self {
            // What is not a file, or not text, is bad data; all other system errors are failures.
            Self::Io { reason, .. } => match reason.kind() {
                ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::FileTooLarge => 2,
                _ => 1,
            },
            Self::Worker(_) | Self::Storage { .. } => 1,
            _ => 2,
        }
    }

    /// Creates [`DataError::Setting`].
    pub fn setting(field: &'static str, expected: &'static str, found: impl ToString) -> Self {
        Self::Setting {
            field,
            expected,
            found: found.to_string(),
        }
    }

    /// Creates [`DataError::Layout`] for a path.
    pub(crate) fn layout(
        place: &Path,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Layout {
            place: place.display().to_string(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// Creates [`DataError::Unusable`].
    pub(crate) fn unusable(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    /// Creates [`DataError::Unusable`] for a file that lacks some of the `kind` (`columns` or `keys`) that are
    /// expected; `lack` names them.
    pub(crate) fn lacking(
        file: &Path,
        lack: String,
        kind: &str,
        expected: &[&str],
        found: &[&str],
    ) -> Self {
        let (expected, found) = (expected.join(", "), found.join(", "));
        let reason = format!("{lack}; expected {kind} {expected}; found {kind} {found}");
        Self::unusable(file, reason)
    }

    /// Reads a JSON file of a known layout.
    ///
    /// # Errors
    /// [`Self::Io`] if it cannot be read, [`Self::Layout`] with what was expected if it is not such a file.
    pub(crate) fn read_json<T: serde::de::DeserializeOwned>(
        file: &Path,
        expected: impl Into<String>,
    ) -> Result<T> {
        let text = read::text(file).map_err(Self::io(file))?;
        serde_json::from_str(&text).map_err(|e| Self::layout(file, expected, e.to_string()))
    }

    /// Checks that no record was skipped because storage failed: it may be good, and a run that skips
    /// it would depend on the network.
    ///
    /// # Errors
    /// [`DataError::Storage`].
    pub fn check_storage(counts: &BrokenCounts) -> Result<()> {
        match counts.by_cause.get(&Cause::StorageFailed) {
            None => Ok(()),
            Some(failed) => Err(Self::Storage {
                file: failed.example.file.clone(),
                reason: failed.example.detail.clone(),
            }),
        }
    }

    /// Checks that no more records are broken than a share allows ([`BrokenCounts::exceed`]).
    ///
    /// # Errors
    /// [`DataError::TooManyBroken`].
    pub fn check_broken(counts: &BrokenCounts, max_broken: f64) -> Result<()> {
        if counts.exceed(max_broken) {
            return Err(Self::TooManyBroken {
                limit: max_broken,
                counts: Box::new(counts.clone()),
            });
        }
        Ok(())
    }

    /// As [`check_storage`](Self::check_storage), for one record of the shard `file`.
    ///
    /// # Errors
    /// [`DataError::Storage`].
    pub fn check_record(file: &str, broken: &Broken) -> Result<()> {
        if broken.fault.cause != Cause::StorageFailed {
            return Ok(());
        }
        Err(Self::Storage {
            file: file.to_owned(),
            reason: broken.fault.detail.clone(),
        })
    }

    /// Returns a closure for `map_err` that creates [`DataError::Io`].
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |reason| Self::Io { path, reason }
    }
}

/// Returns up to three names of a list, and how many more there are.
pub(crate) fn first_names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> Vec<String> {
    const MOST: usize = 3;
    let more = names.len().saturating_sub(MOST);
    let mut first: Vec<String> = names.take(MOST).map(str::to_owned).collect();
    if more > 0 {
        first.push(format!("and {more} more"));
    }
    first
}
