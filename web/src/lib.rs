//! The Espalier web page: takes a photo, shows a ladder of captions and its place in a taxonomy.
//!
//! Reading order:
//!
//! 1. [`messages::protocol`]: the messages between the page and an engine's worker.
//! 2. [`state::session`]: the page's state, as one value and one pure function.
//! 3. [`load`]: loads a model from its manifest into verified bytes, with a progress bar.
//! 4. `engine::worker` and `engine::client`: the two sides of the protocol.
//! 5. `controller` and `components`: execute the session's commands and display its state.
//! 6. [`messages::query`] and `workspace`: follow-up queries beyond a photo's first answer.
//!
//! The pure parts also build and are tested natively; browser code is built for wasm32 only. The
//! page uses only the types of core, each worker uses all of it: see `Cargo.toml` for the features
//! that separate the three programs.

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
pub mod camera;
#[cfg(target_arch = "wasm32")]
pub mod components;
#[cfg(target_arch = "wasm32")]
pub mod controller;
#[cfg(target_arch = "wasm32")]
pub mod pending_queries;
#[cfg(target_arch = "wasm32")]
pub mod photo;
#[cfg(target_arch = "wasm32")]
pub mod save;
#[cfg(target_arch = "wasm32")]
pub mod taught;
#[cfg(target_arch = "wasm32")]
pub mod workspace;
