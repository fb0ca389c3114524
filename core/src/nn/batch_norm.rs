//! Batch normalisation (Ioffe and Szegedy 2015) with running statistics.
//!
//! Burn's own layer updates its running statistics during the forward pass. The trainer computes
//! parts of a batch on copies of the model, in separate threads, and those copies share that state.
//! Here a layer in training only records the statistics of its input. After the step
//! [`BatchNorm::with_merged_statistics`] combines the records of all parts, so the running statistics are those
//! of the whole batch and do not depend on the order of the threads.

use std::sync::{Arc, Mutex, PoisonError};

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor, TensorData};

use crate::ops;

/// Statistics of one forward pass in training.
#[derive(Clone, Debug)]
struct Record {
    /// Number of values per channel: batch times positions.
    count: usize,
    /// Mean of each channel, `[channels]`.
    mean: Tensor<1>,
    /// Population variance of each channel, `[channels]`.
    variance: Tensor<1>,
}

/// Statistics of one forward pass in training, as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchStatistics {
    /// Number of values per channel: batch times positions.
    pub count: usize,
    /// Mean of each channel.
    pub mean: Vec<f32>,
    /// Population variance of each channel.
    pub variance: Vec<f32>,
}

/// Records since the last step; copies of a model share them.
#[derive(Clone, Debug, Default)]
struct Records(Arc<Mutex<Vec<Record>>>);

impl Records {
    fn push(&self, record: Record) {
        // A thread that panics cannot leave an incomplete record, so the lock stays usable.
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.push(record);
    }

    fn take(&self) -> Vec<Record> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *records)
    }
}

/// `weight * (x - mean) / sqrt(variance + eps) + bias`, channel by channel.
#[derive(Module, Debug)]
pub struct BatchNorm {
    /// Gain, `[channels]`.
    pub weight: Param<Tensor<1>>,
    /// Offset, `[channels]`.
    pub bias: Param<Tensor<1>>,
    /// Running mean, `[channels]`; not learned.
    pub running_mean: Param<Tensor<1>>,
    /// Running variance, `[channels]`; not learned.
    pub running_var: Param<Tensor<1>>,
    #[module(skip)]
    eps: f64,
    #[module(skip)]
    momentum: f64,
    #[module(skip)]
    batch_statistics: bool,
    #[module(skip)]
    records: Records,
}

impl BatchNorm {
    /// Builds a norm of `channels` that starts as the identity (up to `eps`). With
    /// `batch_statistics` it normalises by the statistics of the batch in training; otherwise
    /// always by the running statistics.
    #[must_use]
    pub fn new(
        channels: usize,
        eps: f64,
        momentum: f64,
        batch_statistics: bool,
        device: &Device,
    ) -> Self {
        let running = |value: f32| {
            let tensor = Tensor::<1>::full([channels], value, device);
            Param::from_tensor(tensor).set_require_grad(false)
        };
        Self {
            weight: Initializer::Ones.init([channels], device),
            bias: Initializer::Zeros.init([channels], device),
            running_mean: running(0.0),
            running_var: running(1.0),
            eps,
            momentum,
            batch_statistics,
            records: Records::default(),
        }
    }

    /// Returns whether this layer is in training and normalises by the statistics of the batch: it
    /// is on an autodiff device and its gain is not locked.
    #[must_use]
    pub fn uses_batch_statistics(&self) -> bool {
        let gain = self.weight.val();
        self.batch_statistics && gain.device().is_autodiff() && gain.is_require_grad()
    }

    /// Normalises by the statistics of `x`, and records them; then, if wanted, applies ReLU6.
    ///
    /// # Shapes
    /// `[batch, channels, h, w] -> [batch, channels, h, w]`
    pub fn forward_batch(&self, x: Tensor<4>, then_relu6: bool) -> Tensor<4> {
        let [batch, _, h, w] = x.dims();
        let normed = ops::batch_norm(
            x,
            [self.weight.val(), self.bias.val()],
            self.eps,
            then_relu6,
        );
        self.records.push(Record {
            count: batch * h * w,
            mean: normed.mean,
            variance: normed.variance,
        });
        normed.output
    }

    /// Returns the norm with its running statistics as `scale * x + shift`; both `[channels]`.
    #[must_use]
    pub fn scale_and_shift(&self) -> (Tensor<1>, Tensor<1>) {
        let scale = self.weight.val() / (self.running_var.val() + self.eps).sqrt();
        let shift = self.bias.val() - self.running_mean.val() * scale.clone();
        (scale, shift)
    }

    /// Discards the statistics recorded since the last step.
    pub fn discard_statistics(&self) {
        self.records.take();
    }

    /// Takes the statistics recorded since the last step, for a process that exchanges them with
    /// others; records that the device does not return are left out. It reads from the device
    /// synchronously.
    #[must_use]
    pub fn take_statistics(&self) -> Vec<BatchStatistics> {
        self.records.take().iter().filter_map(numbers).collect()
    }

    /// Adds statistics as if they had been recorded here.
    pub fn add_statistics(&self, statistics: Vec<BatchStatistics>) {
        let device = self.running_mean.val().device().inner();
        let tensor = |values: Vec<f32>| {
            let shape = [values.len()];
            Tensor::from_data(TensorData::new(values, shape), &device)
        };
        for one in statistics {
            self.records.push(Record {
                count: one.count,
                mean: tensor(one.mean),
                variance: tensor(one.variance),
            });
        }
    }

    /// Returns the number of channels.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.running_mean.val().dims()[0]
    }

    /// Returns the layer with the statistics recorded since the last step merged into its running
    /// statistics: `running = (1 - momentum) running + momentum batch`, with the unbiased variance,
    /// as PyTorch does. It reads from the device synchronously, which a browser's GPU does not
    /// support.
    #[must_use]
    pub fn with_merged_statistics(mut self) -> Self {
        let Some((mean, variance)) = joined(self.take_statistics()) else {
            return self;
        };
        let momentum = self.momentum;
        let update = |param: Param<Tensor<1>>, found: Vec<f32>| {
            param.map(|running| {
                let device = running.device().inner();
                let found = TensorData::new(found, running.dims());
                let found = Tensor::<1>::from_data(found, &device);
                let mixed = running.clone().inner() * (1.0 - momentum) + found * momentum;
                let mixed = if running.device().is_autodiff() {
                    mixed.autodiff()
                } else {
                    mixed
                };
                mixed.set_require_grad(false)
            })
        };
        self.running_mean = update(self.running_mean, mean);
        self.running_var = update(self.running_var, variance);
        self
    }
}

/// Reads a record from its device; `None` if the device does not return the values.
fn numbers(record: &Record) -> Option<BatchStatistics> {
    let read = |tensor: &Tensor<1>| {
        let data = tensor.clone().into_data().convert::<f32>();
        data.try_into_vec::<f32>().ok()
    };
    Some(BatchStatistics {
        count: record.count,
        mean: read(&record.mean)?,
        variance: read(&record.variance)?,
    })
}

/// Returns the mean and the unbiased variance over all statistics; `None` if there are none.
fn joined(mut parts: Vec<BatchStatistics>) -> Option<(Vec<f32>, Vec<f32>)> {
    // Threads finish in any order; sorting makes the sums independent of it.
    parts.sort_by(|a, b| {
        let differ = a.mean.iter().zip(&b.mean).map(|(x, y)| x.total_cmp(y));
        differ
            .reduce(std::cmp::Ordering::then)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let channels = parts.first()?.mean.len();
    let sum = |of: &dyn Fn(&BatchStatistics) -> f64| -> f64 {
        let each = parts.iter().map(|part| part.count as f64 * of(part));
        each.sum()
    };
    let total = sum(&|_| 1.0);
    let over = |channel: usize| {
        let mean = sum(&|part| f64::from(part.mean[channel])) / total;
        let squares = sum(&|part| {
            let off = f64::from(part.mean[channel]) - mean;
            f64::from(part.variance[channel]) + off * off
        });
        (mean as f32, (squares / (total - 1.0).max(1.0)) as f32)
    };
    Some((0..channels).map(over).unzip())
}
