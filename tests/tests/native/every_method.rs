//! Every method of `trainer fit` on small data: its loss falls, what it trains moves, its terms are
//! logged, it resumes; and unusable input is refused with a message.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use espalier_tests::calls::{call, metrics};
use espalier_tests::methods::{LINEAGES, SYNTHETIC, TrainingData, every_method};
use espalier_tests::ranks::write_chains;
use espalier_tests::taxonomy;
use espalier_trainer::config::{MethodName, TrainConfig};
use espalier_trainer::fit::checkpoint;
use espalier_trainer::model_file;
use serde_json::Value;

/// Terms of the loss that are logged, and settings that give a method all of its terms.
fn terms_and_settings(method: MethodName) -> (&'static [&'static str], &'static str) {
    match method {
        MethodName::Clip => (&["contrastive"], "loss.boxes_as_pairs=true"),
        MethodName::Meru => (&["contrastive", "entail", "curv"], ""),
        MethodName::Hycoclip => (&["contrastive", "entail_box_image_image", "curv"], ""),
        MethodName::Phyclip => (
            &["contrastive", "entail_box_image_image", "curv"],
            "loss.join=L2",
        ),
        MethodName::Atmg => (&["contrastive", "centroid_image", "centroid_text"], ""),
        MethodName::Parts => (&["whole_to_part", "part_to_whole"], ""),
        MethodName::Rcme => (&["entail_global", "entail_local", "contrastive"], ""),
        MethodName::Re => (&["entail", "mined", "pull_back"], ""),
        MethodName::Ec => (
            &["entail_positive", "entail_negative", "mined"],
            "loss.pull_back=0",
        ),
    }
}

/// Trains a method in the folder `logs`, and returns the folder of the run.
fn fit(folder: &Path, method: MethodName, data: TrainingData, more: &str) -> PathBuf {
    let (logs, name) = (
        folder.join("logs"),
        format!("{}-{}", method.name(), data.dataset),
    );
    let fit = call("fit --model vit_t8_64 --batch-size 8 --warmup 2 --lr 1e-3 --save-frequency 10")
        .set("--method", method.name())
        .set("--dataset", data.dataset)
        .set("--name", &name)
        .set("--logs", &logs)
        .with("train.log_frequency=1 dataset.synthetic_records=64")
        .with(more);
    match data.path(folder) {
        Some(path) => fit.set("--data", path).done(),
        None => fit.done(),
    };
    logs.join(name)
}

/// Returns the mean of a logged value.
fn mean(name: &str, lines: &[Value]) -> f64 {
    let values = lines.iter().map(|line| line[name].as_f64().unwrap());
    values.sum::<f64>() / lines.len() as f64
}

fn weights(run: &Path, step: u64) -> BTreeMap<String, Vec<f32>> {
    let file = checkpoint::path(run, step).join("model.safetensors");
    let (_, _, _, tensors) = model_file::read(&file).unwrap();
    let tensors = tensors.tensors.into_iter();
    tensors.map(|(name, tensor)| (name, tensor.data)).collect()
}

/// Returns whether a method trains a tensor; `None` for those of which the parts say nothing.
fn is_trained(name: &str, method: MethodName) -> Option<bool> {
    let trainable = method.trainable();
    match (name, name.split('.').next().unwrap()) {
        // Sines of the places, which nothing trains.
        ("visual.pos_embed", _) => Some(false),
        // RCME contrasts at the scale of the start weights.
        ("logit_scale", _) if method == MethodName::Rcme => Some(false),
        ("logit_scale", _) => Some(trainable.scale),
        (_, "visual") => Some(trainable.image),
        (_, "visual_proj") => Some(trainable.projection),
        (_, "textual" | "textual_proj") => Some(trainable.text),
        // Pixel statistics, and the numbers of a space: only some methods have them.
        _ => None,
    }
}

/// Asserts that training moved every tensor of the trained parts and no other, and that all are finite.
/// Nothing but a gradient moves a weight here, since there is no decay.
fn the_trained_parts_moved(method: MethodName, run: &Path, steps: [u64; 2]) {
    let [before, after] = steps.map(|step| weights(run, step));
    assert!(before.keys().eq(after.keys()));
    let mut trained = 0;
    for (name, values) in &after {
        let finite = values.iter().all(|value| value.is_finite());
        assert!(finite, "{}: {name} is not finite", method.name());
        let moved = *values != before[name];
        if let Some(expected) = is_trained(name, method) {
            assert_eq!(moved, expected, "{}: did {name} move", method.name());
            trained += usize::from(expected);
        }
    }
    assert!(trained > 10, "{}: {trained} trained tensors", method.name());
}

#[test]
fn every_method_learns_logs_its_terms_and_resumes() {
    let dir = tempfile::tempdir().unwrap();
    write_chains(dir.path());
    for (method, data) in every_method() {
        let name = format!("{}, {}", method.name(), data.dataset);
        let (terms, settings) = terms_and_settings(method);
        let more = format!("--wd 0 train.keep=3 {settings}");
        fit(dir.path(), method, data, &format!("{more} --steps 20"));
        let again = format!("{more} --steps 24 --resume latest");
        let run = fit(dir.path(), method, data, &again);
        let lines = metrics(&run);
        let steps: Vec<u64> = lines.iter().map(|l| l["step"].as_u64().unwrap()).collect();
        assert_eq!(steps, (1..=24).collect::<Vec<u64>>(), "{name}");
        // A number that is not finite is logged as null.
        for term in terms.iter().chain(&["loss", "grad_norm"]) {
            let numbers = lines.iter().all(|line| line[*term].is_number());
            assert!(numbers, "{name}: {term} is not logged");
        }
        let (first, last) = (mean("loss", &lines[..5]), mean("loss", &lines[19..]));
        assert!(
            last < first,
            "{name}: expected less than {first}, found {last}"
        );
        the_trained_parts_moved(method, &run, [10, 24]);
    }
}

/// Lists of methods elsewhere, in the recipes of the papers and in the documents.
#[test]
fn every_method_has_a_recipe_and_a_row_in_the_documents() {
    let text = include_str!("../../../docs/methods.md");
    for method in MethodName::value_variants() {
        let name = method.name();
        let paper = PathBuf::from(format!("paper:{name}"));
        let pairs = [format!("train.method={name}")];
        let recipe = TrainConfig::resolve(Some(&paper), Default::default(), &pairs);
        let recipe = recipe.unwrap_or_else(|e| panic!("{}: {e:#}", paper.display()));
        assert_eq!(recipe.train.method, *method);
        let row = format!("| `{name}` | ");
        let has_row = text.lines().any(|line| line.starts_with(&row));
        assert!(has_row, "docs/methods.md has no row `{name}`");
    }
}

#[test]
fn images_learn_their_labels_and_images_of_nothing_have_none() {
    let dir = tempfile::tempdir().unwrap();
    let more = "--steps 40 loss.labels=1 loss.order=1 loss.outliers=1";
    let lines = metrics(&fit(dir.path(), MethodName::Hycoclip, SYNTHETIC, more));
    let (first, last) = (&lines[..5], &lines[35..]);
    for term in ["labels", "order"] {
        assert!(mean(term, last) < mean(term, first), "{term} did not fall");
    }
    // The loss of true labels falls well below that of outliers, which stays at chance.
    let chance = mean("outliers", last);
    assert!(mean("labels", last) < chance - 0.2, "{last:?}");
    assert!(chance < mean("outliers", first) + 0.2, "{first:?} {last:?}");
}

#[test]
fn order_is_learned_and_measured() {
    let dir = tempfile::tempdir().unwrap();
    write_chains(dir.path());
    let more = "--steps 40 loss.pull_back=0";
    let run = fit(dir.path(), MethodName::Ec, LINEAGES, more);
    let eval = call("eval --task ordering --json").set("--checkpoint", run);
    let record = eval.set("--data", dir.path().join("ranks.tsv")).json();
    assert_eq!(record["n"], 16);
    let tau = record["metrics"]["tau_d"].as_f64().unwrap();
    assert!(tau > 0.9, "{record}");
}

#[test]
fn boxes_of_drawn_images_are_large_enough_for_a_large_model() {
    call("fit --dry-run --dataset synthetic --method hycoclip --model efficientnet_lite0")
        .with("--batch-size 2")
        .done();
}

#[test]
fn data_that_a_method_cannot_use_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    write_chains(dir.path());
    let path = |name: &str| dir.path().join(name);
    let refused = |method: &str, dataset: &str, data: &str, words: &[&str]| {
        call("fit --dry-run --batch-size 4")
            .set("--method", method)
            .set("--dataset", dataset)
            .set("--data", path(data))
            .refused(words);
    };
    let words = ["boxes", "only texts"];
    refused("hycoclip", "hierarcaps", "chains.csv", &words);
    refused("parts", "taxonomy", "ranks.tsv", &["images with boxes"]);

    fs::write(path("three.csv"), "positive,negative\na=>b=>c,d=>e=>f\n").unwrap();
    let words = ["expected 4 tiers, found 3"];
    refused("re", "hierarcaps", "three.csv", &words);

    let lineages = |rows: &str| format!("kingdom\tphylum\tclass\n{rows}");
    let same = lineages("A\tB\tC\nA\tB\tC\n");
    let cycle = taxonomy("r\troot\t\t0\na\ta\tb|r\t0\nb\tb\ta\t1\n");
    let orphan = taxonomy("r\troot\t\t0\na\ta\tx\t1\n");
    let tables: [(String, &[&str]); 5] = [
        (lineages("A\t\tC\n"), &["line 2", "phylum is empty"]),
        (same, &["line 3", "already on line 2"]),
        (lineages("A\tB\tC\n"), &["distinguish it from other labels"]),
        (cycle, &["cycle"]),
        (orphan, &["missing"]),
    ];
    for (table, words) in tables {
        fs::write(path("rows.tsv"), table).unwrap();
        refused("rcme", "taxonomy", "rows.tsv", words);
    }

    let classes = dir.path().join("classes/n1");
    fs::create_dir_all(&classes).unwrap();
    for i in 0..8 {
        let image = espalier_trainer::export::selftest::image();
        image.save(classes.join(format!("{i}.png"))).unwrap();
    }
    refused("hycoclip", "taxonomy", "classes", &["no usable box"]);
}
