//! An imported model is a checkpoint like any other.

use espalier_core::input::ResizeMode;
use espalier_tests::calls::call;
use espalier_trainer::model_file;

use crate::import::support::{HEADS, golden, import, imported};

#[test]
fn training_starts_from_it_at_its_own_architecture() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, run) = (folder.path().join("ours"), folder.path().join("run"));
    let import = import(&golden("meru.pth"), &ours).with(HEADS);
    let report = import.with("--json").json();
    let choices = report["choices"].as_array().unwrap();
    let mean = choices.iter().find(|c| c["what"] == "pixel mean").unwrap();
    assert_eq!(mean["by"], "tensor `pixel_mean`");

    let fit = || call("fit --name run").set("--logs", folder.path());
    fit()
        .with("--dataset synthetic --method hycoclip --steps 2 --batch-size 4 --warmup 1")
        .set("--init", &ours)
        .arg("dataset.synthetic_records=16")
        .done();
    let card = model_file::card_of(&run).unwrap();
    assert_eq!((card.config.vision.d_model, card.step), (16, 2));
    assert_eq!(card.method, "hycoclip");
    assert!(card.origin.unwrap().source.ends_with("meru.pth"));
    fit().with("--resume latest --steps 3").done();
}

#[test]
fn its_own_preprocessing_and_terms_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ours");
    let flags = "--image-resize-mode squash --licence cc-by-nc-4.0 --json";
    let report = import(&golden("hf"), &out).with(flags).json();
    assert_eq!(report["preprocess"]["resize"], "squeeze");
    let choices = report["choices"].as_array().unwrap();
    let by = |what: &str| {
        let found = choices.iter().find(|c| c["what"] == what);
        found.unwrap()["by"].as_str().unwrap().to_owned()
    };
    assert!(by("resize mode").contains("--image-resize-mode"));
    let heads = "config.json, vision_config.num_attention_heads";
    assert_eq!(by("heads of the image encoder"), heads);
    let model = model_file::open(&out, &burn::tensor::Device::flex()).unwrap();
    assert_eq!(model.preprocess.resize, ResizeMode::Squeeze);
    let origin = model.card.origin.unwrap();
    assert_eq!(origin.licence.as_deref(), Some("cc-by-nc-4.0"));
}

#[test]
fn the_root_beside_the_weights_is_kept() {
    let (_folder, ours) = imported("clip.pth", HEADS);
    let root = model_file::card_of(&ours).unwrap().origin.unwrap().root;
    assert_eq!(root.map(|r| (r.len(), r[15])), Some((16, 1.0)));
}
