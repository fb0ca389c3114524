//! Files of weights: PyTorch's archives and older files, their pickles, wheels, safetensors; and what
//! the trainer keeps in safetensors besides weights.

use std::io::{Cursor, Write};

use espalier_trainer::classifier_file;
use espalier_trainer::eval::stored::{Stored, normalised};
use espalier_trainer::import::flags::{ActivationName, Flags, ResizeName};
use espalier_trainer::import::pipeline::{About, plan, tensors};
use espalier_trainer::import::source::Files;
use espalier_trainer::import::store::Store;
use espalier_trainer::model_file::card_of;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::input_files::InputFiles;

/// Names of the input: what a name ends in decides whether it is read as a wheel.
const NAMES: [&str; 2] = ["weights.bin", "weights.whl"];

/// Name under which a classifier is found beside weights.
const CLASSIFIER: &str = "classifier.safetensors";

/// Most numbers of all tensors together that are read.
const MAX_NUMBERS: usize = 1 << 22;

/// Bytes of each storage in the archive around a pickle.
const STORAGE: usize = 64;

thread_local! {
    static FILES: InputFiles = InputFiles::new(&[NAMES[0], NAMES[1], CLASSIFIER], &[]);
}

/// Reads a file of weights, plans its import and imports it. A pickle alone, which is refused, is
/// read once more inside an archive: a fuzzer does not find the checksum of an archive.
///
/// # Panics
/// If a tensor has another number of elements than its shape, or differs when it is read again.
pub fn run(input: &[u8]) {
    FILES.with(|files| {
        read(files, input);
        read_own(files);
        if input.starts_with(b"\x80") {
            read(files, &archive(input));
        }
    });
}

fn read(files: &InputFiles, bytes: &[u8]) {
    files.write(bytes);
    for name in NAMES {
        let path = files.path(name);
        let Ok(mut store) = Store::open(std::slice::from_ref(&path)) else {
            continue;
        };
        check(&mut store);
        let source = path.to_string_lossy();
        let found = Files::find(&source, None, true).unwrap_or_else(|e| panic!("{e}"));
        if let Ok(planned) = plan(&found, &mut store, &flags(), &About::default()) {
            let _ = (
                planned.matched.describe_problems(),
                tensors(&mut store, &planned),
            );
        }
    }
}

/// Reads the input as files of the trainer: the card of a model, a classifier, stored embeddings.
fn read_own(files: &InputFiles) {
    let path = files.path(NAMES[0]);
    if let Ok(card) = card_of(&path) {
        assert!(card.config.validate().is_ok());
    }
    let _ = classifier_file::bytes(&path);
    if let Ok(stored) = Stored::open(&path) {
        let rows = stored.points.rows().count();
        assert!(stored.names.is_none_or(|names| names.len() == rows));
        assert_eq!(normalised(&stored.points).first_not_finite(), None);
    }
}

fn check(store: &mut Store) {
    let names: Vec<String> = store.names().map(str::to_owned).collect();
    let mut left = MAX_NUMBERS;
    for name in names {
        let shape = store.shape(&name).unwrap_or_default().to_vec();
        let numbers = shape
            .iter()
            .try_fold(1_usize, |n, side| n.checked_mul(*side));
        let Some(rest) = numbers.and_then(|n| left.checked_sub(n)) else {
            continue;
        };
        left = rest;
        let Ok(values) = store.read(&name) else {
            continue;
        };
        assert_eq!(Some(values.len()), numbers, "`{name}` of shape {shape:?}");
        let again = store
            .read(&name)
            .unwrap_or_else(|e| panic!("read again: {e}"));
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&again), bits(&values), "{name}");
    }
}

/// Settings that no file of weights states.
fn flags() -> Flags {
    Flags {
        heads: Some(1),
        text_heads: Some(1),
        activation: Some(ActivationName::Gelu),
        preprocess: Some("openai".into()),
        image_resize_mode: Some(ResizeName::Shortest),
        ..Flags::default()
    }
}

/// Wraps a pickle as PyTorch does, with two storages.
fn archive(pickle: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let numbers: Vec<u8> = (0..STORAGE as u8).collect();
    for (name, bytes) in [
        ("archive/data.pkl", pickle),
        ("archive/data/0", &numbers),
        ("archive/data/1", &numbers),
    ] {
        let written = zip.start_file(name, stored);
        written.unwrap_or_else(|e| panic!("{name}: {e}"));
        zip.write_all(bytes)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let written = zip.finish().unwrap_or_else(|e| panic!("{e}"));
    written.into_inner()
}
