//! Converts models of other programs to checkpoints in the cache.

use std::path::{Path, PathBuf};

use espalier_core::bundle::Manifest;
use espalier_io::disk::read;
use espalier_io::disk::run_folder::MODEL;
use espalier_io::exit::{Usage, usage};
use espalier_io::output::note;
use sha2::{Digest, Sha256};

use super::cache::{self, Source};
use super::published::Published;
use crate::import::flags::Flags;
use crate::import::hub::Hub;
use crate::import::pipeline::{self, About};
use crate::import::source::Files;
use crate::import::store::Store;
use crate::layout::Layout;
use crate::model_file::{CARD, card_of};

/// Manifest of a bundle.
const MANIFEST: &str = "manifest.json";

/// Returns whether a weights file is one of another program that can be converted.
pub(super) fn is_foreign(path: &Path) -> bool {
    let store = Store::open(&[path.to_owned()]);
    store.is_ok_and(|store| {
        !store.metadata.contains_key(CARD) && Layout::of(store.names()).is_some()
    })
}

/// Converts files to a checkpoint in a folder of the cache.
fn convert(
    files: &Files,
    folder: &Path,
    source: &Source,
    about: &About,
) -> anyhow::Result<PathBuf> {
    let mut store = Store::open(&files.weights)?;
    if store.metadata.contains_key(CARD) {
        // A checkpoint of this program, as `export` or a run wrote it.
        return Ok(files.weights.first().cloned().unwrap_or_default());
    }
    if Layout::of(store.names()) == Some(Layout::EfficientnetLite) {
        return Err(usage(format!(
            "{}: expected encoders of images and texts, found an image encoder with a classifier; convert \
             it with `trainer import`, which also takes its labels, and name the result",
            files.label
        )));
    }
    let explain = |error: anyhow::Error| match error.downcast_ref::<Usage>() {
        Some(Usage(reason)) => usage(format!(
            "{reason}\nconvert it with `trainer import`, which has flags for what the files do not state, \
             and name the result"
        )),
        None => error,
    };
    let plan = pipeline::plan(files, &mut store, &Flags::default(), about).map_err(explain)?;
    let tensors = pipeline::tensors(&mut store, &plan).map_err(explain)?;
    cache::describe(folder, source)?;
    pipeline::write(&folder.join(MODEL), tensors, &plan.card)?;
    note(format_args!(
        "{}: converted and kept in {}",
        files.label,
        folder.display()
    ));
    Ok(folder.to_owned())
}

/// Returns a checkpoint made of a folder or a file of another program, converted now or before from the
/// same bytes.
pub(super) fn local(text: &str) -> anyhow::Result<PathBuf> {
    let files = Files::find(text, None, true)?;
    let mut hash = Sha256::new();
    for path in &files.weights {
        let bytes = read::bytes(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
        hash.update(Sha256::digest(bytes));
    }
    // Files beside the weights say how to prepare photos, so they belong to the model too.
    for name in [
        "config.json",
        "open_clip_config.json",
        "preprocessor_config.json",
    ] {
        hash.update(files.text(name)?.unwrap_or_default());
    }
    let hash: String = hash
        .finalize()
        .iter()
        .take(8)
        .map(|b| format!("{b:02x}"))
        .collect();
    let folder = cache::folder_of(&format!("file-{hash}"));
    if cache::find(&folder).is_some() {
        return Ok(folder);
    }
    let source = Source {
        name: text.to_owned(),
        files: files.label.clone(),
    };
    convert(&files, &folder, &source, &About::default())
}

/// Downloads a bundle of this program from a repository and returns its folder.
fn bundle(hub: &Hub) -> anyhow::Result<Option<PathBuf>> {
    if !hub.names().iter().any(|name| name == MANIFEST) {
        return Ok(None);
    }
    let Some(manifest) = hub.get(MANIFEST)? else {
        return Ok(None);
    };
    let fail = |e: String| usage(format!("{}: {MANIFEST}: {e}", hub.label()));
    let bytes = read::bytes(&manifest).map_err(|e| fail(e.to_string()))?;
    let parsed = Manifest::parse(&bytes).map_err(|e| fail(e.to_string()))?;
    for file in &parsed.files {
        let found = hub.get(&file.path)?;
        found.ok_or_else(|| fail(format!("it lists `{}`, which is not there", file.path)))?;
    }
    Ok(manifest.parent().map(Path::to_owned))
}

/// Returns the model of a repository: a bundle or a checkpoint of this program as it is, or a
/// converted one. `model` says what its files do not.
pub(super) fn hub(text: &str, model: Option<&Published>, offline: bool) -> anyhow::Result<PathBuf> {
    let id = text.strip_prefix("hf-hub:").unwrap_or(text);
    let name = match model {
        Some(model) => model.name.to_owned(),
        None => text.split('@').next().unwrap_or(text).to_owned(),
    };
    let hub = match Hub::open(id, offline) {
        Ok(hub) => hub,
        Err(error) => {
            // A revision that is named must be that one.
            let kept = cache::newest(&name).filter(|_| !id.contains('@'));
            let kept = kept.ok_or(error)?;
            if !offline {
                note(format_args!(
                    "{text}: the hub cannot be reached; using {} from the cache",
                    kept.source.files
                ));
            }
            return Ok(kept.folder);
        }
    };
    if let Some(folder) = bundle(&hub)? {
        return Ok(folder);
    }
    let file = model.and_then(|model| model.file);
    let key = hub.label();
    let key = key.strip_prefix("hf-hub:").unwrap_or(&key);
    let key = file.map_or_else(|| key.to_owned(), |file| format!("{key}-{file}"));
    let folder = cache::folder_of(&key);
    if cache::find(&folder).is_some() {
        return Ok(folder);
    }
    let files = Files::in_hub(hub, file)?;
    let source = Source {
        name,
        files: files.label.clone(),
    };
    let about = About {
        method: model.and_then(|model| model.method).map(str::to_owned),
        ..About::default()
    };
    let path = convert(&files, &folder, &source, &about)?;
    // What cannot be read now must not be found later.
    card_of(&path)?;
    Ok(path)
}
