//! Unusable sources: exit code 2, what was expected and what was found, and nothing written.

use std::path::Path;

use espalier_core::weights::{HostTensor, Tensors};
use espalier_tests::{json_of, tensors_of};
use serde_json::Value;

use crate::import::support::{copy, golden, import, imported};

#[track_caller]
fn refused(source: &Path, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ours");
    import(source, &out).refused(words);
    assert!(!out.exists(), "the refused import left files behind");
}

/// Changes a JSON file in place.
fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = json_of(path);
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

#[test]
fn what_no_file_says_is_asked_for_all_at_once() {
    let folder = copy("hf");
    for name in ["config.json", "preprocessor_config.json"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let flags = [
        "--heads",
        "--text-heads",
        "--activation",
        "--image-mean",
        "--image-std",
        "--image-resize-mode",
    ];
    refused(folder.path(), &flags);
    refused(&golden("meru.pth"), &["--heads"]);
    let said = "--heads 2 --text-heads 2 --activation gelu --preprocess openai";
    let out = folder.path().join("ours");
    import(folder.path(), &out).with(said).done();
    let (_kept, plain) = imported("hf", "");
    let bits = |path: &Path| tensors_of(&path.join("model.safetensors")).tensors;
    assert_eq!(bits(&out), bits(&plain));
}

#[test]
fn a_missing_shard_and_a_shard_elsewhere_are_named() {
    let folder = copy("hf_sharded");
    std::fs::remove_file(folder.path().join("model-00002-of-00002.safetensors")).unwrap();
    let words = ["`model-00002-of-00002.safetensors`", "a shard that"];
    refused(folder.path(), &words);
    let index = folder.path().join("model.safetensors.index.json");
    edit(&index, |v| {
        v["weight_map"]["logit_scale"] = "../../secret".into();
    });
    refused(folder.path(), &["`../../secret`"]);
}

#[test]
fn files_that_are_cut_or_no_weights_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(golden("hf/model.safetensors")).unwrap();
    let path = folder.path().join("model.safetensors");
    for bytes in [
        &whole[..whole.len() - 1],
        &whole[..100],
        &whole[..3],
        b"",
        b"<html>sign in</html>",
    ] {
        std::fs::write(&path, bytes).unwrap();
        refused(&path, &["model.safetensors", "expected a safetensors file"]);
    }
    refused(&folder.path().join("none"), &["found nothing there"]);
    std::fs::remove_file(&path).unwrap();
    refused(folder.path(), &["expected weights", "no file"]);
}

#[test]
fn tensors_of_another_architecture_are_listed() {
    let folder = copy("hf");
    edit(&folder.path().join("config.json"), |v| {
        v["vision_config"]["num_hidden_layers"] = 3.into();
        v["text_config"]["intermediate_size"] = 48.into();
        v["text_config"]["num_hidden_layers"] = 1.into();
    });
    let words = [
        "16 missing",
        "16 unused",
        "misshapen",
        "expected [48, 8], found [32, 8]",
    ];
    let out = folder.path().join("ours");
    let json = import(folder.path(), &out).with("--json");
    let report = json.refused(&words).json();
    assert!(!out.exists());
    let list = |key: &str| report["tensors"][key].as_array().unwrap().len();
    let counts = ["missing", "unused", "misshapen"].map(list);
    assert_eq!(counts, [16, 16, 3]);
    assert!(report["out"].is_null());
}

#[test]
fn other_models_are_refused_by_what_they_are() {
    let folder = copy("hf");
    let config = folder.path().join("config.json");
    edit(&config, |v| {
        v["model_type"] = "align".into();
    });
    refused(folder.path(), &["model_type", "expected clip", "align"]);
    std::fs::write(&config, "{").unwrap();
    refused(folder.path(), &["config.json", "expected JSON"]);
    let (shape, data) = (vec![1], vec![1.0]);
    let strange = Tensors {
        tensors: [("layer.weight".to_owned(), HostTensor { shape, data })].into(),
        ..Tensors::default()
    };
    let path = folder.path().join("strange.safetensors");
    std::fs::write(&path, strange.write(|_, _| None).unwrap()).unwrap();
    refused(&path, &["expected tensors named as", "layer.weight"]);
    let (_kept, ours) = imported("hf", "");
    refused(&ours, &["already"]);
}

#[test]
fn numbers_that_are_none_are_refused() {
    let folder = copy("hf");
    let path = folder.path().join("model.safetensors");
    let mut spoilt = tensors_of(&path);
    let name = "vision_model.post_layernorm.bias";
    spoilt.tensors.get_mut(name).unwrap().data[0] = f32::NAN;
    std::fs::write(&path, spoilt.write(|_, _| None).unwrap()).unwrap();
    refused(folder.path(), &[name, "finite"]);
}
