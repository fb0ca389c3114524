//! Calibration of a bundle on plain photos, corrupted copies of them, and outliers.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::tensor::Device;
use clap::ValueEnum;
use espalier_checkpoints::model_file::Model;
use espalier_core::caption::{Calibration, Captioner};
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::records::corruption::Corruption;
use espalier_data::sampling::outliers;
use espalier_data::{Dataset, Pixels};
use espalier_eval::embed::{self, Labelled, ReadLimits};
use espalier_eval::stop::{self, Kind, KnownImage};
use espalier_eval::{ImagePoints, stop_fit};

/// Number of generated outlier images.
const OUTLIERS: usize = 128;
/// Index of the first outlier image that is never used in training.
const UNSEEN: u64 = 1 << 32;
/// Number of images encoded at a time.
const BATCH: usize = 32;

/// Points of one kind of images, with their true nodes.
struct Embedded {
    kind: Kind,
    points: Vec<Vec<f32>>,
    truth: Vec<Option<NodeIx>>,
}

impl Embedded {
    fn of(kind: Kind, found: Labelled) -> Self {
        Self {
            kind,
            points: found.points,
            truth: found.labels.into_iter().map(Some).collect(),
        }
    }

    fn images(&self) -> impl Iterator<Item = KnownImage<'_>> {
        let both = self.points.iter().zip(&self.truth).enumerate();
        both.map(|(photo, (point, truth))| KnownImage {
            point,
            truth: *truth,
            kind: self.kind,
            photo,
        })
    }
}

/// Embeds generated outlier images.
fn outliers(model: &Model, device: &Device) -> anyhow::Result<Embedded> {
    let side = model.preprocess.size;
    let encoder = ImagePoints::new(model, device)?;
    let mut points = Vec::new();
    for from in (0..OUTLIERS).step_by(BATCH) {
        // Skips the first images of the pool, which are used in training.
        let part = (from..OUTLIERS.min(from + BATCH)).map(|i| UNSEEN + i as u64);
        let images: Vec<_> = part
            .map(|index| outliers::pool_image(side, index))
            .collect();
        let part = Pixels::pack(side, &images.iter().collect::<Vec<_>>());
        points.extend(encoder.of(&part)?);
    }
    Ok(Embedded {
        kind: Kind::Outlier,
        truth: vec![None; points.len()],
        points,
    })
}

/// Returns the calibration of a bundle with its two-fold cross-fitted metrics: each half of the
/// photos is evaluated with the calibration of the other half. Besides the metrics of plain photos,
/// returns `stop_right_KIND` and `stop_said_KIND` for each kind of corruption.
///
/// # Errors
/// When a photo or the device fails.
pub fn calibrate(
    bundle: &Captioner,
    model: &Model,
    plain: &Labelled,
    (data, taxonomy, limits): (&Arc<dyn Dataset>, &Taxonomy, ReadLimits),
    device: &Device,
) -> anyhow::Result<(Calibration, BTreeMap<String, f64>)> {
    let mut all = vec![
        Embedded::of(Kind::Plain, plain.clone()),
        outliers(model, device)?,
    ];
    for change in Corruption::value_variants() {
        let corrupted = change.wrap(Arc::clone(data));
        let found = embed::labelled(model, corrupted, taxonomy, limits, device)?;
        all.push(Embedded::of(Kind::Corrupted(*change), found));
    }
    let images: Vec<KnownImage<'_>> = all.iter().flat_map(Embedded::images).collect();
    let classifier = bundle.classifier();
    let make = |calibration| classifier.clone().with_calibration(calibration);
    let (walked, calibration) = stop_fit::cross_fit(make, bundle.space(), &images)?;
    let of = |kind: Kind| -> Vec<_> {
        let own = walked.iter().filter(|(other, _)| *other == kind);
        own.map(|(_, walk)| walk.clone()).collect()
    };
    let mut metrics = stop::known(&of(Kind::Plain));
    for change in Corruption::value_variants() {
        let found = stop::known(&of(Kind::Corrupted(*change)));
        let name = format!("{change:?}").to_lowercase();
        for key in ["stop_right", "stop_said"] {
            let value = found.get(key).copied().unwrap_or_default();
            metrics.insert(format!("{key}_{name}"), value);
        }
    }
    Ok((calibration, metrics))
}
