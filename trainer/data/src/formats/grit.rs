//! GRIT: image-text-box records in parquet shards and in two tar layouts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_io::storage;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::format::Format;
use super::levels;
use crate::formats::parquet_shard;
use crate::formats::tar_shard::TarShard;
use crate::records::boxes::Boxes;
use crate::records::error::{DataError, Result, first_names};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::paths::{self, Container};
use crate::records::source::{Dataset, Record, Records, Unit};
use crate::records::walk::{self, LeftOut};

/// Shards in object storage that are opened at the same time.
const OPENED_AT_ONCE: usize = 16;

/// This format.
pub const FORMAT: Format = Format {
    name: "shards",
    labels: true,
    boxes: true,
    detect: |_| true,
    open: |paths| Ok(Arc::new(Grit::open(paths)?)),
};

struct Shard {
    path: PathBuf,
    name: String,
    container: Container,
    /// Set if nothing in the shard can be read; counts as one broken record.
    unreadable: Option<Broken>,
}

/// A set of shards of which only footers and headers have been read.
pub struct Grit {
    shards: Vec<Shard>,
    units: Vec<Unit>,
    boxes: Boxes,
    left_out: LeftOut,
}

/// Contents of one opened shard.
#[derive(Default)]
struct Opened {
    left_out: LeftOut,
    /// Records and bytes of each unit.
    parts: Vec<(u32, u64)>,
    complete: u64,
    unreadable: Option<Broken>,
}

impl Grit {
    /// Opens the shards that `paths` name: files, folders and globs (see [`paths::expand`]). Reads
    /// footers and headers only.
    ///
    /// A truncated or unreadable shard counts as one broken record in addition to its complete
    /// ones.
    ///
    /// # Errors
    /// If a path leads to no shard, a shard lacks columns, members or keys, or there is no complete
    /// record.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        Self::open_shards(paths, Boxes::Required)
    }

    /// Opens shards as [`open`](Self::open), but without requiring boxes: parquet files with a column `caption`,
    /// `captions`, `text` or `texts`, and tars with `.txt` members or captions in their `.json`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with_captions(paths: &[PathBuf]) -> Result<Self> {
        Self::open_shards(paths, Boxes::Optional)
    }

    fn open_shards(paths: &[PathBuf], boxes: Boxes) -> Result<Self> {
        let found = paths::expand_counted(paths).map_err(|error| match error {
            DataError::NothingFound { place, found } => DataError::NothingFound {
                found: found + &levels::hint(Path::new(&place)),
                place,
            },
            error => error,
        });
        let (found, mut left_out) = found?;
        // Collects all results first, so that the reported error does not depend on timing.
        let open = || -> Vec<Result<Opened>> {
            let each = |(path, container): &(PathBuf, _)| open_shard(path, *container, boxes);
            found.par_iter().map(each).collect()
        };
        let opened = if found.iter().any(|(path, _)| storage::is_remote(path)) {
            // These threads wait for answers most of the time.
            let threads = ThreadPoolBuilder::new().num_threads(OPENED_AT_ONCE);
            let threads = threads
                .build()
                .map_err(|e| DataError::Worker(e.to_string()))?;
            threads.install(open)
        } else {
            open()
        };
        let (mut shards, mut units, mut complete) = (Vec::new(), Vec::new(), 0);
        for ((path, container), opened) in found.into_iter().zip(opened) {
            let opened = opened?;
            let shard = u32::try_from(shards.len()).unwrap_or(u32::MAX);
            let parts = (0..).zip(opened.parts);
            units.extend(parts.map(|(part, (records, bytes))| Unit {
                shard,
                part,
                records,
                bytes,
            }));
            complete += opened.complete;
            walk::merge(&mut left_out, opened.left_out);
            let name = path.display().to_string();
            shards.push(Shard {
                path,
                name,
                container,
                unreadable: opened.unreadable,
            });
        }
        if complete == 0 {
            let reason = |shard: &Shard| {
                let Fault { cause, detail } = &shard.unreadable.as_ref()?.fault;
                Some(format!("; {}: {cause}: {detail}", shard.name))
            };
            return Err(DataError::NoRecords {
                places: first_names(shards.iter().map(|shard| shard.name.as_str())),
                detail: shards.iter().find_map(reason).unwrap_or_default(),
            });
        }
        Ok(Self {
            shards,
            units,
            boxes,
            left_out,
        })
    }
}

fn open_shard(path: &Path, container: Container, boxes: Boxes) -> Result<Opened> {
    match container {
        Container::Parquet => match parquet_shard::open(path, boxes)? {
            Ok(parts) => Ok(Opened {
                complete: parts.iter().map(|(rows, _)| u64::from(*rows)).sum(),
                parts,
                ..Opened::default()
            }),
            Err(fault) => Ok(Opened {
                parts: vec![(1, 0)],
                unreadable: Some(fault.of("first")),
                ..Opened::default()
            }),
        },
        Container::Tar => {
            let shard = TarShard::open(path, boxes)?;
            let records = u32::try_from(shard.records()).unwrap_or(u32::MAX);
            let complete = shard.groups.len() as u64;
            Ok(Opened {
                left_out: shard.left_out,
                // Only member offsets are held in memory; images are read one by one.
                parts: vec![(records, 0)],
                complete,
                unreadable: shard.tail.filter(|_| complete == 0),
            })
        }
    }
}

impl Dataset for Grit {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, shard: u32) -> &str {
        &self.shards[shard as usize].name
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    fn prefetch(&self, unit: usize) {
        let Unit { shard, part, .. } = self.units[unit];
        let shard = &self.shards[shard as usize];
        if shard.unreadable.is_some() || !storage::is_remote(&shard.path) {
            return;
        }
        // An error occurs again when the unit is loaded, and is reported then.
        let _ = match shard.container {
            Container::Parquet => parquet_shard::prefetch(&shard.path, part, self.boxes),
            Container::Tar => TarShard::prefetch(&shard.path),
        };
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        let Unit { shard, part, .. } = self.units[unit];
        let shard = &self.shards[shard as usize];
        if let Some(broken) = &shard.unreadable {
            return Ok(Box::new(Unreadable(broken.clone())));
        }
        match shard.container {
            Container::Parquet => match parquet_shard::load(&shard.path, part, self.boxes) {
                Ok(records) => Ok(Box::new(records)),
                Err(fault) => Err(fault.of(format!("all of row group {part}"))),
            },
            Container::Tar => match TarShard::open(&shard.path, self.boxes) {
                Ok(shard) => Ok(Box::new(shard)),
                Err(DataError::Io { reason, .. }) => Err(Fault::of_reading(&reason).of("all")),
                Err(e) => Err(Fault::new(Cause::ShardDamaged, e.to_string()).of("all")),
            },
        }
    }
}

/// The single broken record of an unreadable shard.
struct Unreadable(Broken);

impl Records for Unreadable {
    fn read(&self, _row: usize) -> Result<Record, Broken> {
        Err(self.0.clone())
    }
}
