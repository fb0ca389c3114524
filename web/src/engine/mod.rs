//! The engine: the client on the page and the worker that it talks to.

#[cfg(target_arch = "wasm32")]
pub mod client;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
pub mod device;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
mod photo_store;
#[cfg(target_arch = "wasm32")]
pub mod probe;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
pub mod query_handler;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
mod visitor_tree;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
pub mod worker;
