//! The engine and the way to it: the page's end and the worker's end.

#[cfg(target_arch = "wasm32")]
pub mod client;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
mod clock;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
mod desk;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
pub mod device;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
pub mod inquiry;
#[cfg(target_arch = "wasm32")]
pub mod probe;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
pub mod worker;
