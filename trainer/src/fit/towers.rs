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
                let images = narrowed(images, precision);
                model.image.forward_tokens(images, keep)
            }
            Self::Pooled(pooled) => model.image.project(narrowed(pooled, precision)),
            Self::Texts(tokens) => model.text.forward(&tokens),
        };
        match precision {
            Precision::Fp32 => features,
            Precision::Bf16 => features.cast(FloatDType::F32),
        }
    }
}

/// Casts the input of an encoder to the type that it computes in.
fn narrowed<const D: usize>(input: Tensor<D>, precision: Precision) -> Tensor<D> {
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
    pieces: Vec<Option<Tensor<2>>>,
}

/// Start and number of rows of micro-batch `at` of `of`; the sizes differ by at most one.
fn share(rows: usize, at: usize, of: usize) -> (usize, usize) {
    let from = rows * at / of;
    (from, rows * (at + 1) / of - from)
}

/// The encoders of one training step.
pub struct Towers<'a> {
    model: &'a DualEncoder,
    trains: Trainable,
    how: MicroBatching,
    /// One copy of the model per thread; without a graph where there are several passes.
    forks: Vec<DualEncoder>,
    /// The same copies without a graph, for a locked image encoder.
    locked: OnceCell<Vec<DualEncoder>>,
    calls: RefCell<Vec<Call>>,
}

impl<'a> Towers<'a> {
    /// Creates the encoders of a model in training.
    #[must_use]
    pub fn new(model: &'a DualEncoder, trains: Trainable, how: MicroBatching) -> Self {
        let one = || {
            let fork = fork(model, how);
            if how.passes > 1 { fork.valid() } else { fork }
        };
        Self {
            model,
            trains,
            how,
            forks: (0..how.threads).map(|_| one()).collect(),
            locked: OnceCell::new(),
            calls: RefCell::new(Vec::new()),
        }
    }

    /// Features of images.
    ///
    /// # Shapes
    /// `[n, 3, s, s]` or pooled features `[n, d_model] -> [n, d_embed]`; `keep [k]` as in
    /// [`forward_tokens`](espalier_core::model::VisionTower::forward_tokens)
    pub fn images(&self, images: ImageTensor, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        let keep = keep.map(Tensor::inner);
        match images {
            ImageTensor::Features(pooled) => self.call(Input::Pooled(pooled.inner())),
            ImageTensor::Pictures(images) if self.trains.image => {
                self.call(Input::Images(images.inner(), keep))
            }
            ImageTensor::Pictures(images) => {
                let pooled = self.pooled(images.inner(), keep);
                self.call(Input::Pooled(pooled))
            }
        }
    }

    /// Pooled features by the locked encoder in evaluation mode: nothing in it is trained or
    /// changes.
    fn pooled(&self, images: Tensor<4>, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        let precision = self.how.precision;
        let locked = self.locked.get_or_init(|| {
            let one = |_| fork(self.model, self.how).valid();
            (0..self.how.threads).map(one).collect()
        });
        let rows = images.dims()[0];
        let mut pieces = Vec::new();
        for pass in 0..self.how.passes {
            let (first, all) = (pass * self.how.threads, self.how.passes * self.how.threads);
            pieces.extend(on_threads(locked, |thread, model| {
                let (from, count) = share(rows, first + thread, all);
                let piece = (count > 0).then(|| images.clone().narrow(0, from, count))?;
                let piece = narrowed(piece, precision);
                let pooled = model.image.pooled_tokens(piece, keep.clone());
                Some(pooled.cast(FloatDType::F32))
            }));
        }
        Tensor::cat(pieces.into_iter().flatten().collect(), 0)
    }

    /// Features of texts.
    ///
    /// # Shapes
    /// `[n]` texts `-> [n, d_embed]`
    pub fn texts(&self, tokens: &Tokens) -> Tensor<2> {
        self.call(Input::Texts(tokens.clone().inner()))
    }

    fn call(&self, input: Input) -> Tensor<2> {
        let rows = input.rows();
        let (passes, precision) = (self.how.passes, self.how.precision);
        let mut pieces = Vec::new();
        for pass in 0..passes {
            let (first, all) = (pass * self.how.threads, passes * self.how.threads);
            pieces.extend(on_threads(&self.forks, |thread, fork| {
                let (from, count) = share(rows, first + thread, all);
                let piece = (count > 0).then(|| input.narrow(from, count))?;
                Some(piece.features(fork, precision))
            }));
        }
        let features = pieces.iter().flatten();
        let features = features.map(|piece: &Tensor<2>| piece.clone().inner());
        let leaf = Tensor::cat(features.collect(), 0).autodiff();
        let learns = match input {
            Input::Images(..) => self.trains.image || self.trains.projection,
            Input::Pooled(_) => self.trains.projection,
            Input::Texts(_) => self.trains.text,
        };
        if !learns {
            return leaf;
        }
        let leaf = leaf.require_grad();
        if passes > 1 {
            pieces.clear();
        }
        self.calls.borrow_mut().push(Call {
            input,
            leaf: leaf.clone(),
            pieces,
        });
        leaf
    }

    /// Returns the gradient of all parameters, from the gradient of the loss's graph.
    #[must_use]
    pub fn gradient(self, of_loss: Gradients) -> GradientsParams {
        let with_grad = |call: Call| call.leaf.grad(&of_loss).map(|grad| (call, grad));
        let calls: Vec<_> = self
            .calls
            .take()
            .into_iter()
            .filter_map(with_grad)
            .collect();
        let mut sum = GradientsAccumulator::new();
        sum.accumulate(self.model, GradientsParams::from_grads(of_loss, self.model));
        let (model, how) = (self.model, self.how);
        for pass in 0..how.passes {
            let parts = on_threads(&self.forks, |thread, kept| {
                let fork = if how.passes > 1 {
                    fork(model, how)
                } else {
                    kept.clone()
                };
                let piece = (pass * how.threads + thread, how.threads * how.passes);
                let back = calls
                    .iter()
                    .filter_map(|(call, grad)| call.back(grad, piece, &fork, how.precision));
                let total = back.reduce(|a, b| a + b)?;
                let grads = GradientsParams::from_grads(total.backward(), &fork);
                Some(in_f32(grads, &fork, how.precision))
            });
            for grads in parts.into_iter().flatten() {
                sum.accumulate(model, grads);
            }
        }
        sum.grads()
    }
}

impl Call {
    /// Returns a scalar whose gradient is that of the loss through micro-batch `at` of `of`; `None`
    /// for a micro-batch without rows.
    fn back(
        &self,
        grad: &Tensor<2>,
        (at, of): (usize, usize),
        fork: &DualEncoder,
        precision: Precision,
    ) -> Option<Tensor<1>> {
        let (from, count) = share(self.input.rows(), at, of);
        if count == 0 {
            return None;
        }
        let again = || self.input.narrow(from, count).features(fork, precision);
        let features = self.pieces.get(at).cloned().flatten().unwrap_or_else(again);
        Some((features * grad.clone().narrow(0, from, count)).sum())
    }
}

/// Runs the work on each copy of the model in its own thread; returns the results in order.
fn on_threads<T: Send>(
    forks: &[DualEncoder],
    work: impl Fn(usize, &DualEncoder) -> T + Sync,
) -> Vec<T> {
    if let [one] = forks {
        return vec![work(0, one)];
    }
    thread::scope(|scope| {
        let work = &work;
        let spawn = |(at, fork)| scope.spawn(move || work(at, fork));
        let running: Vec<_> = forks.iter().enumerate().map(spawn).collect();
        let join = |one: thread::ScopedJoinHandle<'_, T>| {
            one.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        running.into_iter().map(join).collect()
    })
}

/// Copies a model; the parameters of the copy are leaves of their own graph.
fn fork(model: &DualEncoder, how: MicroBatching) -> DualEncoder {
    struct Leaves(MicroBatching);
    impl ModuleMapper for Leaves {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let (id, tensor, mapper) = param.consume();
            let learns = tensor.is_require_grad();
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
            Param::from_mapped_value(id, leaf.set_require_grad(learns), mapper)
        }
    }
    model.clone().map(&mut Leaves(how))
}

/// Casts gradients to the type of the weights that they update.
fn in_f32(grads: GradientsParams, module: &DualEncoder, precision: Precision) -> GradientsParams {
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
