//! An imported model is a checkpoint like any other.

use espalier_core::input::ResizeMode;
use espalier_trainer::model_file;

use crate::import::support::{SOURCES, call, golden, import, imported};

#[test]
fn training_starts_from_it_at_its_own_architecture() {
    let (folder, ours) = imported("meru.pth", SOURCES[5].2);
    let (ours, logs) = (ours.to_string_lossy(), folder.path().to_string_lossy());
    let called = call(&[
        "fit",
        "--dataset",
        "synthetic",
        "--method",
        "hycoclip",
        "--init",
        &ours,
        "--steps",
        "2",
        "--batch-size",
        "4",
        "--warmup",
        "1",
        "--logs",
        &logs,
        "--name",
        "run",
        "dataset.synthetic_records=16",
    ]);
    assert_eq!(called.code, Some(0), "{}", called.said);
    let run = folder.path().join("run");
    let card = model_file::card_of(&run).unwrap();
    assert_eq!((card.config.vision.d_model, card.step), (16, 2));
    assert_eq!(card.method, "hycoclip");
    assert!(card.origin.unwrap().source.ends_with("meru.pth"));
    let called = call(&[
        "fit", "--logs", &logs, "--name", "run", "--resume", "latest", "--steps", "3",
    ]);
    assert_eq!(called.code, Some(0), "{}", called.said);
}

#[test]
fn its_own_preprocessing_and_terms_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ours");
    let flags = ["--image-resize-mode", "squash", "--licence", "cc-by-nc-4.0"];
    let report = import(&golden("hf"), &out, &flags);
    assert_eq!(report["preprocess"]["resize"], "squeeze");
    let choices = report["choices"].as_array().unwrap();
    let by = |what: &str| {
        let found = choices.iter().find(|c| c["what"] == what);
        found.unwrap()["by"].as_str().unwrap().to_owned()
    };
    assert!(by("resize mode").contains("--image-resize-mode"));
    assert_eq!(
        by("heads of the image encoder"),
        "config.json, vision_config.num_attention_heads"
    );
    let model = model_file::open(&out, &burn::tensor::Device::flex()).unwrap();
    assert_eq!(model.preprocess.resize, ResizeMode::Squeeze);
    let origin = model.card.origin.unwrap();
    assert_eq!(origin.licence.as_deref(), Some("cc-by-nc-4.0"));
}

#[test]
fn the_root_beside_the_weights_is_kept() {
    let (_folder, ours) = imported("clip.pth", SOURCES[4].2);
    let root = model_file::card_of(&ours).unwrap().origin.unwrap().root;
    assert_eq!(root.map(|r| (r.len(), r[15])), Some((16, 1.0)));
}

#[test]
fn the_report_names_the_tensors_that_hold_the_pixel_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let (name, _, heads) = SOURCES[5];
    let report = import(&golden(name), &folder.path().join("ours"), heads);
    let choices = report["choices"].as_array().unwrap();
    let mean = choices.iter().find(|c| c["what"] == "pixel mean").unwrap();
    assert_eq!(mean["by"], "tensor `pixel_mean`");
}
