//! Models on disk: checkpoints, runs and bundles, all read to the same thing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::bundle::{BundleFiles, Manifest, Part, sha256_hex};
use espalier_core::caption::{Calibration, files, lexicon, weights_of};
use espalier_core::geometry::Space;
use espalier_core::input::{Preprocess, ResizeMode, Tokenizer};
use espalier_core::model::{DualConfig, DualEncoder};
use espalier_core::taxonomy::Lexicon;
use espalier_core::weights::{self, Tensors};

use crate::disk::run_folder::{MODEL, latest};
use crate::disk::safetensors_file::SafetensorsFile;
use crate::exit::usage;
use crate::layout::Layout;

/// Merges of CLIP's vocabulary.
pub const MERGES: &str = include_str!("../../static/vocab/clip_bpe_merges.txt");

/// Key of [`ModelCard`] in the metadata of `model.safetensors`.
pub const CARD: &str = "espalier";

/// The same in a file that others are to read, whose tensors have published names.
pub const PUBLISHED_CARD: &str = "espalier_card";

/// Where an imported model comes from, and what goes with its weights.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// What was imported.
    pub source: String,
    /// Whose names it used.
    pub layout: Layout,
    /// Terms of use of the weights, where they are known.
    pub licence: Option<String>,
    /// How photos are made its input.
    pub preprocess: Preprocess,
    /// Root of the embedding space that the file kept beside its weights (notation 7).
    #[serde(default)]
    pub root: Option<Vec<f32>>,
    /// Scalars of the file that the model does not use, kept for the way back.
    #[serde(default)]
    pub kept: BTreeMap<String, f32>,
}

/// What a weights file says of itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ModelCard {
    /// Architecture.
    pub config: DualConfig,
    /// Method that it was trained with.
    pub method: String,
    /// Steps of training.
    pub step: u64,
    /// Configuration of the run, TOML.
    pub run: String,
    /// Text of the root of a model on the unit sphere.
    #[serde(default)]
    pub root_text: String,
    /// Where it was imported from, if it or the model it started from was.
    #[serde(default)]
    pub origin: Option<Origin>,
}

impl ModelCard {
    /// As metadata of a safetensors file.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn metadata(&self) -> anyhow::Result<BTreeMap<String, String>> {
        Ok(BTreeMap::from([(
            CARD.to_owned(),
            serde_json::to_string(self)?,
        )]))
    }
}

/// A model with all that is known of it.
#[derive(Debug)]
pub struct Model {
    /// What its file says.
    pub card: ModelCard,
    /// Both towers, without autodiff.
    pub encoder: DualEncoder,
    /// Tokenizer of its text tower.
    pub tokenizer: Tokenizer,
    /// The weights file or manifest that it was read from.
    pub file: PathBuf,
    /// SHA-256 of that file.
    pub sha256: String,
    /// How photos are made its input.
    pub preprocess: Preprocess,
    /// Root on the unit sphere where the file holds the vector itself: a bundle's, or one that was
    /// imported with the weights. Else it is the embedding of the card's `root_text`.
    pub root: Option<Vec<f32>>,
    /// How its scores become probabilities, where it is a bundle.
    pub calibration: Option<Calibration>,
    /// Nouns that name no node of the taxonomy, where it is a bundle that has them.
    pub lexicon: Lexicon,
}

/// Preprocessing of an architecture for photos: shortest side, centre crop (notation 6.0); for
/// inverted residuals the crop that EfficientNet is evaluated with.
#[must_use]
pub fn preprocess(config: &DualConfig) -> Preprocess {
    Preprocess {
        size: config.vision.image_size as u32,
        resize: if config.vision.inverted.is_some() {
            ResizeMode::InnerCrop
        } else {
            ResizeMode::CentreCrop
        },
    }
}

/// The weights file that a path of the user means: a run, a checkpoint folder, or a file.
///
/// # Errors
/// Bad usage when there is no such file.
pub fn weights_file(path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let found = [Some(path.to_owned()), latest(path)]
        .into_iter()
        .flatten()
        .map(|p| p.join(MODEL))
        .find(|p| p.is_file());
    found.ok_or_else(|| {
        usage(format!(
            "{}: wanted a run folder, a checkpoint folder, a bundle or a .safetensors file; found {}",
            path.display(),
            if path.exists() { "none of them" } else { "nothing there" }
        ))
    })
}

/// Whether a path is a bundle.
#[must_use]
pub fn is_bundle(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

/// Read a bundle's manifest and the files of some parts, checked.
///
/// # Errors
/// Bad usage or [`espalier_core::CoreError::Bundle`] naming the file.
pub fn read_bundle(
    path: &Path,
    parts: &[Part],
) -> anyhow::Result<(Vec<u8>, Manifest, BundleFiles)> {
    let file = path.join("manifest.json");
    let bytes = fs::read(&file).map_err(|e| usage(format!("{}: {e}", file.display())))?;
    let manifest = Manifest::parse(&bytes)?;
    let mut bundle = BundleFiles::default();
    for listed in manifest.files_of(parts) {
        let file = path.join(&listed.path);
        let content = fs::read(&file).map_err(|e| {
            usage(format!(
                "{}: {e}; the manifest lists it as needed",
                file.display()
            ))
        })?;
        bundle
            .insert_checked(&manifest, &listed.path, content)
            .map_err(|e| usage(format!("{}: {e}", path.display())))?;
    }
    Ok((bytes, manifest, bundle))
}

/// Read a run, a checkpoint or a weights file without building its model: the file, its SHA-256,
/// its card and its tensors.
///
/// # Errors
/// Bad usage when there is none, it is a bundle, or it is not of this program.
pub fn read(path: &Path) -> anyhow::Result<(PathBuf, String, ModelCard, Tensors)> {
    if is_bundle(path) {
        return Err(usage(format!(
            "{}: wanted a checkpoint, found a bundle, which holds rounded weights",
            path.display()
        )));
    }
    let file = weights_file(path)?;
    let bytes = fs::read(&file).map_err(|e| usage(format!("{}: {e}", file.display())))?;
    let sha256 = sha256_hex(&bytes);
    let tensors = Tensors::read(&bytes).map_err(|e| usage(format!("{}: {e}", file.display())))?;
    let card = parse_card(&file, &tensors.metadata)?;
    Ok((file, sha256, card, tensors))
}

/// What a run, a checkpoint or a weights file says of itself; only the head of the file is read.
///
/// # Errors
/// As [`read`].
pub fn card_of(path: &Path) -> anyhow::Result<ModelCard> {
    let file = weights_file(path)?;
    let head = SafetensorsFile::open(&file)?;
    parse_card(&file, &head.metadata)
}

fn parse_card(file: &Path, metadata: &BTreeMap<String, String>) -> anyhow::Result<ModelCard> {
    let card = metadata.get(CARD).ok_or_else(|| {
        usage(format!(
            "{}: its metadata has no `{CARD}` entry, so its architecture is unknown; use a \
             checkpoint that this program wrote, or bring it in with `trainer import`",
            file.display()
        ))
    })?;
    let card: ModelCard = serde_json::from_str(card)
        .map_err(|e| usage(format!("{}: metadata `{CARD}`: {e}", file.display())))?;
    card.config.validate()?;
    Ok(card)
}

/// Open a run, a checkpoint, a weights file or a bundle.
///
/// # Errors
/// Bad usage when there is none, a tensor error when the weights do not fit.
pub fn open(path: &Path, device: &Device) -> anyhow::Result<Model> {
    if is_bundle(path) {
        return open_bundle(path, device);
    }
    let (file, sha256, card, tensors) = read(path)?;
    let encoder = weights::load(card.config.init(device), &tensors, |_| false)
        .map_err(|e| usage(format!("{}: {e}", file.display())))?;
    let tokenizer = Tokenizer::from_merges(MERGES, card.config.text.vocab_size)?;
    let own = card.origin.as_ref().map(|o| o.preprocess);
    let preprocess = own.unwrap_or_else(|| preprocess(&card.config));
    Ok(Model {
        root: card.origin.as_ref().and_then(|o| o.root.clone()),
        card,
        encoder,
        tokenizer,
        file,
        sha256,
        preprocess,
        calibration: None,
        lexicon: Lexicon::default(),
    })
}

fn open_bundle(path: &Path, device: &Device) -> anyhow::Result<Model> {
    // The calibration lies beside the taxonomy.
    let parts = [Part::Image, Part::Text, Part::Taxonomy];
    let (bytes, manifest, bundle) = read_bundle(path, &parts)?;
    let mut model = from_bundle(manifest, &bundle, device)?;
    model.file = path.join("manifest.json");
    model.sha256 = sha256_hex(&bytes);
    Ok(model)
}

/// Both towers of a bundle in memory.
///
/// # Errors
/// A bundle error when its geometry does not fit its model, a tensor error when the weights do not
/// fit the architecture.
pub fn from_bundle(
    manifest: Manifest,
    bundle: &BundleFiles,
    device: &Device,
) -> anyhow::Result<Model> {
    manifest.check_geometry()?;
    let mut tensors = BTreeMap::new();
    for file in manifest
        .files_of(&[Part::Image])
        .chain(weights_of(&manifest))
    {
        tensors.extend(bundle.tensors(&file.path)?.tensors);
    }
    let tensors = Tensors {
        tensors,
        metadata: BTreeMap::new(),
    };
    let encoder = weights::load(manifest.model.init(device), &tensors, |_| false)?;
    let tokenizer = Tokenizer::from_merges(
        bundle.text(files::VOCABULARY)?,
        manifest.model.text.vocab_size,
    )?;
    let lexicon = lexicon(&manifest, bundle)?;
    Ok(Model {
        lexicon,
        card: ModelCard {
            config: manifest.model,
            method: manifest.method,
            step: manifest
                .provenance
                .get("steps")
                .and_then(serde_json::Value::as_u64)
                .unwrap_or(0),
            run: String::new(),
            root_text: String::new(),
            origin: None,
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
