//! Images with several captions each: every method that needs no boxes' places is trained on them, and all forms in
//! which they are published are the same data.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BinaryArray};
use clap::ValueEnum;
use espalier_tests::trainer;
use espalier_trainer::config::MethodName;
use espalier_trainer::eval::stored::Stored;
use serde_json::{Value, json};

use crate::data::shards::{image, png, tar_of, write_columns};

const SUBJECTS: [&str; 6] = ["dog", "man", "woman", "bird", "horse", "boy"];
const DOINGS: [&str; 4] = ["is running", "jumps", "is sitting", "walks"];
const PLACES: [&str; 5] = [
    "on the beach",
    "in the snow",
    "in a field",
    "on a street",
    "in a kitchen",
];

/// An image and its captions.
pub(crate) struct Captioned {
    pub(crate) name: String,
    pub(crate) image: Vec<u8>,
    pub(crate) captions: Vec<String>,
}

/// Returns images with two captions each, which say different things.
fn images(count: usize) -> Vec<Captioned> {
    let image = |number: usize| {
        let subject = SUBJECTS[number % SUBJECTS.len()];
        let doing = DOINGS[number % DOINGS.len()];
        let place = PLACES[number % PLACES.len()];
        Captioned {
            name: format!("{number:03}.png"),
            image: png(&image(number)),
            captions: vec![
                format!("A {subject} {doing} {place}, photo {number} ."),
                format!("one {subject} that {doing} {place} by day {number}"),
            ],
        }
    };
    (0..count).map(image).collect()
}

fn write_images(folder: &Path, images: &[Captioned]) {
    fs::create_dir_all(folder).unwrap();
    for image in images {
        fs::write(folder.join(&image.name), &image.image).unwrap();
    }
}

/// Writes Karpathy's form with the images of one split and returns its file.
pub(crate) fn write_karpathy(folder: &Path, images: &[Captioned], split: &str) -> PathBuf {
    write_images(&folder.join("images"), images);
    let entry = |image: &Captioned| {
        let sentences: Vec<Value> = image.captions.iter().map(|c| json!({ "raw": c })).collect();
        json!({"filename": image.name, "split": split, "sentences": sentences})
    };
    let entries: Vec<Value> = images.iter().map(entry).collect();
    let file = folder.join("captions.json");
    fs::write(&file, json!({ "images": entries }).to_string()).unwrap();
    file
}

fn fit(logs: &Path, data: &Path, method: MethodName, more: &[&str]) -> (Option<i32>, String) {
    let mut args = vec!["fit", "--dataset", "captions", "--method", method.name()];
    args.extend([
        "--data",
        data.to_str().unwrap(),
        "--logs",
        logs.to_str().unwrap(),
    ]);
    args.extend(["--model", "vit_t8_64", "--batch-size", "8", "--warmup", "2"]);
    args.extend(["--lr", "1e-3", "--steps", "40", "--name", method.name()]);
    args.extend(["train.log_frequency=1", "dataset.max_broken=0.1"]);
    args.extend(more);
    let out = trainer(&args);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code(), said)
}

#[test]
fn every_method_but_one_learns_from_captions() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(24), "train");
    let logs = dir.path().join("logs");
    for &method in MethodName::value_variants() {
        let name = method.name();
        let (code, said) = fit(&logs, &file, method, &[]);
        if method == MethodName::Parts {
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains("needs boxes and where they are"), "{said}");
            continue;
        }
        assert_eq!(code, Some(0), "{name}: {said}");
        let text = fs::read_to_string(logs.join(name).join("metrics.jsonl")).unwrap();
        let losses = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["loss"].as_f64().unwrap()
        });
        let losses: Vec<f64> = losses.collect();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let (first, last) = (mean(&losses[..10]), mean(&losses[30..]));
        assert!(
            last < first,
            "{name}: expected a loss below {first}, found {last}"
        );
    }
}

#[test]
fn a_locked_encoder_needs_the_features_of_the_whole_image_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(12), "train");
    let cache = dir.path().join("features");
    let locked = ["--lock-image", "--feature-cache", cache.to_str().unwrap()];
    let logs = dir.path().join("logs");
    // The phrases of a caption have the whole image as their box: its features serve for both.
    for (method, expected) in [
        (MethodName::Hycoclip, "12 computed"),
        (MethodName::Meru, "0 computed"),
    ] {
        let (code, said) = fit(&logs, &file, method, &locked);
        assert_eq!(code, Some(0), "{said}");
        let log = fs::read_to_string(logs.join(method.name()).join("out.log")).unwrap();
        assert!(
            log.contains("features of 12 photos") && log.contains(expected),
            "{log}"
        );
    }
}

#[test]
fn captions_can_be_held_at_one_radius() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(24), "train");
    let variance = |weight: &str| {
        let logs = dir.path().join(weight);
        let weight = format!("loss.caption_radius={weight}");
        let (code, said) = fit(&logs, &file, MethodName::Meru, &[&weight]);
        assert_eq!(code, Some(0), "{said}");
        let text = fs::read_to_string(logs.join("meru/metrics.jsonl")).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        last["caption_radius"].as_f64().unwrap()
    };
    let (free, held) = (variance("1e-9"), variance("300"));
    assert!(held < 0.3 * free, "expected less than {free}, found {held}");
}

#[test]
fn images_can_be_held_at_one_radius() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(24), "train");
    let spread = |equal: &str| {
        let logs = dir.path().join(equal);
        let equal = format!("model.equal_image_radii={equal}");
        let (code, said) = fit(&logs, &file, MethodName::Meru, &[&equal]);
        assert_eq!(code, Some(0), "{said}");
        let (run, out) = (logs.join("meru"), logs.join("points.safetensors"));
        let photos = dir.path().join("images");
        let [run, photos, out] = [&run, &photos, &out].map(|path| path.to_str().unwrap());
        let done = trainer(&["embed", "--model", run, "--images", photos, "--out", out]);
        assert!(done.status.success(), "{done:?}");
        let points = Stored::open(Path::new(out)).unwrap().points;
        let length = |point: &[f32]| point.iter().map(|x| x * x).sum::<f32>().sqrt();
        let lengths: Vec<f32> = points.rows().map(length).collect();
        let (least, most) = lengths
            .iter()
            .fold((f32::MAX, 0_f32), |(least, most), length| {
                (least.min(*length), most.max(*length))
            });
        most / least
    };
    let (free, held) = (spread("false"), spread("true"));
    assert!(held < 1.001 && free > 1.01, "found {free} and {held}");

    // On the sphere all radii are equal anyway, and a checkpoint that says so could not be read.
    let equal = ["model.equal_image_radii=true"];
    let (code, said) = fit(&dir.path().join("sphere"), &file, MethodName::Clip, &equal);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("equal_image_radii must be false"), "{said}");
}

#[test]
fn images_may_lie_elsewhere_than_their_index_says() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(6), "train");
    let moved = dir.path().join("list/captions.json");
    fs::create_dir_all(dir.path().join("list")).unwrap();
    fs::rename(file, &moved).unwrap();
    let audit = |path: &str| json_of(&["data", "audit", "--dataset", "captions", path, "--json"]);
    assert_eq!(audit(moved.to_str().unwrap())["broken"], json!(6));
    let elsewhere = format!(
        "{}?images={}",
        moved.display(),
        dir.path().join("images").display()
    );
    assert_eq!(audit(&elsewhere)["broken"], json!(0));
}

#[test]
fn validation_takes_the_validation_split_of_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(12), "train");
    let mut index: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for entry in index["images"].as_array_mut().unwrap().iter_mut().skip(8) {
        entry["split"] = json!("val");
    }
    fs::write(&file, index.to_string()).unwrap();
    let logs = dir.path().join("logs");
    let val = ["--val-data", file.to_str().unwrap(), "train.batch_size=4"];
    let (code, said) = fit(&logs, &file, MethodName::Clip, &val);
    assert_eq!(code, Some(0), "{said}");
    let text = fs::read_to_string(logs.join("clip").join("metrics.jsonl")).unwrap();
    assert!(text.contains("val_loss"), "{text}");
    // Without the split that is trained on, the error lists those that there are.
    let of_test = format!("{}?split=test", file.display());
    let (code, said) = fit(&logs, Path::new(&of_test), MethodName::Meru, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("its splits are train, val"), "{said}");
}

/// Writes the images in every form, each in a folder of its own, and returns what `--data` takes.
fn write_every_form(folder: &Path, images: &[Captioned]) -> Vec<PathBuf> {
    let at = |name: &str| {
        let place = folder.join(name);
        fs::create_dir_all(&place).unwrap();
        place
    };
    let karpathy = write_karpathy(&at("karpathy"), images, "test");

    let table = at("table");
    write_images(&table, images);
    let rows = images.iter().flat_map(|image| {
        let rows = image.captions.iter();
        rows.map(move |caption| format!("{},\"{caption}\"\n", image.name))
    });
    let rows: String = rows.collect();
    fs::write(table.join("captions.csv"), format!("image,caption\n{rows}")).unwrap();

    let beside = at("beside");
    write_images(&beside, images);
    for image in images {
        let text = beside.join(&image.name).with_extension("txt");
        fs::write(text, image.captions.join("\n")).unwrap();
    }

    let tar = at("tar").join("00000.tar");
    let members: Vec<(String, Vec<u8>)> = images
        .iter()
        .flat_map(|image| {
            let key = image.name.trim_end_matches(".png");
            let json = json!({ "captions": image.captions }).to_string();
            [
                (image.name.clone(), image.image.clone()),
                (format!("{key}.json"), json.into_bytes()),
            ]
        })
        .collect();
    fs::write(&tar, tar_of(&members)).unwrap();

    let parquet = at("parquet").join("train.parquet");
    let mut captions = ListBuilder::new(StringBuilder::new());
    for image in images {
        for caption in &image.captions {
            captions.values().append_value(caption);
        }
        captions.append(true);
    }
    let images = images.iter().map(|image| Some(image.image.as_slice()));
    let images: ArrayRef = Arc::new(images.collect::<BinaryArray>());
    let columns = vec![
        ("image", images),
        ("texts", Arc::new(captions.finish()) as ArrayRef),
    ];
    write_columns(&parquet, columns, 7);
    vec![karpathy, table, beside, tar, parquet]
}

fn json_of(args: &[&str]) -> Value {
    let out = trainer(args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {said}");
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Returns the result of the task `retrieval`.
fn retrieval(data: &[&str]) -> Value {
    measured("retrieval", data)
}

/// Returns the result of a task with the small model.
fn measured(task: &str, data: &[&str]) -> Value {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../static/models/tiny");
    let args = [
        "eval",
        "--checkpoint",
        model,
        "--task",
        task,
        "--json",
        "--data",
    ];
    let found = json_of(&[&args[..], data].concat());
    found.as_array().map_or(&found, |all| &all[0]).clone()
}

#[test]
fn every_form_of_captions_is_the_same_data() {
    let dir = tempfile::tempdir().unwrap();
    let forms = write_every_form(dir.path(), &images(18));
    let forms: Vec<&str> = forms.iter().map(|path| path.to_str().unwrap()).collect();
    let mut first: Option<Value> = None;
    for path in &forms {
        let audit = json_of(&["data", "audit", "--dataset", "captions", path, "--json"]);
        assert_eq!(
            (&audit["records"], &audit["broken"]),
            (&json!(18), &json!(0)),
            "{path}"
        );
        assert_eq!(audit["captions"]["min"], json!(33), "{path}: {audit}");

        let found = retrieval(&[path]);
        assert_eq!(
            (&found["n"], &found["classes"]),
            (&json!(36), &json!(18)),
            "{path}"
        );
        let metrics = found["metrics"].clone();
        assert_eq!(
            *first.get_or_insert_with(|| metrics.clone()),
            metrics,
            "{path}"
        );
    }
    let found = retrieval(&forms[1..4]);
    assert_eq!(
        (&found["n"], &found["classes"]),
        (&json!(108), &json!(54)),
        "{found}"
    );
}

/// Writes thirty plain images: red ones of dogs on a beach, blue ones of people in the snow.
#[test]
fn captions_give_the_chains_of_hierarcaps_by_rule() {
    let dir = tempfile::tempdir().unwrap();
    let mut images = images(18);
    images[5].captions = vec!["nothing in particular".to_owned()];
    let file = write_karpathy(dir.path(), &images, "test");
    let data = [file.to_str().unwrap()];
    let found = measured("hierarcaps", &data);
    assert_eq!(
        (&found["n"], &found["classes"]),
        (&json!(17), &json!(4 * 17)),
        "{found}"
    );
    assert!(found["benchmark"].is_null(), "{found}");
    let missing = found["ledger"]["missing"].to_string();
    assert!(
        missing.contains("no caption with three statements"),
        "{found}"
    );
    let found = measured("ordering", &data);
    assert_eq!(found["n"], json!(17), "{found}");
}
