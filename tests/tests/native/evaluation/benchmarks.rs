//! The other benchmarks in their published formats, and all benchmarks of a folder at once.

use std::path::Path;

use espalier_core::geometry::Space;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_tests::trainer;
use espalier_trainer::eval::stored::Stored;
use serde_json::json;

use crate::evaluation::support::{Bench, eval, model, record, records, refused};

const HYPERLEX: &str = "WORD1 WORD2 POS TYPE AVG_SCORE AVG_SCORE_0_10 STD SCORES..\n\
    dog animal N hyp-1 5.9 9.8 0.1 6 6\ncat dog N cohyp 0.4 0.6 0.5 0 1\nrose plant N hyp-1 5.8 9.6 0.2 6\n\
    run move V hyp-1 5.0 8.3 0.5 5 5\nmove run V r-hyp-1 1.0 1.6 0.5 1 1\nbird animal N hyp-1 5.8 9.7 0.1 6\n";

/// Embeds texts with `trainer embed`; returns the space and the embeddings.
fn points(bench: &Bench, texts: &[String]) -> (Space, Stored) {
    bench.write(
        "t.txt",
        texts.iter().map(|t| format!("{t}\n")).collect::<String>(),
    );
    let (file, out, model) = (bench.text("t.txt"), bench.text("t.safetensors"), model());
    let done = trainer(&["embed", "--model", &model, "--texts", &file, "--out", &out]);
    assert!(done.status.success());
    let stored = Stored::open(Path::new(&out)).unwrap();
    (stored.space.clone().unwrap(), stored)
}

#[test]
fn hyperlex_ranks_pairs_by_the_angle_at_the_general_word() {
    let bench = Bench::new();
    bench.write("hyperlex/hyperlex-all.txt", HYPERLEX);
    let data = bench.text("hyperlex");
    let found = record(&eval(&["--task", "hyperlex", "--data", &data]));
    assert_eq!(
        (&found["n"], &found["benchmark"]),
        (&json!(6), &json!("hyperlex"))
    );
    let rows: Vec<Vec<&str>> = HYPERLEX
        .lines()
        .skip(1)
        .map(|line| line.split(' ').collect())
        .collect();
    let prompted = |word: &str| format!("a picture of a {word}");
    let texts: Vec<String> = rows
        .iter()
        .flat_map(|r| [prompted(r[1]), prompted(r[0])])
        .collect();
    let (space, stored) = points(&bench, &texts);
    let ours: Vec<f64> = (0..6)
        .map(|i| -space.exterior_angle(stored.points.row(2 * i), stored.points.row(2 * i + 1)))
        .collect();
    let theirs: Vec<f64> = rows.iter().map(|r| r[4].parse().unwrap()).collect();
    // Spearman's rho by hand: the correlation of ranks, with mean ranks for ties.
    let ranks = |v: &[f64]| -> Vec<f64> {
        let below = |x: f64| v.iter().filter(|y| **y < x).count() as f64;
        let same = |x: f64| v.iter().filter(|y| **y == x).count() as f64;
        v.iter()
            .map(|x| below(*x) + (same(*x) + 1.0) / 2.0)
            .collect()
    };
    let (a, b) = (ranks(&ours), ranks(&theirs));
    let cov =
        |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(p, q)| (p - 3.5) * (q - 3.5)).sum() };
    let rho = cov(&a, &b) / (cov(&a, &a) * cov(&b, &b)).sqrt();
    assert!(
        (found["metrics"]["rho_all"].as_f64().unwrap() - rho).abs() < 1e-9,
        "{found}"
    );
    assert!(found["metrics"]["rho_nouns"].is_number() && found["metrics"]["rho_verbs"].is_number());
}

#[test]
fn hierarcaps_matches_images_by_number_and_counts_the_others() {
    let bench = Bench::new();
    let csv = "id,captions,image_url\n\
        0,building => house => red house => a red house with a tree,http://x/COCO_val2014_000000000007.jpg\n\
        1,plant => tree => green tree => a green tree in a field,http://x/COCO_val2014_000000000008.jpg\n\
        2,plant => tree => a tree => a tree,http://x/COCO_val2014_000000000009.jpg\n";
    bench.write("hierarcaps/hierarcaps_test.csv", csv);
    bench.image("hierarcaps/images/COCO_val2014_000000000007.jpg", 0);
    bench.image("hierarcaps/images/COCO_val2014_000000000008.jpg", 1);
    let data = bench.text("hierarcaps");
    let found = record(&eval(&["--task", "hierarcaps", "--data", &data]));
    assert_eq!((&found["n"], &found["classes"]), (&json!(2), &json!(12)));
    assert_eq!(found["settings"]["radii"], json!("per-image"));
    assert_eq!(
        (&found["ledger"]["expected"], &found["ledger"]["found"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(
        found["ledger"]["odd"]["one text in two neighbouring tiers"]["count"],
        json!(1)
    );
    let texts: Vec<String> = csv
        .lines()
        .skip(1)
        .flat_map(|l| {
            l.split(',')
                .nth(1)
                .unwrap()
                .split(" => ")
                .map(str::to_owned)
        })
        .collect();
    let (space, stored) = points(&bench, &texts);
    let radii: Vec<f64> = stored.points.rows().map(|p| space.radius(p)).collect();
    let tau = |r: &[f64]| -> f64 {
        let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
        pairs
            .map(|(i, j)| f64::from((r[j] - r[i]).partial_cmp(&0.0).unwrap() as i8))
            .sum::<f64>()
            / 6.0
    };
    let known = radii.chunks(4).map(tau).sum::<f64>() / 3.0;
    assert!(
        (found["metrics"]["d_corr"].as_f64().unwrap() - known).abs() < 1e-9,
        "{found}"
    );
    let global = eval(&[
        "--task",
        "hierarcaps",
        "--data",
        &data,
        "--radii",
        "global",
        "--drop-first",
    ]);
    let global = record(&global);
    assert_eq!(
        (
            &global["settings"]["radii"],
            &global["settings"]["drop_first"]
        ),
        (&json!("global"), &json!("true"))
    );
    // The chains without their images.
    let order = record(&eval(&["--task", "ordering", "--data", &data]));
    assert!((order["metrics"]["tau_d"].as_f64().unwrap() - known).abs() < 1e-9);
    // A row whose image is missing still has an order.
    assert_eq!(order["ledger"]["found"], json!(3));
    bench.write(
        "hierarcaps/hierarcaps_test.csv",
        format!("{csv}3,a => b,x_7.jpg\n"),
    );
    let order = record(&eval(&["--task", "ordering", "--data", &data]));
    assert_eq!(
        (&order["ledger"]["found"], &order["left_out"]["broken"]),
        (&json!(3), &json!(1))
    );
    assert!(
        refused(&eval(&[
            "--task",
            "hierarcaps",
            "--data",
            &data,
            "--walk-steps",
            "0"
        ]))
        .contains("--walk-steps")
    );
}

#[test]
fn sugarcrepe_asks_strictly_and_weighs_by_questions() {
    let bench = Bench::new();
    let question = |image: &str, a: &str, b: &str| json!({"filename": image, "caption": a, "negative_caption": b});
    // With two equal texts, no answer counts as right.
    bench.write(
        "sc/swap_obj.json",
        json!({"0": question("1.jpg", "a house", "a house")}).to_string(),
    );
    let other = json!({"0": question("1.jpg", "a house", "a fish in water"),
        "1": question("1.jpg", "a fish in water", "a house"), "2": question("gone.jpg", "x", "y")});
    bench.write("sc/add_obj.json", other.to_string());
    bench.image("sc/val2017/1.jpg", 0);
    let found = record(&eval(&[
        "--task",
        "sugar-crepe",
        "--data",
        &bench.text("sc"),
    ]));
    let metric = |name: &str| found["metrics"][name].as_f64().unwrap();
    // One of the two questions of add_obj is the other with its texts swapped.
    assert_eq!((metric("swap_obj"), metric("add_obj")), (0.0, 0.5));
    assert!((metric("overall") - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(
        found["ledger"]["odd"]["question whose texts score the same, a miss"]["count"],
        json!(1)
    );
    assert_eq!(
        (&found["n"], &found["ledger"]["expected"]),
        (&json!(3), &json!(4))
    );
}

#[test]
fn vl_checklist_is_read_through_its_corpus_files() {
    let bench = Bench::new();
    bench.write(
        "vl/vg_obj.yaml",
        "ANNO_PATH: lists/center.json\nIMG_ROOT: vg\nTYPE: Object/Location\n",
    );
    let list = json!([["1.jpg", {"POS": ["a house"], "NEG": ["a fish in water"]}],
        ["1.jpg", {"POS": ["a fish in water"], "NEG": ["a house"]}]]);
    bench.write("vl/lists/center.json", list.to_string());
    bench.image("vl/vg/1.jpg", 0);
    let data = bench.text("vl");
    let found = record(&eval(&["--task", "vl-checklist", "--data", &data]));
    for name in ["center", "location", "object"] {
        assert_eq!(found["metrics"][name], json!(0.5), "{found}");
    }
    let twice = record(&eval(&[
        "--task",
        "vl-checklist",
        "--data",
        &data,
        "--double-norm",
    ]));
    assert_eq!(twice["settings"]["double_norm"], json!("true"));
}

#[test]
fn breeds_reports_both_signs() {
    let bench = Bench::new();
    bench.write(
        "breeds/living17.json",
        json!({"house": ["red house", "green house"], "plant": ["tree"]}).to_string(),
    );
    for (look, name) in (0..).zip(["red_house", "green_house", "tree"]) {
        bench.image(&format!("breeds/living17/{name}/1.jpg"), look);
        bench.image(&format!("breeds/living17/{name}/2.jpg"), look + 3);
    }
    bench.image("breeds/living17/submarine/1.jpg", 2);
    let data = bench.text("breeds");
    let found = record(&eval(&[
        "--task",
        "breeds",
        "--data",
        &data,
        "--prompts",
        "photo-1",
        "--sign",
        "minus",
    ]));
    // Five labels make ten pairs; one folder belongs to no subclass.
    assert_eq!((&found["n"], &found["classes"]), (&json!(6), &json!(10)));
    assert_eq!(
        found["ledger"]["missing"]["image of no subclass of the list"]["count"],
        json!(1)
    );
    for k in [1, 5] {
        let metric = |name: String| found["metrics"][name].as_f64().unwrap();
        assert_eq!(
            metric(format!("recall@{k}")),
            metric(format!("living17_recall@{k}_minus"))
        );
        assert!((0.0..=1.0).contains(&metric(format!("living17_recall@{k}_plus"))));
    }
}

#[test]
fn scenes_and_their_objects_are_retrieved_both_ways() {
    let bench = Bench::new();
    let header = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside";
    let row = |id: &str, label: &str, x: f64| {
        format!("{id},v,{label},1,{x},{},0.1,0.9,0,0,0,0,0\n", x + 0.4)
    };
    let rows = [
        row("p", "/m/1", 0.0),
        row("p", "/m/2", 0.5),
        row("q", "/m/1", 0.1),
        row("q", "/m/3", 0.5),
    ];
    for folder in ["a", "b"] {
        bench.write(
            &format!("{folder}/test-annotations-bbox.csv"),
            format!("{header}\n{}", rows.concat()),
        );
        bench.write(
            &format!("{folder}/class-descriptions-boxable.csv"),
            "/m/1,House\n/m/2,Tree\n/m/3,Sun\n",
        );
        bench.image(&format!("{folder}/p.jpg"), 0);
        bench.image(&format!("{folder}/q.jpg"), 1);
    }
    let (a, b) = (bench.text("a"), bench.text("b"));
    let found = record(&eval(&["--task", "parts", "--data", &a, "--top", "2,4"]));
    assert_eq!((&found["n"], &found["classes"]), (&json!(2), &json!(4)));
    let metric = |name: &str| found["metrics"][name].as_f64().unwrap();
    // The whole gallery: three of four boxes belong to either scene, and all of them are found.
    assert_eq!(
        (metric("tree_recall@4"), metric("parent_to_child@5")),
        (1.0, 0.75)
    );
    // Label 1 is in both scenes, the others in one: (1 + 1/2 + 1 + 1/2) / 4.
    assert_eq!(metric("child_to_parent@5"), 0.75);
    // h = (2/3, 1/3, 0) by any order, r of everything = (1/2, 1/4, 1/4).
    assert!((metric("total_variation@4") - 0.25).abs() < 1e-12);
    assert!((metric("ot_index@4") - (1.0 / 6.0 + 1.0 / 4.0)).abs() < 1e-12);
    assert!(
        (metric("ot_values_x100@4") - 100.0 * (0.25 + 1.0 / 12.0 + 1.0 / 6.0) / 3.0).abs() < 1e-9
    );
    assert!((0.0..=1.0).contains(&metric("average_precision")));
    // The nearest boxes of a copy: the box itself comes first, then others vote.
    let detected = record(&eval(&[
        "--task",
        "detection",
        "--data",
        &a,
        "--gallery",
        &b,
    ]));
    assert_eq!(
        (&detected["n"], &detected["classes"]),
        (&json!(4), &json!(3))
    );
    // Without a gallery the texts of the labels decide, by their names and not by their ids.
    let texts = record(&eval(&["--task", "detection", "--data", &a]));
    assert_eq!((&texts["n"], &texts["classes"]), (&json!(4), &json!(3)));
    assert!((0.0..=1.0).contains(&texts["metrics"]["ap"].as_f64().unwrap()));
    assert!(texts["metrics"].get("ap_novel").is_none());
    let norms = record(&eval(&["--task", "norms", "--data", &bench.text("a")]));
    assert!(norms["metrics"]["image_radius_mean"].as_f64().unwrap() > 0.0);
}

#[test]
fn typed_words_are_placed_at_the_nearest_node() {
    let bench = Bench::new();
    // Names of nodes of the taxonomy, and a text that is none.
    let rows = [
        ("a dog", "n02084071"),
        ("car", "n02958343"),
        ("my pet", "n00015388"),
    ];
    let lines = rows
        .map(|(text, node)| format!("{text}\t{node}\n"))
        .concat();
    bench.write("words.tsv", format!("text\tnode\n{lines}"));
    let data = bench.text("words.tsv");
    let of = |taxonomy: &[&str]| {
        record(&eval(
            &[&["--task", "words", "--data", &data], taxonomy].concat(),
        ))
    };
    let found = of(&[]);
    assert_eq!(
        (&found["n"], &found["prompts"]),
        (&json!(3), &json!("simple-1"))
    );
    let taxonomy = Taxonomy::from_tsv(include_str!(
        "../../../../trainer/data/taxonomy/wordnet.tsv"
    ))
    .unwrap();
    let nodes: Vec<NodeIx> = (0..551)
        .map(NodeIx)
        .filter(|ix| taxonomy.is_nameable(*ix))
        .collect();
    assert_eq!(found["classes"], json!(nodes.len()));
    let metric = |name: &str| found["metrics"][name].as_f64().unwrap();
    for (less, more) in [
        ("exact", "placed"),
        ("exact", "ancestor"),
        ("placed", "placed_with_names"),
    ] {
        assert!(
            (0.0..=1.0).contains(&metric(less)) && metric(less) <= metric(more),
            "{less}"
        );
    }
    // The two names are placed right, whatever their embeddings are.
    assert!(metric("placed_with_names") >= 2.0 / 3.0 - 1e-9);
    assert!(metric("edges") >= 1.0 - metric("exact"));
    // A taxonomy can be given by name; this one has more nodes to choose from.
    let more = of(&["--taxonomy", "imagenet"]);
    assert!(more["classes"].as_u64() > found["classes"].as_u64());
    bench.write("words.tsv", "text\tnode\nx\tn99999999\n");
    let said = refused(&eval(&["--task", "words", "--data", &data]));
    assert!(
        said.contains("`n99999999`") && said.contains("line 2"),
        "{said}"
    );
}

#[test]
fn the_suite_runs_what_is_there_and_says_how_to_get_the_rest() {
    let bench = Bench::new();
    bench.write("hyperlex/hyperlex-all.txt", HYPERLEX);
    bench.image("food101/apple_pie/1.jpg", 0);
    bench.image("food101/fish/1.jpg", 1);
    let output = eval(&["--suite", "papers", "--data", &bench.text("")]);
    let found = records(&output);
    let names: Vec<_> = found
        .iter()
        .map(|r| {
            (
                r["task"].as_str().unwrap(),
                r["benchmark"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(names, [("zero-shot", "food101"), ("hyperlex", "hyperlex")]);
    assert_eq!(found[0]["prompts"], json!("meru-food101"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("retrieval on coco: coco/annotations/captions_val2017.json"),
        "{said}"
    );
    assert!(!said.contains("hyperlex on hyperlex"));
    // An unusable benchmark does not stop the others, and it is reported.
    bench.write("coco/annotations/captions_val2017.json", "{}");
    let output = eval(&["--suite", "papers", "--data", &bench.text("")]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("1 of 3 tasks have no result:\nretrieval on coco: "),
        "{said}"
    );
}
