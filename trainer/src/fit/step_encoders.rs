//! Computes both encoders over a batch in micro-batches, each with its own autodiff graph.
//!
//! The features of the whole batch are leaves of the loss's graph. The gradients of these features
//! are then backpropagated for one micro-batch at a time. Micro-batches run in parallel, one per
//! thread. With several passes (gradient accumulation) the features are first computed without a
//! graph, and each pass recomputes its own with a graph, so that the activations of only one pass
//! exist at a time (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory
//! Limited Setup"). In both cases the result is the gradient of the whole batch.
//!
//! Several ranks split the micro-batches of a step further: each encodes its own rows, the features
//! of all rows are exchanged, every rank computes the whole loss, and the gradients of the ranks are
//! added.

use std::cell::{OnceCell, RefCell};

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{FloatDType, Gradients, Int, Tensor, TensorData};
use espalier_core::model::{DualEncoder, TextEncoder, Tokens};
use espalier_io::ranks::{Collective, share};

use super::exchange::{all_rows, summed_gradients};
use super::forks::{fork, on_threads, to_f32};
use super::inputs::ImageTensor;
use super::micro_batch::{Input, MicroBatch, MicroBatching, cast_input};
use super::rows::Rows;
use super::text_features::TextFeatures;
use crate::config::{Precision, Trainable};

/// One use of an encoder in a step.
struct Call {
    input: Input,
    /// Features of all batches, one after the other; a leaf of the loss's graph.
    leaf: Tensor<2>,
    /// The features of this rank's micro-batches with their graphs, `None` for one without rows;
    /// empty where they are recomputed.
    micro_batches: Vec<Option<Tensor<2>>>,
}

/// The encoders of one training step.
pub struct StepEncoders<'a> {
    model: &'a DualEncoder,
    trainable: Trainable,
    batching: MicroBatching,
    ranks: &'a dyn Collective,
    /// One copy of the model per thread; without a graph where there are several passes.
    forks: Vec<DualEncoder>,
    /// The same copies without a graph, for a locked image encoder.
    locked: OnceCell<Vec<DualEncoder>>,
    /// The layers of the text encoder before its projection, where they are not trained.
    text_layers: Option<&'a TextFeatures>,
    calls: RefCell<Vec<Call>>,
}

impl<'a> StepEncoders<'a> {
    /// Creates the encoders of a model in training. `text_layers` give the features of texts before the
    /// projection, where the layers before it are not trained.
    pub fn new(
        model: &'a DualEncoder,
        trainable: Trainable,
        batching: MicroBatching,
        text_layers: Option<&'a TextFeatures>,
        ranks: &'a dyn Collective,
    ) -> Self {
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
            ranks,
            forks: (0..batching.threads).map(|_| new_fork()).collect(),
            locked: OnceCell::new(),
            text_layers,
            calls: RefCell::new(Vec::new()),
        }
    }

    /// Returns the micro-batches of a pass, one for each thread.
    fn micro_batches(&self, pass: usize) -> Vec<MicroBatch> {
        let of_thread = |thread| self.micro_batch(thread, pass);
        (0..self.batching.threads).map(of_thread).collect()
    }

    /// Returns a micro-batch of this rank. Those of one thread follow each other.
    fn micro_batch(&self, thread: usize, pass: usize) -> MicroBatch {
        let MicroBatching {
            threads, passes, ..
        } = self.batching;
        MicroBatch {
            index: (self.ranks.rank() * threads + thread) * passes + pass,
            count: self.ranks.world() * threads * passes,
        }
    }

    /// Computes something for all micro-batches of this rank, one per thread at a time; returns the
    /// results in the order of the rows.
    fn on_micro_batches<T: Send>(
        &self,
        forks: &[DualEncoder],
        work: impl Fn(MicroBatch, &DualEncoder) -> T + Sync,
    ) -> Vec<T> {
        let mut results: Vec<Vec<T>> = forks.iter().map(|_| Vec::new()).collect();
        for pass in 0..self.batching.passes {
            let micro_batches = self.micro_batches(pass);
            let of_pass = on_threads(forks, |thread, fork| work(micro_batches[thread], fork));
            for (thread, result) in results.iter_mut().zip(of_pass) {
                thread.push(result);
            }
        }
        results.into_iter().flatten().collect()
    }

    /// Returns the features of batches of images that are encoded together, one batch after the
    /// other. Every micro-batch has a share of each batch.
    ///
    /// # Shapes
    /// `[n, 3, s, s]` or pooled features `[n, d_model] -> [n, d_embed]`; `keep [k]` as in
    /// [`forward_tokens`](espalier_core::model::VisionBackbone::forward_tokens)
    pub fn images(&self, batches: Vec<ImageTensor>, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        let keep = keep.map(Tensor::inner);
        let (mut images, mut pooled) = (Vec::new(), Vec::new());
        for batch in batches {
            match batch {
                ImageTensor::Features(features) => pooled.push(Rows::whole(features.inner())),
                ImageTensor::Pixels(rows) => images.push(rows.map(Tensor::inner)),
            }
        }
        if images.is_empty() {
            return self.call(Input::Pooled(pooled));
        }
        if self.trainable.image {
            return self.call(Input::Images(images, keep));
        }
        let pooled = images.iter().map(|rows| self.pooled(rows, keep.as_ref()));
        self.call(Input::Pooled(pooled.collect()))
    }

    /// Returns this rank's rows of the pooled features by the locked encoder in evaluation mode: no
    /// part of it is trained or changes.
    fn pooled(&self, images: &Rows<4>, keep: Option<&Tensor<1, Int>>) -> Rows<2> {
        let precision = self.batching.precision;
        let locked = self.locked.get_or_init(|| {
            let new_fork = |_| fork(self.model, self.batching).valid();
            (0..self.batching.threads).map(new_fork).collect()
        });
        let features = self.on_micro_batches(locked, |micro_batch, model| {
            let rows = cast_input(micro_batch.of(std::slice::from_ref(images))?, precision);
            let pooled = model.image.pooled_tokens(rows, keep.cloned());
            Some(pooled.cast(FloatDType::F32))
        });
        let [width, _] = self.model.image.visual_proj.weight.dims();
        let (first, _) = share(images.total, self.ranks.rank(), self.ranks.world());
        Rows {
            held: rows_of(features.into_iter().flatten(), width, &images.held),
            first,
            total: images.total,
        }
    }

    /// Returns the features of texts.
    ///
    /// # Shapes
    /// `[n]` texts `-> [n, d_embed]`
    pub fn texts(&self, tokens: &Tokens) -> Tensor<2> {
        let tokens = tokens.clone().inner();
        match self.text_layers {
            Some(layers) => {
                let features = Box::new(Rows::whole(layers.of(&tokens)));
                self.call(Input::PooledTexts(tokens, features))
            }
            None => self.call(Input::Texts(tokens)),
        }
    }

    /// Returns the texts that the step has encoded for training so far, with their features.
    pub(super) fn encoded_texts(&self) -> Vec<(Tokens, Tensor<2>)> {
        let calls = self.calls.borrow();
        let texts = calls.iter().filter_map(|call| match &call.input {
            Input::Texts(tokens) | Input::PooledTexts(tokens, _) => {
                Some((tokens.clone(), call.leaf.clone()))
            }
            Input::Images(..) | Input::Pooled(_) => None,
        });
        texts.collect()
    }

    /// Returns the features of texts by an encoder that is not trained, without a graph.
    ///
    /// # Shapes
    /// `[n]` texts `-> [n, d_embed]`
    pub fn frozen_texts(&self, encoder: &TextEncoder, tokens: &Tokens) -> Tensor<2> {
        let tokens = tokens.clone().inner();
        // Layers that are not trained are those of the encoder that the run started from.
        if let Some(layers) = self.text_layers {
            return encoder.project(layers.of(&tokens));
        }
        let features = self.on_micro_batches(&self.forks, |micro_batch, _| {
            Some(encoder.forward(&micro_batch.texts(&tokens)?))
        });
        let [_, width] = encoder.textual_proj.weight.dims();
        let weight = self.model.image.visual_proj.weight.val().inner();
        let own = rows_of(features.into_iter().flatten(), width, &weight);
        all_rows(self.ranks, own, &[tokens.rows()])
    }

    fn call(&self, input: Input) -> Tensor<2> {
        let precision = self.batching.precision;
        let mut micro_batches = self.on_micro_batches(&self.forks, |micro_batch, fork| {
            input.features(micro_batch, fork, precision)
        });
        let leaf = self.whole(&input.totals(), &micro_batches).autodiff();
        let learnable = match input {
            Input::Images(..) => self.trainable.image || self.trainable.projection,
            Input::Pooled(_) => self.trainable.projection,
            Input::Texts(_) | Input::PooledTexts(..) => self.trainable.text,
        };
        if !learnable {
            return leaf;
        }
        let leaf = leaf.require_grad();
        if self.batching.passes > 1 {
            micro_batches.clear();
        }
        self.calls.borrow_mut().push(Call {
            input,
            leaf: leaf.clone(),
            micro_batches,
        });
        leaf
    }

    /// Returns the features of all ranks without a graph, batch after batch, from those of this
    /// rank's micro-batches.
    fn whole(&self, totals: &[usize], micro_batches: &[Option<Tensor<2>>]) -> Tensor<2> {
        let weight = self.model.image.visual_proj.weight.val().inner();
        let [_, width] = weight.dims();
        let passes = self.batching.passes;
        let mut batches: Vec<Vec<Tensor<2>>> = vec![Vec::new(); totals.len()];
        for (at, features) in micro_batches.iter().enumerate() {
            let Some(features) = features else { continue };
            let features = features.clone().inner();
            let micro_batch = self.micro_batch(at / passes, at % passes);
            let mut next = 0;
            for (batch, total) in batches.iter_mut().zip(totals) {
                let (_, count) = micro_batch.rows(*total);
                if count > 0 {
                    batch.push(features.clone().narrow(0, next, count));
                }
                next += count;
            }
        }
        let own = rows_of(batches.concat(), width, &weight);
        all_rows(self.ranks, own, totals)
    }

    /// Returns the gradient of all parameters, from the gradient of the loss's graph; the same on
    /// all ranks.
    pub fn gradient(self, loss_gradients: Gradients) -> GradientsParams {
        let with_grad = |call: Call| call.leaf.grad(&loss_gradients).map(|grad| (call, grad));
        let calls = self.calls.take().into_iter();
        let calls: Vec<_> = calls.filter_map(with_grad).collect();
        let mut sum = GradientsAccumulator::new();
        // Every rank has computed the whole loss. Its own parameters, the learned scalars, count
        // once.
        if self.ranks.is_root() {
            let scalars = GradientsParams::from_grads(loss_gradients, self.model);
            sum.accumulate(self.model, scalars);
        }
        let (model, batching) = (self.model, self.batching);
        let first = self.micro_batch(0, 0).index;
        let mut threads: Vec<_> = self.forks.iter().map(|_| None).collect();
        for pass in 0..batching.passes {
            let micro_batches = self.micro_batches(pass);
            let parts = on_threads(&self.forks, |thread, existing| {
                let fork = if batching.passes > 1 {
                    fork(model, batching)
                } else {
                    existing.clone()
                };
                let micro_batch = micro_batches[thread];
                let scalars = calls.iter().filter_map(|(call, grad)| {
                    call.scalar(grad, micro_batch, first, &fork, batching.precision)
                });
                let total = scalars.reduce(|a, b| a + b)?;
                let grads = GradientsParams::from_grads(total.backward(), &fork);
                Some(to_f32(grads, &fork, batching.precision))
            });
            for (thread, grads) in threads.iter_mut().zip(parts) {
                if let Some(grads) = grads {
                    let sum = thread.get_or_insert_with(GradientsAccumulator::new);
                    sum.accumulate(model, grads);
                }
            }
        }
        // The passes of a thread are added first, then the threads, then the ranks: a rank with one
        // thread gives the same sum as a thread of a single process.
        for mut thread in threads.into_iter().flatten() {
            sum.accumulate(model, thread.grads());
        }
        summed_gradients(self.ranks, model, sum.grads())
    }
}

impl Call {
    /// Returns a scalar whose gradient is that of the loss through a micro-batch; `None` for a
    /// micro-batch without rows. `first` is the index of this rank's first micro-batch.
    fn scalar(
        &self,
        grad: &Tensor<2>,
        micro_batch: MicroBatch,
        first: usize,
        fork: &DualEncoder,
        precision: Precision,
    ) -> Option<Tensor<1>> {
        let stored = self.micro_batches.get(micro_batch.index - first);
        let features = match stored {
            Some(features) => features.clone(),
            None => self.input.features(micro_batch, fork, precision),
        };
        let features = features?;
        let mut start = 0;
        let mut rows = Vec::new();
        for total in self.input.totals() {
            let (from, count) = micro_batch.rows(total);
            if count > 0 {
                rows.push(grad.clone().narrow(0, start + from, count));
            }
            start += total;
        }
        Some((features * Tensor::cat(rows, 0)).sum())
    }
}

/// Concatenates features; without any, returns no rows of this width on the device of another
/// tensor.
fn rows_of<const D: usize>(
    features: impl IntoIterator<Item = Tensor<2>>,
    width: usize,
    other: &Tensor<D>,
) -> Tensor<2> {
    let features: Vec<Tensor<2>> = features.into_iter().collect();
    if features.is_empty() {
        let empty = TensorData::new(Vec::<f32>::new(), [0, width]);
        return Tensor::from_data(empty, &other.device());
    }
    Tensor::cat(features, 0)
}
