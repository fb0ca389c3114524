//! Image files listed in an index, each with its label.

use std::path::{Path, PathBuf};

use crate::records::fault::Broken;
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};
use crate::records::table::Table;

/// One image of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its name in the index.
    pub key: String,
    /// Path of the file; `None` if it is missing, which makes it a broken record.
    pub file: Option<PathBuf>,
    /// Its label: a name, or a lineage joined by `/`.
    pub label: String,
    /// The common name, where the index has one besides the label.
    pub common: String,
}

impl Listed {
    /// Creates an entry from the image's name in an index, its file and its label.
    pub fn new(key: impl Into<String>, file: Option<&Path>, label: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            file: file.map(Path::to_path_buf),
            label: label.into(),
            common: String::new(),
        }
    }
}

/// Returns the last name of a lineage joined by `/`, or a label that is none, with blanks between its words.
pub(super) fn last_name(label: &str) -> String {
    let last = label.rsplit('/').next().unwrap_or(label);
    last.replace('_', " ")
}

/// Wraps the rows of an index as a dataset; reports refer to it as `name`.
pub fn table(name: impl Into<String>, rows: Vec<Listed>) -> Table {
    Table::new(name.into(), rows.len(), Rows(rows))
}

struct Rows(Vec<Listed>);

impl Records for Rows {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let row = &self.0[row];
        let image = RecordImage::of_file(row.file.as_deref());
        let image = image.map_err(|fault| fault.of(&row.key))?;
        let caption = match row.common.as_str() {
            "" => last_name(&row.label),
            common => common.to_owned(),
        };
        let (key, label) = (row.key.clone(), Some(row.label.clone()));
        Ok(Record::labelled(key, image, label, caption))
    }
}
