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
use crate::disk::write::write_atomic;
use crate::eval::{embed, stored};
use crate::exit::usage;
use crate::model_file::{self, Model};

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

fn embed_images(
    model: &Model,
    folder: &Path,
    feature: &ImageFeature,
    device: &Device,
) -> anyhow::Result<Embedded> {
    let entries =
        fs::read_dir(folder).map_err(|e| usage(format!("--images {}: {e}", folder.display())))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_file())
        .collect();
    files.sort();
    let side = model.preprocess.size as usize;
    let (mut names, mut points) = (Vec::new(), Vec::new());
    for chunk in files.chunks(BATCH) {
        let mut images = Vec::new();
        for path in chunk {
            let bytes = fs::read(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
            let image = decode(&bytes).and_then(|image| model.preprocess.apply(&image));
            match image {
                Ok(image) => {
                    names.push(
                        path.file_name()
                            .unwrap_or_default()
                            .to_string_lossy()
                            .into_owned(),
                    );
                    images.push(image);
                }
                Err(e) => eprintln!("skipping {}: {e}", path.display()),
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
    let text =
        fs::read_to_string(file).map_err(|e| usage(format!("--texts {}: {e}", file.display())))?;
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
        println!("{}", serde_json::json!({ "out": args.out, "shape": shape }));
    } else {
        println!(
            "{} embeddings of width {} in {}",
            shape[0],
            shape[1],
            args.out.display()
        );
    }
    Ok(())
}
