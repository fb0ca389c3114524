//! The page of Espalier: a photo in, a ladder of captions and its place in a taxonomy out.
//!
//! Read it in this order:
//!
//! 1. [`messages::protocol`]: what the page and an engine's worker say to each other.
//! 2. [`state::session`]: what the page is doing, as one value and one pure function.
//! 3. [`load`]: from a manifest's address to checked bytes, with one honest bar.
//! 4. `engine::worker` and `engine::client`: the two ends of the wire.
//! 5. `shell` and `components`: the session drawn, and its commands carried out.
//! 6. [`messages::ask`] and `bench`: what is asked of a photo beyond its first answer.
//!
//! The pure parts build and are tested natively; what touches a browser is built for wasm32 only.
//! The page links core for its types alone, each worker for everything: see `Cargo.toml` for the
//! features that part the three programs.

pub mod engine;
pub mod load;
pub mod messages;
pub mod narration;
pub mod state;
pub mod ui_error;
pub mod words;

#[cfg(test)]
#[path = "../tests/stories/sample.rs"]
mod sample;

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
pub mod asking;
#[cfg(target_arch = "wasm32")]
pub mod bench;
#[cfg(target_arch = "wasm32")]
pub mod components;
#[cfg(target_arch = "wasm32")]
pub mod keep;
#[cfg(target_arch = "wasm32")]
pub mod photo;
#[cfg(target_arch = "wasm32")]
pub mod shell;
