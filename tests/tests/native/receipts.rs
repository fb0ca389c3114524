//! `trainer verify` computes a result again, from a receipt or from the bare result; and both
//! conform to their published schemas.

use std::path::{Path, PathBuf};

use boon::{Compiler, Schemas};
use espalier_tests::calls::{Call, call};
use espalier_tests::models::tiny;
use espalier_tests::photos::{jpeg, keep, landscape};
use serde_json::{Value, json};
use tempfile::TempDir;

fn photo(folder: &TempDir) -> PathBuf {
    keep(folder.path(), "photo.jpg", &jpeg(&landscape(640, 480), 6))
}

/// Returns the JSON that `caption` prints about a photo.
fn caption(photo: &Path, flags: &str) -> Value {
    let caption = call("caption").set("--model", tiny()).arg(photo);
    caption.with(flags).json()
}

fn verify(folder: &TempDir, receipt: &Value, photo: &Path) -> Call {
    let bytes = receipt.to_string().into_bytes();
    call("verify --json")
        .arg(keep(folder.path(), "receipt.json", &bytes))
        .set("--model", tiny())
        .set("--photo", photo)
}

/// Returns what differs, by name.
fn differences(told: &Value) -> Vec<&str> {
    let rows = told["differences"].as_array().unwrap().iter();
    rows.map(|row| row["what"].as_str().unwrap()).collect()
}

#[test]
fn a_receipt_and_a_bare_result_are_replayed_without_a_difference() {
    let folder = tempfile::tempdir().unwrap();
    let photo = photo(&folder);
    for flags in [
        "--json",
        "--receipt",
        "--receipt --region 0.1,0.2,0.6,0.9",
        "--receipt --below n00015388",
    ] {
        let told = verify(&folder, &caption(&photo, flags), &photo).json();
        assert_eq!(told["same"], true, "{flags}: {told}");
        assert!(told["compared"].as_u64().unwrap() > 15);
    }
}

#[test]
fn a_result_that_was_changed_is_told_with_what_was_changed() {
    let folder = tempfile::tempdir().unwrap();
    let photo = photo(&folder);
    let sound = caption(&photo, "--receipt");
    let second = "/result/ladder/1/similarity";
    let similarity = sound.pointer(second).unwrap().as_f64().unwrap();
    for (place, value, named) in [
        ("/result/ladder/0/text", json!("a unicorn"), "rung 1"),
        (second, json!(similarity + 0.011), "rung 2, similarity"),
        ("/result/taxonomy/stop", json!("n00000000"), "stop"),
        ("/preprocessing/size", json!(224), "preprocessing"),
        ("/prompts", json!("openai-80"), "prompts"),
    ] {
        let mut changed = sound.clone();
        *changed.pointer_mut(place).unwrap() = value;
        let ended = verify(&folder, &changed, &photo).ends_with(1, &[]);
        assert_eq!(differences(&ended.json()), [named], "{place}");
    }
    // An earlier program had another rung. The others are compared all the same.
    let mut earlier = sound.clone();
    earlier["result"].as_object_mut().unwrap().remove("said");
    let ladder = earlier["result"]["ladder"].as_array_mut().unwrap();
    let mut more = ladder[0].clone();
    more["text"] = json!("a thing");
    ladder.insert(0, more);
    let told = ["an earlier program"];
    let ended = verify(&folder, &earlier, &photo).ends_with(1, &told);
    assert_eq!(differences(&ended.json()), ["rungs", "rung 1"]);
    // Within the tolerance it is the same.
    let mut near = sound;
    *near.pointer_mut(second).unwrap() = json!(similarity + 0.009);
    verify(&folder, &near, &photo).done();
}

#[test]
fn another_photo_another_model_and_no_receipt_are_bad_usage_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let photo = photo(&folder);
    let receipt = caption(&photo, "--receipt");
    let other = keep(folder.path(), "other.jpg", &jpeg(&landscape(64, 48), 1));
    let mut of_another = receipt.clone();
    of_another["result"]["model"]["sha256"] = json!("0".repeat(64));
    let newer = json!({ "format": "espalier-receipt/9" });
    let cases = [
        (&receipt, &other, "--photo"),
        (&of_another, &photo, "--model"),
        (&newer, &photo, "espalier-receipt/1"),
        (&json!([1, 2]), &photo, "receipt"),
    ];
    for (receipt, photo, named) in cases {
        verify(&folder, receipt, photo).refused(&[named]);
    }
}

/// Asserts that a value conforms to a schema of `docs/schema/`, or that it does not.
fn conforms(name: &str, value: &Value, expected: bool) {
    let schema = format!("../docs/schema/{name}.schema.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(schema);
    let path = path.canonicalize().unwrap();
    let mut all = Schemas::new();
    let index = Compiler::new().compile(path.to_str().unwrap(), &mut all);
    let fault = all.validate(value, index.unwrap()).err();
    let fault = fault.map(|error| format!("{error:#}"));
    assert_eq!(fault.is_none(), expected, "{fault:?}: {value}");
}

#[test]
fn results_and_receipts_are_what_their_schemas_say() {
    let folder = tempfile::tempdir().unwrap();
    let photo = photo(&folder);
    let said = caption(&photo, "--json");
    conforms("result", &said, true);
    let kept = caption(&photo, "--receipt --region 0,0,0.5,0.5");
    conforms("receipt", &kept, true);
    // A schema that allows everything would pass the checks above.
    for (place, value) in [
        ("/ladder/0/radius", json!("near")),
        ("/taxonomy/path/1/p", json!(1.5)),
        ("/image/sha256", json!("abc")),
        ("/backend", json!("abacus")),
        ("/image", json!({})),
    ] {
        let mut wrong = said.clone();
        *wrong.pointer_mut(place).unwrap() = value;
        conforms("result", &wrong, false);
    }
    let mut wrong = kept;
    wrong["region"] = json!([0, 1]);
    conforms("receipt", &wrong, false);
}
