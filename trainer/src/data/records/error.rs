//! Typed errors of the data side: what was wanted, what was found, where, what to do.

use std::path::PathBuf;

use thiserror::Error;

use crate::data::records::fault::BrokenCounts;

/// Result with [`DataError`].
pub type Result<T, E = DataError> = std::result::Result<T, E>;

/// Everything that can stop the data side as a whole.
///
/// One unreadable record is no such error: it is a [`Fault`](crate::data::records::fault::Fault), skipped and
/// counted. [`DataError::exit_code`] gives the exit code of the command.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// A path that leads nowhere.
    #[error(
        "no such file or folder: {}; wanted .parquet or .tar shards, a folder of them, or a glob \
         such as 'data/*.parquet'", path.display()
    )]
    NoSuchPath {
        /// The path as given.
        path: PathBuf,
    },

    /// A file that is no shard by its name.
    #[error("{}: wanted a .parquet or .tar shard, found {found}", path.display())]
    UnknownKind {
        /// The path as given.
        path: PathBuf,
        /// The extension, or that there is none.
        found: String,
    },

    /// A folder or glob without a shard, or no path at all.
    #[error("{place}: wanted .parquet or .tar shards, found {found}")]
    NothingFound {
        /// The folder or glob as given.
        place: String,
        /// What is there instead.
        found: String,
    },

    /// A glob that cannot be understood.
    #[error("glob '{pattern}': {reason}")]
    Pattern {
        /// The glob as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A benchmark's file that has another form, or a folder without it.
    #[error("{place}: wanted {wanted}; found {found}")]
    Layout {
        /// The file or folder.
        place: String,
        /// What it should be.
        wanted: String,
        /// What is there instead.
        found: String,
    },

    /// A parquet shard without a column that is needed.
    #[error(
        "{}: missing column {}; wanted columns {}; found columns {}",
        file.display(), missing.join(", "), wanted.join(", "), found.join(", ")
    )]
    Columns {
        /// The shard.
        file: PathBuf,
        /// Columns that a shard must have.
        wanted: Vec<String>,
        /// Those that it lacks.
        missing: Vec<String>,
        /// Those that it has.
        found: Vec<String>,
    },

    /// A parquet column of another type.
    #[error("{}: column {column}: wanted {wanted}, found {found}", file.display())]
    ColumnType {
        /// The shard.
        file: PathBuf,
        /// Name of the column.
        column: String,
        /// Types that can be read.
        wanted: String,
        /// Its type.
        found: String,
    },

    /// A tar shard whose members follow none of the known forms.
    #[error("{}: wanted members {wanted}; found {found}", file.display())]
    Members {
        /// The shard.
        file: PathBuf,
        /// Members of the known forms.
        wanted: String,
        /// Members of its first records.
        found: String,
    },

    /// A tar shard whose `.json` members lack keys that are needed.
    #[error(
        "{}: the .json of {record} lacks {}; wanted keys {}; found keys {}",
        file.display(), missing.join(", "), wanted.join(", "), found.join(", ")
    )]
    JsonKeys {
        /// The shard.
        file: PathBuf,
        /// Key of the record that was looked at.
        record: String,
        /// Keys that the `.json` must have.
        wanted: Vec<String>,
        /// Those that it lacks.
        missing: Vec<String>,
        /// Those that it has.
        found: Vec<String>,
    },

    /// Shards were found and hold nothing.
    #[error("no whole record in {shards} shard(s){detail}")]
    NoRecords {
        /// Number of shards.
        shards: usize,
        /// Why, where it is known.
        detail: String,
    },

    /// Fewer usable records than one batch needs.
    #[error(
        "only {usable} usable record(s) among {} looked at, fewer than one batch of {batch_size}; \
         lower --batch-size or give more data\n{counts}", counts.seen
    )]
    TooFewUsable {
        /// Usable records that were found.
        usable: u64,
        /// Records that a batch needs.
        batch_size: usize,
        /// What was skipped and why.
        counts: Box<BrokenCounts>,
    },

    /// More broken records than allowed.
    #[error(
        "{} of {} records are broken ({:.2} %), more than the {:.2} % of --max-broken\n{counts}",
        counts.broken(), counts.seen, 100.0 * counts.fraction(), 100.0 * limit
    )]
    TooManyBroken {
        /// Fraction that is allowed.
        limit: f64,
        /// What was skipped and why.
        counts: Box<BrokenCounts>,
    },

    /// A setting of the batcher that makes no sense.
    #[error("{field} must be {expected}, found {found}")]
    Setting {
        /// Name of the setting.
        field: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// What was given.
        found: String,
    },

    /// A position that lies beyond the data, for example after the shards changed.
    #[error(
        "the run stopped at record {index} of epoch {epoch}, but the data holds {records} records; \
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

    /// An output folder that was begun with other input.
    #[error("{}: {reason}", folder.display())]
    OtherOutput {
        /// The output folder.
        folder: PathBuf,
        /// What does not fit and what to do.
        reason: String,
    },

    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },

    /// A worker thread that failed.
    #[error("a data worker failed: {0}")]
    Worker(String),
}

impl DataError {
    /// 1 for failures while running, 2 for data or settings that cannot be used.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Worker(_) | Self::Io { .. } => 1,
            _ => 2,
        }
    }

    /// [`DataError::Layout`] of a path.
    pub(crate) fn layout(
        place: &std::path::Path,
        wanted: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Layout {
            place: place.display().to_string(),
            wanted: wanted.into(),
            found: found.into(),
        }
    }

    /// [`DataError::Io`] for a closure given to `map_err`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
