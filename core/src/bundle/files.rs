//! Contents of a bundle's files, verified against the manifest when they arrive.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::manifest::{BundleFile, Manifest};
use super::packed::unpack;
use crate::error::{CoreError, Result};
use crate::weights::{StoredTensors, Tensors};

/// Returns the SHA-256 of some bytes in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl BundleFile {
    /// Checks a file's bytes against this entry.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming the file when their length or hash differs.
    pub fn check(&self, bytes: Vec<u8>) -> Result<VerifiedFile> {
        let wrong = |reason: String| Err(CoreError::bundle(&self.path, reason));
        if bytes.len() as u64 != self.bytes {
            return wrong(format!(
                "expected {} bytes, found {}; the file is truncated or of another version",
                self.bytes,
                bytes.len()
            ));
        }
        let actual = sha256_hex(&bytes);
        if actual != self.sha256 {
            return wrong(format!(
                "expected SHA-256 {}, found {actual}; the file is damaged or of another version",
                self.sha256
            ));
        }
        Ok(VerifiedFile {
            file: self.clone(),
            bytes,
        })
    }
}

/// A file whose length and hash match the manifest.
#[derive(Clone, Debug)]
pub struct VerifiedFile {
    file: BundleFile,
    bytes: Vec<u8>,
}

impl VerifiedFile {
    /// Returns the manifest's entry of the file.
    #[must_use]
    pub fn file(&self) -> &BundleFile {
        &self.file
    }

    /// Returns the bytes as they are stored and transferred.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the content, decompressed if the file is compressed.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming the file when it is compressed and does not decompress to the
    /// length in the manifest.
    pub fn into_content(self) -> Result<Vec<u8>> {
        let Some(length) = self.file.unpacked else {
            return Ok(self.bytes);
        };
        unpack(&self.bytes, length).map_err(|e| CoreError::bundle(&self.file.path, e))
    }
}

/// Files of a bundle with verified length and hash.
#[derive(Clone, Debug, Default)]
pub struct BundleFiles {
    files: BTreeMap<String, Vec<u8>>,
}

impl BundleFiles {
    /// Checks a file against the manifest and stores its content.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming the file when it is not listed, when its length or hash differs
    /// from the manifest, or when it cannot be decompressed.
    pub fn insert_checked(
        &mut self,
        manifest: &Manifest,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.insert(manifest.file(path)?.check(bytes)?)
    }

    /// Stores the content of a verified file.
    ///
    /// # Errors
    /// As [`VerifiedFile::into_content`].
    pub fn insert(&mut self, file: VerifiedFile) -> Result<()> {
        let path = file.file.path.clone();
        self.files.insert(path, file.into_content()?);
        Ok(())
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when it has not been inserted.
    pub fn get(&self, path: &str) -> Result<&[u8]> {
        self.files.get(path).map(Vec::as_slice).ok_or_else(|| {
            CoreError::bundle(
                path,
                "the file is missing; fetch every file that the manifest lists for its part",
            )
        })
    }

    /// Returns the content of a text file.
    ///
    /// # Errors
    /// As [`get`](Self::get), and when it is not UTF-8.
    pub fn text(&self, path: &str) -> Result<&str> {
        std::str::from_utf8(self.get(path)?)
            .map_err(|e| CoreError::bundle(path, format!("expected UTF-8 text: {e}")))
    }

    /// Reads a file of tensors.
    ///
    /// # Errors
    /// As [`get`](Self::get), and when it is not safetensors.
    pub fn tensors(&self, path: &str) -> Result<Tensors> {
        self.stored_tensors(path).map(Tensors::from)
    }

    /// Reads a file of tensors as they are stored.
    ///
    /// # Errors
    /// As [`tensors`](Self::tensors).
    pub fn stored_tensors(&self, path: &str) -> Result<StoredTensors> {
        StoredTensors::read(self.get(path)?).map_err(|e| CoreError::bundle(path, e.to_string()))
    }
}
