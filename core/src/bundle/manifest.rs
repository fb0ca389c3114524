//! `manifest.json`: what a bundle is and which files it consists of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::error::{CoreError, Result};
use crate::geometry::Space;
use crate::input::Preprocess;
use crate::model::{DualConfig, LiftKind};
use crate::shown;

/// The value of [`Manifest::format`] that this version reads and writes.
pub const FORMAT: &str = "espalier-bundle/1";

/// Largest total length of the files of a bundle in bytes, packed and unpacked. The largest image
/// encoders that can be imported take about 2 GiB in `f32`.
pub const MAX_BYTES: u64 = 16 << 30;

/// Most bytes that one packed byte may stand for, and the length from which on this counts. Weights
/// and captions stand for less than ten; zlib could stand for a thousand.
const MAX_RATIO: u64 = 64;
const SMALL: u64 = 1 << 20;

/// Purpose of a file of a bundle. A visitor needs all but [`Text`](Part::Text) for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Image encoder.
    Image,
    /// Text encoder and its vocabulary; fetched only when a visitor types a text.
    Text,
    /// Captions and their embeddings.
    Captions,
    /// Nodes, names, embeddings of the labels, and the calibration.
    Taxonomy,
    /// A small image and its embedding.
    Selftest,
    /// Vocabulary of statements and its detectors; a bundle need not have them.
    Statements,
}

impl Part {
    /// The parts that an answer needs. The text encoder is not among them: it is needed only for texts
    /// that somebody types.
    pub const OF_AN_ANSWER: [Self; 5] = [
        Self::Image,
        Self::Captions,
        Self::Taxonomy,
        Self::Statements,
        Self::Selftest,
    ];
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleFile {
    /// Path relative to the manifest; no `..`, no leading `/`.
    pub path: String,
    /// Its purpose.
    pub part: Part,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of these bytes, lower-case hexadecimal.
    pub sha256: String,
    /// `q8`, `q6`, `f32`, or `text` and `png` for files that hold no tensors.
    pub dtype: String,
    /// Length of the content after decompression, if the file is compressed (zlib format).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpacked: Option<u64>,
    /// 0 for files that the first answer needs. Files with a larger number make answers finer; they
    /// may be loaded later, in this order. A reader that ignores them still gives complete answers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shard: u32,
}

/// The manifest of a bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// Name of the model.
    pub name: String,
    /// Version of the model.
    pub version: String,
    /// Method it was trained with (`clip`, `hycoclip`, …).
    pub method: String,
    /// Architecture.
    pub model: DualConfig,
    /// Space of the embeddings: curvature or root.
    pub geometry: Space,
    /// How a photo is converted to the input of the image encoder.
    pub preprocessing: Preprocess,
    /// Terms of use.
    pub licence: String,
    /// Measured quality, values in `[0, 1]` unless the name says otherwise.
    pub metrics: BTreeMap<String, f64>,
    /// Origin of the weights: data, command, steps, hashes.
    pub provenance: BTreeMap<String, serde_json::Value>,
    /// Files, in the order in which a page should fetch them.
    pub files: Vec<BundleFile>,
}

fn invalid(reason: impl Into<String>) -> CoreError {
    CoreError::bundle("manifest.json", reason)
}

/// Returns whether a path names a file below the folder of the manifest, on a disk and in an address:
/// browsers read `%2e%2e` as two dots, `?` and `#` as the end of a path, and a backslash as a slash.
fn is_inside(path: &str) -> bool {
    let plain = |part: &str| {
        let allowed = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        !part.is_empty() && part.chars().all(allowed) && !part.chars().all(|c| c == '.')
    };
    path.split('/').all(plain)
}

impl Manifest {
    /// Parses and checks a manifest.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when it is not JSON of this form, has another format word, has a
    /// geometry or preprocessing that does not match the model, or lists a file outside its own folder
    /// or twice, or files of more than [`MAX_BYTES`] in total.
    /// [`CoreError::Config`] when the model's configuration is not valid.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        let head: Head = serde_json::from_slice(bytes)
            .map_err(|e| invalid(format!("expected a JSON object with a `format`: {e}")))?;
        if head.format != FORMAT {
            return Err(invalid(format!(
                "expected format `{FORMAT}`, found `{}`",
                head.format
            )));
        }
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|e| invalid(format!("cannot be read: {e}")))?;
        manifest.model.validate()?;
        manifest.check_geometry()?;
        manifest.check_preprocessing()?;
        manifest.check_lengths()?;
        manifest.check_texts()?;
        let mut seen = std::collections::BTreeSet::new();
        for file in &manifest.files {
            if !is_inside(&file.path) {
                return Err(invalid(format!(
                    "expected paths inside the folder of the manifest, of letters, digits and \
                     `-_.`, found `{}`",
                    shown::escaped(&file.path)
                )));
            }
            if !seen.insert(&file.path) {
                return Err(invalid(format!("`{}` is listed twice", file.path)));
            }
        }
        Ok(manifest)
    }

    /// Checks what is shown of the model.
    fn check_texts(&self) -> Result<()> {
        for (key, text) in [
            ("name", &self.name),
            ("version", &self.version),
            ("method", &self.method),
            ("licence", &self.licence),
        ] {
            shown::check(text).map_err(|reason| invalid(format!("{key}: {reason}")))?;
        }
        Ok(())
    }

    /// Checks that photos become images of the size that the image encoder reads.
    fn check_preprocessing(&self) -> Result<()> {
        let (expected, found) = (self.model.vision.image_size, self.preprocessing.size);
        if usize::try_from(found).is_ok_and(|size| size == expected) {
            return Ok(());
        }
        Err(invalid(format!(
            "preprocessing: expected the size {expected} of the image encoder, found {found}; export \
             the model again"
        )))
    }

    /// Checks that the lengths of the files are those of a model that a reader can hold in memory.
    fn check_lengths(&self) -> Result<()> {
        for file in &self.files {
            let most = file.bytes.saturating_mul(MAX_RATIO).max(SMALL);
            if let Some(unpacked) = file.unpacked.filter(|unpacked| *unpacked > most) {
                return Err(invalid(format!(
                    "`{}`: expected at most {most} bytes after decompression of {}, found {unpacked}; \
                     export the model again",
                    file.path, file.bytes
                )));
            }
        }
        let lengths = self.files.iter().flat_map(|f| [Some(f.bytes), f.unpacked]);
        let total = lengths.flatten().fold(0, u64::saturating_add);
        if total <= MAX_BYTES {
            return Ok(());
        }
        Err(invalid(format!(
            "expected files of at most {} GiB in total, packed and unpacked, found {} GiB",
            MAX_BYTES >> 30,
            total >> 30
        )))
    }

    /// Checks that the geometry matches the model: with another root or curvature, radii and angles
    /// would belong to another space.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] with the expected and the given geometry.
    pub fn check_geometry(&self) -> Result<()> {
        let width = self.model.d_embed;
        let expected = match (&self.geometry, self.model.lift) {
            (Space::Sphere { root }, LiftKind::Sphere) => {
                let is_valid = root.len() == width && root.iter().all(|v| v.is_finite());
                (!is_valid).then(|| format!("a `root` of {width} finite numbers"))
            }
            (Space::Lorentz { curvature }, LiftKind::Lorentz) => {
                let usable = curvature.is_finite() && *curvature > 0.0;
                (!usable).then(|| "a positive `curvature`".to_owned())
            }
            (
                Space::Product { curvatures, join },
                LiftKind::Product {
                    factors,
                    join: expected_join,
                },
            ) => {
                let usable = curvatures.iter().all(|c| c.is_finite() && *c > 0.0);
                let fits = curvatures.len() == factors && usable && *join == expected_join;
                (!fits)
                    .then(|| format!("{factors} positive `curvatures` joined by {expected_join:?}"))
            }
            (_, lift) => Some(format!("the space of the model, {lift:?}")),
        };
        let Some(expected) = expected else {
            return Ok(());
        };
        let found = match &self.geometry {
            Space::Sphere { root } => format!("a sphere with a root of {} numbers", root.len()),
            Space::Lorentz { curvature } => format!("one curvature, {curvature}"),
            Space::Product { curvatures, join } => {
                format!("{} curvatures joined by {join:?}", curvatures.len())
            }
        };
        Err(invalid(format!(
            "geometry: expected {expected}, found {found}; export the model again"
        )))
    }

    /// Returns the files of some parts, in the order of the manifest.
    pub fn files_of<'a>(&'a self, parts: &'a [Part]) -> impl Iterator<Item = &'a BundleFile> {
        self.files.iter().filter(|f| parts.contains(&f.part))
    }

    /// Returns the files of some parts that the first answer needs.
    pub fn first_files_of<'a>(&'a self, parts: &'a [Part]) -> impl Iterator<Item = &'a BundleFile> {
        self.files_of(parts).filter(|f| f.shard == 0)
    }

    /// Returns the files of some parts that make answers finer, in the order in which to load them.
    #[must_use]
    pub fn later_files_of<'a>(&'a self, parts: &'a [Part]) -> Vec<&'a BundleFile> {
        let mut finer: Vec<_> = self.files_of(parts).filter(|f| f.shard > 0).collect();
        finer.sort_by_key(|f| f.shard);
        finer
    }

    /// Returns the total length of the files of some parts, in bytes.
    #[must_use]
    pub fn bytes_of(&self, parts: &[Part]) -> u64 {
        self.files_of(parts).map(|f| f.bytes).sum()
    }

    /// Returns the total length of the files of some parts that the first answer needs, in bytes.
    #[must_use]
    pub fn first_bytes_of(&self, parts: &[Part]) -> u64 {
        self.first_files_of(parts).map(|f| f.bytes).sum()
    }

    /// Returns the entry of a file by its path.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when the manifest does not list it.
    pub fn file(&self, path: &str) -> Result<&BundleFile> {
        let file = self.files.iter().find(|f| f.path == path);
        file.ok_or_else(|| CoreError::bundle(path, "the file is not listed in the manifest"))
    }
}
