//! Images with several captions each: every method that needs no boxes' places is trained on them, and all forms in
//! which they are published are the same data.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BinaryArray};
use clap::ValueEnum;
use espalier_tests::calls::{Call, call, metrics};
use espalier_tests::json_of;
use espalier_tests::models::tiny;
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

/// Returns the call that trains a method on captions.
fn fit(logs: &Path, data: &Path, method: MethodName) -> Call {
    call("fit --dataset captions --model vit_t8_64 --batch-size 8 --warmup 2 --lr 1e-3 --steps 40")
        .set("--data", data)
        .set("--logs", logs)
        .set("--method", method.name())
        .set("--name", method.name())
        .with("train.log_frequency=1 dataset.max_broken=0.1")
}

#[test]
fn every_method_but_one_learns_from_captions() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(24), "train");
    let logs = dir.path().join("logs");
    for &method in MethodName::value_variants() {
        let name = method.name();
        let fit = fit(&logs, &file, method);
        if method == MethodName::Parts {
            fit.refused(&["needs boxes and where they are"]);
            continue;
        }
        fit.done();
        let losses = metrics(&logs.join(name)).into_iter();
        let losses: Vec<f64> = losses.map(|l| l["loss"].as_f64().unwrap()).collect();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let (first, last) = (mean(&losses[..10]), mean(&losses[30..]));
        assert!(
            last < first,
            "{name}: expected less than {first}, found {last}"
        );
    }
}

#[test]
fn a_locked_encoder_needs_the_features_of_the_whole_image_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(12), "train");
    let logs = dir.path().join("logs");
    // The phrases of a caption have the whole image as their box: its features serve for both.
    for (method, expected) in [
        (MethodName::Hycoclip, "12 computed"),
        (MethodName::Meru, "0 computed"),
    ] {
        fit(&logs, &file, method)
            .with("train.steps=2 --lock-image --feature-cache")
            .arg(dir.path().join("features"))
            .done();
        let log = fs::read_to_string(logs.join(method.name()).join("out.log")).unwrap();
        for words in ["features of 12 photos", expected] {
            assert!(log.contains(words), "{log}");
        }
    }
}

#[test]
fn captions_and_images_can_be_held_at_one_radius() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(24), "train");
    let trained = |name: &str, setting: &str| {
        let logs = dir.path().join(name);
        fit(&logs, &file, MethodName::Meru).with(setting).done();
        logs.join("meru")
    };
    // A weight at which the term is logged and holds nothing.
    let free = trained("free", "loss.caption_radius=1e-9");
    let variance = |run: &Path| metrics(run)[39]["caption_radius"].as_f64().unwrap();
    let held = variance(&trained("captions", "loss.caption_radius=300"));
    let known = variance(&free);
    assert!(
        held < 0.3 * known,
        "expected less than {known}, found {held}"
    );

    let spread = |run: &Path| {
        let out = run.join("points.safetensors");
        let embed = call("embed").set("--model", run).set("--out", &out);
        embed.set("--images", dir.path().join("images")).done();
        let points = Stored::open(&out).unwrap().points;
        let length = |point: &[f32]| point.iter().map(|x| x * x).sum::<f32>().sqrt();
        let lengths = || points.rows().map(length);
        lengths().fold(0.0, f32::max) / lengths().fold(f32::MAX, f32::min)
    };
    let held = spread(&trained("images", "model.equal_image_radii=true"));
    let free = spread(&free);
    assert!(held < 1.001 && free > 1.01, "found {free} and {held}");
    // On the sphere all radii are equal anyway, and a checkpoint that says so could not be read.
    let sphere = fit(&dir.path().join("sphere"), &file, MethodName::Clip);
    let told = ["equal_image_radii must be false"];
    sphere.with("model.equal_image_radii=true").refused(&told);
}

/// Returns what an audit of captions finds.
fn audit(data: impl AsRef<OsStr>) -> Value {
    let audit = call("data audit --dataset captions --json");
    audit.arg(data).json()
}

#[test]
fn images_may_lie_elsewhere_than_their_index_says() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(6), "train");
    let moved = dir.path().join("list/captions.json");
    fs::create_dir_all(dir.path().join("list")).unwrap();
    fs::rename(file, &moved).unwrap();
    assert_eq!(audit(&moved)["broken"], 6);
    let images = dir.path().join("images");
    let elsewhere = format!("{}?images={}", moved.display(), images.display());
    assert_eq!(audit(elsewhere)["broken"], 0);
}

#[test]
fn validation_takes_the_validation_split_of_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = write_karpathy(dir.path(), &images(12), "train");
    let mut index = json_of(&file);
    for entry in index["images"].as_array_mut().unwrap().iter_mut().skip(8) {
        entry["split"] = json!("val");
    }
    fs::write(&file, index.to_string()).unwrap();
    let logs = dir.path().join("logs");
    fit(&logs, &file, MethodName::Clip)
        .set("--val-data", &file)
        .with("train.batch_size=4 train.steps=2")
        .done();
    let last = metrics(&logs.join("clip")).pop().unwrap();
    assert!(last["val_loss"].is_number(), "{last}");
    // Without the split that is trained on, the error lists those that there are.
    let of_test = PathBuf::from(format!("{}?split=test", file.display()));
    let told = ["its splits are train, val"];
    fit(&logs, &of_test, MethodName::Meru).refused(&told);
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
    let members = images.iter().flat_map(|image| {
        let key = image.name.trim_end_matches(".png");
        let json = json!({ "captions": image.captions }).to_string();
        [
            (image.name.clone(), image.image.clone()),
            (format!("{key}.json"), json.into_bytes()),
        ]
    });
    fs::write(&tar, tar_of(&members.collect::<Vec<_>>())).unwrap();

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

/// Returns the result of a task with the small model.
fn measured(task: &str, data: &[PathBuf]) -> Value {
    let eval = call("eval --json --no-cache --task").arg(task);
    let eval = eval.set("--checkpoint", tiny()).arg("--data");
    data.iter().fold(eval, Call::arg).json()
}

#[test]
fn every_form_of_captions_is_the_same_data() {
    let dir = tempfile::tempdir().unwrap();
    let forms = write_every_form(dir.path(), &images(18));
    let counts = |found: &Value| [&found["n"], &found["classes"]].map(|n| n.as_u64().unwrap());
    let mut all_metrics = Vec::new();
    for path in &forms {
        let shown = path.display();
        let audit = audit(path);
        assert_eq!(audit["records"], 18, "{shown}: {audit}");
        assert_eq!(audit["broken"], 0, "{shown}: {audit}");
        assert_eq!(audit["captions"]["min"], 33, "{shown}: {audit}");

        let found = measured("retrieval", std::slice::from_ref(path));
        assert_eq!(counts(&found), [36, 18], "{shown}");
        all_metrics.push(found["metrics"].clone());
    }
    for (metrics, path) in all_metrics.iter().zip(&forms) {
        assert_eq!(*metrics, all_metrics[0], "{}", path.display());
    }
    let found = measured("retrieval", &forms[1..4]);
    assert_eq!(counts(&found), [108, 54], "{found}");
}

#[test]
fn captions_give_the_chains_of_hierarcaps_by_rule() {
    let dir = tempfile::tempdir().unwrap();
    let mut images = images(18);
    images[5].captions = vec!["nothing in particular".to_owned()];
    let data = [write_karpathy(dir.path(), &images, "test")];
    let found = measured("hierarcaps", &data);
    assert_eq!(found["n"], 17, "{found}");
    assert_eq!(found["classes"], 4 * 17, "{found}");
    assert!(found["benchmark"].is_null(), "{found}");
    let missing = found["ledger"]["missing"].to_string();
    let told = "no caption with three statements";
    assert!(missing.contains(told), "{found}");
    let found = measured("ordering", &data);
    assert_eq!(found["n"], 17, "{found}");
}
