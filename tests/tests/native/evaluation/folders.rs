//! Folders of photos as people have them: names of classes in words, and entries of other programs among the photos.

use espalier_tests::calls::call;

use crate::evaluation::support::{Bench, judged, refused};

/// Writes two classes with a hidden file, a cache of thumbnails, a text and a photo without an extension.
fn folders(bench: &Bench) {
    for look in 0..3 {
        bench.image(&format!("photos/goldfish/{look}.jpg"), look);
        bench.image(&format!("photos/bull_frog/{look}.jfif"), look + 3);
    }
    bench.image("photos/bull_frog/photo", 5);
    bench.write("photos/goldfish/._0.jpg", "x");
    bench.write("photos/goldfish/notes.txt", "by the pond");
    bench.write("photos/.thumbnails/0.jpg", "x");
    bench.write("photos/empty/.keep", "");
}

#[test]
fn a_bundle_is_judged_with_its_own_taxonomy_and_every_entry_is_accounted_for() {
    let bench = Bench::new();
    folders(&bench);
    let [named, known] = ["bull_frog", "bullfrog"].map(|name| bench.path("photos").join(name));
    std::fs::rename(named, known).unwrap();
    let all = bench.eval("--task zero-shot --classes all", "photos");
    let found = all.json();
    assert_eq!(found["settings"]["taxonomy"], "the bundle's", "{found}");
    assert_eq!(found["n"], 7);
    assert_eq!(found["prompts"], "stored");
    assert!(found["classes"].as_u64().unwrap() > 100, "{found}");
    let skipped = &found["ledger"]["skipped"];
    for (rule, count) in [
        // ._0.jpg, the thumbnail and .keep.
        ("hidden, or of another program", 3),
        ("not an image", 1),
        ("folder without images", 1),
    ] {
        assert_eq!(skipped[rule]["count"], count, "{found}");
    }

    let audit = call("data audit --dataset images --json");
    let audit = audit.arg(bench.path("photos")).json();
    assert_eq!(audit["records"], 7, "{audit}");
    assert_eq!(&audit["left_out"], skipped, "{audit}");
}

#[test]
fn a_label_that_no_node_has_is_a_class_of_its_own_and_an_unknown_id_is_refused() {
    let bench = Bench::new();
    folders(&bench);
    let found = bench.eval("--task zero-shot", "photos").json();
    judged(&found, 7, 2);

    bench.image("ids/n99999999/0.jpg", 0);
    bench.image("ids/n99999998/0.jpg", 1);
    let zero_shot = |more: &str| bench.eval("--task zero-shot", "ids").with(more);
    refused(zero_shot(""), &["are ids", "--taxonomy"]);
    let told = ["--classes all", "n99999998"];
    refused(zero_shot("--classes all"), &told);
}
