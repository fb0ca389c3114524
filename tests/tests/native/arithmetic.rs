//! The numbers that a bundle multiplies on a CPU.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::bundle::Manifest;
use espalier_core::model::Arithmetic;
use espalier_tests::browser::sample;
use espalier_tests::models::shipped;
use espalier_tests::trainer;
use espalier_trainer::model_file;

/// Writes the page's samples in folders by what they show.
fn labelled(folder: &Path) -> PathBuf {
    for (name, class) in [
        ("barn", "n02793495"),
        ("bench", "n03891251"),
        ("canoes", "n02951358"),
        ("cat", "n02123045"),
        ("coffee", "n07920052"),
    ] {
        fs::create_dir_all(folder.join(class)).unwrap();
        fs::copy(sample(name), folder.join(class).join("1.jpg")).unwrap();
    }
    folder.to_owned()
}

/// Exports the shipped bundle with other settings; returns its exit code and what it printed.
fn export(out: &Path, more: &[&str]) -> (Option<i32>, String) {
    let shipped = shipped();
    let (model, out) = (shipped.to_str().unwrap(), out.to_str().unwrap());
    let mut args = vec!["export", "--checkpoint", model, "--out", out];
    args.extend(more);
    let run = trainer(&args);
    (
        run.status.code(),
        String::from_utf8_lossy(&run.stderr).into_owned(),
    )
}

fn manifest(folder: &Path) -> Manifest {
    Manifest::parse(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn an_export_takes_integers_where_the_answers_stay_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let probe = labelled(&dir.path().join("probe"));
    let before = manifest(&shipped());
    for (choice, more, expected) in [
        (
            "auto",
            &["--probe", probe.to_str().unwrap()][..],
            Arithmetic::Int8,
        ),
        ("float32", &[], Arithmetic::Float32),
    ] {
        let out = dir.path().join(choice);
        let (code, said) = export(&out, &[&["--arithmetic", choice][..], more].concat());
        assert_eq!(code, Some(0), "{said}");
        let after = manifest(&out);
        assert_eq!(after.model.vision.arithmetic, expected, "{said}");
        let same_stop = after.metrics.get("same_stop_int8");
        assert_eq!(same_stop.is_some(), expected == Arithmetic::Int8, "{said}");
        assert!(
            same_stop.is_none_or(|share| *share >= 0.98),
            "{same_stop:?}"
        );
        // Weights and calibration stay as they are.
        assert_eq!(after.files, before.files);
    }
}

#[test]
fn integers_are_not_chosen_without_photos_to_compare_the_answers_on() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let (code, said) = export(&out, &["--arithmetic", "auto"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("--arithmetic auto: expected --probe"),
        "{said}"
    );
    assert!(!out.exists());
}

#[test]
fn training_from_a_bundle_with_integers_multiplies_floats() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path().join("logs");
    let (model, logs_path) = (shipped(), logs.to_str().unwrap());
    let base = [
        "fit",
        "--dataset",
        "synthetic",
        "--method",
        "hycoclip",
        "--lock-image",
    ];
    let sizes = [
        "--batch-size",
        "2",
        "--steps",
        "1",
        "--warmup",
        "1",
        "--name",
        "run",
    ];
    let of = ["--init", model.to_str().unwrap(), "--logs", logs_path];
    let run = trainer(
        &[
            &base[..],
            &sizes,
            &of,
            &["dataset.synthetic_records=24", "dataset.min_box_px=1"],
        ]
        .concat(),
    );
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    let card = model_file::open(&logs.join("run"), &Device::flex())
        .unwrap()
        .card;
    assert_eq!(card.config.vision.arithmetic, Arithmetic::Float32);
    let bundle = model_file::open(&model, &Device::flex()).unwrap().card;
    assert_eq!(bundle.config.vision.arithmetic, Arithmetic::Int8);
}
