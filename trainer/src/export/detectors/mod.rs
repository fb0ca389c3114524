//! Detectors of the parts of statements, fitted on photos.
//!
//! One ridge logistic regression on the directions of the photos' points, of all parts at once. Three kinds of photos
//! tell of different parts: captions of all, labels of the nodes of the taxonomy, and descriptions of those parts that
//! were looked for. Generated images of noise, stripes and plain colours show no part. Descriptions are few, so each
//! counts as many times as others; since photos of different kinds lie in different directions, the same detectors are
//! calibrated on each kind.

mod logistic;
mod photos;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::Device;
use espalier_core::caption::detectors::{BIAS, WEIGHTS, direction};
use espalier_core::caption::{Captioner, TextEmbedder};
use espalier_core::statements::{Number, Vocabulary};
use espalier_core::weights::{HostTensor, Tensors};
use espalier_data::formats::captions;
use espalier_data::{Dataset, Splits};
use espalier_eval::captioned::records;
use espalier_io::exit::usage;
use espalier_io::output::note;

use logistic::{Fitted, Rows};
use photos::{Described, Seen};

/// Weight of a photo that is described, where one with captions or a label has 1.
const DESCRIBED: f32 = 4.0;

/// Number of generated images.
const OUTLIERS: u64 = 512;

/// Weight of all generated images, relative to that of all photos.
const OUTLIER_SHARE: f32 = 0.041;

/// A part that fewer photos than this show has no detector.
const FEW: usize = 10;

/// Bias of a part without a detector: it is never told.
const NEVER: f32 = -20.0;

/// Data for the fit.
pub struct DetectorData<'a> {
    /// Images with captions.
    pub captions: &'a [PathBuf],
    /// Lists of images of which all that they show is described.
    pub described: &'a [PathBuf],
    /// Images with labels of the bundle's taxonomy, if there are any.
    pub labelled: Option<&'a Arc<dyn Dataset>>,
}

/// Returns the detectors of a bundle, one for each part of a vocabulary.
///
/// # Errors
/// Bad usage or data, or a failing device.
pub fn fit(
    captioner: &Captioner,
    vocabulary: &Vocabulary,
    data: &DetectorData<'_>,
    device: &Device,
) -> anyhow::Result<Tensors> {
    let mut seen: Vec<(Seen, f32)> = Vec::new();
    let (found, _) = records(&*captions::open(data.captions, Splits::TRAINING)?, 0);
    note(format_args!(
        "embedding {} images with captions",
        found.len()
    ));
    let known = |record: &_| Some(photos::captioned(vocabulary, record));
    let embedded = photos::embed(captioner, &found, known)?;
    if embedded.is_empty() {
        return Err(usage(
            "--statements: expected images with captions, found none that can be read",
        ));
    }
    seen.extend(embedded.into_iter().map(|photo| (photo, 1.0)));
    if let Some(data) = data.labelled {
        let (found, _) = records(&**data, 0);
        note(format_args!("embedding {} images with labels", found.len()));
        let taxonomy = captioner.untaught().taxonomy();
        let known = |record: &espalier_data::records::source::Record| {
            photos::labelled(vocabulary, taxonomy, record.synsets.first()?)
        };
        let embedded = photos::embed(captioner, &found, known)?;
        seen.extend(embedded.into_iter().map(|photo| (photo, 1.0)));
    }
    for file in data.described {
        let described = Described::read(file)?;
        let unknown = described.unknown(vocabulary);
        if !unknown.is_empty() {
            let (file, unknown) = (file.display(), unknown.join(", "));
            note(format_args!(
                "{file}: not in the vocabulary, so not used: {unknown}"
            ));
        }
        let images = described.images(vocabulary);
        note(format_args!(
            "embedding {} images that are described",
            images.len()
        ));
        let embedded = photos::embed_files(captioner, images)?;
        seen.extend(embedded.into_iter().map(|photo| (photo, DESCRIBED)));
    }
    note(format_args!("embedding {OUTLIERS} generated images"));
    let embedded = photos::embed_outliers(captioner, OUTLIERS, vocabulary.parts().len())?;
    let all_photos: f32 = seen.iter().map(|(_, weight)| weight).sum();
    let weight = OUTLIER_SHARE * all_photos / OUTLIERS as f32;
    seen.extend(embedded.into_iter().map(|photo| (photo, weight)));
    note(format_args!("fitting detectors on {} images", seen.len()));
    of_photos(&seen, vocabulary.parts().len(), device)
}

/// Returns the points of the parts' names, `[parts, d_embed]`; a part that is never said lies at the origin.
///
/// # Errors
/// A failing device.
pub fn points(embedder: &TextEmbedder, vocabulary: &Vocabulary) -> anyhow::Result<HostTensor> {
    let parts = vocabulary.parts().iter();
    let texts: Vec<String> = parts.map(|part| part.text(Number::One)).collect();
    let mut points = pollster::block_on(embedder.embed(&texts))?;
    for (point, text) in points.iter_mut().zip(&texts) {
        if text.is_empty() {
            point.fill(0.0);
        }
    }
    Ok(HostTensor {
        shape: vec![points.len(), points.first().map_or(0, Vec::len)],
        data: points.concat(),
    })
}

/// The mean of directions, and the standard deviation of their values.
struct Scale {
    mean: Vec<f32>,
    deviation: f32,
}

impl Scale {
    fn of(directions: &[Vec<f32>]) -> Self {
        let count = directions.len().max(1) as f32;
        let mut mean = vec![0.0; directions.first().map_or(0, Vec::len)];
        for row in directions {
            for (sum, x) in mean.iter_mut().zip(row) {
                *sum += x / count;
            }
        }
        let squares = directions.iter().flat_map(|row| {
            let differences = row.iter().zip(&mean);
            differences.map(|(x, mean)| f64::from(x - mean).powi(2))
        });
        let variance = squares.sum::<f64>() / f64::from(count) / mean.len().max(1) as f64;
        Self {
            deviation: (variance.sqrt() as f32).max(f32::MIN_POSITIVE),
            mean,
        }
    }

    fn apply<'a>(&'a self, direction: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        let values = direction.iter().zip(&self.mean);
        values.map(|(x, mean)| (x - mean) / self.deviation)
    }
}

/// Fits the detectors and moves the scale of the inputs into their weights.
fn of_photos(seen: &[(Seen, f32)], parts: usize, device: &Device) -> anyhow::Result<Tensors> {
    let points = seen.iter().map(|(photo, _)| &photo.point);
    let directions: Vec<Vec<f32>> = points.map(|point| direction(point)).collect();
    let scale = Scale::of(&directions);
    let truth = |known: &Option<bool>| f32::from(u8::from(*known == Some(true)));
    let rows = Rows {
        inputs: directions.iter().flat_map(|row| scale.apply(row)).collect(),
        truth: seen
            .iter()
            .flat_map(|(photo, _)| photo.known.iter().map(truth))
            .collect(),
        counts: seen
            .iter()
            .flat_map(|(photo, weight)| {
                let count = |known: &Option<bool>| if known.is_some() { *weight } else { 0.0 };
                photo.known.iter().map(count)
            })
            .collect(),
        rows: seen.len(),
    };
    let Fitted {
        mut weights,
        mut bias,
    } = logistic::fit(&rows, parts, device)?;
    let width = scale.mean.len();
    let shown = |part: usize| {
        seen.iter()
            .filter(|(photo, _)| photo.known[part] == Some(true))
            .count()
    };
    for (part, (row, bias)) in weights.chunks_mut(width.max(1)).zip(&mut bias).enumerate() {
        if shown(part) < FEW {
            row.fill(0.0);
            *bias = NEVER;
            continue;
        }
        row.iter_mut().for_each(|weight| *weight /= scale.deviation);
        let products = row.iter().zip(&scale.mean);
        *bias -= products.map(|(weight, mean)| weight * mean).sum::<f32>();
    }
    let tensor = |shape: Vec<usize>, data| HostTensor { shape, data };
    Ok(Tensors {
        tensors: BTreeMap::from([
            (WEIGHTS.to_owned(), tensor(vec![parts, width], weights)),
            (BIAS.to_owned(), tensor(vec![parts], bias)),
        ]),
        ..Tensors::default()
    })
}

#[cfg(test)]
mod tests {
    use espalier_core::caption::Detectors;
    use espalier_core::caption::detectors::POINTS;

    use super::*;

    #[test]
    fn detectors_tell_what_the_photos_show() {
        let tsv = "role\tid\tabove\texcludes\tname\tlink\tnode\twords\n\
            thing\tkite\t\t\tkite\t\t\tkite\nthing\tboat\t\t\tboat\t\t\tboat\n";
        let vocabulary = Vocabulary::from_tsv(tsv).unwrap();
        // Kites lie to the right, whatever the radius; no photo shows a boat.
        let photo = |index: usize| {
            let side = [1.0, -1.0][index % 2];
            let radius = 1.0 + (index % 7) as f32;
            let point = vec![side * radius, radius, 0.1 * (index % 3) as f32];
            let known = vec![Some(side > 0.0), Some(false)];
            (Seen { point, known }, 1.0)
        };
        let seen: Vec<_> = (0..60).map(photo).collect();
        let mut tensors = of_photos(&seen, 2, &Device::default()).unwrap();
        let origin = HostTensor {
            shape: vec![2, 3],
            data: vec![0.0; 6],
        };
        tensors.tensors.insert(POINTS.to_owned(), origin);
        let detectors = Detectors::new(vocabulary, &tensors, 3).unwrap();
        for (photo, _) in &seen {
            let p = detectors.probabilities(&photo.point, &[]);
            assert_eq!(p[0] > 0.8, photo.known[0] == Some(true), "{p:?}");
            assert!(p[1] < 1e-6, "{p:?}");
        }
    }
}
