//! OpenImages: images in folders, boxes in CSV files (notation 5.5).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_io::disk::read;

use super::format::{Format, MAX_NAME};
use super::scenes::{Scene, Scenes};
use crate::records::error::{DataError, Result};
use crate::records::table::Table;
use crate::records::walk::{self, LeftOut, NO_IMAGE, UNLISTED};

/// This format.
pub const FORMAT: Format = Format {
    name: "OpenImages",
    labels: false,
    boxes: true,
    detect: |paths| paths.iter().any(|path| OpenImages::matches(path)),
    open: |paths| Ok(Arc::new(OpenImages::open(paths)?)),
};

/// Suffix of the names of box files.
const BOXES: &str = "annotations-bbox.csv";
/// File of label names: `LabelName,DisplayName`, without a header.
const NAMES: &str = "class-descriptions-boxable.csv";
/// Columns that are read. The order of the coordinates is x, x, y, y.
const COLUMNS: [&str; 6] = ["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax"];

fn ends_with(path: &Path, end: &str) -> bool {
    path.file_name()
        .is_some_and(|n| n.to_string_lossy().ends_with(end))
}

/// Reads a CSV: its first row, and all of its rows but a header.
fn rows(path: &Path, header: bool) -> Result<(csv::StringRecord, Vec<csv::StringRecord>)> {
    let broken = |e: csv::Error| DataError::NoRecords {
        places: vec![path.display().to_string()],
        detail: format!(": {e}"),
    };
    let text = read::text(path).map_err(DataError::io(path))?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(header)
        .from_reader(text.as_bytes());
    let names = reader.headers().map_err(broken)?.clone();
    let rows: Result<_, csv::Error> = reader.records().collect();
    Ok((names, rows.map_err(broken)?))
}

/// Reads the names of labels, in lower case.
fn label_names(all: &[PathBuf]) -> Result<HashMap<String, Arc<str>>> {
    let mut names = HashMap::new();
    for path in all.iter().filter(|f| ends_with(f, NAMES)) {
        for row in rows(path, false)?.1 {
            if let (Some(id), Some(name)) = (row.get(0), row.get(1)) {
                if name.len() > MAX_NAME {
                    let expected = format!("names of labels of at most {MAX_NAME} bytes");
                    let found = format!("one of {} bytes for `{id}`", name.len());
                    return Err(DataError::layout(path, expected, found));
                }
                names.insert(id.to_owned(), name.to_lowercase().into());
            }
        }
    }
    Ok(names)
}

/// Returns the image files by the ids that their names hold.
fn images_by_id(all: &[PathBuf]) -> HashMap<String, PathBuf> {
    let images = all.iter().filter(|file| walk::is_image_file(file));
    let with_id = |file: &PathBuf| {
        let id = file.file_stem()?.to_string_lossy().into_owned();
        Some((id, file.clone()))
    };
    images.filter_map(with_id).collect()
}

/// Returns the places of columns in the header of a CSV.
///
/// # Errors
/// [`DataError::Unusable`] if one is missing.
pub(super) fn column_places<const N: usize>(
    file: &Path,
    header: &csv::StringRecord,
    columns: [&str; N],
) -> Result<[usize; N]> {
    let place = |column: &str| header.iter().position(|name| name.trim() == column);
    let missing = columns.iter().filter(|column| place(column).is_none());
    let missing: Vec<&str> = missing.copied().collect();
    if missing.is_empty() {
        return Ok(columns.map(|column| place(column).unwrap_or_default()));
    }
    let lack = format!("missing column {}", missing.join(", "));
    let found: Vec<&str> = header.iter().collect();
    Err(DataError::lacking(file, lack, "columns", &columns, &found))
}

/// Collects the boxes of each image.
struct SceneReader {
    /// Names by label.
    names: HashMap<String, Arc<str>>,
    /// Image files by id.
    images: HashMap<String, PathBuf>,
    scenes: BTreeMap<String, Scene>,
    /// Number of boxes whose image is missing.
    without_image: u64,
}

impl SceneReader {
    /// Adds the boxes of a file.
    fn add_boxes(&mut self, file: &Path) -> Result<()> {
        let (header, rows) = rows(file, true)?;
        let places = column_places(file, &header, COLUMNS)?;
        for row in rows {
            self.add_box(places.map(|at| row.get(at).unwrap_or_default()));
        }
        Ok(())
    }

    /// Adds the box of a row, whose fields are those of `COLUMNS`.
    fn add_box(&mut self, [id, label, x_min, x_max, y_min, y_max]: [&str; COLUMNS.len()]) {
        let Some(image) = self.images.get(id) else {
            self.without_image += 1;
            return;
        };
        // The files state no sizes of images.
        let scene = || Scene::new(id, Some(image.clone()), None);
        let scene = self.scenes.entry(id.to_owned()).or_insert_with(scene);
        let number = |text: &str| text.trim().parse::<f64>().unwrap_or(f64::NAN);
        let label: Arc<str> = label.into();
        let name = self.names.get(&*label).unwrap_or(&label);
        scene.add(name, Some(&label), [x_min, y_min, x_max, y_max].map(number));
    }
}

/// Images with boxes.
pub struct OpenImages;

impl OpenImages {
    /// Returns whether a folder holds box files.
    pub fn matches(path: &Path) -> bool {
        let has_boxes = |found: walk::Found| found.files.iter().any(|f| ends_with(f, BOXES));
        path.is_dir() && walk::files_below(path).is_ok_and(has_boxes)
    }

    /// Opens folders with box files, a file of label names and images `<ImageID>.jpg` anywhere
    /// below them.
    ///
    /// # Errors
    /// If a file cannot be read, a column is missing, or no box has an existing image.
    pub fn open(folders: &[PathBuf]) -> Result<Table> {
        let (mut all, mut left_out) = (Vec::new(), LeftOut::new());
        for folder in folders {
            let found = walk::files_below(folder)?;
            all.extend(found.files);
            walk::merge(&mut left_out, found.left_out);
        }
        let mut reader = SceneReader {
            names: label_names(&all)?,
            images: images_by_id(&all),
            scenes: BTreeMap::new(),
            without_image: 0,
        };
        for path in all.iter().filter(|f| ends_with(f, BOXES)) {
            reader.add_boxes(path)?;
        }
        let without_image = reader.without_image;
        let names = folders.iter().map(|folder| folder.display().to_string());
        let name = names.collect::<Vec<_>>().join(", ");
        if reader.scenes.is_empty() {
            return Err(DataError::Layout {
                place: name,
                expected: format!("images <ImageID>.jpg next to or below the files *{BOXES}"),
                found: format!(
                    "no image with a box; the images of {without_image} boxes are missing"
                ),
            });
        }
        let scenes: Vec<Scene> = reader.scenes.into_values().collect();
        let used: HashSet<&PathBuf> = scenes.iter().filter_map(|s| s.file.as_ref()).collect();
        for file in all.iter().filter(|file| !used.contains(file)) {
            let rule = match walk::is_image_file(file) {
                true => UNLISTED,
                false if ends_with(file, BOXES) || ends_with(file, NAMES) => continue,
                false => NO_IMAGE,
            };
            walk::leave_out(&mut left_out, rule, 1, file);
        }
        let boxes = Path::new(BOXES);
        walk::leave_out(&mut left_out, "box without its image", without_image, boxes);
        Ok(Table::new(name, scenes.len(), Scenes(scenes)).with_left_out(left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::source::Dataset;
    use crate::test_files;

    fn folder(boxes: &str) -> tempfile::TempDir {
        test_files::folder(&[
            ("train-annotations-bbox.csv", boxes),
            (NAMES, "/m/1,Cat\n/m/2,Human eye\n"),
            ("train/a1.jpg", "x"),
        ])
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
        let place = record.boxes[0].region.relative();
        assert_eq!(place, Some([0.1, 0.2, 0.9, 0.8]));
        assert_eq!(record.caption, "cat, human eye");
        assert_eq!(record.boxes[0].synset.as_deref(), Some("/m/1"));
        assert_eq!((record.tally.outside, record.tally.inverted), (1, 1));
    }

    #[test]
    fn a_long_name_of_a_label_is_refused_since_each_box_would_copy_it() {
        let dir = folder(&format!("{HEADER}a1,x,/m/1,1,0.1,0.9,0.2,0.8,0\n"));
        let open_with = |length: usize| {
            let names = format!("/m/1,{}\n", "c".repeat(length));
            std::fs::write(dir.path().join(NAMES), names).unwrap();
            OpenImages::open(&[dir.path().to_owned()]).map(|data| data.records())
        };
        assert_eq!(open_with(MAX_NAME).unwrap(), 1);
        let message = open_with(MAX_NAME + 1).unwrap_err().to_string();
        assert!(
            message.ends_with("one of 1001 bytes for `/m/1`"),
            "{message}"
        );
    }

    #[test]
    fn missing_columns_and_missing_images_are_reported() {
        let two_sides = "ImageID,LabelName,XMin,XMax\na1,/m/1,0,1\n";
        let without_image = format!("{HEADER}zz,x,/m/1,1,0,1,0,1,0\n");
        for (boxes, expected) in [
            (two_sides, "missing column YMin, YMax"),
            (without_image.as_str(), "1 boxes"),
        ] {
            let opened = OpenImages::open(&[folder(boxes).path().to_owned()]);
            let message = opened.map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
