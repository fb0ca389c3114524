//! `manifest.json`: what a bundle is and which files it consists of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::files::{Checked, sha256_hex};
use crate::error::{CoreError, Result};
use crate::geometry::Space;
use crate::input::Preprocess;
use crate::model::{DualConfig, LiftKind};

/// The value of [`Manifest::format`] that this version reads and writes.
pub const FORMAT: &str = "espalier-bundle/1";

/// What a file of a bundle is for. A visitor needs all but [`Text`](Part::Text) for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Picture tower.
    Image,
    /// Text tower and its vocabulary; fetched only when a visitor types.
    Text,
    /// Captions and their embeddings.
    Captions,
    /// Nodes, names, embeddings of the labels, calibration.
    Taxonomy,
    /// A small picture and its embedding.
    Selftest,
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleFile {
    /// Path relative to the manifest; no `..`, no leading `/`.
    pub path: String,
    /// What it is for.
    pub part: Part,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of these bytes, lower-case hexadecimal.
    pub sha256: String,
    /// `q8`, `q6`, `f32`, or `text` and `png` for files that hold no tensors.
    pub dtype: String,
    /// Length of its content where the file is that content deflated (zlib's format).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpacked: Option<u64>,
    /// 0 for what a first answer needs; files with a larger number make answers finer and may come
    /// later, in this order. A reader that does not know them has whole answers without them.
    #[serde(default, skip_serializing_if = "is_first")]
    pub shard: u32,
}

fn is_first(shard: &u32) -> bool {
    *shard == 0
}

impl BundleFile {
    /// Compare a file's bytes with what is listed.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming the file when their length or hash differs.
    pub fn check(&self, bytes: Vec<u8>) -> Result<Checked> {
        let wrong = |reason| {
            Err(CoreError::Bundle {
                file: self.path.clone(),
                reason,
            })
        };
        if bytes.len() as u64 != self.bytes {
            return wrong(format!(
                "expected {} bytes, found {}; the file is cut short or of another version",
                self.bytes,
                bytes.len()
            ));
        }
        let found = sha256_hex(&bytes);
        if found != self.sha256 {
            return wrong(format!(
                "expected SHA-256 {}, found {found}; the file is damaged or of another version",
                self.sha256
            ));
        }
        Ok(Checked {
            file: self.clone(),
            bytes,
        })
    }
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
    /// How a photo becomes the tower's input.
    pub preprocessing: Preprocess,
    /// Terms of use.
    pub licence: String,
    /// Measured quality, values in `[0, 1]` unless the name says otherwise.
    pub metrics: BTreeMap<String, f64>,
    /// Where the weights come from: data, command, steps, hashes.
    pub provenance: BTreeMap<String, serde_json::Value>,
    /// Files, in the order in which a page should fetch them.
    pub files: Vec<BundleFile>,
}

fn fault(reason: impl Into<String>) -> CoreError {
    CoreError::Bundle {
        file: "manifest.json".into(),
        reason: reason.into(),
    }
}

impl Manifest {
    /// Parse and check a manifest.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when it is not JSON of this form, has another format word, has
    /// a geometry that is not its model's, or lists a file outside its own folder or twice.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        let head: Head = serde_json::from_slice(bytes)
            .map_err(|e| fault(format!("expected a JSON object with a `format`: {e}")))?;
        if head.format != FORMAT {
            return Err(fault(format!(
                "expected format `{FORMAT}`, found `{}`",
                head.format
            )));
        }
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|e| fault(format!("cannot be read: {e}")))?;
        manifest.model.validate()?;
        manifest.check_geometry()?;
        let mut seen = std::collections::BTreeSet::new();
        for file in &manifest.files {
            let outside = file.path.is_empty()
                || file.path.starts_with(['/', '\\'])
                || file.path.contains(':')
                || file.path.split(['/', '\\']).any(|part| part == "..");
            if outside {
                return Err(fault(format!(
                    "`{}` must be a path below the manifest",
                    file.path
                )));
            }
            if !seen.insert(&file.path) {
                return Err(fault(format!("`{}` is listed twice", file.path)));
            }
        }
        Ok(manifest)
    }

    /// Whether the geometry is that of the model: without its root or curvatures, radii and angles
    /// would be numbers of another space.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] with what the model needs and what there is.
    pub fn check_geometry(&self) -> Result<()> {
        let width = self.model.d_embed;
        let expected = match (&self.geometry, self.model.lift) {
            (Space::Sphere { root }, LiftKind::Sphere) => {
                let whole = root.len() == width && root.iter().all(|v| v.is_finite());
                (!whole).then(|| format!("a `root` of {width} finite numbers"))
            }
            (Space::Lorentz { curvature }, LiftKind::Lorentz) => {
                let usable = curvature.is_finite() && *curvature > 0.0;
                (!usable).then(|| "a positive `curvature`".to_owned())
            }
            (Space::Product { curvatures, join }, LiftKind::Product { factors, join: own }) => {
                let usable = curvatures.iter().all(|c| c.is_finite() && *c > 0.0);
                let fits = curvatures.len() == factors && usable && *join == own;
                (!fits).then(|| format!("{factors} positive `curvatures` joined by {own:?}"))
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
        Err(fault(format!(
            "geometry: expected {expected}, found {found}; export the model again"
        )))
    }

    /// The files of some parts, in the order of the manifest.
    pub fn files_of<'a>(&'a self, parts: &'a [Part]) -> impl Iterator<Item = &'a BundleFile> {
        self.files.iter().filter(|f| parts.contains(&f.part))
    }

    /// Those of the files of some parts that a first answer needs.
    pub fn first_of<'a>(&'a self, parts: &'a [Part]) -> impl Iterator<Item = &'a BundleFile> {
        self.files_of(parts).filter(|f| f.shard == 0)
    }

    /// Those that make answers finer, in the order in which they should come.
    #[must_use]
    pub fn finer_of<'a>(&'a self, parts: &'a [Part]) -> Vec<&'a BundleFile> {
        let mut finer: Vec<_> = self.files_of(parts).filter(|f| f.shard > 0).collect();
        finer.sort_by_key(|f| f.shard);
        finer
    }

    /// Sum of the lengths of the files of some parts, in bytes.
    #[must_use]
    pub fn bytes_of(&self, parts: &[Part]) -> u64 {
        self.files_of(parts).map(|f| f.bytes).sum()
    }

    /// The same for what a first answer needs.
    #[must_use]
    pub fn first_bytes_of(&self, parts: &[Part]) -> u64 {
        self.first_of(parts).map(|f| f.bytes).sum()
    }

    /// A file by its path.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when the manifest does not list it.
    pub fn file(&self, path: &str) -> Result<&BundleFile> {
        self.files
            .iter()
            .find(|f| f.path == path)
            .ok_or_else(|| CoreError::Bundle {
                file: path.into(),
                reason: "is not listed in the manifest".into(),
            })
    }
}
