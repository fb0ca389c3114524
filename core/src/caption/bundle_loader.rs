//! Opens a bundle incrementally, while its files arrive.
//!
//! The weights of the image encoder are moved to the device file by file, and each file is then
//! freed. Besides the data on the device, at most one weight file is in memory, so a large bundle
//! is never held twice.

use std::collections::BTreeSet;

use burn::tensor::Device;

use super::captioner::{Captioner, ImageModel, image_model};
use super::files;
use crate::bundle::{BundleFiles, Manifest, Part, VerifiedFile, sha256_hex};
use crate::error::{CoreError, Result};
use crate::weights::{Loading, Tensors};

/// A bundle of which some files have arrived.
#[derive(Debug)]
pub struct BundleLoader {
    manifest: Manifest,
    sha256: String,
    device: Device,
    model: ImageModel,
    loading: Loading,
    loaded: BTreeSet<String>,
    files: BundleFiles,
}

impl BundleLoader {
    /// Starts with the manifest alone.
    ///
    /// # Errors
    /// As [`Manifest::parse`].
    pub fn new(manifest: &[u8], device: &Device) -> Result<Self> {
        let sha256 = sha256_hex(manifest);
        let manifest = Manifest::parse(manifest)?;
        Ok(Self {
            model: image_model(&manifest.model, device),
            manifest,
            sha256,
            device: device.clone(),
            loading: Loading::default(),
            loaded: BTreeSet::new(),
            files: BundleFiles::default(),
        })
    }

    /// The manifest.
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
            return Err(invalid(
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

    /// Moves verified weights to the device.
    fn add_weights(mut self, path: &str, bytes: &[u8]) -> Result<Self> {
        let tensors = Tensors::read(bytes).map_err(|e| invalid(path, e.to_string()))?;
        self.model = self.loading.take(self.model, tensors, |_| false)?;
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
            return Err(invalid(
                files::IMAGE,
                "no file of the image encoder is listed",
            ));
        }
        if let Some(missing) = listed.iter().find(|path| !self.loaded.contains(**path)) {
            return Err(invalid(
                missing,
                "is missing; fetch every file of the image encoder",
            ));
        }
        self.loading.finish()?;
        Captioner::assemble(self.manifest, self.sha256, self.model, files, &self.device)
    }
}

fn invalid(file: &str, reason: impl Into<String>) -> CoreError {
    CoreError::Bundle {
        file: file.into(),
        reason: reason.into(),
    }
}

impl Captioner {
    /// Opens a bundle; `bundle` must hold the files of every part except the text encoder.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming a missing file, a tensor error naming the file's tensor.
    pub fn open(manifest: &[u8], bundle: &BundleFiles, device: &Device) -> Result<Self> {
        let mut bundle_loader = BundleLoader::new(manifest, device)?;
        let paths = bundle_loader.manifest.files_of(&[Part::Image]);
        let paths: Vec<String> = paths.map(|f| f.path.clone()).collect();
        for path in paths {
            bundle_loader = bundle_loader.add_weights(&path, bundle.get(&path)?)?;
        }
        bundle_loader.assemble(bundle)
    }
}
