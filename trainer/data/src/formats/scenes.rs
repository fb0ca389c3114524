//! Photos with the boxes that an index lists, without captions: of COCO and of OpenImages.

use std::path::PathBuf;
use std::sync::Arc;

use crate::records::boxes::{BoxTally, GroundedBox, Region, clamped};
use crate::records::fault::Broken;
use crate::records::frame;
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};

/// A photo and its boxes.
pub(super) struct Scene {
    /// Its name in the index.
    key: String,
    /// Its file; `None` if it is missing, which makes it a broken record.
    pub(super) file: Option<PathBuf>,
    /// Width and height by the index, where it states them.
    size: Option<(f64, f64)>,
    boxes: Vec<ListedBox>,
    tally: BoxTally,
}

struct ListedBox {
    phrase: Arc<str>,
    label: Option<Arc<str>>,
    place: [f64; 4],
}

impl Scene {
    /// Creates a photo without boxes.
    pub(super) fn new(key: &str, file: Option<PathBuf>, size: Option<(f64, f64)>) -> Self {
        Self {
            key: key.to_owned(),
            file,
            size,
            boxes: Vec::new(),
            tally: BoxTally::default(),
        }
    }

    /// Adds a box, given by left, top, right and bottom relative to the photo. Clamps it to the photo; counts one that
    /// is then empty.
    pub(super) fn add(&mut self, phrase: &Arc<str>, label: Option<&Arc<str>>, stored: [f64; 4]) {
        if let Some(place) = clamped(stored, &mut self.tally) {
            self.boxes.push(ListedBox {
                phrase: Arc::clone(phrase),
                label: label.cloned(),
                place,
            });
        }
    }
}

/// Photos of an index.
pub(super) struct Scenes(pub(super) Vec<Scene>);

impl Records for Scenes {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let scene = &self.0[row];
        let image = RecordImage::of_file(scene.file.as_deref());
        let image = image.map_err(|fault| fault.of(&scene.key))?;
        let grounded = |listed: &ListedBox| {
            let label = listed.label.as_ref().map(ToString::to_string);
            GroundedBox::new(&*listed.phrase, Region::Relative(listed.place), label)
        };
        let mut boxes: Vec<GroundedBox> = scene.boxes.iter().map(grounded).collect();
        let mut tally = scene.tally;
        frame::place(&image, scene.size, &mut boxes, &mut tally);
        let mut shown: Vec<&str> = boxes.iter().map(|b| b.phrase.as_str()).collect();
        shown.sort_unstable();
        shown.dedup();
        // There is no caption; the list of labels replaces it.
        let caption = shown.join(", ");
        Ok(Record {
            synsets: boxes.iter().filter_map(|b| b.synset.clone()).collect(),
            boxes,
            tally,
            ..Record::labelled(scene.key.clone(), image, None, caption)
        })
    }
}
