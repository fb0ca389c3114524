//! Folder mode: reads many photos one after the other and shows a table and counts in the tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use espalier_core::caption::{CaptionResult, PathStep};

use crate::messages::query::PhotoId;

/// Maximum number of photos; more would fill a phone's memory with names and embeddings alone.
pub const MAX_PHOTOS: usize = 2_000;

/// State of one photo.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemStatus {
    /// Not read yet.
    Waiting,
    /// Being read by the engine.
    Reading,
    /// Read.
    Read {
        /// The result.
        result: Box<CaptionResult>,
        /// Distance of the photo to the root.
        radius: f64,
    },
    /// Not readable, with the reason.
    Failed(String),
}

/// One photo.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its number.
    pub id: PhotoId,
    /// Name of its file.
    pub name: String,
    /// Its state.
    pub status: ItemStatus,
}

impl Item {
    /// Returns the result, once the photo is read.
    pub fn result(&self) -> Option<&CaptionResult> {
        match &self.status {
            ItemStatus::Read { result, .. } => Some(result),
            _ => None,
        }
    }

    /// Returns the steps of the path from the root down to the node where the evidence stops.
    pub fn supported(&self) -> &[PathStep] {
        let Some(CaptionResult { taxonomy, .. }) = self.result() else {
            return &[];
        };
        let stop = (taxonomy.path.iter()).position(|step| step.id == taxonomy.stop);
        &taxonomy.path[..stop.map_or(0, |stop| stop + 1)]
    }

    /// Returns the names of the [supported](Self::supported) steps.
    pub fn path_names(&self) -> Vec<&str> {
        let names = self.supported().iter().map(|step| step.name.as_str());
        names.collect()
    }
}

/// Photos in the order in which the visitor gave them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    items: Vec<Item>,
    /// Photos beyond [`MAX_PHOTOS`] that were skipped.
    pub skipped: usize,
}

impl Batch {
    /// Creates a batch of named photos.
    pub fn new(photos: Vec<(PhotoId, String)>) -> Self {
        let skipped = photos.len().saturating_sub(MAX_PHOTOS);
        let item = |(id, name)| Item {
            id,
            name,
            status: ItemStatus::Waiting,
        };
        Self {
            items: photos.into_iter().take(MAX_PHOTOS).map(item).collect(),
            skipped,
        }
    }

    /// Returns the photos.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns whether a photo is waiting and none is being read.
    pub fn can_start_next(&self) -> bool {
        let any_is = |status| self.items.iter().any(|item| item.status == status);
        any_is(ItemStatus::Waiting) && !any_is(ItemStatus::Reading)
    }

    /// Returns the next photo to read and marks it as being read; `None` while one is being read.
    pub fn start_next(&mut self) -> Option<PhotoId> {
        if !self.can_start_next() {
            return None;
        }
        let waiting = |item: &&mut Item| item.status == ItemStatus::Waiting;
        let item = self.items.iter_mut().find(waiting)?;
        item.status = ItemStatus::Reading;
        Some(item.id)
    }

    /// Records the outcome of a photo.
    pub fn record(&mut self, id: PhotoId, outcome: Result<(CaptionResult, f64), String>) {
        if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
            item.status = match outcome {
                Ok((result, radius)) => ItemStatus::Read {
                    result: Box::new(result),
                    radius,
                },
                Err(reason) => ItemStatus::Failed(reason),
            };
        }
    }

    /// Returns the number of photos that are read or failed, and the total.
    pub fn progress(&self) -> (usize, usize) {
        let is_open =
            |item: &&Item| matches!(item.status, ItemStatus::Waiting | ItemStatus::Reading);
        let open = self.items.iter().filter(is_open).count();
        (self.items.len() - open, self.items.len())
    }

    /// Counts, for each node, the photos whose path contains it at or above the stop.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for step in self.items.iter().flat_map(Item::supported) {
            *counts.entry(step.id.clone()).or_insert(0) += 1;
        }
        counts
    }

    /// Returns the table as CSV, one line per photo that is read or failed.
    pub fn to_csv(&self) -> String {
        let mut text =
            String::from("file_name,stop_id,stop,p,path,radius,most_specific_caption,error\n");
        for item in &self.items {
            let mut cells = vec![item.name.clone()];
            match &item.status {
                ItemStatus::Read { result, radius } => {
                    let stop = item.supported().last();
                    let last = result.ladder.last();
                    cells.extend([
                        result.taxonomy.stop.clone(),
                        stop.map_or_else(String::new, |step| step.name.clone()),
                        stop.map_or_else(String::new, |step| format!("{:.4}", step.p)),
                        item.path_names().join(" > "),
                        format!("{radius:.4}"),
                        last.map_or_else(String::new, |rung| rung.text.clone()),
                        String::new(),
                    ]);
                }
                ItemStatus::Failed(reason) => {
                    cells.extend(std::iter::repeat_n(String::new(), 6));
                    cells.push(reason.clone());
                }
                ItemStatus::Waiting | ItemStatus::Reading => continue,
            }
            let line: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}", line.join(","));
        }
        text
    }
}

/// Formats a CSV cell: quotes it if necessary and neutralises a leading formula sign.
pub fn quoted(cell: &str) -> String {
    let number = cell.parse::<f64>().is_ok();
    let formula = cell.starts_with(['=', '+', '-', '@']) && !number;
    let cell = if formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use espalier_core::caption::TaxonomyResult;

    use super::*;
    use crate::sample;

    fn result(stop: &str) -> CaptionResult {
        let steps = [
            ("e", "entity", 1.0),
            ("a", "animal", 0.8),
            ("b", "bird, any", 0.6),
        ];
        let path = steps.map(|(id, name, p)| PathStep {
            id: id.into(),
            name: name.into(),
            p,
        });
        let taxonomy = TaxonomyResult {
            path: path.to_vec(),
            stop: stop.into(),
        };
        sample::result(vec![sample::rung("a bird", None)], taxonomy)
    }

    fn batch() -> Batch {
        let names = ["one.jpg", "=two.jpg", "three.txt", "four.jpg"];
        let photos = (1..).map(PhotoId).zip(names.map(str::to_owned));
        let mut batch = Batch::new(photos.collect());
        for (i, stop) in ["b", "a"].into_iter().enumerate() {
            assert_eq!(batch.start_next(), Some(PhotoId(i as u64 + 1)));
            batch.record(PhotoId(i as u64 + 1), Ok((result(stop), 1.5)));
        }
        assert_eq!(batch.start_next(), Some(PhotoId(3)));
        batch.record(PhotoId(3), Err("no photo, \"really\"".into()));
        batch
    }

    #[test]
    fn one_photo_is_read_at_a_time_in_order() {
        let mut batch = batch();
        assert_eq!(batch.progress(), (3, 4));
        assert_eq!(batch.start_next(), Some(PhotoId(4)));
        assert_eq!(batch.start_next(), None);
        batch.record(PhotoId(4), Ok((result("a"), 1.0)));
        assert_eq!((batch.start_next(), batch.progress()), (None, (4, 4)));
    }

    #[test]
    fn a_node_counts_the_photos_whose_evidence_reaches_it() {
        let counts = batch().counts();
        let counts: Vec<_> = counts.iter().map(|(id, n)| (id.as_str(), *n)).collect();
        assert_eq!(counts, [("a", 2), ("b", 1), ("e", 2)]);
    }

    #[test]
    fn the_table_is_csv_with_awkward_cells_quoted() {
        assert_eq!(
            batch().to_csv(),
            "file_name,stop_id,stop,p,path,radius,most_specific_caption,error\n\
             one.jpg,b,\"bird, any\",0.6000,\"entity > animal > bird, any\",1.5000,a bird,\n\
             '=two.jpg,a,animal,0.8000,entity > animal,1.5000,a bird,\n\
             three.txt,,,,,,,\"no photo, \"\"really\"\"\"\n"
        );
    }

    #[test]
    fn photos_beyond_the_maximum_are_counted() {
        let photos = (0..2_005).map(|i| (PhotoId(i), String::new())).collect();
        let batch = Batch::new(photos);
        assert_eq!((batch.items().len(), batch.skipped), (MAX_PHOTOS, 5));
    }
}
