//! The files of a bundle in memory, and their export to a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use burn::tensor::Device;
use espalier_checkpoints::model_file::{MERGES, Model, from_bundle, read_bundle};
use espalier_core::bundle::{BundleFile, BundleFiles, Caution, FORMAT, Manifest, Part, sha256_hex};
use espalier_core::caption::{Calibration, CaptionEntry, Captioner, EMBEDDINGS, Engine, files};
use espalier_core::geometry::Space;
use espalier_core::input::merges_prefix;
use espalier_core::model::{ImageModel, TextModel};
use espalier_core::statements::Vocabulary;
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use espalier_core::weights::{HostTensor, Tensors, collect};
use espalier_data::Pixels;
use espalier_eval::tensors::{image_tensor, rows};
use espalier_eval::{TextFeatures, embed};
use espalier_io::disk::read;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;

use super::dtype::{ExportDtype, Stored};
use super::folder::MANIFEST;
use super::{pieces, selftest};

/// Prompt set of a bundle's label embeddings.
pub const PROMPTS: &str = "simple-1";

/// Terms of use of weights trained with this program.
const OWN_WEIGHTS: &str = "MIT OR Apache-2.0, within the terms of the data they were trained on \
    (see provenance)";

/// Returns the terms of use of a bundle's contents. Imported weights keep their own.
fn licence(model: &Model) -> String {
    let weights = match &model.card.origin {
        None => OWN_WEIGHTS.to_owned(),
        Some(origin) => {
            let licence = origin.licence.as_deref();
            let licence = licence.unwrap_or("the terms of their source");
            let how = if origin.layout.is_some() {
                "imported from"
            } else {
                "trained further from"
            };
            format!("{licence} ({how} {})", origin.source)
        }
    };
    format!(
        "Weights: {weights}. Taxonomy: WordNet 3.0, Princeton University, WordNet licence. \
         Vocabulary: OpenAI CLIP, MIT."
    )
}

/// Returns the entry of the repository that a model was imported from, if it was.
fn base_model(model: &Model) -> Option<(String, serde_json::Value)> {
    let source = &model.card.origin.as_ref()?.source;
    let base = source.strip_prefix("hf-hub:")?.split('@').next()?;
    Some(("base_model".to_owned(), base.into()))
}

/// Contents of a bundle.
pub struct Contents<'a> {
    /// Model with its weights in `f32`.
    pub model: &'a Model,
    /// Taxonomy.
    pub taxonomy: &'a Taxonomy,
    /// Captions.
    pub captions: Vec<CaptionEntry>,
    /// Directions of labels by their ids, in place of those of their texts: of the classes of the
    /// classifier that the texts were pulled toward. Empty if there is none.
    pub directions: &'a BTreeMap<String, Vec<f32>>,
    /// Nouns that name no node; if there are none, the bundle has no such file.
    pub nouns: &'a Lexicon,
    /// How tensors are stored.
    pub dtype: ExportDtype,
    /// Name in the manifest.
    pub name: String,
    /// Version in the manifest.
    pub version: String,
}

/// A bundle in memory.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Its manifest; hashes and metrics are filled in by [`Bundle::manifest_bytes`].
    pub manifest: Manifest,
    files: Vec<(String, Vec<u8>)>,
}

/// Returns the one tensor [`EMBEDDINGS`].
fn embeddings(points: &[Vec<f32>]) -> Tensors {
    let width = points.first().map_or(0, Vec::len);
    let tensor = HostTensor {
        shape: vec![points.len(), width],
        data: points.concat(),
    };
    Tensors {
        tensors: BTreeMap::from([(EMBEDDINGS.to_owned(), tensor)]),
        metadata: BTreeMap::new(),
    }
}

/// Moves the points of labels to the directions that are known for them, all at one radius, the geometric
/// mean of theirs, as `loss.anchor` pulls them to one radius in training.
fn at_directions(
    points: &mut [Vec<f32>],
    taxonomy: &Taxonomy,
    directions: &BTreeMap<String, Vec<f32>>,
) {
    let ids = taxonomy.labelled().iter().map(|ix| &taxonomy.node(*ix).id);
    let known: Vec<_> = ids.map(|id| directions.get(id)).collect();
    let length = |point: &[f32]| point.iter().map(|v| v * v).sum::<f32>().sqrt();
    let moved = || {
        points
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_some())
    };
    let logarithms: f32 = moved().map(|(point, _)| length(point).ln()).sum();
    let radius = (logarithms / moved().count().max(1) as f32).exp();
    for (point, direction) in points.iter_mut().zip(known) {
        if let Some(direction) = direction {
            *point = direction.iter().map(|v| v * radius).collect();
        }
    }
}

impl Bundle {
    /// Builds a bundle; its calibration is the model's own logit scale until
    /// [`set_calibration`](Self::set_calibration).
    ///
    /// # Errors
    /// When the device fails or a caption is empty.
    pub fn build(contents: Contents<'_>, device: &Device) -> anyhow::Result<Self> {
        let (model, taxonomy, dtype) = (contents.model, contents.taxonomy, contents.dtype);
        let space = embed::space(model, device)?;
        let encoder = TextFeatures::new(model, device)?;
        let mut labels = embed::classes(&encoder, taxonomy, taxonomy.labelled(), PROMPTS)?;
        at_directions(&mut labels, taxonomy, contents.directions);
        let scale = f64::from(model.encoder.logit_scale.value().into_scalar::<f32>());
        let mut bundle = Self::empty(model, contents.name, contents.version, space);
        // In download order: captions and taxonomy are small and most useful.
        let captions = pieces::of_captions(contents.captions, taxonomy);
        bundle.add_captions(&encoder, captions, dtype)?;
        bundle.add_text(files::TAXONOMY, Part::Taxonomy, taxonomy.to_tsv());
        let labels = dtype.embeddings(&embeddings(&labels))?;
        bundle.add(files::LABEL_EMBEDDINGS, Part::Taxonomy, labels);
        bundle.set_calibration(&Calibration::of_scale(scale))?;
        let cautions = model.cautions.iter().copied();
        let cautions = cautions.chain([Caution::NotCalibrated]).collect();
        bundle.manifest.set_cautions(cautions);
        bundle.add_image_model(model, dtype)?;
        let image = Stored::plain("png", selftest::png()?);
        bundle.add(files::SELFTEST_IMAGE, Part::Selftest, image);
        bundle.add_text_model(model, dtype)?;
        if !contents.nouns.is_empty() {
            let nouns = Stored::packed("text", contents.nouns.to_tsv().as_bytes());
            bundle.add(files::NOUNS, Part::Text, nouns);
        }
        bundle.add_selftest_embedding(device)?;
        Ok(bundle)
    }

    /// Returns a bundle without files.
    fn empty(model: &Model, name: String, version: String, space: Space) -> Self {
        // Folds the norms: they cost time and bytes, and the rounding error must be measured on the
        // convolutions that will run.
        let mut config = model.card.config.clone();
        config.vision = config.vision.folded();
        Self {
            manifest: Manifest {
                format: FORMAT.into(),
                name,
                version,
                method: model.card.method.clone(),
                model: config,
                geometry: space,
                preprocessing: model.preprocess,
                licence: licence(model),
                metrics: BTreeMap::new(),
                provenance: BTreeMap::from([
                    ("checkpoint_sha256".to_owned(), model.sha256.clone().into()),
                    ("steps".to_owned(), model.card.step.into()),
                    ("prompts".to_owned(), PROMPTS.into()),
                ])
                .into_iter()
                .chain(base_model(model))
                .collect(),
                files: Vec::new(),
            },
            files: Vec::new(),
        }
    }

    /// Adds the captions and their embeddings, shard by shard.
    fn add_captions(
        &mut self,
        encoder: &TextFeatures<'_>,
        shards: Vec<Vec<CaptionEntry>>,
        dtype: ExportDtype,
    ) -> anyhow::Result<()> {
        for (shard, captions) in shards.into_iter().enumerate() {
            let texts: Vec<String> = captions.iter().map(|c| c.text.clone()).collect();
            let points = embed::texts(encoder, &texts)?;
            let captions = Stored::plain("text", serde_json::to_vec(&captions)?);
            let points = dtype.embeddings(&embeddings(&points))?;
            let files = [
                (files::CAPTIONS, captions),
                (files::CAPTION_EMBEDDINGS, points),
            ];
            for (name, stored) in files {
                let path = pieces::name(name, shard);
                self.add_shard(&path, Part::Captions, stored, shard as u32);
            }
        }
        Ok(())
    }

    /// Adds the image encoder with folded norms.
    fn add_image_model(&mut self, model: &Model, dtype: ExportDtype) -> anyhow::Result<()> {
        let mut image = ImageModel {
            image: model.encoder.image.clone(),
            lift: model.encoder.lift.clone(),
        };
        image.image.visual = image.image.visual.folded();
        self.add_encoder(files::IMAGE, Part::Image, dtype.encoder(collect(&image)?)?);
        Ok(())
    }

    /// Adds the text encoder and its vocabulary.
    fn add_text_model(&mut self, model: &Model, dtype: ExportDtype) -> anyhow::Result<()> {
        let text = TextModel {
            text: model.encoder.text.clone(),
            lift: model.encoder.lift.clone(),
            logit_scale: model.encoder.logit_scale.clone(),
        };
        self.add_encoder(files::TEXT, Part::Text, dtype.encoder(collect(&text)?)?);
        let merges = merges_prefix(MERGES, self.manifest.model.text.vocab_size);
        self.add_text(files::VOCABULARY, Part::Text, merges);
        Ok(())
    }

    /// Adds the embedding of the self-test image. It comes from the stored weights, not from those
    /// before rounding.
    fn add_selftest_embedding(&mut self, device: &Device) -> anyhow::Result<()> {
        let stored = self.model(device)?;
        let image = stored.preprocess.apply(&selftest::image())?;
        let image = image_tensor(&Pixels::pack(stored.preprocess.size, &[&image]), device);
        let known = rows(stored.encoder.embed_image(image))?;
        let known = ExportDtype::Fp32.embeddings(&embeddings(&known))?;
        self.add(files::SELFTEST_EMBEDDING, Part::Selftest, known);
        Ok(())
    }

    fn add_encoder(&mut self, first: &str, part: Part, files: Vec<Stored>) {
        for (number, stored) in files.into_iter().enumerate() {
            self.add(&pieces::name(first, number), part, stored);
        }
    }

    fn add_text(&mut self, path: &str, part: Part, text: impl Into<Vec<u8>>) {
        self.add(path, part, Stored::plain("text", text.into()));
    }

    fn add(&mut self, path: &str, part: Part, stored: Stored) {
        self.add_shard(path, part, stored, 0);
    }

    fn add_shard(&mut self, path: &str, part: Part, stored: Stored, shard: u32) {
        let bytes = stored.bytes;
        let entry = BundleFile {
            path: path.to_owned(),
            part,
            bytes: bytes.len() as u64,
            sha256: sha256_hex(&bytes),
            dtype: stored.dtype.to_owned(),
            unpacked: stored.unpacked,
            shard,
        };
        match self.manifest.files.iter().position(|f| f.path == path) {
            Some(at) => {
                self.manifest.files[at] = entry;
                self.files[at].1 = bytes;
            }
            None => {
                self.manifest.files.push(entry);
                self.files.push((path.to_owned(), bytes));
            }
        }
    }

    /// Replaces the calibration.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn set_calibration(&mut self, calibration: &Calibration) -> anyhow::Result<()> {
        let bytes = serde_json::to_vec(calibration)?;
        self.add_text(files::CALIBRATION, Part::Taxonomy, bytes);
        Ok(())
    }

    /// Reads a bundle from its folder.
    ///
    /// # Errors
    /// Bad usage for a file that is missing or damaged.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let (_, manifest, _) = read_bundle(folder, &[])?;
        let mut files = Vec::new();
        for file in &manifest.files {
            let place = |e: String| usage(format!("{}: {e}", folder.join(&file.path).display()));
            let bytes = read::bytes(folder.join(&file.path)).map_err(|e| place(e.to_string()))?;
            let checked = file.check(bytes).map_err(|e| place(e.to_string()))?;
            files.push((file.path.clone(), checked.bytes().to_vec()));
        }
        Ok(Self { manifest, files })
    }

    /// Adds detectors of the parts of a vocabulary.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn set_detectors(
        &mut self,
        vocabulary: &Vocabulary,
        detectors: &Tensors,
        dtype: ExportDtype,
    ) -> anyhow::Result<()> {
        let detectors = dtype.detectors(detectors)?;
        self.add_text(files::STATEMENTS, Part::Statements, vocabulary.to_tsv());
        self.add(files::DETECTORS, Part::Statements, detectors);
        Ok(())
    }

    /// Returns the manifest as written to disk.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn manifest_bytes(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(&self.manifest)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Returns the files as a reader receives them.
    ///
    /// # Errors
    /// Never for a bundle built by this type.
    pub fn checked(&self) -> anyhow::Result<BundleFiles> {
        let mut out = BundleFiles::default();
        for (path, bytes) in &self.files {
            out.insert_checked(&self.manifest, path, bytes.clone())?;
        }
        Ok(out)
    }

    /// Opens the bundle for captioning photos.
    ///
    /// # Errors
    /// A bundle that does not fit together.
    pub fn captioner(&self, engine: &Engine) -> anyhow::Result<Captioner> {
        let manifest = self.manifest_bytes()?;
        Ok(Captioner::open(&manifest, &self.checked()?, engine)?)
    }

    /// Builds both encoders of the bundle.
    ///
    /// # Errors
    /// As [`from_bundle`].
    pub fn model(&self, device: &Device) -> anyhow::Result<Model> {
        from_bundle(self.manifest.clone(), &self.checked()?, device)
    }

    /// Writes the folder, the manifest last: a folder with a manifest is complete.
    ///
    /// # Errors
    /// A failing disk.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        for (path, bytes) in &self.files {
            write_atomic(&folder.join(path), bytes)?;
        }
        write_atomic(&folder.join(MANIFEST), &self.manifest_bytes()?)
    }
}
