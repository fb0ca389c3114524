//! The bundle, a folder that the page loads: a manifest and the files listed in it.
//!
//! The trainer and the page share this reader. It takes bytes and checks lengths and hashes; it
//! takes no paths, so the caller decides where the bytes come from.

pub mod caution;
pub mod files;
pub mod manifest;
pub mod packed;

pub use caution::Caution;
pub use files::{BundleFiles, VerifiedFile, sha256_hex};
pub use manifest::{BundleFile, FORMAT, Manifest, Part};
pub use packed::pack;
