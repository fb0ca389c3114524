//! Checkpoints for other programs: the names, configurations and cards that they read.
//!
//! Values are not changed: importing the file again gives the same bits. A model that a format
//! cannot represent is refused; the message names the obstacles.

pub mod card;
mod checkpoint;
mod hugging_face;
mod meru;
mod open_clip;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;

use self::card::CARD;
pub use self::checkpoint::Checkpoint;
use espalier_core::model::TextFamily;
use espalier_io::disk::weights_file::{self, Stored};
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;

use crate::layout::{Layout, export_tensors};
use crate::model_file::PUBLISHED_CARD;

/// What `trainer export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A bundle for the page.
    Bundle,
    /// A folder for transformers' CLIP.
    Hf,
    /// A folder for open_clip.
    #[value(name = "open_clip", alias = "open-clip")]
    OpenClip,
    /// Weights under the names of the MERU family.
    Meru,
}

/// Writes a checkpoint for other programs; returns the names of the files. `draw` puts an image of the
/// model into the folder and returns its name, if it can be drawn.
///
/// # Errors
/// Bad usage for a model that the format cannot represent, or for existing files without `force`; a
/// plain failure if the folder cannot be written to.
pub fn write(
    checkpoint: &Checkpoint,
    format: ExportFormat,
    (out, force): (&Path, bool),
    (name, notes): (&str, &str),
    draw: impl FnOnce() -> Option<&'static str>,
) -> anyhow::Result<Vec<String>> {
    let vision = &checkpoint.card.config.vision;
    if vision.stem.is_some() || vision.inverted.is_some() {
        return Err(usage(
            "--format: expected an image encoder of patches, found one with convolutions, which none \
             of these formats supports; export it as a bundle",
        ));
    }
    if checkpoint.card.config.text.family != TextFamily::Clip {
        return Err(usage(
            "--format: expected a text encoder of CLIP's family, found one of BERT's, which none of \
             these formats supports",
        ));
    }
    let (layout, written) = match format {
        ExportFormat::Bundle => {
            return Err(usage(
                "--format bundle: expected a format for other programs",
            ));
        }
        ExportFormat::Hf => (Layout::HuggingFace, hugging_face::write(checkpoint)?),
        ExportFormat::OpenClip => (Layout::OpenClip, open_clip::write(checkpoint)?),
        ExportFormat::Meru => (Layout::Meru, meru::write(checkpoint)?),
    };
    let weights = out.join(written.weights);
    if weights.exists() && !force {
        return Err(usage(format!(
            "--out: {} already exists; choose another folder or give --force",
            weights.display()
        )));
    }
    let config = &checkpoint.card.config;
    let exported = export_tensors(&layout.mappings(config), &checkpoint.tensors).map_err(usage)?;
    let floats = exported.into_iter();
    let mut tensors: BTreeMap<String, Stored> =
        floats.map(|(name, t)| (name, Stored::Floats(t))).collect();
    tensors.extend(written.extra_tensors);
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    let mut names = Vec::new();
    for (file, text) in &written.files {
        write_atomic(&out.join(file), text.as_bytes())?;
        names.push((*file).to_owned());
    }
    let preview = draw();
    let readme = card::write(&checkpoint.card, layout, (name, notes), preview);
    write_atomic(&out.join(CARD), readme.as_bytes())?;
    // The weights last: a folder with weights is complete.
    let mut metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
    metadata.extend(written.card.map(|card| (PUBLISHED_CARD.to_owned(), card)));
    weights_file::write(&weights, &tensors, metadata)?;
    names.extend([CARD, written.weights].map(str::to_owned));
    names.extend(preview.map(str::to_owned));
    Ok(names)
}
