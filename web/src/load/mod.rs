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
#[cfg(target_arch = "wasm32")]
pub mod turn;

use espalier_core::bundle::Part;

/// The parts that an answer needs. The text tower is not among them: it is of use only to a
/// visitor who types.
pub const PARTS: [Part; 4] = [Part::Image, Part::Captions, Part::Taxonomy, Part::Selftest];

/// Where the shipped model lies, relative to the page.
pub const DEFAULT_MANIFEST: &str = "models/default/manifest.json";

/// Where the engines lie and how large they are, written by the build.
pub const ENGINES: &str = "engines.json";
