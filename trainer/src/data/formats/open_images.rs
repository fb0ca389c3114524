//! OpenImages: images in folders, boxes in CSV files (notation 5.5).

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{Format, open_all};
use crate::data::records::boxes::{BoxTally, GroundedBox, Origin, Region};
use crate::data::records::error::{DataError, Result};
use crate::data::records::fault::{Broken, Cause, Fault};
use crate::data::records::picture::Picture;
use crate::data::records::source::{Record, Records};
use crate::data::records::table::Table;

/// This format.
pub const FORMAT: Format = Format {
    name: "OpenImages",
    labels: false,
    boxes: true,
    detect: |paths| paths.iter().any(|path| OpenImages::matches(path)),
    open: |paths| open_all(paths, OpenImages::open),
};

/// Suffix of the names of box files.
const BOXES: &str = "annotations-bbox.csv";
/// File of label names: `LabelName,DisplayName`, without a header.
const NAMES: &str = "class-descriptions-boxable.csv";
/// Columns that are read. The order of the coordinates is x, x, y, y.
const COLUMNS: [&str; 6] = ["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax"];
struct Scene {
    id: String,
    path: PathBuf,
    boxes: Vec<(String, String, [f64; 4])>,
    outside: u64,
    inverted: u64,
}

/// Returns all files below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(current) = pending.pop() {
        for entry in fs::read_dir(&current).map_err(DataError::io(&current))? {
            let path = entry.map_err(DataError::io(&current))?.path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn ends_with(path: &Path, end: &str) -> bool {
    path.file_name()
        .is_some_and(|n| n.to_string_lossy().ends_with(end))
}

fn rows(path: &Path, header: bool) -> Result<(csv::StringRecord, Vec<csv::StringRecord>)> {
    let broken = |e: csv::Error| DataError::NoRecords {
        shards: 1,
        detail: format!("; {}: {e}", path.display()),
    };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(header)
        .from_path(path)
        .map_err(broken)?;
    let names = if header {
        reader.headers().map_err(broken)?.clone()
    } else {
        csv::StringRecord::new()
    };
    let rows = reader
        .records()
        .collect::<std::result::Result<_, _>>()
        .map_err(broken)?;
    Ok((names, rows))
}

/// Images with boxes.
pub struct OpenImages;

impl OpenImages {
    /// Returns whether a folder holds box files.
    #[must_use]
    pub fn matches(path: &Path) -> bool {
        path.is_dir() && files(path).is_ok_and(|all| all.iter().any(|f| ends_with(f, BOXES)))
    }

    /// Opens folders with box files, a file of label names and images `<ImageID>.jpg` anywhere
    /// below them.
    ///
    /// # Errors
    /// If a file cannot be read, a column is missing, or no box has an existing image.
    pub fn open(folders: &[PathBuf]) -> Result<Table> {
        let mut all = Vec::new();
        for folder in folders {
            all.extend(files(folder)?);
        }
        let mut names = HashMap::new();
        for path in all.iter().filter(|f| ends_with(f, NAMES)) {
            for row in rows(path, false)?.1 {
                if let (Some(id), Some(name)) = (row.get(0), row.get(1)) {
                    names.insert(id.to_owned(), name.to_lowercase());
                }
            }
        }
        let pictures: HashMap<String, &PathBuf> = all
            .iter()
            .filter(|f| {
                ["jpg", "jpeg", "png"]
                    .iter()
                    .any(|e| f.extension().is_some_and(|x| x == *e))
            })
            .filter_map(|f| Some((f.file_stem()?.to_string_lossy().into_owned(), f)))
            .collect();
        let mut scenes: BTreeMap<String, Scene> = BTreeMap::new();
        let mut without_image = 0_usize;
        for path in all.iter().filter(|f| ends_with(f, BOXES)) {
            let (header, rows) = rows(path, true)?;
            let place = |c: &str| header.iter().position(|h| h.trim() == c);
            let places = COLUMNS.map(place);
            if places.iter().any(Option::is_none) {
                return Err(DataError::Columns {
                    file: path.clone(),
                    expected: COLUMNS.map(str::to_owned).to_vec(),
                    missing: COLUMNS
                        .iter()
                        .filter(|c| place(c).is_none())
                        .map(|c| (*c).to_owned())
                        .collect(),
                    found: header.iter().map(str::to_owned).collect(),
                });
            }
            for row in rows {
                let field = |i: usize| places[i].and_then(|at| row.get(at)).unwrap_or_default();
                let Some(picture) = pictures.get(field(0)) else {
                    without_image += 1;
                    continue;
                };
                let scene = scenes.entry(field(0).to_owned()).or_insert_with(|| Scene {
                    id: field(0).to_owned(),
                    path: (*picture).clone(),
                    boxes: Vec::new(),
                    outside: 0,
                    inverted: 0,
                });
                let number = |i: usize| field(i).trim().parse::<f64>().unwrap_or(f64::NAN);
                let stored = [number(2), number(4), number(3), number(5)];
                let place = stored.map(|v| v.clamp(0.0, 1.0));
                scene.outside += u64::from(place != stored);
                if place[2] > place[0] && place[3] > place[1] {
                    let label = field(1).to_owned();
                    let name = names.get(&label).cloned().unwrap_or_else(|| label.clone());
                    scene.boxes.push((label, name, place));
                } else {
                    scene.inverted += 1;
                }
            }
        }
        let name = folders
            .iter()
            .map(|f| f.display().to_string())
            .collect::<Vec<_>>()
            .join(", ");
        if scenes.is_empty() {
            return Err(DataError::Layout {
                place: name,
                expected: format!("images <ImageID>.jpg next to or below the files *{BOXES}"),
                found: format!(
                    "no image with a box; the images of {without_image} boxes are missing"
                ),
            });
        }
        let scenes: Vec<Scene> = scenes.into_values().collect();
        Ok(Table::new(name, scenes.len(), Arc::new(Scenes(scenes))))
    }
}

struct Scenes(Vec<Scene>);

impl Records for Scenes {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let scene = &self.0[row];
        let bytes = fs::read(&scene.path)
            .map_err(|e| Fault::new(Cause::MissingPicture, e.to_string()).of(&scene.id))?;
        let boxes: Vec<GroundedBox> = scene
            .boxes
            .iter()
            .map(|(label, name, place)| GroundedBox {
                phrase: name.clone(),
                region: Region::Relative(*place),
                origin: Origin::NounChunk,
                synset: Some(label.clone()),
            })
            .collect();
        let mut shown: Vec<&str> = boxes.iter().map(|b| b.phrase.as_str()).collect();
        shown.sort_unstable();
        shown.dedup();
        // There is no caption; the list of labels replaces it.
        let caption = shown.join(", ");
        Ok(Record {
            synsets: scene
                .boxes
                .iter()
                .map(|(label, ..)| label.clone())
                .collect(),
            boxes,
            tally: BoxTally {
                outside: scene.outside,
                inverted: scene.inverted,
                ..BoxTally::default()
            },
            ..Record::labelled(scene.id.clone(), Picture::Encoded(bytes), None, caption)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::records::source::Dataset;

    fn folder(boxes: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("train-annotations-bbox.csv"), boxes).unwrap();
        fs::write(dir.path().join(NAMES), "/m/1,Cat\n/m/2,Human eye\n").unwrap();
        fs::create_dir(dir.path().join("train")).unwrap();
        image::RgbImage::new(10, 10)
            .save(dir.path().join("train/a1.jpg"))
            .unwrap();
        dir
    }

    const HEADER: &str = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded\n";

    #[test]
    fn columns_give_both_x_coordinates_before_both_y_coordinates() {
        let dir = folder(&format!(
            "{HEADER}a1,x,/m/1,1,0.1,0.9,0.2,0.8,0\na1,x,/m/2,1,0.3,0.4,0.3,1.5,0\n\
             a1,x,/m/2,1,0.5,0.5,0.1,0.2,0\nb2,x,/m/1,1,0,1,0,1,0\n"
        ));
        assert!(OpenImages::matches(dir.path()));
        let data = OpenImages::open(&[dir.path().to_owned()]).unwrap();
        assert_eq!(data.records(), 1, "the image of b2 is missing");
        let record = data.load(0).unwrap().read(0).unwrap();
        let Region::Relative(place) = record.boxes[0].region else {
            panic!("relative")
        };
        assert_eq!(place, [0.1, 0.2, 0.9, 0.8]);
        assert_eq!(record.caption, "cat, human eye");
        assert_eq!(record.boxes[0].synset.as_deref(), Some("/m/1"));
        assert_eq!((record.tally.outside, record.tally.inverted), (1, 1));
    }

    #[test]
    fn missing_columns_and_missing_images_are_reported() {
        let dir = folder("ImageID,LabelName,XMin,XMax\na1,/m/1,0,1\n");
        let Err(error) = OpenImages::open(&[dir.path().to_owned()]) else {
            panic!("opened")
        };
        assert!(
            error.to_string().contains("missing column YMin, YMax"),
            "{error}"
        );
        let dir = folder(&format!("{HEADER}zz,x,/m/1,1,0,1,0,1,0\n"));
        let Err(error) = OpenImages::open(&[dir.path().to_owned()]) else {
            panic!("opened")
        };
        assert!(error.to_string().contains("1 boxes"), "{error}");
    }
}
