//! What the page is compiled for.

/// The only target that the page is built for.
pub const TARGET: &str = "wasm32-unknown-unknown";
