//! Results of the command line for the same photos.

use std::path::{Path, PathBuf};

use espalier_core::caption::CaptionResult;

use super::{Browser, Gpu, Site};
use crate::calls::call;
use crate::models::tiny;

/// Returns the path of a sample photo of the page.
pub fn sample(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../static/samples/{name}.jpg"));
    // A browser rejects paths with `..`.
    path.canonicalize().unwrap_or(path)
}

/// Returns the result of `trainer caption` for a photo with the model `tiny`; `more` are further
/// arguments.
pub fn natively(photo: &Path, more: &[&str]) -> CaptionResult {
    natively_by(&tiny(), photo, more)
}

/// Returns the result of `trainer caption` for a photo with the bundle in a folder; `more` are
/// further arguments.
pub fn natively_by(bundle: &Path, photo: &Path, more: &[&str]) -> CaptionResult {
    let caption = call("caption --json").set("--model", bundle).arg(photo);
    let json = caption.args(more).done().out;
    serde_json::from_str(&json).unwrap()
}

/// Opens the page with a sample in its address, in a browser without a graphics adapter, and waits
/// until it has answered and shows its tree.
pub fn started(query: &str) -> (Browser, Site, CaptionResult) {
    started_on(Gpu::None, query)
}

/// Like [`started`], in a browser with or without a graphics adapter.
pub fn started_on(gpu: Gpu, query: &str) -> (Browser, Site, CaptionResult) {
    let (browser, site) = (Browser::start(gpu), Site::built());
    let answer = browser.open_sample(&site, query).unwrap();
    browser.wait_for_id("tree");
    (browser, site, answer.result)
}
