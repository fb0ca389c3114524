//! From a manifest's address to checked bytes in memory, with honest progress on the way.

#[cfg(target_arch = "wasm32")]
pub mod bundle;
#[cfg(target_arch = "wasm32")]
pub mod cache;
#[cfg(target_arch = "wasm32")]
pub mod crash;
#[cfg(target_arch = "wasm32")]
pub mod fetch;
#[cfg(target_arch = "wasm32")]
pub mod kept;
#[cfg(target_arch = "wasm32")]
pub mod plan;
pub mod progress;
pub mod sizes;
#[cfg(target_arch = "wasm32")]
pub mod text;
#[cfg(target_arch = "wasm32")]
pub mod tree;
#[cfg(target_arch = "wasm32")]
pub mod turn;

use espalier_core::bundle::Part;

/// The parts that an answer needs. The text tower is not among them: it is of use only to a
/// visitor who types.
pub const PARTS: [Part; 4] = [Part::Image, Part::Captions, Part::Taxonomy, Part::Selftest];

/// Name of the model that the page loads where its address names none.
pub const DEFAULT_MODEL: &str = "default";

/// Name of the small model, for comparison.
pub const SMALL_MODEL: &str = "tiny";

/// Address of a model's manifest, relative to the page.
#[must_use]
pub fn manifest_of(model: &str) -> String {
    format!("models/{model}/manifest.json")
}

/// Where the engines lie and how large they are, written by the build.
pub const ENGINES: &str = "engines.json";
