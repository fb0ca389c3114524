//! Runs every target on its stored inputs, so that what the fuzzer once found stays mended.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use espalier_fuzz::{TARGETS, target};
use serde_json::Value;

/// Longest time for one input, as for the fuzzer.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Most bytes of all stored inputs.
const MAX_CORPUS: u64 = 350_000;

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn settings() -> BTreeMap<String, Value> {
    toml::from_str(&fs::read_to_string(package().join("targets.toml")).unwrap()).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).collect()
}

/// Runs a target on its corpus and on the real files that the fuzzer starts from.
fn run_stored(name: &str) {
    let root = package().join("../..");
    let seeds = settings()[name]["seeds"].clone();
    let folders = seeds.as_array().unwrap().iter();
    let folders = folders.map(|folder| root.join(folder.as_str().unwrap()));
    let stored = files(&package().join("corpus").join(name));
    assert!(!stored.is_empty(), "{name} has no stored input");
    let all = stored.into_iter().chain(folders.flat_map(|f| files(&f)));
    for path in all {
        let input = fs::read(&path).unwrap();
        let start = Instant::now();
        // A panic names the file.
        let path = path.display();
        eprintln!("{path}");
        target(name).unwrap()(&input);
        let time = start.elapsed();
        assert!(
            time < MAX_TIME,
            "{path}: expected at most {MAX_TIME:?}, found {time:?}"
        );
    }
}

macro_rules! stored_inputs {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                run_stored($name);
            }
        )*

        #[test]
        fn every_target_is_tested_and_has_settings() {
            let names = TARGETS.map(|(name, _)| name);
            assert_eq!(names.as_slice(), [$($name),*]);
            assert!(settings().keys().eq(names));
        }
    };
}

stored_inputs! {
    stored_indices_of_benchmarks_break_nothing: "benchmarks",
    stored_configurations_break_nothing: "config",
    stored_images_break_nothing: "image",
    stored_manifests_and_packed_files_break_nothing: "manifest",
    stored_messages_and_links_break_nothing: "messages",
    stored_tables_of_nouns_break_nothing: "nouns",
    stored_files_beside_weights_break_nothing: "published",
    stored_results_break_nothing: "results",
    stored_shards_break_nothing: "shards",
    stored_trees_break_nothing: "taxonomy",
    stored_text_files_break_nothing: "texts",
    stored_texts_break_nothing: "tokenizer",
    stored_weights_of_other_programs_break_nothing: "torch",
    stored_weights_break_nothing: "weights",
}

#[test]
fn the_stored_inputs_are_small() {
    let bytes = |path: &PathBuf| fs::metadata(path).unwrap().len();
    let mut total = 0;
    for (name, settings) in settings() {
        let max_bytes = settings["max_bytes"].as_u64().unwrap();
        for path in files(&package().join("corpus").join(&name)) {
            assert!(bytes(&path) <= max_bytes, "{}", path.display());
            total += bytes(&path);
        }
    }
    assert!(
        total <= MAX_CORPUS,
        "expected at most {MAX_CORPUS} bytes, found {total}"
    );
}
