//! Models on disk: checkpoints, runs and bundles are all read as a [`Model`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::bundle::{BundleFiles, Caution, Manifest, Part, sha256_hex};
use espalier_core::caption::{Calibration, EMBEDDINGS, files, lexicon, text_weight_files};
use espalier_core::geometry::Space;
use espalier_core::input::{Preprocess, ResizeMode, Tokenizer};
use espalier_core::model::{DualConfig, DualEncoder, TextConfig, TextFamily};
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use espalier_core::weights::{self, Tensors};
use espalier_io::disk::run_folder::{AVERAGE, MODEL, latest};
use espalier_io::disk::safetensors_file::SafetensorsFile;
use espalier_io::disk::{content, read};
use espalier_io::exit::usage;

use crate::layout::Layout;

/// Byte-pair merges of CLIP's vocabulary.
pub const MERGES: &str = include_str!("../vocab/clip_bpe_merges.txt");

/// Word pieces of BERT's uncased models.
pub const WORD_PIECES: &str = include_str!("../vocab/bert_uncased.txt");

/// Returns the merges or word pieces that text encoders of an architecture are built with.
pub fn vocabulary(text: &TextConfig) -> &'static str {
    match text.family {
        TextFamily::Clip => MERGES,
        TextFamily::Bert => WORD_PIECES,
    }
}

/// Key of [`ModelCard`] in the metadata of `model.safetensors`.
pub const CARD: &str = "espalier";

/// Key of [`ModelCard`] in files for other programs, whose tensors have published names.
pub const PUBLISHED_CARD: &str = "espalier_card";

/// Origin of an imported model, and settings that belong to its weights.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// Imported repository or file.
    pub source: String,
    /// Naming scheme of the tensors in the source; `None` for a bundle.
    #[serde(default)]
    pub layout: Option<Layout>,
    /// Licence of the weights, if known.
    pub licence: Option<String>,
    /// Preprocessing of photos.
    pub preprocess: Preprocess,
    /// Root of the embedding space that the file stores besides its weights (notation 7).
    #[serde(default)]
    pub root: Option<Vec<f32>>,
    /// Scalars of the file that the model does not use, kept for exporting it again.
    #[serde(default)]
    pub kept: BTreeMap<String, f32>,
}

/// Description of a model in the metadata of its weights file.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ModelCard {
    /// Architecture.
    pub config: DualConfig,
    /// Method that it was trained with.
    pub method: String,
    /// Number of training steps.
    pub step: u64,
    /// Configuration of the run as TOML.
    pub run: String,
    /// Text whose embedding is the root of a model on the unit sphere.
    #[serde(default)]
    pub root_text: String,
    /// Origin, if this model or the one it started from was imported.
    #[serde(default)]
    pub origin: Option<Origin>,
}

impl ModelCard {
    /// Creates the card of a model of a method, before any step of a run and without an origin.
    pub fn new(config: DualConfig, method: impl Into<String>) -> Self {
        Self {
            config,
            method: method.into(),
            step: 0,
            run: String::new(),
            root_text: String::new(),
            origin: None,
        }
    }

    /// Returns the reasons to doubt the answers of the model that its card tells: weights that no step has
    /// trained and that were not imported.
    pub fn cautions(&self) -> Vec<Caution> {
        let layout = self.origin.as_ref().map(|origin| origin.layout);
        match (self.step, layout) {
            (0, None) => vec![Caution::Untrained],
            (0, Some(Some(Layout::EfficientnetLite))) => vec![Caution::UntrainedText],
            _ => Vec::new(),
        }
    }

    /// Returns how photos are prepared for the model: as its origin states, else as its architecture is.
    pub fn preprocess(&self) -> Preprocess {
        let imported = self.origin.as_ref().map(|origin| origin.preprocess);
        imported.unwrap_or_else(|| preprocess(&self.config))
    }

    /// Returns the card as metadata of a safetensors file.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn metadata(&self) -> anyhow::Result<BTreeMap<String, String>> {
        Ok(BTreeMap::from([(
            CARD.to_owned(),
            serde_json::to_string(self)?,
        )]))
    }
}

/// A loaded model with its tokenizer, preprocessing and metadata.
#[derive(Debug)]
pub struct Model {
    /// Description from its file.
    pub card: ModelCard,
    /// Both encoders, without autodiff.
    pub encoder: DualEncoder,
    /// Tokenizer of the text encoder.
    pub tokenizer: Tokenizer,
    /// The weights file or manifest that it was read from.
    pub file: PathBuf,
    /// SHA-256 of that file.
    pub sha256: String,
    /// Preprocessing of photos.
    pub preprocess: Preprocess,
    /// Root on the unit sphere, if the file stores the vector: in a bundle, or imported with the
    /// weights. Otherwise the root is the embedding of the card's `root_text`.
    pub root: Option<Vec<f32>>,
    /// Converts scores to probabilities; only in bundles.
    pub calibration: Option<Calibration>,
    /// Nouns that name no node of the taxonomy; only in bundles that have them.
    pub lexicon: Lexicon,
    /// Taxonomy of the labels: of a bundle, or of the run that trained a checkpoint.
    pub taxonomy: Option<Taxonomy>,
    /// Stored points of the labels by their ids, as the page uses them; only in bundles.
    pub label_points: BTreeMap<String, Vec<f32>>,
    /// Reasons to doubt its answers.
    pub cautions: Vec<Caution>,
}

/// Returns the default preprocessing of photos for an architecture: resize the shortest side, then
/// centre crop (notation 6.0); for inverted residuals the evaluation crop of EfficientNet.
pub fn preprocess(config: &DualConfig) -> Preprocess {
    let resize = if config.vision.inverted.is_some() {
        ResizeMode::InnerCrop
    } else {
        ResizeMode::CentreCrop
    };
    Preprocess::new(config.vision.image_size as u32, resize)
}

/// Finds the weights file of a run folder (its newest checkpoint), a checkpoint folder or a file. Of a run
/// that averages its weights, this is the average.
///
/// # Errors
/// Bad usage if there is no such file.
pub fn weights_file(path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let found = [Some(path.to_owned()), latest(path)]
        .into_iter()
        .flatten()
        .flat_map(|p| [p.join(AVERAGE), p.join(MODEL)])
        .find(|p| p.is_file());
    found.ok_or_else(|| {
        usage(format!(
            "{}: expected a run folder, a checkpoint folder, a bundle or a .safetensors file, \
             found {}",
            path.display(),
            if path.exists() {
                "none of them"
            } else {
                "no such path"
            }
        ))
    })
}

/// Returns whether a path is a bundle.
pub fn is_bundle(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

/// Reads a bundle's manifest and the files of some parts, and checks the files against it.
///
/// # Errors
/// Bad usage or [`espalier_core::CoreError::Bundle`] naming the file.
pub fn read_bundle(
    path: &Path,
    parts: &[Part],
) -> anyhow::Result<(Vec<u8>, Manifest, BundleFiles)> {
    let file = path.join("manifest.json");
    let bytes = read::bytes(&file).map_err(|e| usage(format!("{}: {e}", file.display())))?;
    let manifest = Manifest::parse(&bytes)?;
    let mut bundle = BundleFiles::default();
    for listed in manifest.files_of(parts) {
        let file = path.join(&listed.path);
        let content = read::bytes(&file).map_err(|e| {
            usage(format!(
                "{}: {e}; the manifest lists this file as required",
                file.display()
            ))
        })?;
        bundle
            .insert_checked(&manifest, &listed.path, content)
            .map_err(|e| usage(format!("{}: {e}", path.display())))?;
    }
    Ok((bytes, manifest, bundle))
}

/// Reads a run, a checkpoint or a weights file without building its model: the path of the file,
/// its SHA-256, its card and its tensors.
///
/// # Errors
/// Bad usage if there is none, it is a bundle, or another program wrote it.
pub fn read(path: &Path) -> anyhow::Result<(PathBuf, String, ModelCard, Tensors)> {
    if is_bundle(path) {
        return Err(usage(format!(
            "{}: expected a checkpoint, found a bundle, which holds rounded weights",
            path.display()
        )));
    }
    let file = weights_file(path)?;
    let bytes = read::bytes(&file).map_err(|e| usage(format!("{}: {e}", file.display())))?;
    let sha256 = sha256_hex(&bytes);
    let tensors = Tensors::read(&bytes).map_err(|e| {
        // Content of another kind would be told as a wrong length of a header.
        let found = content::recognise(&bytes[..bytes.len().min(content::HEAD)]);
        let reason = match found {
            Some(found) => format!("expected a checkpoint, found {found}"),
            None => e.to_string(),
        };
        usage(format!("{}: {reason}", file.display()))
    })?;
    let card = parse_card(&file, &tensors.metadata)?;
    Ok((file, sha256, card, tensors))
}

/// Reads the card of a run, a checkpoint or a weights file; reads only the header of the file.
///
/// # Errors
/// As [`read()`].
pub fn card_of(path: &Path) -> anyhow::Result<ModelCard> {
    let file = weights_file(path)?;
    let head = SafetensorsFile::open(&file)?;
    parse_card(&file, &head.metadata)
}

fn parse_card(file: &Path, metadata: &BTreeMap<String, String>) -> anyhow::Result<ModelCard> {
    let card = metadata.get(CARD).ok_or_else(|| {
        usage(format!(
            "{}: its metadata has no `{CARD}` entry, so its architecture is unknown; use a \
             checkpoint written by this program, or convert the file with `trainer import`",
            file.display()
        ))
    })?;
    let card: ModelCard = serde_json::from_str(card)
        .map_err(|e| usage(format!("{}: metadata `{CARD}`: {e}", file.display())))?;
    card.config.validate()?;
    Ok(card)
}

/// Opens a run, a checkpoint, a weights file or a bundle.
///
/// # Errors
/// Bad usage if there is none or the weights do not fit the architecture; for a bundle also the
/// errors of [`from_bundle`].
pub fn open(path: &Path, device: &Device) -> anyhow::Result<Model> {
    if is_bundle(path) {
        return open_bundle(path, device);
    }
    build(read(path)?, device)
}

/// Builds a model from what [`read()`] returns.
///
/// # Errors
/// Bad usage if the weights do not fit the architecture.
pub fn build(
    (file, sha256, card, tensors): (PathBuf, String, ModelCard, Tensors),
    device: &Device,
) -> anyhow::Result<Model> {
    let encoder = weights::load(card.config.init(device), tensors)
        .map_err(|e| usage(format!("{}: {e}", file.display())))?;
    let tokenizer = card.config.text.tokenizer(vocabulary(&card.config.text))?;
    Ok(Model {
        root: card.origin.as_ref().and_then(|o| o.root.clone()),
        cautions: card.cautions(),
        preprocess: card.preprocess(),
        card,
        encoder,
        tokenizer,
        file,
        sha256,
        calibration: None,
        lexicon: Lexicon::default(),
        taxonomy: None,
        label_points: BTreeMap::new(),
    })
}

fn open_bundle(path: &Path, device: &Device) -> anyhow::Result<Model> {
    // The calibration belongs to the taxonomy part.
    let parts = [Part::Image, Part::Text, Part::Taxonomy];
    let (bytes, manifest, bundle) = read_bundle(path, &parts)?;
    let mut model = from_bundle(manifest, &bundle, device)?;
    model.file = path.join("manifest.json");
    model.sha256 = sha256_hex(&bytes);
    Ok(model)
}

/// Reads the points of the labels that a bundle stores.
fn label_points(
    width: usize,
    bundle: &BundleFiles,
    taxonomy: &Taxonomy,
) -> anyhow::Result<BTreeMap<String, Vec<f32>>> {
    let tensors = bundle.tensors(files::LABEL_EMBEDDINGS)?;
    let labels = taxonomy.labelled();
    let expected = [labels.len(), width];
    let points = tensors.tensors.get(EMBEDDINGS);
    let points = points.filter(|points| points.shape == expected).ok_or_else(|| {
        usage(format!(
            "{}: expected a tensor `{EMBEDDINGS}` of shape {expected:?}, one row per label of {}",
            files::LABEL_EMBEDDINGS,
            files::TAXONOMY
        ))
    })?;
    let ids = labels.iter().map(|ix| taxonomy.node(*ix).id.clone());
    let rows = points.data.chunks(width.max(1)).map(<[f32]>::to_vec);
    Ok(ids.zip(rows).collect())
}

/// Returns the origin of models that start from a bundle.
fn origin_of(manifest: &Manifest) -> Origin {
    // The terms of the weights; those of the taxonomy and the vocabulary are stated again on export.
    let terms = manifest.licence.split(". Taxonomy:").next();
    let terms = terms.and_then(|terms| terms.strip_prefix("Weights: "));
    Origin {
        source: format!("the bundle {} {}", manifest.name, manifest.version),
        layout: None,
        licence: Some(terms.unwrap_or(&manifest.licence).to_owned()),
        preprocess: manifest.preprocessing,
        root: None,
        kept: BTreeMap::new(),
    }
}

/// Returns the architecture of a run, a checkpoint, a weights file or a bundle if runs that start
/// from it must use it: an imported one may have no preset name.
///
/// # Errors
/// As [`read()`], or a bundle error for a manifest that cannot be read.
pub fn fixed_architecture(path: &Path) -> anyhow::Result<Option<DualConfig>> {
    if is_bundle(path) {
        return Ok(Some(read_bundle(path, &[])?.1.model));
    }
    let card = card_of(path)?;
    Ok(card.origin.map(|_| card.config))
}

/// Builds both encoders of a bundle in memory.
///
/// # Errors
/// A bundle error if its geometry does not fit its model, a tensor error if the weights do not fit
/// the architecture.
pub fn from_bundle(
    manifest: Manifest,
    bundle: &BundleFiles,
    device: &Device,
) -> anyhow::Result<Model> {
    manifest.check_geometry()?;
    let mut tensors = BTreeMap::new();
    for file in manifest
        .files_of(&[Part::Image])
        .chain(text_weight_files(&manifest))
    {
        tensors.extend(bundle.tensors(&file.path)?.tensors);
    }
    let tensors = Tensors {
        tensors,
        metadata: BTreeMap::new(),
    };
    let encoder = weights::load(manifest.model.init(device), tensors)?;
    let tokenizer = manifest
        .model
        .text
        .tokenizer(bundle.text(files::VOCABULARY)?)?;
    let lexicon = lexicon(&manifest, bundle)?;
    let origin = origin_of(&manifest);
    let taxonomy = Taxonomy::from_tsv(bundle.text(files::TAXONOMY)?)?;
    let label_points = label_points(manifest.model.d_embed, bundle, &taxonomy)?;
    Ok(Model {
        cautions: manifest.cautions(),
        lexicon,
        taxonomy: Some(taxonomy),
        label_points,
        card: ModelCard {
            step: manifest
                .provenance
                .get("steps")
                .and_then(serde_json::Value::as_u64)
                .unwrap_or(0),
            origin: Some(origin),
            ..ModelCard::new(manifest.model, manifest.method)
        },
        encoder,
        tokenizer,
        file: PathBuf::new(),
        sha256: String::new(),
        preprocess: manifest.preprocessing,
        calibration: Some(Calibration::read(bundle)?),
        root: match manifest.geometry {
            Space::Sphere { root } => Some(root),
            Space::Lorentz { .. } | Space::Product { .. } => None,
        },
    })
}
