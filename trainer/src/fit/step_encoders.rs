//! Computes both encoders over a batch in micro-batches, each with its own autodiff graph.
//!
//! The features of the whole batch are leaves of the loss's graph. The gradients of these features
//! are then backpropagated for one micro-batch at a time. Micro-batches run in parallel, one per
//! thread. With several passes (gradient accumulation) the features are first computed without a
//! graph, and each pass recomputes its own with a graph, so that the activations of only one pass
//! exist at a time (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory
//! Limited Setup"). In both cases the result is the gradient of the whole batch.

use std::cell::{OnceCell, RefCell};
use std::panic::resume_unwind;
use std::thread;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{FloatDType, GradientCheckpointingStrategy, Gradients, Int, Tensor};
use espalier_core::model::{DualEncoder, Tokens};

use super::inputs::ImageTensor;
use crate::config::Precision;
use crate::config::Trainable;

/// How a batch is split into micro-batches for the encoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroBatching {
    /// Number of threads, at least 1, that share the rows of a pass.
    pub threads: usize,
    /// Number of sequential passes (accumulation steps), at least 1.
    pub passes: usize,
    /// Precision of the computation.
    pub precision: Precision,
    /// Whether the backward pass recomputes the activations of a micro-batch.
    pub checkpointing: bool,
}

/// Input of an encoder, without a graph.
#[derive(Clone)]
enum Input {
    Images(Tensor<4>, Option<Tensor<1, Int>>),
    /// Pooled features of a locked encoder, `[n, d_model]`.
    Pooled(Tensor<2>),
    Texts(Tokens),
}

impl Input {
    fn rows(&self) -> usize {
        match self {
            Self::Images(images, _) => images.dims()[0],
            Self::Pooled(pooled) => pooled.dims()[0],
            Self::Texts(tokens) => tokens.rows(),
        }
    }

    fn narrow(&self, from: usize, count: usize) -> Self {
        match self {
            Self::Images(images, keep) => {
                Self::Images(images.clone().narrow(0, from, count), keep.clone())
            }
            Self::Pooled(pooled) => Self::Pooled(pooled.clone().narrow(0, from, count)),
            Self::Texts(tokens) => Self::Texts(tokens.narrow(from, count)),
        }
    }

    fn features(self, model: &DualEncoder, precision: Precision) -> Tensor<2> {
        let features = match self {
            Self::Images(images, keep) => {
                let images = cast_input(images, precision);
                model.image.forward_tokens(images, keep)
            }
            Self::Pooled(pooled) => model.image.project(cast_input(pooled, precision)),
            Self::Texts(tokens) => model.text.forward(&tokens),
        };
        match precision {
            Precision::Fp32 => features,
            Precision::Bf16 => features.cast(FloatDType::F32),
        }
    }
}

/// Casts the input of an encoder to the type that it computes in.
fn cast_input<const D: usize>(input: Tensor<D>, precision: Precision) -> Tensor<D> {
    match precision {
        Precision::Fp32 => input,
        Precision::Bf16 => input.cast(FloatDType::BF16),
    }
}

/// One use of an encoder in a step.
struct Call {
    input: Input,
    /// Features, a leaf of the loss's graph.
    leaf: Tensor<2>,
    /// The same features as micro-batches with their graphs, one per thread, `None` where a thread
    /// had no rows; empty where they are recomputed.
    micro_batches: Vec<Option<Tensor<2>>>,
}

/// Returns the start and number of rows of micro-batch `index` of `count`; the sizes differ by at
/// most one.
fn micro_batch_range(rows: usize, index: usize, count: usize) -> (usize, usize) {
    let from = rows * index / count;
    (from, rows * (index + 1) / count - from)
}

/// The encoders of one training step.
pub struct StepEncoders<'a> {
    model: &'a DualEncoder,
    trainable: Trainable,
    batching: MicroBatching,
    /// One copy of the model per thread; without a graph where there are several passes.
    forks: Vec<DualEncoder>,
    /// The same copies without a graph, for a locked image encoder.
    locked: OnceCell<Vec<DualEncoder>>,
    calls: RefCell<Vec<Call>>,
}

impl<'a> StepEncoders<'a> {
    /// Creates the encoders of a model in training.
    #[must_use]
    pub fn new(model: &'a DualEncoder, trainable: Trainable, batching: MicroBatching) -> Self {
        let new_fork = || {
            let fork = fork(model, batching);
            if batching.passes > 1 {
                fork.valid()
            } else {
                fork
            }
        };
        Self {
            model,
            trainable,
            batching,
            forks: (0..batching.threads).map(|_| new_fork()).collect(),
            locked: OnceCell::new(),
            calls: RefCell::new(Vec::new()),
        }
    }

    /// Returns the features of images.
    ///
    /// # Shapes
    /// `[n, 3, s, s]` or pooled features `[n, d_model] -> [n, d_embed]`; `keep [k]` as in
    /// [`forward_tokens`](espalier_core::model::VisionBackbone::forward_tokens)
    pub fn images(&self, images: ImageTensor, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        let keep = keep.map(Tensor::inner);
        match images {
            ImageTensor::Features(pooled) => self.call(Input::Pooled(pooled.inner())),
            ImageTensor::Pictures(images) if self.trainable.image => {
                self.call(Input::Images(images.inner(), keep))
            }
            ImageTensor::Pictures(images) => {
                let pooled = self.pooled(images.inner(), keep);
                self.call(Input::Pooled(pooled))
            }
        }
    }

    /// Returns the pooled features by the locked encoder in evaluation mode: no part of it is
    /// trained or changes.
    fn pooled(&self, images: Tensor<4>, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        let precision = self.batching.precision;
        let locked = self.locked.get_or_init(|| {
            let new_fork = |_| fork(self.model, self.batching).valid();
            (0..self.batching.threads).map(new_fork).collect()
        });
        let rows = images.dims()[0];
        let mut micro_batches = Vec::new();
        for pass in 0..self.batching.passes {
            let (first, all) = (
                pass * self.batching.threads,
                self.batching.passes * self.batching.threads,
            );
            micro_batches.extend(on_threads(locked, |thread, model| {
                let (from, count) = micro_batch_range(rows, first + thread, all);
                let micro_batch = (count > 0).then(|| images.clone().narrow(0, from, count))?;
                let micro_batch = cast_input(micro_batch, precision);
                let pooled = model.image.pooled_tokens(micro_batch, keep.clone());
                Some(pooled.cast(FloatDType::F32))
            }));
        }
        Tensor::cat(micro_batches.into_iter().flatten().collect(), 0)
    }

    /// Returns the features of texts.
    ///
    /// # Shapes
    /// `[n]` texts `-> [n, d_embed]`
    pub fn texts(&self, tokens: &Tokens) -> Tensor<2> {
        self.call(Input::Texts(tokens.clone().inner()))
    }

    fn call(&self, input: Input) -> Tensor<2> {
        let rows = input.rows();
        let (passes, precision) = (self.batching.passes, self.batching.precision);
        let mut micro_batches = Vec::new();
        for pass in 0..passes {
            let (first, all) = (pass * self.batching.threads, passes * self.batching.threads);
            micro_batches.extend(on_threads(&self.forks, |thread, fork| {
                let (from, count) = micro_batch_range(rows, first + thread, all);
                let micro_batch = (count > 0).then(|| input.narrow(from, count))?;
                Some(micro_batch.features(fork, precision))
            }));
        }
        let features = micro_batches.iter().flatten();
        let features = features.map(|micro_batch: &Tensor<2>| micro_batch.clone().inner());
        let leaf = Tensor::cat(features.collect(), 0).autodiff();
        let learnable = match input {
            Input::Images(..) => self.trainable.image || self.trainable.projection,
            Input::Pooled(_) => self.trainable.projection,
            Input::Texts(_) => self.trainable.text,
        };
        if !learnable {
            return leaf;
        }
        let leaf = leaf.require_grad();
        if passes > 1 {
            micro_batches.clear();
        }
        self.calls.borrow_mut().push(Call {
            input,
            leaf: leaf.clone(),
            micro_batches,
        });
        leaf
    }

    /// Returns the gradient of all parameters, from the gradient of the loss's graph.
    #[must_use]
    pub fn gradient(self, loss_gradients: Gradients) -> GradientsParams {
        let with_grad = |call: Call| call.leaf.grad(&loss_gradients).map(|grad| (call, grad));
        let calls: Vec<_> = self
            .calls
            .take()
            .into_iter()
            .filter_map(with_grad)
            .collect();
        let mut sum = GradientsAccumulator::new();
        sum.accumulate(
            self.model,
            GradientsParams::from_grads(loss_gradients, self.model),
        );
        let (model, batching) = (self.model, self.batching);
        for pass in 0..batching.passes {
            let parts = on_threads(&self.forks, |thread, existing| {
                let fork = if batching.passes > 1 {
                    fork(model, batching)
                } else {
                    existing.clone()
                };
                let micro_batch = (
                    pass * batching.threads + thread,
                    batching.threads * batching.passes,
                );
                let scalars = calls.iter().filter_map(|(call, grad)| {
                    call.scalar(grad, micro_batch, &fork, batching.precision)
                });
                let total = scalars.reduce(|a, b| a + b)?;
                let grads = GradientsParams::from_grads(total.backward(), &fork);
                Some(to_f32(grads, &fork, batching.precision))
            });
            for grads in parts.into_iter().flatten() {
                sum.accumulate(model, grads);
            }
        }
        sum.grads()
    }
}

impl Call {
    /// Returns a scalar whose gradient is that of the loss through micro-batch `index` of `total`;
    /// `None` for a micro-batch without rows.
    fn scalar(
        &self,
        grad: &Tensor<2>,
        (index, total): (usize, usize),
        fork: &DualEncoder,
        precision: Precision,
    ) -> Option<Tensor<1>> {
        let (from, count) = micro_batch_range(self.input.rows(), index, total);
        if count == 0 {
            return None;
        }
        let recompute = || self.input.narrow(from, count).features(fork, precision);
        let features = self
            .micro_batches
            .get(index)
            .cloned()
            .flatten()
            .unwrap_or_else(recompute);
        Some((features * grad.clone().narrow(0, from, count)).sum())
    }
}

/// Runs the work on each copy of the model in its own thread; returns the results in order.
fn on_threads<T: Send>(
    forks: &[DualEncoder],
    work: impl Fn(usize, &DualEncoder) -> T + Sync,
) -> Vec<T> {
    if let [single] = forks {
        return vec![work(0, single)];
    }
    thread::scope(|scope| {
        let work = &work;
        let spawn = |(at, fork)| scope.spawn(move || work(at, fork));
        let running: Vec<_> = forks.iter().enumerate().map(spawn).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, T>| {
            handle.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        running.into_iter().map(join).collect()
    })
}

/// Copies a model; the parameters of the copy are leaves of their own graph.
fn fork(model: &DualEncoder, batching: MicroBatching) -> DualEncoder {
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
fn to_f32(grads: GradientsParams, module: &DualEncoder, precision: Precision) -> GradientsParams {
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
