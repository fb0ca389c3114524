//! What the ranks of a run exchange in a step: features, gradients, statistics and the values of the
//! report.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use espalier_core::model::VisionBackbone;
use espalier_core::nn::{BatchNorm, BatchStatistics};
use espalier_io::ranks::{Collective, share};

/// Reads a tensor back from its device.
fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// Returns the features of all ranks. Each rank gives its [`share`] of each of several batches, one
/// after the other; the result has the batches one after the other, each with all its rows.
///
/// # Shapes
/// `totals`: rows of the batches; `own [rows of this rank, d] -> [sum of totals, d]`
pub(super) fn all_rows(ranks: &dyn Collective, own: Tensor<2>, totals: &[usize]) -> Tensor<2> {
    let world = ranks.world();
    if world == 1 {
        return own;
    }
    let [_, width] = own.dims();
    let device = own.device();
    let rows = |rank: usize| totals.iter().map(move |total| share(*total, rank, world).1);
    let counts: Vec<usize> = (0..world).map(|r| rows(r).sum::<usize>() * width).collect();
    let gathered = ranks.all_gather(&values(own), &counts);
    let mut next = 0;
    let mut batches = vec![Vec::new(); totals.len()];
    for rank in 0..world {
        for (batch, rows) in batches.iter_mut().zip(rows(rank)) {
            batch.extend_from_slice(&gathered[next..next + rows * width]);
            next += rows * width;
        }
    }
    let shape = [totals.iter().sum(), width];
    Tensor::from_data(TensorData::new(batches.concat(), shape), &device)
}

/// Returns the sum of the gradients of all ranks, in one exchange for all parameters. A parameter
/// has a gradient where any rank has one.
pub(super) fn summed_gradients<M: Module>(
    ranks: &dyn Collective,
    module: &M,
    grads: GradientsParams,
) -> GradientsParams {
    struct Flatten {
        grads: GradientsParams,
        parts: Vec<Tensor<1>>,
        present: Vec<f32>,
    }
    impl ModuleVisitor for Flatten {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let weights = param.val();
            if !weights.is_require_grad() {
                return;
            }
            let count = weights.shape().num_elements();
            let found = self.grads.remove::<D>(param.id);
            self.present.push(f32::from(u8::from(found.is_some())));
            self.parts.push(match found {
                Some(gradient) => gradient.reshape([count]),
                // Unlike 0, which changes the sign of -0.
                None => Tensor::full([count], -0.0, &weights.device().inner()),
            });
        }
    }
    struct Split {
        all: Tensor<1>,
        next: usize,
        present: std::vec::IntoIter<f32>,
        grads: GradientsParams,
    }
    impl ModuleVisitor for Split {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let weights = param.val();
            if !weights.is_require_grad() {
                return;
            }
            let shape = weights.dims();
            let count = weights.shape().num_elements();
            if self.present.next().unwrap_or_default() > 0.0 {
                let gradient = self.all.clone().narrow(0, self.next, count);
                self.grads.register(param.id, gradient.reshape(shape));
            }
            self.next += count;
        }
    }
    if ranks.world() == 1 {
        return grads;
    }
    let mut flatten = Flatten {
        grads,
        parts: Vec::new(),
        present: Vec::new(),
    };
    module.visit(&mut flatten);
    let Some(device) = flatten.parts.first().map(Tensor::device) else {
        return flatten.grads;
    };
    let mut bucket = values(Tensor::cat(flatten.parts, 0));
    let count = bucket.len();
    bucket.extend(flatten.present);
    ranks.all_reduce_sum(&mut bucket);
    let present = bucket.split_off(count);
    let mut split = Split {
        all: Tensor::from_data(TensorData::new(bucket, [count]), &device),
        next: 0,
        present: present.into_iter(),
        grads: GradientsParams::new(),
    };
    module.visit(&mut split);
    split.grads
}

/// Gives every rank the values of rank 0. The losses of other ranks can differ from it in their last
/// bits where a device adds in any order.
pub(super) fn values_of_root(ranks: &dyn Collective, values: &mut [(String, f64)]) {
    if ranks.world() == 1 {
        return;
    }
    let bytes = values.iter().flat_map(|(_, value)| value.to_le_bytes());
    let bytes = ranks.broadcast(bytes.collect());
    for ((_, value), bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = f64::from_le_bytes(*bytes);
    }
}

/// Gives every rank the batch statistics that all ranks recorded.
pub(super) fn all_statistics(ranks: &dyn Collective, encoder: &VisionBackbone) {
    if ranks.world() == 1 || encoder.batch_norms().next().is_none() {
        return;
    }
    let mut own = Vec::new();
    for norm in encoder.batch_norms() {
        let records = norm.take_statistics();
        own.extend((records.len() as u64).to_le_bytes());
        for record in records {
            own.extend((record.count as u64).to_le_bytes());
            let numbers = record.mean.iter().chain(&record.variance);
            own.extend(numbers.flat_map(|number| number.to_le_bytes()));
        }
    }
    for bytes in ranks.all_gather_bytes(&own) {
        let mut rest = bytes.as_slice();
        for norm in encoder.batch_norms() {
            norm.add_statistics(read_statistics(&mut rest, norm));
        }
    }
}

fn read_statistics(rest: &mut &[u8], norm: &BatchNorm) -> Vec<BatchStatistics> {
    fn number(rest: &mut &[u8]) -> usize {
        let bytes = rest.split_off(..8).unwrap_or_default();
        bytes.try_into().map_or(0, u64::from_le_bytes) as usize
    }
    fn numbers(rest: &mut &[u8], count: usize) -> Vec<f32> {
        let bytes = rest.split_off(..4 * count).unwrap_or_default();
        let numbers = bytes.as_chunks().0.iter();
        numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }
    let records = number(rest);
    let read = |_| BatchStatistics {
        count: number(rest),
        mean: numbers(rest, norm.channels()),
        variance: numbers(rest, norm.channels()),
    };
    (0..records).map(read).collect()
}

/// Returns a check sum of all weights, which differs where one bit differs.
pub(super) fn check_sum<M: Module>(module: &M) -> u32 {
    struct Sum(u32);
    impl ModuleVisitor for Sum {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let data = param.val().inner().into_data();
            let bytes: Vec<u8> = data.iter::<f32>().flat_map(f32::to_le_bytes).collect();
            self.0 = crc32c::crc32c_append(self.0, &bytes);
        }
    }
    let mut sum = Sum(0);
    module.visit(&mut sum);
    sum.0
}
