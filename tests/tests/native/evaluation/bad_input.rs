//! Unusable input gives an error that says what was expected, never a misleading number.

use espalier_tests::calls::call;
use espalier_tests::models::tiny;

use crate::evaluation::support::{Bench, eval, refused};

#[test]
fn every_task_names_what_it_needs() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("empty")).unwrap();
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
        for data in ["nothing/here", "empty"] {
            refused(bench.eval(&format!("--task {task}"), data), &[words]);
        }
    }
}

#[test]
fn an_unknown_task_suite_or_prompt_set_names_those_that_exist() {
    let bench = Bench::new();
    bench.image("d/a/1.jpg", 0);
    let refused_with = |words: &str, told: &[&str]| refused(bench.eval(words, "d"), told);
    refused_with("--task zero-shoot", &["zero-shoot", "image-to-image"]);
    refused_with("--suite paper", &["papers"]);
    let prompts = "--task zero-shot --prompts openai-8";
    refused_with(prompts, &["openai-80, meru-imagenet"]);
    refused(call("eval --task hyperlex --data x"), &["--checkpoint"]);
}

#[test]
fn a_space_without_factors_has_none_to_report() {
    refused(eval(tiny(), "--task factors"), &["product of factors"]);
}

#[test]
fn unreadable_images_are_counted_and_too_many_stop_the_run() {
    let bench = Bench::new();
    bench.image("d/house/1.jpg", 0);
    bench.image("d/house/2.jpg", 1);
    bench.write("d/tree/1.jpg", "no image");
    let zero_shot = |more: &str| bench.eval("--task zero-shot", "d").with(more);
    refused(zero_shot("--max-broken 0"), &["1 of 3 records are broken"]);
    // Among few records, one is no reason to stop.
    let found = zero_shot("").json();
    assert_eq!(found["left_out"]["broken"], 1);
    let broken = &found["ledger"]["missing"]["image cannot be read"];
    assert_eq!(broken["count"], 1);
    // The limit of this run applies to files that a former one kept, too.
    let cached = |more: &str| bench.eval_with_cache("--task zero-shot", "d").with(more);
    cached("").done();
    refused(cached("--max-broken 0"), &["1 of 3 records are broken"]);
    // The error about an option does not say which data the task needs.
    let said = refused(zero_shot("--batch-size 0"), &["at least 1"]);
    assert!(!said.contains("needs:"), "{said}");
    let nothing = bench.eval("--task zero-shot", "nothing");
    refused(nothing, &["zero-shot needs:"]);
}

#[test]
fn a_benchmark_without_one_usable_image_has_no_numbers() {
    let bench = Bench::new();
    bench.write(
        "captions.json",
        r#"{"images": [{"id": 1, "file_name": "gone.jpg"}],
            "annotations": [{"id": 1, "image_id": 1, "caption": "a house"}]}"#,
    );
    let retrieval = bench.eval("--task retrieval", "captions.json");
    refused(retrieval, &["gone.jpg", "0 images"]);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let bench = Bench::new();
    bench.write("captions.json", r#"{"images": [], "annotations": []}"#);
    let retrieval = |more: &str| bench.eval("--task retrieval", "captions.json").with(more);
    refused(retrieval(""), &["0 images and no caption"]);
    refused(retrieval("--k 0"), &["--k"]);
    let embed = bench.embed("--texts", "captions.json", "e.safetensors");
    let _ = embed.ended();
    let alone = call("eval --task retrieval");
    let alone = alone.set("--image-embeddings", bench.path("e.safetensors"));
    refused(alone, &["--text-embeddings"]);
}
