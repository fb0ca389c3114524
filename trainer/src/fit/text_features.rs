//! Features of texts by encoders that a run does not train: each text is computed once, and kept in 16 bits.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use espalier_checkpoints::model_file;
use espalier_core::input::{TokenBatch, Tokenizer};
use espalier_core::loss::LossTerms;
use espalier_core::math::normalize;
use espalier_core::model::{TextEncoder, Tokens};
use espalier_data::features::{StoredTexts, TextStore};
use espalier_io::exit::usage;
use half::f16;

/// Most texts whose features are kept: 300 MB of features of width 384.
const MOST_KEPT: usize = 400_000;

/// Text encoders that a run reads but does not train.
#[derive(Default)]
pub struct FrozenTexts {
    /// The layers before the projection, where only the projection is trained.
    pub layers: Option<TextFeatures>,
    /// Another model, whose directions of texts are the targets of this one.
    pub teacher: Option<TextTeacher>,
}

/// A text encoder in evaluation mode.
struct FrozenEncoder {
    encoder: TextEncoder,
    /// Whether features are projected.
    projected: bool,
    device: Device,
}

/// A text encoder in evaluation mode, and the features that it has computed.
pub struct TextFeatures {
    encoder: FrozenEncoder,
    threads: usize,
    known: RefCell<StoredTexts>,
    /// File that keeps the features from run to run, if any.
    store: Option<TextStore>,
    /// Number of features that were read from this file.
    stored: usize,
}

impl TextFeatures {
    /// Keeps the features of an encoder, before or after its projection, on a device on which this
    /// number of threads share a batch; a store keeps them from run to run.
    pub(super) fn new(
        encoder: &TextEncoder,
        projected: bool,
        (device, threads): (&Device, usize),
        store: Option<TextStore>,
    ) -> Self {
        let known = store.as_ref().map(TextStore::read).unwrap_or_default();
        Self {
            encoder: FrozenEncoder {
                encoder: encoder.valid(),
                projected,
                device: device.clone(),
            },
            threads: threads.max(1),
            stored: known.len(),
            known: RefCell::new(known),
            store,
        }
    }

    /// Writes the features to the store, if it lacks some.
    pub(super) fn keep(&self) -> anyhow::Result<()> {
        let known = self.known.borrow();
        match &self.store {
            Some(store) if known.len() > self.stored => store.write(&known),
            _ => Ok(()),
        }
    }

    /// Returns the features of texts, which are known by `keys`; `tokens` of a key are the encoder's.
    ///
    /// # Shapes
    /// `[n, d_model]` before the projection, `[n, d_embed]` after it
    fn rows(&self, keys: &[Vec<u32>], tokens: impl Fn(&[u32]) -> Vec<u32>) -> Tensor<2> {
        let mut known = self.known.borrow_mut();
        let unknown = keys.iter().filter(|key| !known.contains_key(*key));
        let unknown: BTreeSet<&Vec<u32>> = unknown.collect();
        let mut texts: Vec<_> = unknown.into_iter().map(|key| (key, tokens(key))).collect();
        // Texts of one length are encoded together.
        texts.sort_by_key(|(_, tokens)| tokens.len());
        let computed = texts.iter().zip(self.compute(&texts));
        let fresh: HashMap<&Vec<u32>, Vec<f16>> =
            computed.map(|((key, _), row)| (*key, row)).collect();
        let mut values: Vec<f32> = Vec::new();
        for key in keys {
            let row = known.get(key).or_else(|| fresh.get(key));
            values.extend(row.into_iter().flatten().map(|value| value.to_f32()));
        }
        let room = MOST_KEPT.saturating_sub(known.len());
        let kept = fresh.into_iter().take(room);
        known.extend(kept.map(|(key, row)| (key.clone(), row)));
        let width = values.len() / keys.len().max(1);
        let values = TensorData::new(values, [keys.len(), width]);
        Tensor::from_data(values, &self.encoder.device)
    }

    fn compute(&self, texts: &[(&Vec<u32>, Vec<u32>)]) -> Vec<Vec<f16>> {
        let encoder = &self.encoder;
        let share = texts.len().div_ceil(self.threads).max(1);
        thread::scope(|scope| {
            let spawn = |texts| scope.spawn(move || encoder.features(texts));
            let running: Vec<_> = texts.chunks(share).map(spawn).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Vec<Vec<f16>>>| {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            running.into_iter().flat_map(join).collect()
        })
    }

    /// Returns the features of texts of this encoder's own tokens, `[n, d_model]`.
    pub(super) fn of(&self, tokens: &Tokens) -> Tensor<2> {
        self.rows(&tokens.texts(), <[u32]>::to_vec)
    }
}

impl FrozenEncoder {
    /// Returns the features of texts, each with its key before its tokens.
    fn features(&self, texts: &[(&Vec<u32>, Vec<u32>)]) -> Vec<Vec<f16>> {
        let batch = TokenBatch::padded(texts.iter().map(|(_, tokens)| tokens.as_slice()));
        let tokens = Tokens::new(&batch, &self.device);
        let features = match self.projected {
            true => normalize(self.encoder.forward(&tokens)),
            false => self.encoder.textual.forward(&tokens),
        };
        let [_, width] = features.dims();
        let values = features.into_data();
        let values: Vec<f16> = values.iter::<f32>().map(f16::from_f32).collect();
        values.chunks(width.max(1)).map(<[f16]>::to_vec).collect()
    }
}

/// The text encoder of another model with the same image encoder and projection: its directions are
/// the targets of all texts of a step.
pub struct TextTeacher {
    features: TextFeatures,
    tokenizer: Tokenizer,
    context: usize,
    /// Tokenizer of the model in training.
    student: Tokenizer,
    weight: f64,
}

impl TextTeacher {
    /// Reads the text encoder of a model, for a model in training of embeddings of width `d_embed`.
    ///
    /// # Errors
    /// Bad usage: no model, or one of another width.
    pub fn read(
        path: &Path,
        (student, d_embed): (&Tokenizer, usize),
        weight: f64,
        on: (&Device, usize),
    ) -> anyhow::Result<Self> {
        let model = model_file::open(path, on.0)?;
        let found = model.card.config.d_embed;
        if found != d_embed {
            return Err(usage(format!(
                "model.text_teacher: expected embeddings of width {d_embed}, those of the model in \
                 training, found {found} in {}",
                path.display()
            )));
        }
        Ok(Self {
            features: TextFeatures::new(&model.encoder.text, true, on, None),
            tokenizer: model.tokenizer,
            context: model.card.config.text.context,
            student: student.clone(),
            weight,
        })
    }

    /// Adds to a loss how far the directions of texts are from those of the teacher: 1 minus the
    /// cosine, the mean over all texts. `texts` are tokens and projected features of the model in
    /// training, `[n, d_embed]`.
    pub(super) fn with_targets(
        &self,
        terms: LossTerms,
        texts: Vec<(Tokens, Tensor<2>)>,
    ) -> LossTerms {
        let (tokens, features): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
        let keys: Vec<Vec<u32>> = tokens.iter().flat_map(Tokens::texts).collect();
        if keys.is_empty() {
            return terms;
        }
        let tokens = |key: &[u32]| {
            let text = self.student.decode(key);
            self.tokenizer.encode(&text, self.context)
        };
        let targets = self.features.rows(&keys, tokens).autodiff();
        let cosines = (normalize(Tensor::cat(features, 0)) * targets).sum_dim(1);
        terms.plus("text_teacher", self.weight, (cosines.neg() + 1.0).mean())
    }
}
