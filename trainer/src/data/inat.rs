//! iNaturalist 2021: a COCO-like JSON of pictures, categories with their ranks, and annotations
//! (METHODS 5.6). Its folders alone are read by [`super::folders`].

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::boxes::BoxTally;
use super::error::{DataError, Result};
use super::fault::{Broken, Cause, Fault};
use super::picture::Picture;
use super::picture_index::PictureIndex;
use super::source::{Dataset, Record, Records, Unit};

/// What lies where, for messages.
pub const WANTED: &str = "iNaturalist's val.json (images[id, file_name], annotations[image_id, \
    category_id], categories[id, kingdom .. genus, specific_epithet]) with its pictures below the same \
    folder";

/// Records that are loaded as one unit.
const RECORDS: usize = 1024;

/// Pictures with their lineage as label, ranks joined by `/`.
pub struct Inat {
    name: String,
    rows: Arc<Vec<Row>>,
    units: Vec<Unit>,
}

struct Row {
    name: String,
    file: Option<PathBuf>,
    label: String,
    common: String,
}

#[derive(Deserialize)]
struct Index {
    images: Vec<Image>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Image {
    id: u64,
    file_name: String,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: u64,
    category_id: u64,
}

#[derive(Deserialize)]
struct Category {
    id: u64,
    kingdom: String,
    phylum: String,
    class: String,
    order: String,
    family: String,
    genus: String,
    specific_epithet: String,
    #[serde(default)]
    common_name: String,
}

impl Category {
    fn label(&self) -> String {
        let ranks = [
            &self.kingdom,
            &self.phylum,
            &self.class,
            &self.order,
            &self.family,
            &self.genus,
            &self.specific_epithet,
        ];
        ranks.map(|rank| rank.trim()).join("/")
    }
}

/// The JSON that a path means: itself, or the `val.json` in it.
fn json_file(path: &Path) -> Option<PathBuf> {
    let is_json = |p: &Path| p.is_file() && p.extension().is_some_and(|e| e == "json");
    let tried = [path.to_owned(), path.join("val.json")];
    tried.into_iter().find(|p| is_json(p))
}

impl Inat {
    /// Whether a path is such a JSON, or a folder with one.
    #[must_use]
    pub fn is_one(path: &Path) -> bool {
        let read = |file: PathBuf| fs::read(file).ok();
        json_file(path).and_then(read).is_some_and(|bytes| {
            serde_json::from_slice::<Index>(&bytes).is_ok_and(|i| !i.categories.is_empty())
        })
    }

    /// Read the index and look for its pictures.
    ///
    /// # Errors
    /// If the file cannot be read or has another form.
    pub fn open(path: &Path) -> Result<Self> {
        let file =
            json_file(path).ok_or_else(|| DataError::layout(path, WANTED, "no such file"))?;
        let bytes = fs::read(&file).map_err(DataError::io(&file))?;
        let index: Index = serde_json::from_slice(&bytes)
            .map_err(|e| DataError::layout(&file, WANTED, e.to_string()))?;
        let root = file
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let pictures = PictureIndex::of(&[root.to_owned()])?;
        let categories: HashMap<u64, &Category> =
            index.categories.iter().map(|c| (c.id, c)).collect();
        let names: HashMap<u64, &str> = index
            .images
            .iter()
            .map(|i| (i.id, i.file_name.as_str()))
            .collect();
        let rows: Vec<Row> = index
            .annotations
            .iter()
            .filter_map(|a| Some((names.get(&a.image_id)?, categories.get(&a.category_id)?)))
            .map(|(name, category)| Row {
                name: (*name).to_owned(),
                file: pictures.find(name).map(Path::to_path_buf),
                label: category.label(),
                common: category.common_name.clone(),
            })
            .collect();
        if rows.is_empty() {
            let found = "no annotation of a listed picture and category";
            return Err(DataError::layout(&file, WANTED, found));
        }
        let units = rows.chunks(RECORDS).zip(0..).map(|(chunk, part)| Unit {
            shard: 0,
            part,
            records: u32::try_from(chunk.len()).unwrap_or(u32::MAX),
            bytes: 0,
        });
        Ok(Self {
            name: file.display().to_string(),
            units: units.collect(),
            rows: Arc::new(rows),
        })
    }
}

impl Dataset for Inat {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, _shard: u32) -> &str {
        &self.name
    }

    fn load(&self, unit: usize) -> std::result::Result<Box<dyn Records>, Broken> {
        Ok(Box::new(Loaded {
            rows: Arc::clone(&self.rows),
            first: unit * RECORDS,
        }))
    }
}

struct Loaded {
    rows: Arc<Vec<Row>>,
    first: usize,
}

impl Records for Loaded {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let row = &self.rows[self.first + row];
        let missing = |detail: String| Fault::new(Cause::MissingPicture, detail).of(&row.name);
        let file = row
            .file
            .as_ref()
            .ok_or_else(|| missing("not there".into()))?;
        let bytes = fs::read(file).map_err(|e| missing(e.to_string()))?;
        let last = row.label.rsplit('/').next().unwrap_or(&row.label);
        let caption = if row.common.is_empty() {
            last
        } else {
            &row.common
        };
        Ok(Record {
            key: row.name.clone(),
            picture: Picture::Encoded(bytes),
            caption: caption.to_owned(),
            boxes: Vec::new(),
            synsets: vec![row.label.clone()],
            chain: None,
            tally: BoxTally::default(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_lineage() {
        let dir = tempfile::tempdir().unwrap();
        let json = r#"{"images": [{"id": 1, "file_name": "val/x/a.jpg"}, {"id": 2, "file_name": "val/x/b.jpg"}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 7}, {"id": 2, "image_id": 2, "category_id": 7},
            {"id": 3, "image_id": 9, "category_id": 7}],
            "categories": [{"id": 7, "name": "A b", "common_name": "", "kingdom": "Animalia", "phylum": "P",
            "class": "C", "order": "O", "family": "F", "genus": "G", "specific_epithet": "b sp."}]}"#;
        fs::write(dir.path().join("val.json"), json).unwrap();
        fs::create_dir_all(dir.path().join("val/x")).unwrap();
        fs::write(dir.path().join("val/x/a.jpg"), "x").unwrap();
        assert!(Inat::is_one(dir.path()));
        let data = Inat::open(dir.path()).unwrap();
        assert_eq!(data.records(), 2);
        let rows = data.load(0).unwrap();
        assert_eq!(rows.read(0).unwrap().synsets, ["Animalia/P/C/O/F/G/b sp."]);
        assert_eq!(rows.read(1).unwrap_err().fault.cause, Cause::MissingPicture);
        fs::write(dir.path().join("val.json"), "{}").unwrap();
        assert!(!Inat::is_one(dir.path()));
        assert_eq!(
            Inat::open(dir.path()).map(|_| ()).unwrap_err().exit_code(),
            2
        );
    }
}
