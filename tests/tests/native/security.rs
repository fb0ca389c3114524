//! What strangers may send: the lines of `docs/security.md` that no other test holds, that document
//! itself, and the count of `unsafe` code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use espalier_core::CoreError;
use espalier_core::caption::{CaptionEntry, CaptionIndex};
use espalier_core::geometry::Space;
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use espalier_core::weights::StoredTensors;
use espalier_tests::taxonomy;
use xtask::files::{below, name_from};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn document() -> String {
    fs::read_to_string(root().join("docs/security.md")).unwrap()
}

/// Returns the Rust sources of the packages, by their paths from the root.
fn sources() -> BTreeMap<String, String> {
    let folders = ["core", "lab", "trainer", "web", "xtask", "tests", "benches"];
    let files = folders
        .iter()
        .flat_map(|name| below(&root().join(name)).unwrap());
    let sources = files.filter(|file| file.extension().is_some_and(|e| e == "rs"));
    sources
        .map(|file| (name_from(root(), &file), fs::read_to_string(&file).unwrap()))
        .collect()
}

/// Returns the number of places in a source that the compiler does not check: blocks, functions,
/// traits, implementations and attributes that are `unsafe`.
fn unsafe_places(source: &str) -> usize {
    let code = source.lines().map(|line| line.split("//").next().unwrap());
    let is_part = |c: char| c.is_alphanumeric() || "_\"'-".contains(c);
    let words = code.flat_map(|line| line.split(move |c| !is_part(c)));
    words.filter(|word| *word == "unsafe").count()
}

#[test]
fn unsafe_code_is_counted_and_every_place_is_justified() {
    let text = document();
    let table = text.split("## Unsafe code").nth(1).unwrap();
    let mut listed = BTreeMap::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells[2].len() > 20, "a reason is missing: {row}");
        let count: usize = cells[1].parse().unwrap();
        listed.insert(cells[0].trim_matches('`').to_owned(), count);
    }
    let found: BTreeMap<String, usize> = sources()
        .into_iter()
        .map(|(path, source)| (path, unsafe_places(&source)))
        .filter(|(_, count)| *count > 0)
        .collect();
    assert_eq!(
        found, listed,
        "left: what the sources hold, right: what docs/security.md lists; justify each place there"
    );
}

#[test]
fn a_place_of_unsafe_code_is_found_in_every_form_and_not_in_other_words() {
    // Put together here, so that this file has none.
    let word = ["un", "safe"].concat();
    for code in [
        "$ { a() }",
        "$ fn b() {}",
        "$ impl Send for X {}",
        "#[$(no_mangle)]",
    ] {
        assert_eq!(unsafe_places(&code.replace('$', &word)), 1, "{code}");
    }
    for other in [
        "// $ { }",
        "#![forbid($_code)]",
        "let x = \"$-eval\";",
        "not_$();",
    ] {
        assert_eq!(unsafe_places(&other.replace('$', &word)), 0, "{other}");
    }
}

#[test]
fn every_line_of_the_threat_model_names_a_test_that_exists() {
    let functions: BTreeSet<String> = sources()
        .values()
        .flat_map(|source| source.lines())
        .filter_map(|line| {
            let name = line.trim_start().strip_prefix("fn ")?;
            Some(name.split('(').next()?.to_owned())
        })
        .collect();
    let text = document();
    let mut lines = 0;
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| `");
    for row in text.lines().filter(is_row) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        if cells.len() != 3 || ["input", "file"].contains(&cells[0]) {
            continue;
        }
        let named: Vec<&str> = cells[2].split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test is named: {row}");
        for name in named {
            assert!(functions.contains(name), "no test `{name}`: {row}");
        }
        lines += 1;
    }
    assert!(lines >= 30, "{lines} lines");
}

/// Asserts that a taxonomy is refused with one of these messages.
#[track_caller]
fn refused(taxonomy: Result<Taxonomy, CoreError>, words: &[&str]) {
    let message = taxonomy.unwrap_err().to_string();
    let told = words.iter().any(|words| message.contains(words));
    assert!(told, "{message}");
}

#[test]
fn ten_million_nodes_are_refused_while_they_are_read() {
    let mut table = taxonomy("r\tr\t\t0\n");
    let mut edges = String::new();
    for i in 0..10_000_000 {
        let _ = writeln!(table, "{i}\tn\tr\t1");
        let _ = writeln!(edges, "r {i}");
    }
    let told = ["line 2000002: expected at most 2000000 nodes"];
    refused(Taxonomy::from_text(&table), &told);
    drop(table);
    let told = ["expected at most 2000000 nodes"];
    refused(Taxonomy::from_tsv(&edges), &told);
    drop(edges);
    let ranks: String = (0..10_000_000).fold("kingdom\tspecies\n".into(), |mut text, i| {
        let _ = writeln!(text, "k\t{i}");
        text
    });
    refused(Taxonomy::from_tsv(&ranks), &told);
}

#[test]
fn a_tree_of_a_million_levels_is_refused_in_every_format() {
    const LEVELS: usize = 1_000_000;
    let mut table = taxonomy("0\tn\t\t0\n");
    let mut edges = String::new();
    for i in 1..LEVELS {
        let _ = writeln!(table, "{i}\tn\t{}\t0", i - 1);
        let _ = writeln!(edges, "{} {i}", i - 1);
    }
    for text in [table, edges] {
        let told = ["at most 2000 nodes above a node"];
        refused(Taxonomy::from_tsv(&text), &told);
    }
    let newick = format!("{}a{};", "(".repeat(LEVELS), ")".repeat(LEVELS));
    refused(Taxonomy::from_text(&newick), &["nested deeper than 400"]);
    let row = vec!["a"; LEVELS].join(",");
    // In indented text a level takes a blank more than the one above it.
    let lines = (0..4000).map(|i| format!("{}n{i}\n", " ".repeat(i)));
    for text in [row, lines.collect()] {
        let told = ["nodes above a node", "128 MiB"];
        refused(Taxonomy::from_text(&text), &told);
    }
}

#[test]
fn names_that_turn_text_around_or_steer_a_terminal_are_refused_in_every_format() {
    for bad in [
        "cat\u{202e}gpj",
        "cat\u{2067}",
        "\u{1b}[2Jcat",
        "cat\u{9b}1A",
    ] {
        let texts = [
            taxonomy(&format!("r\tthing|{bad}\t\t1\n")),
            format!("kingdom\tspecies\nanimal\t{bad}\n"),
            format!("animal\n  {bad}\n  dog\n"),
            format!("animal,{bad}\nanimal,dog\n"),
            format!("('{bad}',dog)animal;"),
        ];
        for text in texts {
            let message = Taxonomy::from_text(&text).unwrap_err().to_string();
            let told = message.contains("without control characters");
            assert!(told, "{text:?}: {message}");
            let is_clean = !message.contains(['\u{202e}', '\u{2067}', '\u{1b}', '\u{9b}']);
            assert!(is_clean, "{message:?}");
        }
        let message = Lexicon::from_tsv(&format!("n1\tpuss|{bad}\n"), "nouns.tsv");
        assert!(message.unwrap_err().to_string().contains("nouns.tsv"));
        let entry = CaptionEntry {
            text: bad.into(),
            node: None,
            detail: 0,
        };
        let space = Space::Sphere {
            root: vec![1.0, 0.0],
        };
        let message = CaptionIndex::new(vec![entry], vec![0.6, 0.8], 2, &space);
        let message = message.unwrap_err().to_string();
        assert!(message.contains("caption 0: expected text"), "{message}");
    }
}

#[test]
fn tensors_that_claim_more_than_the_file_holds_are_refused() {
    let file = |header: &str| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend([0; 16]);
        bytes
    };
    for header in [
        // Shapes whose product is more than 64 bits, or comes to the right length again after them.
        r#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,16]}}"#,
        r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}"#,
        r#"{"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}}"#,
        r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}}"#,
        r#"{"a":{"dtype":"F32","shape":[8],"data_offsets":[0,16]}}"#,
    ] {
        assert!(StoredTensors::read(&file(header)).is_err(), "{header}");
    }
    // A header that claims to be longer than the file.
    let mut bytes = file("{}");
    bytes[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(StoredTensors::read(&bytes).is_err());
}
