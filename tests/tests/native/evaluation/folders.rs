//! Folders of photos as people have them: names of classes in words, and entries of other programs among the photos.

use espalier_tests::trainer;
use serde_json::json;

use crate::evaluation::support::{Bench, eval, record, refused};

/// Writes two classes with a hidden file, a cache of thumbnails, a text and a photo without an extension.
fn folders(bench: &Bench) -> String {
    for look in 0..3 {
        bench.image(&format!("photos/goldfish/{look}.jpg"), look);
        bench.image(&format!("photos/bull_frog/{look}.jfif"), look + 3);
    }
    bench.image("photos/bull_frog/photo", 5);
    bench.write("photos/goldfish/._0.jpg", "x");
    bench.write("photos/goldfish/notes.txt", "by the pond");
    bench.write("photos/.thumbnails/0.jpg", "x");
    bench.write("photos/empty/.keep", "");
    bench.text("photos")
}

#[test]
fn a_bundle_is_judged_with_its_own_taxonomy_and_every_entry_is_accounted_for() {
    let bench = Bench::new();
    let data = folders(&bench);
    std::fs::rename(
        bench.path("photos/bull_frog"),
        bench.path("photos/bullfrog"),
    )
    .unwrap();
    let found = record(&eval(&[
        "--task",
        "zero-shot",
        "--classes",
        "all",
        "--data",
        &data,
    ]));
    assert_eq!(found["settings"]["taxonomy"], "the bundle's", "{found}");
    assert_eq!(
        (&found["n"], &found["prompts"]),
        (&json!(7), &json!("stored"))
    );
    assert!(found["classes"].as_u64().unwrap() > 100, "{found}");
    let skipped = &found["ledger"]["skipped"];
    // ._0.jpg, the thumbnail and .keep.
    assert_eq!(
        skipped["hidden, or of another program"]["count"], 3,
        "{found}"
    );
    assert_eq!(skipped["not an image"]["count"], 1, "{found}");
    assert_eq!(skipped["folder without images"]["count"], 1, "{found}");

    let audit = trainer(&["data", "audit", "--dataset", "images", "--json", &data]);
    let audit: serde_json::Value = serde_json::from_slice(&audit.stdout).unwrap();
    assert_eq!(audit["records"], 7, "{audit}");
    assert_eq!(&audit["left_out"], skipped, "{audit}");
}

#[test]
fn a_label_that_no_node_has_is_a_class_of_its_own_and_an_unknown_id_is_refused() {
    let bench = Bench::new();
    let data = folders(&bench);
    let found = record(&eval(&["--task", "zero-shot", "--data", &data]));
    assert_eq!(
        (&found["n"], &found["classes"]),
        (&json!(7), &json!(2)),
        "{found}"
    );

    bench.image("ids/n99999999/0.jpg", 0);
    bench.image("ids/n99999998/0.jpg", 1);
    let said = refused(&eval(&[
        "--task",
        "zero-shot",
        "--data",
        &bench.text("ids"),
    ]));
    assert!(
        said.contains("are ids") && said.contains("--taxonomy"),
        "{said}"
    );
    let said = refused(&eval(&[
        "--task",
        "zero-shot",
        "--classes",
        "all",
        "--data",
        &bench.text("ids"),
    ]));
    assert!(
        said.contains("--classes all") && said.contains("n99999998"),
        "{said}"
    );
}
