//! `trainer embed`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor};
use espalier_checkpoints::classifier_file;
use espalier_checkpoints::model_file::{self, Model};
use espalier_core::caption::EMBEDDINGS;
use espalier_core::input::{Preprocess, decode};
use espalier_core::model::Classifier;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_data::Pixels;
use espalier_data::records::walk;
use espalier_eval::tensors::{matrix, rows};
use espalier_eval::{PooledEncoder, TextFeatures, embed, shared, stored};
use espalier_io::disk::read;
use espalier_io::disk::write::{check_file, write_atomic};
use espalier_io::exit::usage;
use espalier_io::output::{line, note};
use espalier_io::ranks::{self, Collective};
use image::RgbImage;
use rayon::prelude::*;

use super::progress::Progress;
use super::together::{end_all, numbered_device};
use crate::cli::{EmbedArgs, Feature};

/// Number of images encoded at a time.
const BATCH: usize = 64;

/// Names and embeddings of the rows of a result.
type Embedded = (Vec<String>, Vec<Vec<f32>>);

/// The feature to compute for images.
enum ImageFeature {
    Point,
    Pooled,
    Logits(Box<Classifier>),
}

impl ImageFeature {
    fn from_args(args: &EmbedArgs, device: &Device) -> anyhow::Result<Self> {
        Ok(match args.feature {
            Feature::Point => Self::Point,
            Feature::Pooled => Self::Pooled,
            Feature::Logits => Self::Logits(Box::new(classifier_file::read(&args.model, device)?)),
        })
    }

    fn compute(&self, model: &Model, pooled: Tensor<2>) -> Tensor<2> {
        let encoder = &model.encoder;
        match self {
            Self::Point => encoder.lift.image(encoder.image.project(pooled)),
            Self::Pooled => pooled,
            Self::Logits(classifier) => classifier.forward(pooled),
        }
    }
}

/// Reads an image and prepares it for a model; the error says what is wrong with the file.
fn read_image(path: &Path, preprocess: &Preprocess) -> Result<RgbImage, String> {
    let bytes = read::bytes(path).map_err(|e| e.to_string())?;
    let image = decode(&bytes).and_then(|image| preprocess.apply(&image));
    image.map_err(|e| e.to_string())
}

fn embed_images(
    model: &Model,
    folder: &Path,
    feature: &ImageFeature,
    device: &Device,
    ranks: &dyn Collective,
) -> anyhow::Result<Embedded> {
    let found = walk::images_below(folder)
        .map_err(|e| usage(format!("--images {}: {e}", folder.display())))?;
    if ranks.is_root() {
        for (rule, entries) in &found.left_out {
            note(format_args!("left out, {}", entries.line(rule)));
        }
    }
    let files = shared::own_part(ranks, &found.files);
    let encoder = PooledEncoder::new(&model.encoder.image, &model.card.config, device)?;
    let prepare = |files: &[PathBuf]| -> Vec<Result<RgbImage, String>> {
        let files = files.par_iter();
        files
            .map(|path| read_image(path, &model.preprocess))
            .collect()
    };
    let (mut names, mut points) = (Vec::new(), Vec::new());
    let progress = Progress::new("embed", "images", files.len() as u64);
    let mut chunks = files.chunks(BATCH).peekable();
    let mut prepared = prepare(chunks.peek().copied().unwrap_or_default());
    while let Some(chunk) = chunks.next() {
        let mut images = Vec::with_capacity(chunk.len());
        for (path, image) in chunk.iter().zip(prepared) {
            match image {
                Ok(image) => {
                    let name = path.strip_prefix(folder).unwrap_or(path);
                    names.push(walk::shown(name).replace(std::path::MAIN_SEPARATOR, "/"));
                    images.push(image);
                }
                Err(e) => note(format_args!("skipping {}: {e}", path.display())),
            }
        }
        let images = Pixels::pack(model.preprocess.size, &images.iter().collect::<Vec<_>>());
        // The next images are read while these are encoded.
        let next = chunks.peek().copied().unwrap_or_default();
        let (read, pooled) = rayon::join(|| prepare(next), || encoder.encode(&images));
        prepared = read;
        if images.count > 0 {
            let pooled = matrix(pooled?, encoder.width(), device);
            points.extend(rows(feature.compute(model, pooled))?);
        }
        progress.advance(chunk.len() as u64);
    }
    progress.finish();
    if names.len() < files.len() {
        let skipped = files.len() - names.len();
        note(format_args!(
            "{skipped} of {} images cannot be read and are left out",
            files.len()
        ));
    }
    let (names, points) = all_embedded(ranks, (names, points))?;
    if names.is_empty() {
        return Err(usage(format!(
            "--images {}: expected a folder with images, found none",
            folder.display()
        )));
    }
    Ok((names, points))
}

/// Returns the names and embeddings of all ranks in the order of ranks.
fn all_embedded(ranks: &dyn Collective, (names, points): Embedded) -> anyhow::Result<Embedded> {
    let all = ranks.all_gather_bytes(&serde_json::to_vec(&names)?);
    let names = all.iter().map(|bytes| serde_json::from_slice(bytes));
    let names: Vec<Vec<String>> = names.collect::<Result<_, _>>()?;
    Ok((names.concat(), shared::all_rows(ranks, points)))
}

fn embed_texts(
    model: &Model,
    file: &Path,
    device: &Device,
    ranks: &dyn Collective,
) -> anyhow::Result<Embedded> {
    let text = read::text(file).map_err(|e| usage(format!("--texts {}: {e}", file.display())))?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return Err(usage(format!(
            "--texts {}: expected one text per line, found an empty file",
            file.display()
        )));
    }
    let encoder = TextFeatures::new(model, device)?;
    let points = embed::texts(&encoder, shared::own_part(ranks, &lines))?;
    Ok((lines, shared::all_rows(ranks, points)))
}

/// Embeds images or texts and writes the embeddings as safetensors. Several processes that a launcher
/// started each embed a part; rank 0 writes.
///
/// # Errors
/// Bad usage (exit code 2), or a device failure (1).
pub fn run(args: &EmbedArgs) -> anyhow::Result<()> {
    let ranks = ranks::start()?;
    embed_all(args, &*ranks).map_err(|error| end_all(&ranks, error))
}

fn embed_all(args: &EmbedArgs, ranks: &dyn Collective) -> anyhow::Result<()> {
    if args.out.extension().is_none_or(|e| e != "safetensors") {
        let found = args.out.display();
        return Err(usage(format!(
            "--out: expected a .safetensors file, found {found}"
        )));
    }
    check_file("--out", &args.out)?;
    let device = numbered_device(args.common.backend, ranks)?;
    let model = model_file::open(&args.model, &device)?;
    let (names, points) = match (&args.images, &args.texts) {
        (Some(folder), _) => {
            let feature = ImageFeature::from_args(args, &device)?;
            embed_images(&model, folder, &feature, &device, ranks)?
        }
        (None, Some(file)) => embed_texts(&model, file, &device, ranks)?,
        (None, None) => return Err(usage("expected --images or --texts, found neither")),
    };
    if !ranks.is_root() {
        return Ok(());
    }
    let shape = vec![points.len(), points.first().map_or(0, Vec::len)];
    let tensor = HostTensor {
        shape: shape.clone(),
        data: points.concat(),
    };
    let tensors = Tensors {
        tensors: BTreeMap::from([(EMBEDDINGS.to_owned(), tensor)]),
        metadata: BTreeMap::from([
            (stored::NAMES.to_owned(), serde_json::to_string(&names)?),
            (
                stored::SPACE.to_owned(),
                serde_json::to_string(&embed::space(&model, &device)?)?,
            ),
            (stored::MODEL.to_owned(), model.sha256),
        ]),
    };
    write_atomic(&args.out, &tensors.write(|_, _| None)?)?;
    if args.common.json {
        line(serde_json::json!({ "out": args.out, "shape": shape }))?;
    } else {
        line(format_args!(
            "{} embeddings of width {} in {}",
            shape[0],
            shape[1],
            args.out.display()
        ))?;
    }
    Ok(())
}
