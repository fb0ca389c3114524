//! The manifest and the list of engines, a few kilobytes: how much there is to download, and whether it is
//! stored already.

use espalier_core::bundle::{Manifest, Part};
use serde::Deserialize;

use super::bundle::folder;
use super::cache::{is_stored, key};
use super::fetch::fetch_small;
use super::progress::{DownloadSizes, EngineSizes};
use crate::messages::protocol::Backend;

/// File with the location and sizes of the engines, written by the build.
const ENGINES: &str = "engines.json";

/// The list that the build writes.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Engines {
    /// Folder of the engines, relative to the page, with a slash at its end. Its name changes with
    /// their content, so that no cache mixes two builds.
    pub folder: String,
    /// The CPU engine.
    pub worker_cpu: EngineSizes,
    /// The WebGPU engine; none while it is still being built, see `cargo xtask demo`.
    pub worker_gpu: Option<EngineSizes>,
}

/// The contents of the manifest and of the list of engines.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Sizes of the engines and of the model.
    pub sizes: DownloadSizes,
    /// The engines.
    pub engines: Engines,
    /// Addresses under which the browser stores the model's files that a first answer needs.
    stored_files: Vec<String>,
}

impl Lists {
    /// Returns whether this browser stores an engine of this build and all files that a first
    /// answer needs. `base` is the address of the page's folder.
    pub async fn are_stored(&self, base: &str) -> bool {
        let engine = |backend: Backend| {
            let folder = &self.engines.folder;
            format!("{base}{folder}{}_bg.wasm", backend.program())
        };
        if !is_stored(&engine(Backend::Cpu)).await && !is_stored(&engine(Backend::WebGpu)).await {
            return false;
        }
        for address in &self.stored_files {
            if !is_stored(address).await {
                return false;
            }
        }
        !self.stored_files.is_empty()
    }
}

/// Reads both lists. Sizes that cannot be read count as unknown: the bar then has no total for that
/// part. The worker reads the manifest again and reports its errors.
pub async fn read(base: &str, manifest_url: &str) -> Lists {
    let engines = fetch_small(&format!("{base}{ENGINES}"), ENGINES).await.ok();
    let engines = engines.and_then(|list| serde_json::from_slice(&list).ok());
    let engines: Engines = engines.unwrap_or_default();
    let manifest = fetch_small(manifest_url, "manifest.json").await.ok();
    let manifest = manifest.and_then(|manifest| Manifest::parse(&manifest).ok());
    let sizes = DownloadSizes {
        cpu: engines.worker_cpu,
        gpu: engines.worker_gpu.unwrap_or_default(),
        model: manifest
            .as_ref()
            .map_or(0, |m| m.first_bytes_of(&Part::OF_AN_ANSWER)),
        text: manifest.as_ref().map_or(0, |m| m.bytes_of(&[Part::Text])),
    };
    let stored_files = manifest.iter().flat_map(|manifest| {
        let base = folder(manifest_url);
        let files = manifest.first_files_of(&Part::OF_AN_ANSWER);
        files.map(move |file| key(&format!("{base}{}", file.path), &file.sha256))
    });
    Lists {
        sizes,
        stored_files: stored_files.collect(),
        engines,
    }
}
