//! Inference of image encoders on the kernels.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::{Context, Result, ensure};
use espalier_core::kernels::ImageKernels;
use espalier_trainer::data::records::random::{Purpose, Random};
use image::RgbImage;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::Value;

use super::clock::timed;
use super::models::{ModelName, Models};

/// Number of images whose features are compared with the peer's; the largest batch.
pub const CHECKED: usize = 8;

/// The models that were used so far, with their images.
#[derive(Default)]
pub struct Inference(HashMap<ModelName, (ImageKernels, Vec<RgbImage>)>);

impl Inference {
    /// Measures the features of a batch with a number of threads.
    pub fn measure(
        &mut self,
        models: &Models,
        name: &ModelName,
        (batch, threads): (usize, usize),
        seconds: f64,
    ) -> Result<Value> {
        let (kernels, images) = match self.0.entry(name.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let (config, encoder) = models.image_encoder(name)?;
                let images = random_images(config.vision.image_size, CHECKED);
                new.insert((ImageKernels::of(&config, &encoder)?, images))
            }
        };
        let images = images
            .get(..batch)
            .with_context(|| format!("expected a batch of at most {CHECKED}, found {batch}"))?;
        pool(threads)?.install(|| {
            timed(seconds, batch, || {
                let features = kernels.forward_all(images);
                ensure!(
                    features.iter().flatten().all(|x| x.is_finite()),
                    "not finite"
                );
                Ok(())
            })
        })
    }
}

/// Returns a pool of this many threads.
pub fn pool(threads: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// Returns images of random pixels, always the same ones.
pub fn random_images(side: usize, count: usize) -> Vec<RgbImage> {
    let mut random = Random::new(0, Purpose::Synthetic, 0, 0);
    let mut pixel = |_: u32, _: u32| image::Rgb([0; 3].map(|_: u8| random.below(256) as u8));
    (0..count)
        .map(|_| RgbImage::from_fn(side as u32, side as u32, &mut pixel))
        .collect()
}
