//! The compilation target of the page.

/// The only target that the page is built for.
pub const TARGET: &str = "wasm32-unknown-unknown";
