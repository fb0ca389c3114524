//! Bundles with detectors of what photos show, fitted to images with captions.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_tests::models::tiny_path;
use espalier_tests::trainer;
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

/// Exports a bundle with detectors of what these images show.
fn export_told(file: &Path, out: &Path, more: &[&str]) -> std::process::Output {
    let tiny = tiny_path();
    let mut args = vec!["export", "--checkpoint", &tiny, "--statements"];
    args.extend([file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    args.extend(more);
    trainer(&args)
}

#[test]
fn a_bundle_is_calibrated_again_on_enough_labelled_images() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_colours(dir.path());
    let tiny = PathBuf::from(tiny_path());
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
        let run = export_told(&file, &out, &["--probe", probe.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(0), "{said}");
        let manifest = fs::read(out.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let measured_on = manifest["provenance"]["measured_on"].clone();
        (
            fs::read(out.join("calibration.json")).unwrap(),
            measured_on,
            said,
        )
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
    let more = [
        "--shows",
        shows.to_str().unwrap(),
        "--model-version",
        "9.1.0",
    ];
    let run = export_told(&file, &out, &more);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(
        said.contains("not in the vocabulary, so not used: group"),
        "{said}"
    );

    let photo = |number: &str| dir.path().join("images").join(number);
    let (red, blue) = (photo("000.png"), photo("001.png"));
    let caption = |photo: &Path| -> Value {
        let (model, photo) = (out.to_str().unwrap(), photo.to_str().unwrap());
        let run = trainer(&["caption", "--model", model, photo, "--json"]);
        serde_json::from_slice(&run.stdout).unwrap()
    };
    let texts = |result: &Value| -> Vec<String> {
        let shows = result["shows"].as_array().unwrap().iter();
        let texts = shows.map(|shown| shown["text"].as_str().unwrap().to_owned());
        let mut texts: Vec<String> = texts.collect();
        texts.sort_unstable();
        texts
    };
    let result = caption(&red);
    assert_eq!(result["model"]["version"], "9.1.0");
    assert_eq!(texts(&result), ["a beach", "a dog", "running"]);
    assert_eq!(texts(&caption(&blue)), ["people", "snow", "standing"]);

    let (model, data) = (out.to_str().unwrap(), file.to_str().unwrap());
    let eval = [
        "eval",
        "--checkpoint",
        model,
        "--task",
        "captions",
        "--data",
        data,
        "--json",
    ];
    let run = trainer(&[&eval[..], &["--split", "train"]].concat());
    let found: Value = serde_json::from_slice(&run.stdout).unwrap();
    let recall = &found["metrics"]["recall_snow"];
    assert_eq!(recall.as_f64(), Some(1.0), "{found}");
}

#[test]
fn what_cannot_teach_a_bundle_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_colours(dir.path());
    let out = dir.path().join("told");
    let shows = dir.path().join("shows.json");
    let refused = |more: &[&str], expected: &str| {
        let run = export_told(&file, &out, more);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(!out.join("manifest.json").exists());
    };
    let flag = ["--shows", shows.to_str().unwrap()];
    refused(&flag, "shows.json");
    fs::write(&shows, "{}").unwrap();
    refused(&flag, "`vocabulary`");
    let lost = json!({"vocabulary": ["dog"], "images": [{"filename": "x.png", "shows": ["dog"]}]});
    fs::write(&shows, lost.to_string()).unwrap();
    refused(&flag, "x.png");
    refused(&["--vocabulary", "nowhere.tsv"], "--vocabulary nowhere.tsv");
}
