//! Tests of manifests: each changes the manifest of the small model, which must then be refused.

use espalier_core::Result;
use espalier_core::bundle::{Caution, Manifest};
use serde_json::{Value, json};

/// Reads the manifest of the small model with a change.
fn changed(change: impl Fn(&mut Value)) -> Result<Manifest> {
    let tiny = include_bytes!("../../../static/models/tiny/manifest.json");
    let mut manifest: Value = serde_json::from_slice(tiny).unwrap();
    change(&mut manifest);
    Manifest::parse(manifest.to_string().as_bytes())
}

/// Returns the message for the manifest of the small model after a change.
fn message(change: impl Fn(&mut Value)) -> String {
    changed(change).unwrap_err().to_string()
}

#[test]
fn preprocessing_of_another_size_than_the_encoder_reads_is_an_error() {
    let message = message(|m| m["preprocessing"]["size"] = json!(u32::MAX));
    assert!(
        message
            .contains("preprocessing: expected the size 64 of the image encoder, found 4294967295"),
        "{message}"
    );
}

#[test]
fn a_path_that_leaves_the_folder_is_an_error() {
    for path in [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a/..",
        "./a",
        "a//b",
        "..\\x",
        "\\\\host\\x",
        "c:x",
        "https://elsewhere/x",
        "//elsewhere/x",
        "%2e%2e/x",
        "a%2fb",
        "x?y",
        "x#y",
        "a b",
        "a\u{202e}b",
    ] {
        let message = message(|m| m["files"][0]["path"] = json!(path));
        assert!(message.contains("inside the folder"), "{path}: {message}");
    }
}

#[test]
fn a_name_that_rewrites_a_terminal_is_an_error() {
    let message = message(|m| m["name"] = json!("tiny\u{1b}[2K"));
    assert!(
        message.contains("name: expected text without control"),
        "{message}"
    );
}

#[test]
fn images_larger_than_any_model_reads_are_an_error() {
    let message = message(|m| m["model"]["vision"]["image_size"] = json!(65_536));
    assert!(
        message.contains("vision.image_size must be between 1 and 4096, found 65536"),
        "{message}"
    );
}

#[test]
fn a_small_file_that_claims_a_large_content_is_an_error() {
    let message = message(|m| {
        m["files"][0]["bytes"] = json!(4 << 20);
        m["files"][0]["unpacked"] = json!(4_u64 << 30);
    });
    assert!(
        message.contains("at most 268435456 bytes after decompression of 4194304"),
        "{message}"
    );
}

#[test]
fn the_largest_content_of_a_file_is_64_times_its_length_or_a_mebibyte() {
    let of_length = |bytes: u64, unpacked: u64| {
        changed(move |m| {
            m["files"][0]["bytes"] = json!(bytes);
            m["files"][0]["unpacked"] = json!(unpacked);
        })
    };
    of_length(4 << 20, 256 << 20).unwrap();
    assert!(of_length(4 << 20, (256 << 20) + 1).is_err());
    of_length(1, 1 << 20).unwrap();
    assert!(of_length(1, (1 << 20) + 1).is_err());
}

#[test]
fn lengths_whose_sum_is_too_large_are_an_error() {
    let message = message(|m| {
        m["files"][0]["bytes"] = json!(u64::MAX);
        m["files"][1]["bytes"] = json!(u64::MAX);
    });
    assert!(message.contains("at most 16 GiB in total"), "{message}");
}

#[test]
fn the_largest_bundle_has_16_gib() {
    // The first file takes what the others, of a byte each, leave.
    let of_length = |total: u64| {
        changed(move |m| {
            let files = m["files"].as_array_mut().unwrap();
            for file in files.iter_mut() {
                file["bytes"] = json!(1);
                file["unpacked"] = json!(null);
            }
            files[0]["bytes"] = json!(total - (files.len() as u64 - 1));
        })
    };
    of_length(16 << 30).unwrap();
    assert!(of_length((16 << 30) + 1).is_err());
}

#[test]
fn cautions_are_kept_in_the_manifest_and_unknown_ones_are_left_out() {
    let bytes = include_bytes!("../../../static/models/tiny/manifest.json");
    let mut manifest = Manifest::parse(bytes).unwrap();
    let cautions = [
        Caution::NotCalibrated,
        Caution::AtChance,
        Caution::NotCalibrated,
    ];
    manifest.set_cautions(cautions.to_vec());
    let text = serde_json::to_string(&manifest).unwrap();
    assert!(text.contains(r#""cautions":["at_chance","not_calibrated"]"#));
    let later = text.replace("at_chance", "of_a_later_version");
    let read = Manifest::parse(later.as_bytes()).unwrap();
    assert_eq!(read.cautions(), [Caution::NotCalibrated]);
    manifest.set_cautions(Vec::new());
    assert!(manifest.cautions().is_empty() && !manifest.provenance.contains_key("cautions"));
}
