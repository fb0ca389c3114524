//! The text encoder of a bundle: embeds phrases and names of concepts.

use super::encoders::TextPart;
use super::engine::Engine;
use super::files;
use super::prompts::{PATTERNS, prompt};
use crate::bundle::{BundleFile, BundleFiles, Manifest, Part};
use crate::error::Result;
use crate::input::Tokenizer;
use crate::taxonomy::Lexicon;
use crate::weights::StoredTensors;

/// Number of texts encoded at a time; a browser can do other work between two batches.
const BATCH: usize = 32;

/// The text encoder of a bundle.
#[derive(Debug)]
pub struct TextEmbedder {
    text_part: TextPart,
    tokenizer: Tokenizer,
    context: usize,
    lexicon: Lexicon,
}

/// Returns the nouns that a bundle assigns to nodes; empty if it has no such file.
///
/// # Errors
/// [`crate::CoreError::Bundle`] naming the file and the line that cannot be read.
pub fn lexicon(manifest: &Manifest, bundle: &BundleFiles) -> Result<Lexicon> {
    match manifest.file(files::NOUNS).is_ok() {
        true => Lexicon::from_tsv(bundle.text(files::NOUNS)?, files::NOUNS),
        false => Ok(Lexicon::default()),
    }
}

/// Returns the files of the text encoder's weights.
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
    pub fn open(manifest: &Manifest, bundle: &BundleFiles, engine: &Engine) -> Result<Self> {
        let config = &manifest.model;
        let mut stored = StoredTensors::default();
        for file in text_weight_files(manifest) {
            let more = bundle.stored_tensors(&file.path)?;
            stored.tensors.extend(more.tensors);
        }
        Ok(Self {
            text_part: TextPart::new(config, stored, engine)?,
            tokenizer: config.text.tokenizer(bundle.text(files::VOCABULARY)?)?,
            context: config.text.context,
            lexicon: lexicon(manifest, bundle)?,
        })
    }

    /// Returns the nouns that are assigned to nodes.
    #[must_use]
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Returns the embeddings of texts, `[n, d_embed]` row by row.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the device fails.
    pub async fn embed(&self, texts: &[impl AsRef<str>]) -> Result<Vec<Vec<f32>>> {
        let mut embeddings = Vec::with_capacity(texts.len());
        for texts in texts.chunks(BATCH) {
            let batch = self.tokenizer.encode_batch(texts, self.context);
            embeddings.extend(self.text_part.embed(&batch).await?);
        }
        Ok(embeddings)
    }

    /// Returns the embeddings of concepts by name: the mean over the prompts of [`PATTERNS`], as in
    /// bundles (notation 6.1). `[n, d_embed]` row by row.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the device fails.
    pub async fn embed_concepts(&self, names: &[impl AsRef<str>]) -> Result<Vec<Vec<f32>>> {
        let mut embeddings = Vec::with_capacity(names.len());
        for name in names {
            let prompts = PATTERNS.map(|pattern| prompt(pattern, name.as_ref()));
            let batch = self.tokenizer.encode_batch(&prompts, self.context);
            embeddings.push(self.text_part.embed_mean(&batch).await?);
        }
        Ok(embeddings)
    }
}
