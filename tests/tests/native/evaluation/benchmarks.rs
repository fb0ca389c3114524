//! The other benchmarks in their published formats, and all benchmarks of a folder at once.

use espalier_core::geometry::Space;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_trainer::eval::stored::Stored;
use serde_json::{Value, json};

use crate::evaluation::support::{Bench, judged, metric, refused, there};

const HYPERLEX: &str = "WORD1 WORD2 POS TYPE AVG_SCORE AVG_SCORE_0_10 STD SCORES..\n\
    dog animal N hyp-1 5.9 9.8 0.1 6 6\ncat dog N cohyp 0.4 0.6 0.5 0 1\nrose plant N hyp-1 5.8 9.6 0.2 6\n\
    run move V hyp-1 5.0 8.3 0.5 5 5\nmove run V r-hyp-1 1.0 1.6 0.5 1 1\nbird animal N hyp-1 5.8 9.7 0.1 6\n";

/// Embeds texts with `trainer embed`; returns the space and the embeddings.
fn points(bench: &Bench, texts: &[String]) -> (Space, Stored) {
    bench.write("t.txt", texts.join("\n"));
    bench.embed("--texts", "t.txt", "t.safetensors").done();
    let stored = Stored::open(&bench.path("t.safetensors")).unwrap();
    (stored.space.clone().unwrap(), stored)
}

#[test]
fn hyperlex_ranks_pairs_by_the_angle_at_the_general_word() {
    let bench = Bench::new();
    bench.write("hyperlex/hyperlex-all.txt", HYPERLEX);
    let found = bench.eval("--task hyperlex", "hyperlex").json();
    assert_eq!(found["n"], 6);
    assert_eq!(found["benchmark"], "hyperlex");
    let lines = HYPERLEX.lines().skip(1);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(' ').collect()).collect();
    let words = rows.iter().flat_map(|row| [row[1], row[0]]);
    let texts = words.map(|word| format!("a picture of a {word}"));
    let (space, stored) = points(&bench, &texts.collect::<Vec<_>>());
    let row = |at| stored.points.row(at);
    let angle = |i: usize| -space.exterior_angle(row(2 * i), row(2 * i + 1));
    let ours: Vec<f64> = (0..6).map(angle).collect();
    let theirs: Vec<f64> = rows.iter().map(|r| r[4].parse().unwrap()).collect();
    // Spearman's rho by hand: the correlation of ranks, with mean ranks for ties.
    let ranks = |v: &[f64]| -> Vec<f64> {
        let below = |x: f64| v.iter().filter(|y| **y < x).count() as f64;
        let same = |x: f64| v.iter().filter(|y| **y == x).count() as f64;
        let ranks = v.iter().map(|x| below(*x) + (same(*x) + 1.0) / 2.0);
        ranks.collect()
    };
    let (a, b) = (ranks(&ours), ranks(&theirs));
    let cov =
        |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(p, q)| (p - 3.5) * (q - 3.5)).sum() };
    let rho = cov(&a, &b) / (cov(&a, &a) * cov(&b, &b)).sqrt();
    assert!((metric(&found, "rho_all") - rho).abs() < 1e-9, "{found}");
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
    let eval = |words: &str| bench.eval(words, "hierarcaps");
    let found = eval("--task hierarcaps").json();
    judged(&found, 2, 12);
    assert_eq!(found["settings"]["radii"], "per-image");
    there(&found, 3, 2);
    let repeated = &found["ledger"]["odd"]["one text in two neighbouring tiers"];
    assert_eq!(repeated["count"], 1);
    let chains = csv.lines().skip(1).map(|l| l.split(',').nth(1).unwrap());
    let texts = chains.flat_map(|chain| chain.split(" => ").map(str::to_owned));
    let (space, stored) = points(&bench, &texts.collect::<Vec<_>>());
    let radii: Vec<f64> = stored.points.rows().map(|p| space.radius(p)).collect();
    let tau = |r: &[f64]| -> f64 {
        let pairs = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
        let signs = pairs.map(|(i, j)| f64::from(r[j].total_cmp(&r[i]) as i8));
        signs.sum::<f64>() / 6.0
    };
    let known = radii.chunks(4).map(tau).sum::<f64>() / 3.0;
    assert!((metric(&found, "d_corr") - known).abs() < 1e-9, "{found}");
    let global = eval("--task hierarcaps --radii global --drop-first").json();
    assert_eq!(global["settings"]["radii"], "global");
    assert_eq!(global["settings"]["drop_first"], "true");
    // The chains without their images.
    let order = eval("--task ordering").json();
    assert!((metric(&order, "tau_d") - known).abs() < 1e-9);
    // A row whose image is missing still has an order.
    assert_eq!(order["ledger"]["found"], 3);
    let more = format!("{csv}3,a => b,x_7.jpg\n");
    bench.write("hierarcaps/hierarcaps_test.csv", more);
    let order = eval("--task ordering").json();
    assert_eq!(order["ledger"]["found"], 3);
    assert_eq!(order["left_out"]["broken"], 1);
    refused(eval("--task hierarcaps --walk-steps 0"), &["--walk-steps"]);
}

#[test]
fn sugarcrepe_asks_strictly_and_weighs_by_questions() {
    let bench = Bench::new();
    let question = |image: &str, a: &str, b: &str| json!({"filename": image, "caption": a, "negative_caption": b});
    // With two equal texts, no answer counts as right.
    let same = json!({"0": question("1.jpg", "a house", "a house")});
    bench.write("sc/swap_obj.json", same.to_string());
    let other = json!({"0": question("1.jpg", "a house", "a fish in water"),
        "1": question("1.jpg", "a fish in water", "a house"), "2": question("gone.jpg", "x", "y")});
    bench.write("sc/add_obj.json", other.to_string());
    bench.image("sc/val2017/1.jpg", 0);
    let found = bench.eval("--task sugar-crepe", "sc").json();
    // One of the two questions of add_obj is the other with its texts swapped.
    assert_eq!(metric(&found, "swap_obj"), 0.0);
    assert_eq!(metric(&found, "add_obj"), 0.5);
    assert!((metric(&found, "overall") - 1.0 / 3.0).abs() < 1e-12);
    let ties = &found["ledger"]["odd"]["question whose texts score the same, a miss"];
    assert_eq!(ties["count"], 1);
    assert_eq!(found["n"], 3);
    assert_eq!(found["ledger"]["expected"], 4);
}

#[test]
fn vl_checklist_is_read_through_its_corpus_files() {
    let bench = Bench::new();
    let about = "ANNO_PATH: lists/center.json\nIMG_ROOT: vg\nTYPE: Object/Location\n";
    bench.write("vl/vg_obj.yaml", about);
    let list = json!([["1.jpg", {"POS": ["a house"], "NEG": ["a fish in water"]}],
        ["1.jpg", {"POS": ["a fish in water"], "NEG": ["a house"]}]]);
    bench.write("vl/lists/center.json", list.to_string());
    bench.image("vl/vg/1.jpg", 0);
    let found = bench.eval("--task vl-checklist", "vl").json();
    for name in ["center", "location", "object"] {
        assert_eq!(found["metrics"][name], 0.5, "{found}");
    }
    let twice = bench.eval("--task vl-checklist --double-norm", "vl");
    assert_eq!(twice.json()["settings"]["double_norm"], "true");
}

#[test]
fn breeds_reports_both_signs() {
    let bench = Bench::new();
    let classes = json!({"house": ["red house", "green house"], "plant": ["tree"]});
    bench.write("breeds/living17.json", classes.to_string());
    for (look, name) in (0..).zip(["red_house", "green_house", "tree"]) {
        bench.image(&format!("breeds/living17/{name}/1.jpg"), look);
        bench.image(&format!("breeds/living17/{name}/2.jpg"), look + 3);
    }
    bench.image("breeds/living17/submarine/1.jpg", 2);
    let words = "--task breeds --prompts photo-1 --sign minus";
    let found = bench.eval(words, "breeds").json();
    // Five labels make ten pairs; one folder belongs to no subclass.
    judged(&found, 6, 10);
    let other = &found["ledger"]["missing"]["image of no subclass of the list"];
    assert_eq!(other["count"], 1);
    for k in [1, 5] {
        let all = metric(&found, &format!("recall@{k}"));
        let of = |sign: &str| metric(&found, &format!("living17_recall@{k}_{sign}"));
        assert_eq!(all, of("minus"));
        assert!((0.0..=1.0).contains(&of("plus")));
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
    let table = format!("{header}\n{}", rows.concat());
    let names = "/m/1,House\n/m/2,Tree\n/m/3,Sun\n";
    for folder in ["a", "b"] {
        bench.write(&format!("{folder}/test-annotations-bbox.csv"), &table);
        bench.write(&format!("{folder}/class-descriptions-boxable.csv"), names);
        bench.image(&format!("{folder}/p.jpg"), 0);
        bench.image(&format!("{folder}/q.jpg"), 1);
    }
    let found = bench.eval("--task parts --top 2,4", "a").json();
    judged(&found, 2, 4);
    let value = |name: &str| metric(&found, name);
    // The whole gallery: three of four boxes belong to either scene, and all of them are found.
    assert_eq!(value("tree_recall@4"), 1.0);
    assert_eq!(value("parent_to_child@5"), 0.75);
    // Label 1 is in both scenes, the others in one: (1 + 1/2 + 1 + 1/2) / 4.
    assert_eq!(value("child_to_parent@5"), 0.75);
    // h = (2/3, 1/3, 0) by any order, r of everything = (1/2, 1/4, 1/4).
    assert!((value("total_variation@4") - 0.25).abs() < 1e-12);
    assert!((value("ot_index@4") - (1.0 / 6.0 + 1.0 / 4.0)).abs() < 1e-12);
    let known = 100.0 * (0.25 + 1.0 / 12.0 + 1.0 / 6.0) / 3.0;
    assert!((value("ot_values_x100@4") - known).abs() < 1e-9);
    assert!((0.0..=1.0).contains(&value("average_precision")));
    // The nearest boxes of a copy: the box itself comes first, then others vote.
    let detected = bench.eval("--task detection", "a");
    let detected = detected.set("--gallery", bench.path("b")).json();
    judged(&detected, 4, 3);
    // Without a gallery the texts of the labels decide, by their names and not by their ids.
    let texts = bench.eval("--task detection", "a").json();
    judged(&texts, 4, 3);
    assert!((0.0..=1.0).contains(&metric(&texts, "ap")));
    assert!(texts["metrics"].get("ap_novel").is_none());
    let norms = bench.eval("--task norms", "a").json();
    assert!(metric(&norms, "image_radius_mean") > 0.0);
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
    let lines = rows.map(|(text, node)| format!("{text}\t{node}\n"));
    let lines = lines.concat();
    bench.write("words.tsv", format!("text\tnode\n{lines}"));
    let eval = |more: &str| bench.eval("--task words", "words.tsv").with(more);
    let found = eval("").json();
    assert_eq!(found["n"], 3);
    assert_eq!(found["prompts"], "simple-1");
    let wordnet = include_str!("../../../../trainer/data/taxonomy/wordnet.tsv");
    let wordnet = Taxonomy::from_tsv(wordnet).unwrap();
    let nodes = (0..551).map(NodeIx);
    let named = nodes.filter(|ix| wordnet.is_nameable(*ix)).count();
    assert_eq!(found["classes"], json!(named));
    let metric = |name: &str| metric(&found, name);
    for (less, more) in [
        ("exact", "placed"),
        ("exact", "ancestor"),
        ("placed", "placed_with_names"),
    ] {
        let (less, more) = (metric(less), metric(more));
        assert!((0.0..=1.0).contains(&less) && less <= more, "{found}");
    }
    // The two names are placed right, whatever their embeddings are.
    assert!(metric("placed_with_names") >= 2.0 / 3.0 - 1e-9);
    assert!(metric("edges") >= 1.0 - metric("exact"));
    // A taxonomy can be given by name; this one has more nodes to choose from.
    let more = eval("--taxonomy imagenet").json();
    assert!(more["classes"].as_u64() > found["classes"].as_u64());
    bench.write("words.tsv", "text\tnode\nx\tn99999999\n");
    refused(eval(""), &["`n99999999`", "line 2"]);
}

#[test]
fn the_suite_runs_what_is_there_and_says_how_to_get_the_rest() {
    let bench = Bench::new();
    bench.write("hyperlex/hyperlex-all.txt", HYPERLEX);
    bench.image("food101/apple_pie/1.jpg", 0);
    bench.image("food101/fish/1.jpg", 1);
    let missing = "retrieval on coco: coco/annotations/captions_val2017.json";
    let ended = bench.eval("--suite papers", "").ends_with(0, &[missing]);
    let found = ended.json_lines();
    let name =
        |r: &Value| [&r["task"], &r["benchmark"]].map(|name| name.as_str().unwrap().to_owned());
    let names: Vec<_> = found.iter().map(name).collect();
    assert_eq!(names, [["zero-shot", "food101"], ["hyperlex", "hyperlex"]]);
    assert_eq!(found[0]["prompts"], "meru-food101");
    assert!(!ended.said.contains("hyperlex on hyperlex"));
    // An unusable benchmark does not stop the others, and it is reported.
    bench.write("coco/annotations/captions_val2017.json", "{}");
    let lost = "1 of 3 tasks have no result:\nretrieval on coco: ";
    let ended = bench.eval("--suite papers", "").refused(&[lost]);
    assert_eq!(ended.out.lines().count(), 2);
}
