//! The folder that the page loads: a manifest and the files that it lists.
//!
//! One reader for trainer and page. It takes bytes, checks lengths and hashes, and never a path:
//! where the bytes come from is the caller's business.

pub mod files;
pub mod manifest;
pub mod packed;

pub use files::{BundleFiles, Checked, sha256_hex};
pub use manifest::{BundleFile, FORMAT, Manifest, Part};
pub use packed::pack;
