//! The numbers that a bundle multiplies on a CPU.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::model::Arithmetic;
use espalier_tests::browser::sample;
use espalier_tests::calls::{Call, call};
use espalier_tests::models::{manifest, shipped};
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

/// Returns the call that exports the shipped bundle with another choice of numbers.
fn export(out: &Path, choice: &str) -> Call {
    call("export --arithmetic")
        .arg(choice)
        .set("--checkpoint", shipped())
        .set("--out", out)
}

#[test]
fn an_export_takes_integers_where_the_answers_stay_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let probe = labelled(&dir.path().join("probe"));
    let (integers, floats) = (dir.path().join("integers"), dir.path().join("floats"));
    // Without photos the answers cannot be compared.
    let told = ["--arithmetic auto: expected --probe"];
    export(&integers, "auto").refused(&told);
    assert!(!integers.exists());
    export(&integers, "auto").set("--probe", probe).done();
    export(&floats, "float32").done();
    let before = manifest(&shipped());
    for (out, expected) in [(integers, Arithmetic::Int8), (floats, Arithmetic::Float32)] {
        let after = manifest(&out);
        assert_eq!(after.model.vision.arithmetic, expected);
        let same_stop = after.metrics.get("same_stop_int8");
        assert_eq!(same_stop.is_some(), expected == Arithmetic::Int8);
        let is_high = same_stop.is_none_or(|share| *share >= 0.98);
        assert!(is_high, "{same_stop:?}");
        // Weights and calibration stay as they are.
        assert_eq!(after.files, before.files);
    }
}

#[test]
fn training_from_a_bundle_with_integers_multiplies_floats() {
    let dir = tempfile::tempdir().unwrap();
    call("fit --dataset synthetic --method hycoclip --lock-image --name run")
        .with("--batch-size 2 --steps 1 --warmup 1")
        .set("--init", shipped())
        .set("--logs", dir.path())
        .with("dataset.synthetic_records=24 dataset.min_box_px=1")
        .done();
    for (model, expected) in [
        (dir.path().join("run"), Arithmetic::Float32),
        (shipped(), Arithmetic::Int8),
    ] {
        let card = model_file::open(&model, &Device::flex()).unwrap().card;
        assert_eq!(card.config.vision.arithmetic, expected);
    }
}
