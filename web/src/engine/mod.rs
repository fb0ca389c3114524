//! The engine and the way to it: the page's end, the worker's end, and what they say.

pub mod ask;
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
pub mod protocol;
#[cfg(all(target_arch = "wasm32", feature = "engine"))]
pub mod worker;
