//! Copies of the model on which threads compute parts of a step.

use std::panic::resume_unwind;
use std::thread;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{FloatDType, GradientCheckpointingStrategy, Tensor};
use espalier_core::model::DualEncoder;
use rayon::ThreadPoolBuilder;

use super::micro_batch::MicroBatching;
use crate::config::Precision;

/// Runs the work on each copy of the model in its own thread; returns the results in order.
///
/// Each has a thread pool of its own, with an equal share of the threads: what a core computed is then in its own cache when
/// the next operation reads it, and no operation waits for those of another copy.
pub(super) fn on_threads<T: Send>(
    forks: &[DualEncoder],
    work: impl Fn(usize, &DualEncoder) -> T + Sync,
) -> Vec<T> {
    if let [single] = forks {
        return vec![work(0, single)];
    }
    thread::scope(|scope| {
        let work = &work;
        let share = (rayon::current_num_threads() / forks.len()).max(1);
        let spawn = |(at, fork)| {
            scope.spawn(
                move || match ThreadPoolBuilder::new().num_threads(share).build() {
                    Ok(pool) => pool.install(|| work(at, fork)),
                    // The threads that all copies share.
                    Err(_) => work(at, fork),
                },
            )
        };
        let running: Vec<_> = forks.iter().enumerate().map(spawn).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, T>| {
            handle.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        running.into_iter().map(join).collect()
    })
}

/// Copies a model; the parameters of the copy are leaves of their own graph.
pub(super) fn fork(model: &DualEncoder, batching: MicroBatching) -> DualEncoder {
    struct Leaves(MicroBatching);
    impl ModuleMapper for Leaves {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let (id, tensor, mapper) = param.consume();
            let learnable = tensor.is_require_grad();
            let values = match self.0.precision {
                Precision::Fp32 => tensor.inner(),
                Precision::Bf16 => tensor.inner().cast(FloatDType::BF16),
            };
            let strategy = if self.0.checkpointing {
                GradientCheckpointingStrategy::Balanced
            } else {
                GradientCheckpointingStrategy::Disabled
            };
            let leaf = values.autodiff();
            let leaf = leaf.with_gradient_checkpointing_strategy(strategy);
            Param::from_mapped_value(id, leaf.set_require_grad(learnable), mapper)
        }
    }
    model.clone().map(&mut Leaves(batching))
}

/// Casts gradients to the type of the weights that they update.
pub(super) fn to_f32(
    grads: GradientsParams,
    module: &DualEncoder,
    precision: Precision,
) -> GradientsParams {
    struct Widen(GradientsParams);
    impl ModuleVisitor for Widen {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(grad) = self.0.remove::<D>(param.id) {
                self.0.register(param.id, grad.cast(FloatDType::F32));
            }
        }
    }
    if precision == Precision::Fp32 {
        return grads;
    }
    let mut widen = Widen(grads);
    module.visit(&mut widen);
    widen.0
}
