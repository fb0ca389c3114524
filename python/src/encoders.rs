//! The encoders of a model on the kernels of core, the fastest way to embed on a CPU.

use std::sync::OnceLock;

use burn::tensor::{Device, Tensor, TensorData};
use espalier_core::kernels::{ImageKernels, TextKernels};
use espalier_trainer::eval::Points;
use espalier_trainer::eval::embedder::finite;
use espalier_trainer::exit::usage;
use espalier_trainer::model_file::Model;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::photos::Photo;

/// Returns a pool of this many threads; none for all cores.
///
/// # Errors
/// Bad usage for 0, or the system's.
pub fn pool(threads: Option<usize>) -> anyhow::Result<Option<ThreadPool>> {
    match threads {
        None => Ok(None),
        Some(0) => Err(usage("threads: expected a positive number, found 0")),
        Some(count) => Ok(Some(ThreadPoolBuilder::new().num_threads(count).build()?)),
    }
}

/// Runs work on the threads of a pool; on all cores without one.
pub fn within<T: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Both encoders, each packed when it is first used.
#[derive(Default)]
pub struct Encoders {
    image: OnceLock<ImageKernels>,
    text: OnceLock<TextKernels>,
}

/// Returns what a cell holds, computed first where it holds nothing. Two threads may both compute it.
fn filled<T>(
    cell: &OnceLock<T>,
    value: impl FnOnce() -> espalier_core::Result<T>,
) -> anyhow::Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = value()?;
    Ok(cell.get_or_init(|| value))
}

impl Encoders {
    /// Returns the points of photos row by row, or without `lift` their projected features.
    ///
    /// # Errors
    /// Bad usage naming a photo that cannot be read; an embedding that is not finite.
    pub fn images(
        &self,
        model: &Model,
        photos: Vec<Photo>,
        lift: Option<&Device>,
    ) -> anyhow::Result<Vec<f32>> {
        let kernels = filled(&self.image, || {
            ImageKernels::of(&model.card.config, &model.encoder.image)
        })?;
        let prepared = photos.into_par_iter().map(|photo| {
            let name = photo.name.clone();
            let prepared = model.preprocess.apply(&photo.decode()?);
            prepared.map_err(|e| usage(format!("{name}: {e}")))
        });
        let prepared = prepared.collect::<anyhow::Result<Vec<_>>>()?;
        let features = kernels.forward_all(&prepared);
        lifted(model, &features, lift, |features| {
            model.encoder.lift.image(features)
        })
    }

    /// Returns the points of texts row by row, or without `lift` their projected features.
    ///
    /// # Errors
    /// An embedding that is not finite.
    pub fn texts(
        &self,
        model: &Model,
        texts: &[String],
        lift: Option<&Device>,
    ) -> anyhow::Result<Vec<f32>> {
        let kernels = filled(&self.text, || {
            TextKernels::of(&model.card.config, &model.encoder.text)
        })?;
        let context = model.card.config.text.context;
        let features = kernels.forward(&model.tokenizer.encode_batch(texts, context));
        lifted(model, &features, lift, |features| {
            model.encoder.lift.text(features)
        })
    }
}

/// Lifts features into the space of the model on a device, if one is given.
fn lifted(
    model: &Model,
    features: &[Vec<f32>],
    device: Option<&Device>,
    lift: impl FnOnce(Tensor<2>) -> Tensor<2>,
) -> anyhow::Result<Vec<f32>> {
    let width = model.card.config.d_embed;
    let values = match device {
        Some(device) if !features.is_empty() => {
            let data = TensorData::new(features.concat(), [features.len(), width]);
            let points = lift(Tensor::from_data(data, device)).into_data();
            let points = points.convert::<f32>().try_into_vec::<f32>();
            points.map_err(|e| anyhow::anyhow!("reading embeddings: {e:?}"))?
        }
        _ => features.concat(),
    };
    Ok(finite(Points::new(width, values))?.into_data())
}
