//! Grammar, messages and exit codes of the program; no model is trained.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

fn trainer(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trainer"))
        .args(line.split(' '))
        .output()
        .unwrap()
}

/// Checks that a command is bad usage and names these on standard error.
fn refused(line: &str, named: &[&str]) {
    let out = trainer(line);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.stdout.is_empty(), "errors do not go to standard output");
    assert!(!said.contains("panicked"), "{said}");
    assert_eq!(out.status.code(), Some(2), "{said}");
    for name in named {
        assert!(said.contains(name), "{name}: {said}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    let commands = "fit, eval, caption, embed, export, data audit, data bench, plot norms, \
                    plot traversal, plot disk, plot umap, plot factors, plot pr, plot ladder";
    for command in commands.split(", ") {
        let out = trainer(&format!("{command} --help"));
        assert!(out.status.success());
        let help = String::from_utf8_lossy(&out.stdout);
        assert!(help.contains("Example: trainer"), "{command}: {help}");
    }
}

#[test]
fn a_missing_path_is_bad_usage_and_is_named() {
    let fit = "fit --dataset grit --data no/such/shard.parquet";
    refused(fit, &["no/such/shard.parquet"]);
    let eval = "eval --checkpoint no/run --task zero-shot --data x.parquet";
    refused(eval, &["no/run", "run folder"]);
    refused("fit --dataset grit", &["--data"]);
}

#[test]
fn an_unknown_key_or_model_names_those_that_exist() {
    let fit = "fit --dataset synthetic";
    let key = ["unknown field `speed`", "`lr`"];
    refused(&format!("{fit} optim.speed=3"), &key);
    let models = ["vit_t8_64", "clip_vit_l14"];
    refused(&format!("{fit} --model vit_x"), &models);
}

#[test]
#[cfg_attr(
    feature = "cuda",
    ignore = "needs a program that was built without cuda"
)]
fn a_backend_that_was_not_built_in_is_named_with_the_way_to_it() {
    let fit = "fit --dataset synthetic --backend cuda";
    refused(fit, &["--features cuda"]);
}
