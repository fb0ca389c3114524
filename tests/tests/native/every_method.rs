//! Every method of `trainer fit` on small data: its loss falls, its terms are logged, it resumes;
//! and unusable input is refused with a message.

use std::fs;
use std::path::Path;

use espalier_tests::ranks::write_chains;
use espalier_tests::trainer;
use serde_json::Value;

/// A method, its data, the terms that must be logged, and further settings.
struct Case {
    method: &'static str,
    dataset: &'static str,
    data: Option<&'static str>,
    terms: &'static [&'static str],
    more: &'static [&'static str],
}

const CASES: [Case; 8] = [
    Case {
        method: "clip",
        dataset: "synthetic",
        data: None,
        terms: &["contrastive"],
        more: &["loss.boxes_as_pairs=true"],
    },
    Case {
        method: "meru",
        dataset: "synthetic",
        data: None,
        terms: &["contrastive", "entail", "curv"],
        more: &[],
    },
    Case {
        method: "phyclip",
        dataset: "synthetic",
        data: None,
        terms: &["contrastive", "entail_box_image_image", "curv"],
        more: &["loss.join=L2"],
    },
    Case {
        method: "atmg",
        dataset: "synthetic",
        data: None,
        terms: &["contrastive", "centroid_image", "centroid_text"],
        more: &[],
    },
    Case {
        method: "parts",
        dataset: "synthetic",
        data: None,
        terms: &["whole_to_part", "part_to_whole"],
        more: &[],
    },
    Case {
        method: "rcme",
        dataset: "synthetic",
        data: None,
        terms: &["entail_global", "entail_local", "contrastive"],
        more: &[],
    },
    Case {
        method: "re",
        dataset: "hierarcaps",
        data: Some("chains.csv"),
        terms: &["entail", "mined", "pull_back"],
        more: &[],
    },
    Case {
        method: "ec",
        dataset: "taxonomy",
        data: Some("ranks.tsv"),
        terms: &["entail_positive", "entail_negative", "mined"],
        more: &["loss.pull_back=0"],
    },
];

fn fit(folder: &Path, case: &Case, steps: &str, more: &[&str]) {
    let logs = folder.join("logs");
    let data = case.data.map(|name| folder.join(name));
    let mut args = vec!["fit", "--dataset", case.dataset, "--method", case.method];
    args.extend(["--model", "vit_t8_64", "--batch-size", "8", "--warmup", "2"]);
    args.extend(["--lr", "1e-3", "--steps", steps, "--save-frequency", "10"]);
    args.extend(["--name", case.method, "--logs", logs.to_str().unwrap()]);
    if let Some(data) = &data {
        args.extend(["--data", data.to_str().unwrap()]);
    }
    args.extend(["train.log_frequency=1", "dataset.synthetic_records=64"]);
    args.extend(case.more);
    args.extend(more);
    let out = trainer(&args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}: {said}", case.method);
}

fn metrics(folder: &Path, method: &str) -> Vec<Value> {
    let path = folder.join("logs").join(method).join("metrics.jsonl");
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_method_learns_logs_its_terms_and_resumes() {
    let dir = tempfile::tempdir().unwrap();
    write_chains(dir.path());
    for case in &CASES {
        fit(dir.path(), case, "20", &[]);
        fit(dir.path(), case, "24", &["--resume", "latest"]);
        let lines = metrics(dir.path(), case.method);
        let steps: Vec<u64> = lines.iter().map(|l| l["step"].as_u64().unwrap()).collect();
        assert_eq!(steps, (1..=24).collect::<Vec<u64>>(), "{}", case.method);
        for term in case.terms.iter().chain(&["loss", "grad_norm"]) {
            let numbers = lines.iter().all(|line| line[*term].is_number());
            assert!(numbers, "{}: {term} is not logged", case.method);
        }
        let mean = |part: &[Value]| {
            part.iter()
                .map(|line| line["loss"].as_f64().unwrap())
                .sum::<f64>()
                / part.len() as f64
        };
        let (first, last) = (mean(&lines[..5]), mean(&lines[19..]));
        assert!(
            last < first,
            "{}: expected a loss below {first}, found {last}",
            case.method
        );
    }
}

#[test]
fn pictures_learn_their_labels_and_pictures_of_nothing_have_none() {
    let dir = tempfile::tempdir().unwrap();
    let case = Case {
        method: "hycoclip",
        dataset: "synthetic",
        data: None,
        terms: &[],
        more: &["loss.labels=1", "loss.order=1", "loss.outliers=1"],
    };
    fit(dir.path(), &case, "40", &[]);
    let lines = metrics(dir.path(), case.method);
    let mean = |term: &str, part: &[Value]| {
        let values = part.iter().map(|line| line[term].as_f64().unwrap());
        values.sum::<f64>() / part.len() as f64
    };
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
    let case = &CASES[7];
    fit(dir.path(), case, "40", &[]);
    let run = dir.path().join("logs").join(case.method);
    let ranks = dir.path().join("ranks.tsv");
    let (run, ranks) = (run.to_str().unwrap(), ranks.to_str().unwrap());
    let base = ["eval", "--task", "ordering", "--json"];
    let out = trainer(&[&base, ["--checkpoint", run, "--data", ranks].as_slice()].concat());
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let record: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(record["n"], 16);
    let tau = record["metrics"]["tau_d"].as_f64().unwrap();
    assert!(tau > 0.9, "{record}");
}

fn refused(args: &[&str], words: &[&str]) {
    let out = trainer(args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{args:?}: no `{word}` in: {said}");
    }
}

#[test]
fn data_that_a_method_cannot_use_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    write_chains(dir.path());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let fit = |method, dataset, data: &str, words: &[&str]| {
        let base = ["fit", "--dry-run", "--batch-size", "4", "--method", method];
        refused(
            &[&base, ["--dataset", dataset, "--data", data].as_slice()].concat(),
            words,
        );
    };
    fit(
        "hycoclip",
        "hierarcaps",
        &path("chains.csv"),
        &["boxes", "only texts"],
    );
    fit(
        "parts",
        "taxonomy",
        &path("ranks.tsv"),
        &["images with boxes"],
    );

    fs::write(path("three.csv"), "positive,negative\na=>b=>c,d=>e=>f\n").unwrap();
    fit(
        "re",
        "hierarcaps",
        &path("three.csv"),
        &["expected 4 tiers, found 3"],
    );
    fs::write(path("empty.tsv"), "kingdom\tphylum\tclass\nA\t\tC\n").unwrap();
    fit(
        "rcme",
        "taxonomy",
        &path("empty.tsv"),
        &["line 2", "phylum is empty"],
    );
    fs::write(
        path("alike.tsv"),
        "kingdom\tphylum\tclass\nA\tB\tC\nA\tB\tC\n",
    )
    .unwrap();
    fit(
        "rcme",
        "taxonomy",
        &path("alike.tsv"),
        &["line 3", "already on line 2"],
    );
    fs::write(path("one.tsv"), "kingdom\tphylum\tclass\nA\tB\tC\n").unwrap();
    fit(
        "rcme",
        "taxonomy",
        &path("one.tsv"),
        &["distinguish it from other labels"],
    );

    let cycle = "synset\tnames\thypernyms\tlabelled\nr\troot\t\t0\na\ta\tb|r\t0\nb\tb\ta\t1\n";
    fs::write(path("cycle.tsv"), cycle).unwrap();
    fit("rcme", "taxonomy", &path("cycle.tsv"), &["cycle"]);
    let orphan = "synset\tnames\thypernyms\tlabelled\nr\troot\t\t0\na\ta\tx\t1\n";
    fs::write(path("orphan.tsv"), orphan).unwrap();
    fit("rcme", "taxonomy", &path("orphan.tsv"), &["missing"]);

    let classes = dir.path().join("classes/n1");
    fs::create_dir_all(&classes).unwrap();
    for i in 0..8 {
        let name = classes.join(format!("{i}.png"));
        espalier_trainer::export::selftest::picture()
            .save(name)
            .unwrap();
    }
    fit("hycoclip", "taxonomy", &path("classes"), &["no usable box"]);
}
