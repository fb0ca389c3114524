//! Opens a bundle incrementally, while its files arrive.
//!
//! The weights of the image encoder are moved to the engine file by file, and each file is then
//! freed. So a large bundle is never held twice.

use std::collections::BTreeSet;

use super::captioner::Captioner;
use super::encoders::ImageLoader;
use super::engine::Engine;
use super::files;
use crate::bundle::{BundleFiles, Manifest, Part, VerifiedFile, sha256_hex};
use crate::error::{CoreError, Result};

/// A bundle of which some files have arrived.
#[derive(Debug)]
pub struct BundleLoader {
    manifest: Manifest,
    sha256: String,
    image: ImageLoader,
    loaded: BTreeSet<String>,
    files: BundleFiles,
}

impl BundleLoader {
    /// Starts with the manifest alone.
    ///
    /// # Errors
    /// As [`Manifest::parse`].
    pub fn new(manifest: &[u8], engine: &Engine) -> Result<Self> {
        let sha256 = sha256_hex(manifest);
        let manifest = Manifest::parse(manifest)?;
        Ok(Self {
            image: ImageLoader::new(&manifest.model, engine),
            manifest,
            sha256,
            loaded: BTreeSet::new(),
            files: BundleFiles::default(),
        })
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Adds a file. Files may arrive in any order.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming the file if it is not in the manifest of this bundle; a tensor error
    /// if it does not fit the model.
    pub fn with(mut self, file: VerifiedFile) -> Result<Self> {
        let path = &file.file().path;
        let listed = self.manifest.file(path)?;
        if listed != file.file() {
            return Err(CoreError::bundle(
                path,
                "belongs to another bundle; fetch all files from the same one",
            ));
        }
        if listed.part == Part::Image {
            let path = path.clone();
            return self.add_weights(&path, &file.into_content()?);
        }
        self.files.insert(file)?;
        Ok(self)
    }

    /// Moves verified weights to the engine.
    fn add_weights(mut self, path: &str, bytes: &[u8]) -> Result<Self> {
        self.image = match self.image.with(bytes) {
            // The file as a whole cannot be read.
            Err(CoreError::Tensor { tensor, reason }) if tensor == "*" => {
                return Err(CoreError::bundle(path, reason));
            }
            loaded => loaded?,
        };
        self.loaded.insert(path.to_owned());
        Ok(self)
    }

    /// Completes the bundle. Every file of the first shards must have been added; the files of the
    /// text encoder are optional.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming a missing file, a tensor error naming a tensor that does not
    /// fit.
    pub fn finish(mut self) -> Result<Captioner> {
        let files = std::mem::take(&mut self.files);
        self.assemble(&files)
    }

    fn assemble(self, files: &BundleFiles) -> Result<Captioner> {
        let listed: Vec<&str> = self
            .manifest
            .files_of(&[Part::Image])
            .map(|f| f.path.as_str())
            .collect();
        if listed.is_empty() {
            return Err(CoreError::bundle(
                files::IMAGE,
                "no file of the image encoder is listed",
            ));
        }
        if let Some(missing) = listed.iter().find(|path| !self.loaded.contains(**path)) {
            return Err(CoreError::bundle(
                *missing,
                "is missing; fetch every file of the image encoder",
            ));
        }
        let image_part = self.image.finish()?;
        Captioner::assemble(self.manifest, self.sha256, image_part, files)
    }
}

impl Captioner {
    /// Opens a bundle; `bundle` must hold the files of every part except the text encoder.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming a missing file, a tensor error naming the file's tensor.
    pub fn open(manifest: &[u8], bundle: &BundleFiles, engine: &Engine) -> Result<Self> {
        let mut bundle_loader = BundleLoader::new(manifest, engine)?;
        let paths = bundle_loader.manifest.files_of(&[Part::Image]);
        let paths: Vec<String> = paths.map(|f| f.path.clone()).collect();
        for path in paths {
            bundle_loader = bundle_loader.add_weights(&path, bundle.get(&path)?)?;
        }
        bundle_loader.assemble(bundle)
    }
}
