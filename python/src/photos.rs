//! Photos as Python hands them over, and their pixels.

use std::path::PathBuf;

use espalier_core::input::decode;
use espalier_trainer::disk::read;
use espalier_trainer::exit::usage;
use image::RgbImage;
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyIterator;

use crate::errors::refused;

/// A photo with the name that stands for it in errors.
pub struct Photo {
    pub name: String,
    pub source: Source,
}

/// The source of a photo's pixels.
pub enum Source {
    File(PathBuf),
    /// The bytes of a file.
    Bytes(PyBackedBytes),
    Pixels(RgbImage),
}

impl Source {
    fn read(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<u8>>() {
            return pixels(name, array).map(Self::Pixels);
        }
        if let Ok(bytes) = object.extract::<PyBackedBytes>() {
            return Ok(Self::Bytes(bytes));
        }
        Ok(Self::File(object.extract()?))
    }
}

/// Copies the pixels of an array `[height, width, 3]`.
fn pixels(name: &str, array: &Bound<'_, PyArrayDyn<u8>>) -> PyResult<RgbImage> {
    let view = array.readonly();
    let view = view.as_array();
    let image = match *view.shape() {
        [height, width, 3] if height > 0 && width > 0 => {
            let sides = (u32::try_from(width).ok(), u32::try_from(height).ok());
            let values: Vec<u8> = view.iter().copied().collect();
            sides
                .0
                .zip(sides.1)
                .and_then(|(width, height)| RgbImage::from_raw(width, height, values))
        }
        _ => None,
    };
    image.ok_or_else(|| {
        refused(format!(
            "{name}: expected pixels of shape [height, width, 3], found {:?}",
            view.shape()
        ))
    })
}

/// Returns photos as pairs of a name and a source, and whether one photo was given instead of several.
///
/// # Errors
/// Bad usage for what is no photo.
pub fn named<'py>(photos: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyIterator>, bool)> {
    let module = photos.py().import("espalier._photos")?;
    let (pairs, is_one): (Bound<'py, PyAny>, bool) =
        module.call_method1("named", (photos,))?.extract()?;
    Ok((pairs.try_iter()?, is_one))
}

/// Takes the next photos, at most `most`: pairs of a name and a source.
///
/// # Errors
/// Those of the iterator, and bad usage for an array that is no photo.
pub fn take(photos: &mut Bound<'_, PyIterator>, most: usize) -> PyResult<Vec<Photo>> {
    let mut taken = Vec::new();
    for item in photos.by_ref().take(most.max(1)) {
        let (name, source): (String, Bound<'_, PyAny>) = item?.extract()?;
        let source = Source::read(&name, &source)?;
        taken.push(Photo { name, source });
    }
    Ok(taken)
}

impl Photo {
    /// Returns the pixels, upright.
    ///
    /// # Errors
    /// Bad usage for a file that cannot be read or is not a photo.
    pub fn decode(self) -> anyhow::Result<RgbImage> {
        let name = self.name;
        let decoded = |bytes: &[u8]| decode(bytes).map_err(|e| usage(format!("{name}: {e}")));
        match self.source {
            Source::Pixels(pixels) => Ok(pixels),
            Source::Bytes(bytes) => decoded(&bytes),
            Source::File(path) => {
                let bytes = read::bytes(&path).map_err(|e| usage(format!("{name}: {e}")))?;
                decoded(&bytes)
            }
        }
    }
}
