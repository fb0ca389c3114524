//! Images in folders whose names are the labels: class folders, and the folders of iNaturalist and
//! of BioCLIP's evaluation sets (notation 5.6).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::Format;
use super::levels::{self, Purpose};
use super::listed::last_name;
use crate::records::error::{DataError, Result};
use crate::records::fault::Broken;
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records, Unit};
use crate::records::walk::{self, LeftOut};

/// This format.
pub const FORMAT: Format = Format {
    name: "class folders",
    labels: true,
    boxes: false,
    detect: |paths| paths.iter().any(|path| Folders::matches(path)),
    open: |paths| Ok(Arc::new(Folders::open(paths)?)),
};

/// Number of ranks in the name of a lineage folder, after its number.
const RANKS: usize = 7;

/// Rule for files beside the folders of classes.
const LOOSE: &str = "file beside the folders of classes";
/// Rule for files in folders within a class.
const DEEPER: &str = "file in a folder within a class";
/// Rule for folders without images.
const EMPTY: &str = "folder without images";

/// A folder of class folders.
pub struct Folders {
    names: Vec<String>,
    classes: Vec<Class>,
    units: Vec<Unit>,
    left_out: LeftOut,
}

#[derive(Clone)]
struct Class {
    label: String,
    images: Vec<PathBuf>,
}

/// Returns the label of a class folder: for `00123_Animalia_…_species` the lineage joined by `/`,
/// otherwise the name itself.
fn label(name: &str) -> String {
    let mut parts = name.split('_');
    let number = parts.next().unwrap_or_default();
    let ranks: Vec<&str> = parts.collect();
    let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    // A species name may itself contain the separator ("sp. nov_2").
    if numbered && ranks.len() >= RANKS {
        let (above, species) = ranks.split_at(RANKS - 1);
        return format!("{}/{}", above.join("/"), species.join("_"));
    }
    name.to_owned()
}

impl Folders {
    /// Returns whether a folder holds class folders rather than shards, or folders of splits with class folders.
    pub fn matches(path: &Path) -> bool {
        levels::has_classes(path) || levels::roots(path, Purpose::Everything).is_some()
    }

    /// Opens folders of class folders. Only lists file names.
    ///
    /// # Errors
    /// If a folder cannot be read or there are no images.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        let mut classes: BTreeMap<PathBuf, Class> = BTreeMap::new();
        let mut left_out = LeftOut::new();
        for path in &levels::resolved(paths, Purpose::Everything) {
            let top = walk::entries(path)?;
            walk::merge(&mut left_out, top.left_out);
            for file in top.files {
                walk::leave_out(&mut left_out, LOOSE, 1, &file);
            }
            for folder in top.folders {
                let inside = walk::entries(&folder)?;
                walk::merge(&mut left_out, inside.left_out);
                for deeper in inside.folders {
                    let files = walk::files_below(&deeper)?.files;
                    walk::leave_out(&mut left_out, DEEPER, files.len() as u64, &deeper);
                }
                let images = walk::only_images(inside.files, &mut left_out);
                let name = folder.file_name().unwrap_or_default();
                let label = label(&walk::shown(Path::new(name)));
                match images.is_empty() {
                    true => walk::leave_out(&mut left_out, EMPTY, 1, &folder),
                    false => {
                        classes.insert(folder, Class { label, images });
                    }
                }
            }
        }
        if classes.is_empty() {
            let place = paths.first().map(|path| path.display().to_string());
            return Err(DataError::NothingFound {
                place: place.unwrap_or_default(),
                found: "no folder with images".into(),
            });
        }
        let names = classes.keys().map(|p| p.display().to_string()).collect();
        let classes: Vec<Class> = classes.into_values().collect();
        let units = (0_u32..)
            .zip(&classes)
            .map(|(shard, class)| Unit::of_references(shard, 0, class.images.len()))
            .collect();
        Ok(Self {
            names,
            classes,
            units,
            left_out,
        })
    }

    /// Iterates over all images with the label of their folder, in order.
    pub fn images(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.classes.iter().flat_map(|class| {
            let of = |p| (class.label.as_str(), PathBuf::as_path(p));
            class.images.iter().map(of)
        })
    }
}

impl Dataset for Folders {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, shard: u32) -> &str {
        &self.names[shard as usize]
    }

    fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    fn load(&self, unit: usize) -> std::result::Result<Box<dyn Records>, Broken> {
        Ok(Box::new(self.classes[unit].clone()))
    }
}

impl Records for Class {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let path = &self.images[row];
        let key = walk::shown(path);
        let image = RecordImage::of_file(Some(path)).map_err(|fault| fault.of(&key))?;
        let (label, caption) = (Some(self.label.clone()), last_name(&self.label));
        Ok(Record::labelled(key, image, label, caption))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::folder_with;

    #[test]
    fn lineage_folders_give_the_lineage_and_others_their_name() {
        assert_eq!(
            label(
                "00042_Animalia_Chordata_Aves_Sphenisciformes_Spheniscidae_Aptenodytes_patagonicus"
            ),
            "Animalia/Chordata/Aves/Sphenisciformes/Spheniscidae/Aptenodytes/patagonicus"
        );
        assert_eq!(
            label("000001_A_B_C_D_E_F_sp. nov_2"),
            "A/B/C/D/E/F/sp. nov_2"
        );
        assert_eq!(label("n02056570"), "n02056570");
        assert_eq!(label("king_penguin"), "king_penguin");
    }

    #[test]
    fn the_folders_of_splits_are_read_as_one() {
        let dir = folder_with(&["train/cat/1.jpg", "val/cat/2.jpg", "test/dog/3.jpg"]);
        assert!(Folders::matches(dir.path()));
        let classes = Folders::open(&[dir.path().to_owned()]).unwrap();
        let labels: Vec<&str> = classes.images().map(|(label, _)| label).collect();
        assert_eq!(labels, ["dog", "cat", "cat"]);
    }

    #[test]
    fn images_are_labelled_by_their_folder() {
        let dir = folder_with(&["n2/x.txt"]);
        std::fs::create_dir(dir.path().join("n1")).unwrap();
        for name in ["n1/b.png", "n1/a.PNG", "n2/c.png"] {
            let image = image::RgbImage::from_pixel(8, 8, image::Rgb([9, 9, 9]));
            let format = image::ImageFormat::Png;
            image
                .save_with_format(dir.path().join(name), format)
                .unwrap();
        }
        assert!(Folders::matches(dir.path()));
        let data = Folders::open(&[dir.path().to_owned()]).unwrap();
        assert_eq!(data.records(), 3);
        let record = data.load(1).unwrap().read(0).unwrap();
        assert_eq!(record.synsets, ["n2"]);
        assert_eq!(record.image.decode().unwrap().dimensions(), (8, 8));
    }
}
