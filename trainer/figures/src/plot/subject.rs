//! A model with the texts of its bundle, and photos for it.

use std::path::Path;

use burn::tensor::Device;
use espalier_checkpoints::model_file::{self, Model, is_bundle, read_bundle};
use espalier_core::bundle::Part;
use espalier_core::caption::CaptionEntry;
use espalier_core::geometry::Space;
use espalier_core::input::decode;
use espalier_data::Pixels;
use espalier_eval::{ImagePoints, TextFeatures, embed};
use espalier_io::disk::read;
use espalier_io::exit::usage;
use image::RgbImage;

/// Number of images encoded at a time.
const BATCH: usize = 64;

/// A model, its space, and the texts of its bundle if it is one.
#[derive(Debug)]
pub struct Subject {
    /// Both encoders.
    pub model: Model,
    /// Space of the embeddings.
    pub space: Space,
    /// Display name.
    pub name: String,
    /// Captions of its bundle.
    pub captions: Vec<String>,
    device: Device,
}

impl Subject {
    /// Opens a run, a checkpoint, a weights file or a bundle.
    ///
    /// # Errors
    /// Bad usage if there is none, a bundle or tensor error if it is damaged.
    pub fn open(path: &Path, device: &Device) -> anyhow::Result<Self> {
        let model = model_file::open(path, device)?;
        let method = model.card.method.clone();
        let mut captions = Vec::new();
        let (space, name) = if is_bundle(path) {
            let (_, manifest, bundle) = read_bundle(path, &[Part::Captions])?;
            let files = manifest.files_of(&[Part::Captions]);
            for file in files.filter(|file| file.dtype == "text") {
                let shard: Vec<CaptionEntry> = serde_json::from_str(bundle.text(&file.path)?)
                    .map_err(|e| usage(format!("{}/{}: {e}", path.display(), file.path)))?;
                captions.extend(shard.into_iter().map(|entry| entry.text));
            }
            let name = format!("{} ({method})", manifest.name);
            (manifest.geometry, name)
        } else {
            (embed::space(&model, device)?, method)
        };
        Ok(Self {
            model,
            space,
            name,
            captions,
            device: device.clone(),
        })
    }

    /// Returns the device of the model.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the points of texts.
    ///
    /// # Errors
    /// When the device fails.
    pub fn texts(&self, texts: &[String]) -> anyhow::Result<Vec<Vec<f32>>> {
        let encoder = TextFeatures::new(&self.model, &self.device)?;
        finite(embed::texts(&encoder, texts)?)
    }

    /// Returns the points of preprocessed images.
    ///
    /// # Errors
    /// When the device fails.
    pub fn images(&self, images: &[&RgbImage]) -> anyhow::Result<Vec<Vec<f32>>> {
        let encoder = ImagePoints::new(&self.model, &self.device)?;
        let mut out = Vec::with_capacity(images.len());
        for images in images.chunks(BATCH) {
            out.extend(encoder.of(&Pixels::pack(self.model.preprocess.size, images))?);
        }
        finite(out)
    }

    /// Returns a photo and its point.
    ///
    /// # Errors
    /// Bad usage for a file that cannot be read or is no photo, naming it.
    pub fn photo(&self, path: &Path) -> anyhow::Result<(RgbImage, Vec<f32>)> {
        let photo = read_photo(path)?;
        let ready = self.model.preprocess.apply(&photo);
        let ready = ready.map_err(|e| usage(format!("{}: {e}", path.display())))?;
        let point = self.images(&[&ready])?.remove(0);
        Ok((photo, point))
    }
}

/// Reads a photo, with its orientation applied.
///
/// # Errors
/// Bad usage for a file that cannot be read or is no photo, naming it.
pub fn read_photo(path: &Path) -> anyhow::Result<RgbImage> {
    let bytes = read::bytes(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
    decode(&bytes).map_err(|e| usage(format!("{}: {e}", path.display())))
}

/// Returns the non-blank lines of a file of texts.
///
/// # Errors
/// Bad usage for a file that cannot be read or has none.
pub fn read_texts(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = read::text(path).map_err(|e| usage(format!("--texts {}: {e}", path.display())))?;
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    if lines.is_empty() {
        return Err(usage(format!(
            "--texts {}: expected one text per line, found none",
            path.display()
        )));
    }
    Ok(lines)
}

fn finite(points: Vec<Vec<f32>>) -> anyhow::Result<Vec<Vec<f32>>> {
    match points.iter().position(|p| p.iter().any(|v| !v.is_finite())) {
        Some(at) => Err(usage(format!(
            "the model's embedding of item {at} is not finite; its weights are damaged or its \
             training diverged"
        ))),
        None => Ok(points),
    }
}
