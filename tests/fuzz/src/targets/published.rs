//! JSON beside weights: configurations of published checkpoints, indices of shards, and what the
//! trainer writes about its own models and runs.

use espalier_core::model::LiftKind;
use espalier_trainer::data::records::prepared::{PREPARED, check_complete};
use espalier_trainer::fit::checkpoint::{State, read_state};
use espalier_trainer::import::flags::{ActivationName, Flags, ResizeName};
use espalier_trainer::import::resolve::{Evidence, resolve};
use espalier_trainer::import::source::{Files, read_json};
use espalier_trainer::import::stated_config::{Pixels, StatedConfig};
use espalier_trainer::import::{hugging_face, open_clip, preprocessing};
use espalier_trainer::layout::{Layout, Measured};
use espalier_trainer::model_file::ModelCard;
use serde_json::Value;

use crate::input_files::InputFiles;

const CONFIG: &str = "config.json";
const INDEX: &str = "sharded/model.safetensors.index.json";
const STATE: &str = "checkpoint/state.json";
const LIST: &str = "prepared/prepared.json";

thread_local! {
    static FILES: InputFiles = {
        assert!(LIST.ends_with(PREPARED));
        InputFiles::new(&[CONFIG, INDEX, STATE, LIST], &[("sharded/1.safetensors", b""), ("prepared/1.tar", b"")])
    };
}

/// Reads JSON as each of the files.
///
/// # Panics
/// If an architecture that was accepted has no tensors, or if what the trainer writes itself does
/// not read back equal.
pub fn run(input: &[u8]) {
    FILES.with(|files| {
        files.write(input);
        if let Ok(found) = Files::find(&files.path(INDEX).to_string_lossy(), None, true) {
            // An index may name nothing but files beside it.
            let folder = files.path("sharded");
            assert!(
                found
                    .weights
                    .iter()
                    .all(|shard| shard.parent() == Some(&folder))
            );
        }
        let listed = [files.path(LIST), files.path("prepared/1.tar")];
        let _ = check_complete(&files.path("prepared"), &listed);
        if let Ok(state) = read_state(&files.path("checkpoint")) {
            let written = serde_json::to_string(&state).unwrap_or_else(|e| panic!("{e}"));
            let again: Option<State> = serde_json::from_str(&written).ok();
            assert_eq!(again, Some(state));
        }
        let Ok(value) = read_json(&files.path(CONFIG)) else {
            return;
        };
        read_config(&value);
        if let Ok(card) = serde_json::from_value::<ModelCard>(value)
            && card.config.validate().is_ok()
        {
            let written = serde_json::to_string(&card).unwrap_or_else(|e| panic!("{e}"));
            let again: ModelCard = serde_json::from_str(&written).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(again, card);
        }
    });
}

fn read_config(value: &Value) {
    let stated = [
        (Layout::HuggingFace, hugging_face::read_config(value)),
        (Layout::OpenClip, open_clip::read_config(value)),
    ];
    for (layout, stated) in stated {
        if let Ok(stated) = stated {
            let pixels = preprocessing::hugging_face(value, CONFIG).unwrap_or_default();
            build(layout, stated, pixels);
        }
    }
    let _ = preprocessing::open_clip(value, CONFIG);
}

fn build(layout: Layout, stated: StatedConfig, pixels: Pixels) {
    let measured = Measured::default();
    let evidence = Evidence {
        layout,
        measured: &measured,
        lift: LiftKind::Sphere,
        pixels: None,
        pre_norm: true,
        preprocess: pixels,
    };
    let flags = Flags {
        heads: Some(1),
        text_heads: Some(1),
        activation: Some(ActivationName::Gelu),
        image_resize_mode: Some(ResizeName::Shortest),
        ..Flags::default()
    };
    if let Ok(resolved) = resolve(stated, &evidence, &flags) {
        assert!(!layout.mappings(&resolved.config).is_empty());
    }
}
