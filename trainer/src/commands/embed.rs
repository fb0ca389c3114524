//! `trainer embed`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use espalier_core::caption::EMBEDDINGS;
use espalier_core::input::{decode, to_planes};
use espalier_core::model::Classifier;
use espalier_core::weights::{HostTensor, Tensors};

use burn::tensor::{Device, Tensor, TensorData};

use crate::classifier_file;
use crate::cli::{EmbedArgs, Feature};
use crate::disk::read;
use crate::disk::write::{check_file, write_atomic};
use crate::eval::{embed, stored};
use crate::exit::usage;
use crate::model_file::{self, Model};
use crate::output::{line, note};

/// Number of images encoded at a time.
const BATCH: usize = 32;

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

    fn compute(&self, model: &Model, images: Tensor<4>) -> Tensor<2> {
        match self {
            Self::Point => model.encoder.embed_image(images),
            Self::Pooled => model.encoder.image.pooled(images),
            Self::Logits(classifier) => classifier.forward(model.encoder.image.pooled(images)),
        }
    }
}

/// Lists all files of a folder and of the folders below it, except those that links lead to.
fn files_below(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            files_below(&path, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn embed_images(
    model: &Model,
    folder: &Path,
    feature: &ImageFeature,
    device: &Device,
) -> anyhow::Result<Embedded> {
    let mut files = Vec::new();
    files_below(folder, &mut files)
        .map_err(|e| usage(format!("--images {}: {e}", folder.display())))?;
    files.sort();
    let side = model.preprocess.size as usize;
    let (mut names, mut points) = (Vec::new(), Vec::new());
    for chunk in files.chunks(BATCH) {
        let mut images = Vec::new();
        for path in chunk {
            let bytes = read::bytes(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
            let image = decode(&bytes).and_then(|image| model.preprocess.apply(&image));
            match image {
                Ok(image) => {
                    let name = path.strip_prefix(folder).unwrap_or(path);
                    names.push(name.to_string_lossy().replace('\\', "/"));
                    images.push(image);
                }
                Err(e) => note(format_args!("skipping {}: {e}", path.display())),
            }
        }
        if images.is_empty() {
            continue;
        }
        let planes = TensorData::new(to_planes(&images), [images.len(), 3, side, side]);
        let batch = Tensor::<4>::from_data(planes, device);
        points.extend(embed::rows(feature.compute(model, batch))?);
    }
    if names.is_empty() {
        return Err(usage(format!(
            "--images {}: expected a folder with images, found none",
            folder.display()
        )));
    }
    Ok((names, points))
}

fn embed_texts(model: &Model, file: &Path, device: &Device) -> anyhow::Result<Embedded> {
    let text = read::text(file).map_err(|e| usage(format!("--texts {}: {e}", file.display())))?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return Err(usage(format!(
            "--texts {}: expected one text per line, found an empty file",
            file.display()
        )));
    }
    let points = embed::texts(model, &lines, device)?;
    Ok((lines, points))
}

/// Embeds images or texts and writes the embeddings as safetensors.
///
/// # Errors
/// Bad usage (exit code 2), or a device failure (1).
pub fn run(args: &EmbedArgs) -> anyhow::Result<()> {
    let extension = args
        .out
        .extension()
        .map(|e| e.to_string_lossy().into_owned());
    if extension.as_deref() != Some("safetensors") {
        let found = args.out.display();
        return Err(usage(format!(
            "--out: expected a .safetensors file, found {found}"
        )));
    }
    check_file("--out", &args.out)?;
    let device = args.common.backend.device()?;
    let model = model_file::open(&args.model, &device)?;
    let (names, points) = match (&args.images, &args.texts) {
        (Some(folder), _) => embed_images(
            &model,
            folder,
            &ImageFeature::from_args(args, &device)?,
            &device,
        )?,
        (None, Some(file)) => embed_texts(&model, file, &device)?,
        (None, None) => return Err(usage("expected --images or --texts, found neither")),
    };
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
