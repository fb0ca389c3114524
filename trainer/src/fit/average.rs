//! Exponential moving average of the weights of a run.
//!
//! After each step the average moves towards the new weights: `a += (1 - d) (w - a)`. The decay `d`
//! grows with the number of steps, `min(decay, (1 + step) / (10 + step))`, so that the average leaves
//! the first, untrained weights soon (as in TensorFlow's `ExponentialMovingAverage` with
//! `num_updates`). It is a function of the steps alone, so a resumed run continues it exactly.

use std::collections::HashMap;
use std::path::Path;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Tensor};
use espalier_checkpoints::model_file;
use espalier_core::model::DualEncoder;
use espalier_io::disk::run_folder::AVERAGE;
use espalier_io::exit::usage;

use super::optimise::with_stable_ids;

/// A model whose weights are the average of those that a run had.
pub(super) struct Average {
    model: DualEncoder,
    decay: f64,
}

impl Average {
    /// Starts with the weights of a model.
    pub(super) fn new(model: &DualEncoder, decay: f64) -> Self {
        Self {
            model: model.clone().valid(),
            decay,
        }
    }

    /// Reads the average of a checkpoint.
    ///
    /// # Errors
    /// Bad usage if the checkpoint has none.
    pub(super) fn read(checkpoint: &Path, decay: f64, device: &Device) -> anyhow::Result<Self> {
        let file = checkpoint.join(AVERAGE);
        if !file.is_file() {
            return Err(usage(format!(
                "{}: expected the average of the weights (optim.ema = {decay}), found no such file; \
                 start a new run from these weights with --init",
                file.display()
            )));
        }
        Ok(Self {
            model: with_stable_ids(model_file::open(&file, device)?.encoder),
            decay,
        })
    }

    /// Moves towards the weights after `step` completed steps. Statistics of norms are those of the
    /// model.
    pub(super) fn update(&mut self, model: &DualEncoder, step: u64) {
        let decay = self.decay.min((1 + step) as f64 / (10 + step) as f64);
        let mut averages = Averages::default();
        self.model.visit(&mut averages);
        let mut towards = Towards {
            averages: averages.0,
            share: 1.0 - decay,
        };
        self.model = model.clone().valid().map(&mut towards);
    }

    pub(super) fn model(&self) -> &DualEncoder {
        &self.model
    }
}

/// The weights of a model, flat, by parameter.
#[derive(Default)]
struct Averages(HashMap<ParamId, Tensor<1>>);

impl ModuleVisitor for Averages {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let values = param.val();
        let count: usize = values.dims().iter().product();
        self.0.insert(param.id, values.reshape([count]));
    }
}

/// Replaces new weights by averages that have moved towards them.
struct Towards {
    averages: HashMap<ParamId, Tensor<1>>,
    share: f64,
}

impl ModuleMapper for Towards {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, weights, mapper) = param.consume();
        let Some(average) = self.averages.remove(&id) else {
            return Param::from_mapped_value(id, weights, mapper);
        };
        let average = average.reshape(weights.dims());
        // Equal weights stay equal to the bit.
        let moved = average.clone() + (weights - average) * self.share;
        Param::from_mapped_value(id, moved, mapper)
    }
}
