//! Images and their boxes, embedded.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use espalier_core::input::ResizeMode;
use espalier_data::formats::registry::{self, Need};
use espalier_data::{Coverage, Crops, Dataset};
use espalier_io::exit::usage;

use crate::embedded::Embedded;
use crate::task::Context;

/// The embedded boxes of a dataset.
pub struct Boxes {
    /// Boxes.
    pub parts: Rc<Embedded>,
    /// Label of each box, or its phrase if it has no label.
    pub labels: Vec<String>,
    /// What is available; items are boxes.
    pub coverage: Coverage,
}

impl Boxes {
    /// Embeds the boxes of the data.
    ///
    /// # Errors
    /// Bad data, also if there is no box; a failing device.
    pub fn open(cx: &Context<'_, '_>, paths: &[PathBuf], flag: &str) -> anyhow::Result<Self> {
        Self::of(cx, registry::open(paths, Need::Boxes)?, paths)?.some(flag)
    }

    /// Returns the boxes if there are any.
    ///
    /// # Errors
    /// Bad usage if there is none.
    pub fn some(self, flag: &str) -> anyhow::Result<Self> {
        if self.labels.is_empty() {
            return Err(usage(format!(
                "{flag}: expected images with boxes, found no box that can be read"
            )));
        }
        Ok(self)
    }

    fn of(cx: &Context<'_, '_>, data: Arc<dyn Dataset>, paths: &[PathBuf]) -> anyhow::Result<Self> {
        let crops: Arc<dyn Dataset> = Arc::new(Crops::new(data));
        let expected = crops.records();
        let resize = cx.resize(ResizeMode::WhitePad);
        let parts = cx.model()?.dataset(crops, paths, resize)?;
        let named = parts.about.labels.iter().zip(&parts.about.captions);
        let labels = named.map(|(label, phrase)| label.clone().unwrap_or_else(|| phrase.clone()));
        Ok(Self {
            labels: labels.collect(),
            coverage: parts.about.coverage(expected, parts.points.len()),
            parts,
        })
    }
}

/// Embedded images and boxes of a dataset.
pub struct Scenes {
    /// Images.
    pub images: Rc<Embedded>,
    /// Their boxes.
    pub boxes: Boxes,
    /// The image of each box; `None` if it could not be read.
    pub image_of: Vec<Option<usize>>,
}

impl Scenes {
    /// Embeds images and boxes.
    ///
    /// # Errors
    /// Bad data; a failing device.
    pub fn open(cx: &Context<'_, '_>) -> anyhow::Result<Self> {
        let paths = cx.data;
        let data = registry::open(paths, Need::Boxes)?;
        let mut boxes = Boxes::of(cx, Arc::clone(&data), paths)?;
        let resize = cx.resize(ResizeMode::WhitePad);
        let images = cx.model()?.dataset(data, paths, resize)?;
        let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
        for (row, key) in images.about.keys.iter().enumerate() {
            if rows.insert(key, row).is_some() {
                let kind = "key given twice, boxes go to the last image";
                boxes.coverage.note(kind, 1, key);
            }
        }
        let image = |key: &String| rows.get(key.rsplit_once('#')?.0).copied();
        let image_of: Vec<Option<usize>> = boxes.parts.about.keys.iter().map(image).collect();
        let lost = image_of.iter().filter(|image| image.is_none()).count() as u64;
        let kind = "box whose image cannot be read";
        boxes.coverage.note(kind, lost, "");
        Ok(Self {
            images,
            boxes,
            image_of,
        })
    }
}
