//! Bundles: the manifest with its checks, and packed files.

use espalier_core::bundle::{BundleFile, BundleFiles, Manifest, Part, sha256_hex};
use espalier_core::caption::{BundleLoader, Engine};
use espalier_core::input::image::RgbImage;

/// Reads a manifest if the input is text that starts with a brace, otherwise a packed file.
///
/// # Panics
/// If a manifest that was accepted cannot be used.
pub fn run(input: &[u8]) {
    if input.trim_ascii_start().starts_with(b"{") {
        read_manifest(input);
    } else {
        unpack(input);
    }
}

fn read_manifest(json: &[u8]) {
    let Ok(manifest) = Manifest::parse(json) else {
        return;
    };
    let parts: Vec<Part> = Part::OF_AN_ANSWER.into_iter().chain([Part::Text]).collect();
    let total = manifest.bytes_of(&parts);
    assert!(manifest.first_bytes_of(&parts) <= total);
    let first = manifest.first_files_of(&parts).count();
    let later = manifest.later_files_of(&parts).len();
    assert_eq!(first + later, manifest.files.len());
    let image = RgbImage::new(3, 2);
    let prepared = manifest.preprocessing.apply(&image);
    prepared.unwrap_or_else(|e| panic!("{e}"));
    if let Ok(loader) = BundleLoader::new(json, &Engine::Kernels) {
        // No file has arrived.
        assert!(loader.finish().is_err());
    }
    let written = serde_json::to_vec(&manifest).unwrap_or_else(|e| panic!("{e}"));
    Manifest::parse(&written).unwrap_or_else(|e| panic!("written again: {e}"));
}

/// Checks and unpacks a file. The first byte chooses how the manifest describes it: bit 0 for a
/// wrong length, bit 1 for a wrong hash, bit 2 for a file that is not packed. The next eight bytes
/// are the length after decompression.
fn unpack(input: &[u8]) {
    let Some((&choice, rest)) = input.split_first() else {
        return;
    };
    let Some((unpacked, content)) = rest.split_first_chunk() else {
        return;
    };
    let has = |bit: u8| choice & (1 << bit) != 0;
    let unpacked = u64::from_le_bytes(*unpacked);
    let file = BundleFile {
        path: "x".into(),
        part: Part::Captions,
        bytes: content.len() as u64 + u64::from(has(0)),
        sha256: sha256_hex(if has(1) { b"" } else { content }),
        dtype: "text".into(),
        unpacked: (!has(2)).then_some(unpacked),
        shard: 0,
    };
    let Ok(verified) = file.check(content.to_vec()) else {
        assert!(has(0) || has(1), "a file as its manifest describes it");
        return;
    };
    let Ok(content) = verified.clone().into_content() else {
        assert!(!has(2), "a file that is not packed needs no unpacking");
        return;
    };
    if !has(2) {
        assert_eq!(content.len() as u64, unpacked);
    }
    let mut files = BundleFiles::default();
    assert!(files.insert(verified).is_ok());
    assert!(files.get("x").is_ok_and(|stored| stored == content));
    // Any result will do; a packed file may hold a text, tensors or neither.
    let _ = (files.text("x"), files.tensors("x"));
}
