//! The text encoder of a bundle: embeds phrases and names of concepts.

use burn::tensor::{Device, Tensor, TensorData};

use super::captioner::{TextModel, rows};
use super::files;
use super::prompts::{PATTERNS, prompt};
use crate::bundle::{BundleFile, BundleFiles, Manifest, Part};
use crate::error::Result;
use crate::geometry::LogScalarConfig;
use crate::input::Tokenizer;
use crate::kernels::TextKernels;
use crate::math::normalize;
use crate::model::{Lift, TextEncoder, Tokens};
use crate::taxonomy::Lexicon;
use crate::weights::{self, Tensors};

/// Number of texts encoded at a time; a browser can do other work between two batches.
const BATCH: usize = 32;

/// Implementation that computes text features.
#[derive(Debug)]
enum Encoder {
    /// The device.
    Device(Box<TextEncoder>),
    /// The CPU, without the device.
    Kernels(Box<TextKernels>),
}

/// The text encoder of a bundle.
#[derive(Debug)]
pub struct TextEmbedder {
    encoder: Encoder,
    lift: Lift,
    tokenizer: Tokenizer,
    context: usize,
    lexicon: Lexicon,
    device: Device,
}

/// Nouns that a bundle assigns to nodes; empty if it has no such file.
///
/// # Errors
/// [`crate::CoreError::Bundle`] naming the file and the line that cannot be read.
pub fn lexicon(manifest: &Manifest, bundle: &BundleFiles) -> Result<Lexicon> {
    match manifest.files.iter().any(|file| file.path == files::NOUNS) {
        true => Lexicon::from_tsv(bundle.text(files::NOUNS)?, files::NOUNS),
        false => Ok(Lexicon::default()),
    }
}

/// The files of the text encoder's weights.
pub fn text_weight_files(manifest: &Manifest) -> impl Iterator<Item = &BundleFile> {
    let others = [files::VOCABULARY, files::NOUNS];
    let files = manifest.files_of(&[Part::Text]);
    files.filter(move |file| !others.contains(&file.path.as_str()))
}

impl TextEmbedder {
    /// Loads the text encoder; `bundle` must hold the files of its part.
    ///
    /// # Errors
    /// [`crate::CoreError::Bundle`] naming a missing file, a tensor error naming the file's tensor.
    pub fn open(manifest: &Manifest, bundle: &BundleFiles, device: &Device) -> Result<Self> {
        let config = &manifest.model;
        let model = TextModel {
            text: config.init_text(device),
            lift: config.lift.init(config.d_embed, device),
            logit_scale: LogScalarConfig::logit_scale().init(device),
        };
        let mut tensors = Tensors::default();
        for file in text_weight_files(manifest) {
            tensors.tensors.extend(bundle.tensors(&file.path)?.tensors);
        }
        let model = weights::load(model, &tensors, |_| false)?;
        Ok(Self {
            encoder: Encoder::Device(Box::new(model.text)),
            lift: model.lift,
            tokenizer: Tokenizer::from_merges(
                bundle.text(files::VOCABULARY)?,
                config.text.vocab_size,
            )?,
            context: config.text.context,
            lexicon: lexicon(manifest, bundle)?,
            device: device.clone(),
        })
    }

    /// Nouns that are assigned to nodes.
    #[must_use]
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    fn features(&self, texts: &[impl AsRef<str>]) -> Tensor<2> {
        let batch = self.tokenizer.encode_batch(texts, self.context);
        match &self.encoder {
            Encoder::Device(encoder) => encoder.forward(&Tokens::new(&batch, &self.device)),
            Encoder::Kernels(kernels) => {
                let features = kernels.forward(&batch);
                let shape = [batch.rows, features.len() / batch.rows.max(1)];
                Tensor::from_data(TensorData::new(features, shape), &self.device)
            }
        }
    }

    /// Computes features with the [`kernels`](crate::kernels) from now on, and frees the weights
    /// on the device. Only useful if the device is a CPU.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the weights cannot be read back.
    pub fn with_kernels(mut self) -> Result<Self> {
        if let Encoder::Device(encoder) = &self.encoder {
            let kernels = TextKernels::new(encoder)?;
            self.encoder = Encoder::Kernels(Box::new(kernels));
        }
        Ok(self)
    }

    /// Embeddings of texts, `[n, d_embed]` row by row.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the device fails.
    pub async fn embed(&self, texts: &[impl AsRef<str>]) -> Result<Vec<Vec<f32>>> {
        let mut embeddings = Vec::with_capacity(texts.len());
        for texts in texts.chunks(BATCH) {
            embeddings.extend(rows(self.lift.text(self.features(texts))).await?);
        }
        Ok(embeddings)
    }

    /// Embeddings of concepts by name: the mean over the prompts of [`PATTERNS`], as in bundles
    /// (notation 6.1). `[n, d_embed]` row by row.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the device fails.
    pub async fn embed_concepts(&self, names: &[impl AsRef<str>]) -> Result<Vec<Vec<f32>>> {
        let mut embeddings = Vec::with_capacity(names.len());
        for name in names {
            let prompts = PATTERNS.map(|pattern| prompt(pattern, name.as_ref()));
            let mut features = self.features(&prompts);
            if matches!(self.lift, Lift::Sphere(_)) {
                features = normalize(features);
            }
            embeddings.extend(rows(self.lift.text(features.mean_dim(0))).await?);
        }
        Ok(embeddings)
    }
}
