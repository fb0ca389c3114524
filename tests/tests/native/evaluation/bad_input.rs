//! Unusable input gives an error that says what was expected, never a misleading number.

use espalier_tests::trainer;

use crate::evaluation::support::{Bench, eval, model, refused};

#[test]
fn every_task_names_what_it_needs() {
    let bench = Bench::new();
    let nothing = bench.text("nothing/here");
    std::fs::create_dir(bench.path("empty")).unwrap();
    let empty = bench.text("empty");
    let wanted = [
        ("zero-shot", "class folders"),
        ("hierarchy", "class folders"),
        ("ordering", "HierarCaps' CSV"),
        ("retrieval", "COCO captions JSON"),
        ("hierarcaps", "hierarcaps_test.csv"),
        ("hyperlex", "WORD1 WORD2"),
        ("words", "text, node"),
        ("breeds", "CHILS"),
        ("rank-zero-shot", "val.json"),
        ("rank-ordering", "val.json"),
        ("image-to-image", "val.json"),
        ("parts", "annotations-bbox"),
        ("sugar-crepe", "swap_obj.json"),
        ("vl-checklist", "ANNO_PATH"),
        ("norms", "captions and boxes"),
    ];
    for (task, words) in wanted {
        for data in [&nothing, &empty] {
            let said = refused(&eval(&["--task", task, "--data", data]));
            assert!(said.contains(words), "{task}: {said}");
        }
    }
}

#[test]
fn an_unknown_task_suite_or_prompt_set_names_those_that_exist() {
    let said = refused(&eval(&["--task", "zero-shoot", "--data", "x"]));
    assert!(
        said.contains("image-to-image") && said.contains("zero-shoot"),
        "{said}"
    );
    let said = refused(&eval(&["--suite", "paper", "--data", "x"]));
    assert!(said.contains("papers"), "{said}");
    let bench = Bench::new();
    bench.image("d/a/1.jpg", 0);
    let said = refused(&eval(&[
        "--task",
        "zero-shot",
        "--data",
        &bench.text("d"),
        "--prompts",
        "openai-8",
    ]));
    assert!(said.contains("openai-80, meru-imagenet"), "{said}");
    let said = refused(&trainer(&["eval", "--task", "hyperlex", "--data", "x"]));
    assert!(said.contains("--checkpoint"), "{said}");
}

#[test]
fn a_space_without_factors_has_none_to_report() {
    let said = refused(&eval(&["--task", "factors"]));
    assert!(said.contains("product of factors"), "{said}");
}

#[test]
fn unreadable_images_are_counted_and_too_many_stop_the_run() {
    let bench = Bench::new();
    bench.image("d/house/1.jpg", 0);
    bench.image("d/house/2.jpg", 1);
    bench.write("d/tree/1.jpg", "no image");
    let data = bench.text("d");
    let none = ["--task", "zero-shot", "--data", &data, "--max-broken", "0"];
    let said = refused(&eval(&none));
    assert!(said.contains("1 of 3 records are broken"), "{said}");
    // Among few records, one is no reason to stop.
    let output = eval(&["--task", "zero-shot", "--data", &data]);
    let found = crate::evaluation::support::record(&output);
    assert_eq!(found["left_out"]["broken"], serde_json::json!(1));
    assert_eq!(
        found["ledger"]["missing"]["image cannot be read"]["count"],
        serde_json::json!(1)
    );
}

#[test]
fn what_a_former_run_kept_is_judged_by_the_limit_of_this_one() {
    let bench = Bench::new();
    bench.image("d/house/1.jpg", 0);
    bench.write("d/tree/1.jpg", "no image");
    let (model, data, cache) = (model(), bench.text("d"), bench.text("cache"));
    let args = [
        "eval",
        "--checkpoint",
        &model,
        "--task",
        "zero-shot",
        "--data",
        &data,
        "--json",
        "--cache",
        &cache,
    ];
    let _ = crate::evaluation::support::record(&trainer(&args));
    let said = refused(&trainer(&[&args[..], &["--max-broken", "0"]].concat()));
    assert!(said.contains("1 of 2 records are broken"), "{said}");
}

#[test]
fn a_benchmark_without_one_usable_image_has_no_numbers() {
    let bench = Bench::new();
    bench.write(
        "captions.json",
        r#"{"images": [{"id": 1, "file_name": "gone.jpg"}],
            "annotations": [{"id": 1, "image_id": 1, "caption": "a house"}]}"#,
    );
    let data = bench.text("captions.json");
    let said = refused(&eval(&["--task", "retrieval", "--data", &data]));
    assert!(
        said.contains("gone.jpg") && said.contains("0 images"),
        "{said}"
    );
}

#[test]
fn what_a_task_needs_is_said_of_data_and_not_of_options() {
    let bench = Bench::new();
    bench.image("d/house/1.jpg", 0);
    let data = bench.text("d");
    let said = |more: &[&str]| {
        refused(&eval(
            &[&["--task", "zero-shot", "--data", &data], more].concat(),
        ))
    };
    let batch = said(&["--batch-size", "0"]);
    assert!(
        batch.contains("at least 1") && !batch.contains("needs:"),
        "{batch}"
    );
    let nothing = bench.text("nothing");
    let other = refused(&eval(&["--task", "zero-shot", "--data", &nothing]));
    assert!(other.contains("zero-shot needs:"), "{other}");
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let bench = Bench::new();
    bench.write("captions.json", r#"{"images": [], "annotations": []}"#);
    let data = bench.text("captions.json");
    let said = refused(&eval(&["--task", "retrieval", "--data", &data]));
    assert!(said.contains("0 images and no caption"), "{said}");
    let said = refused(&eval(&["--task", "retrieval", "--data", &data, "--k", "0"]));
    assert!(said.contains("--k"), "{said}");
    let (model, out) = (model(), bench.text("e.safetensors"));
    let _ = trainer(&["embed", "--model", &model, "--texts", &data, "--out", &out]);
    let said = refused(&trainer(&[
        "eval",
        "--task",
        "retrieval",
        "--image-embeddings",
        &out,
    ]));
    assert!(said.contains("--text-embeddings"), "{said}");
}
