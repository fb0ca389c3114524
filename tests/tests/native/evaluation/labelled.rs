//! Labelled images: classification, distances in a taxonomy, lineages.

use espalier_tests::taxonomy;
use serde_json::json;

use crate::evaluation::support::{Bench, eval, record, records, refused};

/// Writes three class folders with two images each.
fn folders(names: [&str; 3]) -> Bench {
    let bench = Bench::new();
    for (look, name) in (0..).zip(names) {
        for copy in 0..2 {
            bench.image(&format!("data/{name}/{copy}.jpg"), look + 3 * copy);
        }
    }
    bench
}

#[test]
fn names_of_folders_are_classes_where_no_taxonomy_knows_them() {
    let bench = folders(["red_house", "green_house", "blue_house"]);
    let data = bench.text("data");
    let found = record(&eval(&["--task", "zero-shot", "--data", &data]));
    assert_eq!((&found["n"], &found["classes"]), (&json!(6), &json!(3)));
    assert_eq!(found["prompts"], json!("simple-1"));
    let metric = |name: &str| found["metrics"][name].as_f64().unwrap();
    assert_eq!(metric("acc5"), 1.0);
    assert!((metric("chance") - 1.0 / 3.0).abs() < 1e-12);
    let named = record(&eval(&[
        "--task",
        "zero-shot",
        "--data",
        &data,
        "--dataset-name",
        "cifar10",
        "--prompts",
        "auto",
    ]));
    assert_eq!(named["prompts"], json!("meru-cifar"));
}

#[test]
fn classes_that_no_image_has_are_said_and_chosen_from() {
    let bench = folders(["a", "b", "c"]);
    bench.write(
        "names.tsv",
        "a\tred house\nb\tgreen house\nc\tblue house\nd\tdog\n",
    );
    let (data, names) = (bench.text("data"), bench.text("names.tsv"));
    let args = [
        "--task",
        "zero-shot",
        "--data",
        &data,
        "--class-names",
        &names,
    ];
    let found = record(&eval(&args));
    assert_eq!(found["classes"], json!(4));
    assert_eq!(
        found["ledger"]["odd"]["class that no image has"]["example"],
        json!("d")
    );
    // A class that the file lacks: its images are left out and counted.
    bench.write("names.tsv", "a\tred house\nb\tgreen house\n");
    let found = record(&eval(&args));
    assert_eq!(
        (&found["n"], &found["left_out"]["label not in the taxonomy"]),
        (&json!(4), &json!(2))
    );
    bench.write("names.tsv", "red house\ngreen house\n");
    let said = refused(&eval(&args));
    assert!(
        said.contains("a name for each of the 3 labels") && said.contains("found 2 lines"),
        "{said}"
    );
    // With one class every answer is right, which is reported.
    bench.write("names.tsv", "a\tred house\n");
    let found = record(&eval(&args));
    assert_eq!(found["metrics"]["acc1"], json!(1.0));
    assert!(found["ledger"]["odd"]["one class alone, every answer is right"].is_object());
}

#[test]
fn a_label_may_have_its_name_as_its_id() {
    let bench = folders(["red house", "green house", "blue house"]);
    let rows =
        ["red house", "green house", "blue house"].map(|name| format!("{name}\t{name}\tn1\t1\n"));
    let tree = taxonomy(&format!("n1\thouse\t\t0\n{}", rows.concat()));
    bench.write("tree.tsv", &tree);
    let (data, tree) = (bench.text("data"), bench.text("tree.tsv"));
    let args = ["--task", "zero-shot", "--data", &data, "--taxonomy", &tree];
    let found = records(&eval(&args));
    assert_eq!(
        found[0]["metrics"]["chance"]
            .as_f64()
            .map(|c| (3.0 * c).round()),
        Some(1.0),
        "{found:?}"
    );
}

#[test]
fn an_edge_list_is_a_taxonomy_once_its_nodes_have_names() {
    let bench = folders(["n1", "n2", "n3"]);
    bench.write("isa.txt", "r a\na n1\na n2\nr n3\n");
    bench.write(
        "names.tsv",
        "n1\tred house\nn2\tgreen house\nn3\tblue house\n",
    );
    let (data, isa, names) = (
        bench.text("data"),
        bench.text("isa.txt"),
        bench.text("names.tsv"),
    );
    let args = [
        "--task",
        "zero-shot,hierarchy",
        "--data",
        &data,
        "--taxonomy",
        &isa,
    ];
    let said = refused(&eval(&args));
    assert!(said.contains("--class-names"), "{said}");
    let report = bench.text("report.html");
    let with = [&args[..], &["--class-names", &names, "--report", &report]].concat();
    let found = records(&eval(&with));
    assert_eq!(found.len(), 2);
    let acc = found[0]["metrics"]["acc1"].as_f64().unwrap();
    let tie = found[1]["metrics"]["tie"].as_f64().unwrap();
    // A wrong answer is two edges away (n1, n2) or three.
    assert!(
        tie >= 2.0 * (1.0 - acc) - 1e-9 && tie <= 3.0 * (1.0 - acc) + 1e-9,
        "{acc} {tie}"
    );
    let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(page.contains("<h2>zero-shot") && page.contains("hierarchical_precision"));
    assert_eq!(page.contains("data:image/jpeg;base64,"), acc < 1.0);
    assert!(
        !page.contains("http"),
        "the report loads something from another host"
    );
    // One of the three nodes is not in the taxonomy.
    bench.write("isa.txt", "r a\na n2\nr n3\n");
    let found = records(&eval(&with));
    let lost = &found[1]["left_out"]["true class or answer not in the taxonomy"];
    assert!(lost.as_u64().unwrap() >= 2, "{found:?}");
}

#[test]
fn lineages_are_judged_rank_by_rank() {
    let bench = folders([
        "00000_Animalia_Chordata_Aves_O_F_G_alpha",
        "00001_Animalia_Chordata_Mammalia_P_Q_R_beta",
        "00002_Plantae_X_Y_Z_U_V_gamma",
    ]);
    let data = bench.text("data");
    let tasks = "rank-zero-shot,rank-ordering,image-to-image";
    let found = records(&eval(&[
        "--task",
        tasks,
        "--data",
        &data,
        "--prompts",
        "plain-1",
    ]));
    assert_eq!(found.len(), 3);
    let accuracy = |rank: &str| {
        found[0]["metrics"][format!("acc1_{rank}")]
            .as_f64()
            .unwrap()
    };
    assert!((0.0..=1.0).contains(&accuracy("kingdom")) && accuracy("species") <= 1.0);
    // Two kingdoms, two phyla, then three of each.
    assert_eq!(found[0]["classes"], json!(2 + 2 + 5 * 3));
    assert_eq!(
        (&found[1]["n"], &found[1]["classes"]),
        (&json!(3), &json!(21))
    );
    let value = |name: &str| found[1]["metrics"][name].as_f64().unwrap();
    let (p, r) = (value("precision"), value("recall"));
    let f1 = if p + r > 0.0 {
        2.0 * p * r / (p + r)
    } else {
        0.0
    };
    assert!((value("f1") - f1).abs() < 1e-12);
    let at = |rank: &str| {
        found[2]["metrics"][format!("recall@1_{rank}")]
            .as_f64()
            .unwrap()
    };
    assert!(at("kingdom") >= at("class") && at("class") >= at("species"));
    let none = folders(["a", "b", "c"]);
    let said = refused(&eval(&[
        "--task",
        "image-to-image",
        "--data",
        &none.text("data"),
    ]));
    assert!(said.contains("none with a lineage"), "{said}");
}
