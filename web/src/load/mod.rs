//! Loads a model from its manifest's address into verified bytes, and reports the progress.

#[cfg(target_arch = "wasm32")]
pub mod bundle;
#[cfg(target_arch = "wasm32")]
pub mod cache;
#[cfg(target_arch = "wasm32")]
pub mod crash;
#[cfg(target_arch = "wasm32")]
pub mod fetch;
#[cfg(target_arch = "wasm32")]
pub mod js;
#[cfg(target_arch = "wasm32")]
pub mod lists;
#[cfg(target_arch = "wasm32")]
pub mod lock;
pub mod progress;
#[cfg(target_arch = "wasm32")]
pub mod storage;
#[cfg(target_arch = "wasm32")]
pub mod tree;

/// Name of the model that the page loads if its address names none.
pub const DEFAULT_MODEL: &str = "default";

/// Name of the small model, for comparison.
pub const SMALL_MODEL: &str = "tiny";

/// Address of a model's manifest, relative to the page.
pub fn manifest_of(model: &str) -> String {
    format!("models/{model}/manifest.json")
}
