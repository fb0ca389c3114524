//! Features of generated outlier images, computed once.

use std::path::Path;
use std::sync::Arc;

use half::f16;

use super::file::{self, Entry, FeatureFile};
use super::precompute::Encoder;
use crate::batches::feature_rows::FeatureRows;
use crate::batches::image_batch::Pixels;
use crate::sampling::outliers;

/// Number of outlier images in the pool; each step draws some of them.
const POOL: usize = 512;
/// Number of images encoded at a time.
const BATCH: usize = 32;

/// Computes or reads the features of a fixed pool of outlier images of `side` pixels.
///
/// # Errors
/// If a file cannot be written or the device fails.
pub fn precompute_outliers(
    encoder: &dyn Encoder,
    side: u32,
    folder: Option<&Path>,
) -> anyhow::Result<Arc<FeatureRows>> {
    let width = encoder.width();
    let settings = format!("outliers {POOL} {side}");
    let parts = [encoder.identity().as_bytes(), settings.as_bytes()];
    let path = folder.map(|folder| file::path(folder, parts));
    let read = |path| FeatureFile::read(path, POOL, width);
    let stored = match path.as_deref().and_then(read) {
        Some(found) => found,
        None => {
            let mut values = Vec::with_capacity(POOL * width);
            for from in (0..POOL).step_by(BATCH) {
                let of = from..POOL.min(from + BATCH);
                let images: Vec<_> = of.map(|i| outliers::pool_image(side, i as u64)).collect();
                let images = Pixels::pack(side, &images.iter().collect::<Vec<_>>());
                let encoded = encoder.encode(&images)?;
                values.extend(encoded.into_iter().map(f16::from_f32));
            }
            let entries = vec![Entry::Rows(vec![0]); POOL];
            let stored = FeatureFile { entries, values };
            if let Some(path) = &path {
                stored.write(path, width)?;
            }
            stored
        }
    };
    let mut rows = FeatureRows::new(width);
    rows.push(stored.values);
    Ok(Arc::new(rows))
}
