//! The labels of a taxonomy as records without images, for methods that train on texts only.

use crate::records::fault::Broken;
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};
use crate::records::table::Table;

/// Creates a dataset with one record per label, for the labels `ids` of the taxonomy file `name`.
/// All of them are one unit.
pub fn table(name: String, ids: Vec<String>) -> Table {
    Table::in_units_of(ids.len().max(1), name, ids.len(), Ids(ids))
}

struct Ids(Vec<String>);

impl Records for Ids {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let id = self.0[row].clone();
        let label = Some(id.clone());
        Ok(Record::labelled(id.clone(), RecordImage::None, label, id))
    }
}
