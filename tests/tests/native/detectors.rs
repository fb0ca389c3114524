//! Bundles with detectors of what photos show, fitted to images with captions.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_tests::calls::{Call, call};
use espalier_tests::json_of;
use espalier_tests::models::tiny;
use serde_json::{Value, json};

use crate::captions::{Captioned, write_karpathy};
use crate::data::shards::png;

/// Writes red images of dogs on a beach and blue ones of people in snow.
fn write_colours(folder: &Path) -> PathBuf {
    let image = |number: usize| {
        let shade = 150 + (number * 3) as u8;
        let (colour, text) = match number % 2 {
            0 => ([shade, 30, 20], "A dog runs on the beach ."),
            _ => ([20, 30, shade], "People stand in the snow ."),
        };
        let plain = image::RgbImage::from_pixel(64, 64, image::Rgb(colour));
        Captioned {
            name: format!("{number:03}.png"),
            image: png(&plain),
            captions: vec![text.to_owned()],
        }
    };
    let images: Vec<Captioned> = (0..30).map(image).collect();
    write_karpathy(folder, &images, "train")
}

/// Returns the call that exports a bundle with detectors of what these images show.
fn export_told(file: &Path, out: &Path) -> Call {
    call("export")
        .set("--checkpoint", tiny())
        .set("--statements", file)
        .set("--out", out)
}

#[test]
fn a_bundle_is_calibrated_again_on_enough_labelled_images() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_colours(dir.path());
    let tiny = tiny();
    let tree = fs::read_to_string(tiny.join("taxonomy.tsv")).unwrap();
    let labels = tree.lines().filter_map(|row| row.strip_suffix("\t1"));
    let ids = labels.filter_map(|row| row.split('\t').next());
    let examples = tiny.join("../../examples");
    let photos = ids.map(|id| (id, examples.join(format!("{id}.webp"))));
    let photos: Vec<_> = photos.filter(|(_, photo)| photo.exists()).collect();
    let calibrated = |count: usize| {
        let probe = dir.path().join(format!("probe-{count}"));
        for (id, photo) in &photos[..count] {
            fs::create_dir_all(probe.join(id)).unwrap();
            fs::copy(photo, probe.join(id).join("1.webp")).unwrap();
        }
        let out = dir.path().join(format!("told-{count}"));
        let ended = export_told(&file, &out).set("--probe", probe).done();
        let manifest = json_of(&out.join("manifest.json"));
        let measured_on = manifest["provenance"]["measured_on"].clone();
        let calibration = fs::read(out.join("calibration.json")).unwrap();
        (calibration, measured_on, ended.said)
    };
    let shipped = fs::read(tiny.join("calibration.json")).unwrap();
    let (kept, measured_on, said) = calibrated(10);
    assert!(kept == shipped && said.contains("too few images"), "{said}");
    assert_ne!(measured_on, "probe-10");
    let (fitted, measured_on, _) = calibrated(photos.len());
    assert_ne!(fitted, shipped);
    assert_eq!(measured_on, format!("probe-{}", photos.len()));
}

#[test]
fn a_bundle_tells_what_captions_taught_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_colours(dir.path());
    let shows = dir.path().join("shows.json");
    let described = json!({
        "vocabulary": ["person", "group", "dog"],
        "images": [{"filename": "000.png", "filepath": "images", "shows": ["dog"]}],
    });
    fs::write(&shows, described.to_string()).unwrap();
    let out = dir.path().join("told");
    let export = export_told(&file, &out).with("--model-version 9.1.0");
    let told = ["not in the vocabulary, so not used: group"];
    export.set("--shows", &shows).ends_with(0, &told);

    let caption = |photo: &str| {
        let caption = call("caption --json").set("--model", &out);
        caption.arg(dir.path().join("images").join(photo)).json()
    };
    let texts = |result: &Value| -> Vec<String> {
        let shows = result["shows"].as_array().unwrap().iter();
        let texts = shows.map(|shown| shown["text"].as_str().unwrap().to_owned());
        let mut texts: Vec<String> = texts.collect();
        texts.sort_unstable();
        texts
    };
    let result = caption("000.png");
    assert_eq!(result["model"]["version"], "9.1.0");
    assert_eq!(texts(&result), ["a beach", "a dog", "running"]);
    let told = ["people", "snow", "standing"];
    assert_eq!(texts(&caption("001.png")), told);

    let eval = call("eval --task captions --split train --json");
    let eval = eval.set("--checkpoint", &out).set("--data", &file);
    let found = eval.json();
    assert_eq!(found["metrics"]["recall_snow"], 1.0, "{found}");
}

#[test]
fn what_cannot_teach_a_bundle_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_colours(dir.path());
    let out = dir.path().join("told");
    let shows = dir.path().join("shows.json");
    let refused = |flag: &str, value: &Path, expected: &str| {
        let export = export_told(&file, &out).set(flag, value);
        export.refused(&[expected]);
        assert!(!out.join("manifest.json").exists());
    };
    refused("--shows", &shows, "shows.json");
    fs::write(&shows, "{}").unwrap();
    refused("--shows", &shows, "`vocabulary`");
    let lost = json!({"vocabulary": ["dog"], "images": [{"filename": "x.png", "shows": ["dog"]}]});
    fs::write(&shows, lost.to_string()).unwrap();
    refused("--shows", &shows, "x.png");
    let nowhere = Path::new("nowhere.tsv");
    refused("--vocabulary", nowhere, "--vocabulary nowhere.tsv");
}
