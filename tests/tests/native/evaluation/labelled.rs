//! Labelled images: classification, distances in a taxonomy, lineages.

use espalier_tests::taxonomy;

use crate::evaluation::support::{Bench, judged, metric, refused};

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
    let zero_shot = |more: &str| bench.eval("--task zero-shot", "data").with(more).json();
    let found = zero_shot("");
    judged(&found, 6, 3);
    assert_eq!(found["prompts"], "simple-1");
    assert_eq!(metric(&found, "acc5"), 1.0);
    assert!((metric(&found, "chance") - 1.0 / 3.0).abs() < 1e-12);
    let named = zero_shot("--dataset-name cifar10 --prompts auto");
    assert_eq!(named["prompts"], "meru-cifar");
}

#[test]
fn classes_that_no_image_has_are_said_and_chosen_from() {
    let bench = folders(["a", "b", "c"]);
    let zero_shot = |names: &str| {
        bench.write("names.tsv", names);
        let call = bench.eval("--task zero-shot", "data");
        call.set("--class-names", bench.path("names.tsv"))
    };
    let all = "a\tred house\nb\tgreen house\nc\tblue house\nd\tdog\n";
    let found = zero_shot(all).json();
    assert_eq!(found["classes"], 4);
    let absent = &found["ledger"]["odd"]["class that no image has"];
    assert_eq!(absent["example"], "d");
    // A class that the file lacks: its images are left out and counted.
    let found = zero_shot("a\tred house\nb\tgreen house\n").json();
    assert_eq!(found["n"], 4);
    assert_eq!(found["left_out"]["label not in the taxonomy"], 2);
    let told = ["a name for each of the 3 labels", "found 2 lines"];
    refused(zero_shot("red house\ngreen house\n"), &told);
    // With one class every answer is right, which is reported.
    let found = zero_shot("a\tred house\n").json();
    assert_eq!(metric(&found, "acc1"), 1.0);
    assert!(found["ledger"]["odd"]["one class alone, every answer is right"].is_object());
}

#[test]
fn a_label_may_have_its_name_as_its_id() {
    let names = ["red house", "green house", "blue house"];
    let bench = folders(names);
    let rows = names.map(|name| format!("{name}\t{name}\tn1\t1\n"));
    let tree = taxonomy(&format!("n1\thouse\t\t0\n{}", rows.concat()));
    bench.write("tree.tsv", &tree);
    let zero_shot = bench.eval("--task zero-shot", "data");
    let found = zero_shot.set("--taxonomy", bench.path("tree.tsv")).json();
    assert_eq!((3.0 * metric(&found, "chance")).round(), 1.0, "{found}");
}

#[test]
fn an_edge_list_is_a_taxonomy_once_its_nodes_have_names() {
    let bench = folders(["n1", "n2", "n3"]);
    bench.write("isa.txt", "r a\na n1\na n2\nr n3\n");
    let names = "n1\tred house\nn2\tgreen house\nn3\tblue house\n";
    bench.write("names.tsv", names);
    let both = || {
        let call = bench.eval("--task zero-shot,hierarchy", "data");
        call.set("--taxonomy", bench.path("isa.txt"))
    };
    refused(both(), &["--class-names"]);
    let with_names = || {
        both()
            .set("--class-names", bench.path("names.tsv"))
            .set("--report", bench.path("report.html"))
            .done()
            .json_lines()
    };
    let found = with_names();
    assert_eq!(found.len(), 2);
    let (acc, tie) = (metric(&found[0], "acc1"), metric(&found[1], "tie"));
    // A wrong answer is two edges away (n1, n2) or three.
    let wrong = 1.0 - acc;
    let between = 2.0 * wrong - 1e-9..=3.0 * wrong + 1e-9;
    assert!(between.contains(&tie), "{acc} {tie}");
    let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(page.contains("<h2>zero-shot") && page.contains("hierarchical_precision"));
    assert_eq!(page.contains("data:image/jpeg;base64,"), acc < 1.0);
    let is_alone = !page.contains("http");
    assert!(is_alone, "the report loads something from another host");
    // One of the three nodes is not in the taxonomy.
    bench.write("isa.txt", "r a\na n2\nr n3\n");
    let found = with_names();
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
    let words = "--task rank-zero-shot,rank-ordering,image-to-image --prompts plain-1";
    let found = bench.eval(words, "data").done().json_lines();
    let [zero_shot, ordering, retrieval] = found.as_slice() else {
        panic!("{found:?}");
    };
    for rank in ["kingdom", "species"] {
        let accuracy = metric(zero_shot, &format!("acc1_{rank}"));
        assert!((0.0..=1.0).contains(&accuracy), "{rank}: {accuracy}");
    }
    // Two kingdoms, two phyla, then three of each.
    assert_eq!(zero_shot["classes"], 2 + 2 + 5 * 3);
    judged(ordering, 3, 21);
    let [p, r, f1] = ["precision", "recall", "f1"].map(|name| metric(ordering, name));
    let known = 2.0 * p * r / (p + r).max(f64::MIN_POSITIVE);
    assert!((f1 - known).abs() < 1e-12);
    let recalls = ["species", "class", "kingdom"];
    let recalls = recalls.map(|rank| metric(retrieval, &format!("recall@1_{rank}")));
    assert!(recalls.is_sorted(), "{recalls:?}");
    let none = folders(["a", "b", "c"]);
    let none = none.eval("--task image-to-image", "data");
    refused(none, &["none with a lineage"]);
}
