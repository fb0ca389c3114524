//! Export of imported checkpoints: the same bits in every format.

use std::path::Path;

use espalier_core::weights::Tensors;
use espalier_tests::calls::{Call, call};
use espalier_tests::tensors_of;
use serde_json::Value;

use crate::import::support::{HEADS, SOURCES, golden, import, imported};

fn export(checkpoint: &Path, format: &str, out: &Path) -> Call {
    call("export --name x")
        .set("--checkpoint", checkpoint)
        .set("--format", format)
        .set("--out", out)
}

/// Returns the name, the shape and the bits of every tensor.
fn bits(tensors: &Tensors) -> Vec<(String, Vec<usize>, Vec<u32>)> {
    let all = tensors.tensors.iter();
    all.map(|(name, t)| {
        let bits = t.data.iter().map(|v| v.to_bits()).collect();
        (name.clone(), t.shape.clone(), bits)
    })
    .collect()
}

#[test]
fn import_export_import_gives_the_same_bits_and_the_same_model() {
    for (source, flags) in SOURCES {
        let (folder, ours) = imported(source, flags);
        let formats: &[&str] = match source {
            "hf" | "hf_sharded" | "open_clip" => &["hf", "open_clip", "meru"],
            "open_clip_avg" => &["open_clip", "meru"],
            _ => &["meru"],
        };
        for format in formats {
            let out = folder.path().join(format);
            export(&ours, format, &out).done();
            let again = folder.path().join(format!("{format}-again"));
            let report = import(&out, &again).with("--json").json();
            let first = tensors_of(&ours.join("model.safetensors"));
            let second = tensors_of(&again.join("model.safetensors"));
            assert_eq!(bits(&first), bits(&second), "{source} as {format}");
            let card = |t: &Tensors| -> Value {
                let mut card: Value = serde_json::from_str(&t.metadata["espalier"]).unwrap();
                // Where it was read from, and under which names, may differ.
                card["origin"]["source"] = Value::Null;
                card["origin"]["layout"] = Value::Null;
                // Programs cut texts and round crops by rules of their own.
                if !source.starts_with(format) {
                    card["config"]["text"]["tokenizer"] = Value::Null;
                    for detail in ["crop_offset", "resampling"] {
                        card["origin"]["preprocess"][detail] = Value::Null;
                    }
                }
                card
            };
            assert_eq!(card(&first), card(&second), "{source} as {format}");
            assert_eq!(report["tensors"]["unused"], serde_json::json!([]));
        }
    }
}

#[test]
fn what_goes_back_in_its_own_layout_is_what_came() {
    for (source, format, file) in [
        ("hf", "hf", "model.safetensors"),
        ("open_clip", "open_clip", "open_clip_model.safetensors"),
        ("open_clip_avg", "open_clip", "open_clip_model.safetensors"),
    ] {
        let (folder, ours) = imported(source, "");
        let out = folder.path().join("theirs");
        export(&ours, format, &out).done();
        let bits = |folder: &Path| bits(&tensors_of(&folder.join(file)));
        let (came, went) = (bits(&golden(source)), bits(&out));
        assert_eq!(came, went, "{source}");
        let readme = std::fs::read_to_string(out.join("README.md")).unwrap();
        assert!(readme.starts_with("---\nlibrary_name: "), "{readme}");
        assert!(readme.contains("](preview.png)"), "{readme}");
        let image = std::fs::read(out.join("preview.png")).unwrap();
        assert!(image.starts_with(b"\x89PNG"), "{source}");
    }
}

#[test]
fn what_a_format_cannot_say_is_refused_and_what_phyclip_does_not_use_comes_back() {
    let (folder, ours) = imported("phyclip.pth", HEADS);
    let out = folder.path().join("no");
    for format in ["hf", "open_clip"] {
        export(&ours, format, &out).refused(&["expected the unit sphere"]);
    }
    assert!(!out.exists());
    let out = folder.path().join("meru");
    export(&ours, "meru", &out).done();
    let bytes = std::fs::read(out.join("model.safetensors")).unwrap();
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..end]).unwrap();
    let number = |name: &str| {
        let at = header[name]["data_offsets"][0].as_u64().unwrap() as usize;
        f32::from_le_bytes(bytes[end + at..][..4].try_into().unwrap())
    };
    assert_eq!(number("curv"), 0.3);
    assert_eq!(number("curvs.0"), -0.5);
    assert_eq!(header["textual.attn_mask"]["dtype"], "BOOL");
}
