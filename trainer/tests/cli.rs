//! Grammar, messages and exit codes of the program; no model is trained.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn trainer(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trainer"))
        .args(args)
        .output()
        .unwrap()
}

/// Returns the exit code and what was said on standard error.
fn fails(args: &[&str]) -> (i32, String) {
    let out = trainer(args);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.stdout.is_empty(), "errors do not go to standard output");
    assert!(!said.contains("panicked"), "{said}");
    (out.status.code().unwrap(), said)
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        ["fit"].as_slice(),
        &["eval"],
        &["caption"],
        &["embed"],
        &["export"],
        &["data", "audit"],
        &["data", "bench"],
        &["plot", "norms"],
        &["plot", "traversal"],
        &["plot", "disk"],
        &["plot", "umap"],
        &["plot", "factors"],
        &["plot", "pr"],
        &["plot", "ladder"],
    ] {
        let out = trainer(&[command, &["--help"]].concat());
        assert!(out.status.success());
        let help = String::from_utf8_lossy(&out.stdout);
        assert!(help.contains("Example: trainer"), "{command:?}: {help}");
    }
}

#[test]
fn a_missing_path_is_bad_usage_and_is_named() {
    let (code, said) = fails(&[
        "fit",
        "--dataset",
        "grit",
        "--data",
        "no/such/shard.parquet",
    ]);
    assert_eq!(code, 2);
    assert!(said.contains("no/such/shard.parquet"), "{said}");

    let (code, said) = fails(&[
        "eval",
        "--checkpoint",
        "no/run",
        "--task",
        "zero-shot",
        "--data",
        "x.parquet",
    ]);
    assert_eq!(code, 2);
    assert!(
        said.contains("no/run") && said.contains("run folder"),
        "{said}"
    );
}

#[test]
fn no_data_at_all_is_bad_usage() {
    let (code, said) = fails(&["fit", "--dataset", "grit"]);
    assert_eq!(code, 2);
    assert!(said.contains("--data"), "{said}");
}

#[test]
fn an_unknown_key_or_model_names_those_that_exist() {
    let (code, said) = fails(&["fit", "--dataset", "synthetic", "optim.speed=3"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("unknown field `speed`") && said.contains("`lr`"),
        "{said}"
    );
    let (code, said) = fails(&["fit", "--dataset", "synthetic", "--model", "vit_x"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("vit_t8_64") && said.contains("clip_vit_l14"),
        "{said}"
    );
}

#[test]
#[cfg_attr(
    feature = "cuda",
    ignore = "needs a program that was built without cuda"
)]
fn a_backend_that_was_not_built_in_is_named_with_the_way_to_it() {
    let (code, said) = fails(&["fit", "--dataset", "synthetic", "--backend", "cuda"]);
    assert_eq!(code, 2);
    assert!(said.contains("--features cuda"), "{said}");
}

#[test]
fn a_renamed_column_is_found_in_a_rehearsal() {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("renamed.parquet");
    let column = |v: &str| Arc::new(StringArray::from(vec![v])) as ArrayRef;
    let batch =
        RecordBatch::try_from_iter([("key", column("0")), ("text", column("a cat"))]).unwrap();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();

    let (code, said) = fails(&[
        "fit",
        "--dataset",
        "grit",
        "--data",
        path.to_str().unwrap(),
        "--dry-run",
    ]);
    assert_eq!(code, 2);
    assert!(
        said.contains("caption") && said.contains("text"),
        "wanted and found: {said}"
    );
}
