//! The bytes of a bundle's files, checked against the manifest as they come in.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use super::manifest::{BundleFile, Manifest};
use super::packed::unpack;
use crate::error::{CoreError, Result};
use crate::weights::Tensors;

/// SHA-256 of some bytes in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// A file whose length and hash are those that a manifest lists.
#[derive(Clone, Debug)]
pub struct Checked {
    pub(super) file: BundleFile,
    pub(super) bytes: Vec<u8>,
}

impl Checked {
    /// What the manifest lists.
    #[must_use]
    pub fn file(&self) -> &BundleFile {
        &self.file
    }

    /// The file as it is stored and sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it holds.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming the file when it was packed and is not what the manifest says.
    pub fn into_content(self) -> Result<Vec<u8>> {
        let Some(length) = self.file.unpacked else {
            return Ok(self.bytes);
        };
        unpack(&self.bytes, length).map_err(|e| fault(&self.file.path, e))
    }
}

/// Files of a bundle whose length and hash have been checked.
#[derive(Clone, Debug, Default)]
pub struct BundleFiles {
    files: BTreeMap<String, Vec<u8>>,
}

fn fault(file: &str, reason: impl Into<String>) -> CoreError {
    CoreError::Bundle {
        file: file.into(),
        reason: reason.into(),
    }
}

impl BundleFiles {
    /// Check a file against the manifest and keep it.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming the file when it is not listed, when its length or hash differ
    /// from the manifest, or when it cannot be unpacked.
    pub fn insert_checked(
        &mut self,
        manifest: &Manifest,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.insert(manifest.file(path)?.check(bytes)?)
    }

    /// Keep the content of a file that has been checked.
    ///
    /// # Errors
    /// As [`Checked::into_content`].
    pub fn insert(&mut self, file: Checked) -> Result<()> {
        let path = file.file.path.clone();
        self.files.insert(path, file.into_content()?);
        Ok(())
    }

    /// Content of a file.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when it has not been inserted.
    pub fn get(&self, path: &str) -> Result<&[u8]> {
        self.files.get(path).map(Vec::as_slice).ok_or_else(|| {
            fault(
                path,
                "is missing; fetch every file that the manifest lists for its part",
            )
        })
    }

    /// A text file.
    ///
    /// # Errors
    /// As [`get`](Self::get), and when it is not UTF-8.
    pub fn text(&self, path: &str) -> Result<&str> {
        std::str::from_utf8(self.get(path)?)
            .map_err(|e| fault(path, format!("expected UTF-8 text: {e}")))
    }

    /// A file of tensors.
    ///
    /// # Errors
    /// As [`get`](Self::get), and when it is not safetensors.
    pub fn tensors(&self, path: &str) -> Result<Tensors> {
        Tensors::read(self.get(path)?).map_err(|e| fault(path, e.to_string()))
    }

    /// Let go of a file that has been used.
    pub fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }
}
