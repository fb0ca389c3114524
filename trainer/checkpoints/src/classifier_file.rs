//! The classifier of an image encoder on disk: `classifier.safetensors` next to `model.safetensors`.
//!
//! The file holds `weight [classes, d_feature]` and `bias [classes]`, as published, and in its
//! metadata `labels`: the synset ids in class order, joined by newlines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use burn::tensor::Device;
use espalier_core::model::Classifier;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_io::disk::read;
use espalier_io::disk::run_folder::CLASSIFIER;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;

use crate::model_file::{card_of, is_bundle, weights_file};

/// Key of the labels in the metadata.
const LABELS: &str = "labels";

/// Weight `[classes, d_feature]`, bias `[classes]` and labels of a classifier.
pub type Parts = (HostTensor, HostTensor, Vec<String>);

/// Returns the path of the classifier of a run, a checkpoint folder or a weights file; the file
/// need not exist. [`model_file`](crate::model_file) finds the checkpoint.
///
/// # Errors
/// Bad usage if there is no checkpoint, or if the path is a bundle, which has no classifier.
pub fn classifier_path(checkpoint: &Path) -> anyhow::Result<PathBuf> {
    if is_bundle(checkpoint) {
        return Err(usage(format!(
            "{}: expected a checkpoint with a classifier, found a bundle, which has none",
            checkpoint.display()
        )));
    }
    Ok(weights_file(checkpoint)?.with_file_name(CLASSIFIER))
}

/// Reads the classifier of a run, a checkpoint folder or a weights file.
///
/// # Errors
/// Bad usage: no checkpoint, a checkpoint without a classifier, a malformed file, or a classifier
/// whose feature width differs from the encoder's.
pub fn read(checkpoint: &Path, device: &Device) -> anyhow::Result<Classifier> {
    let path = classifier_path(checkpoint)?;
    let bytes = read::bytes(&path).map_err(|e| {
        usage(format!(
            "{}: {e}; the checkpoint has no classifier. Import one with `trainer import --labels \
             FILE`",
            path.display()
        ))
    })?;
    let (weight, bias, labels) = parse(&path, &bytes)?;
    let classifier = Classifier::new(&weight, &bias, labels, device)?;
    let width = card_of(checkpoint)?.config.vision.d_model;
    if classifier.d_feature() != width {
        return Err(usage(format!(
            "{}: expected a classifier for features of width {width}, the width of the image \
             encoder next to it, found width {}",
            path.display(),
            classifier.d_feature()
        )));
    }
    Ok(classifier)
}

/// Returns the parts of a checkpoint's classifier; `None` if it has none or is a bundle.
///
/// # Errors
/// As [`read()`], except that a missing file is not an error.
pub fn parts(checkpoint: &Path) -> anyhow::Result<Option<Parts>> {
    let parsed = bytes(checkpoint)?.map(|bytes| parse(&classifier_path(checkpoint)?, &bytes));
    parsed.transpose()
}

/// Returns the checked content of a checkpoint's classifier file; `None` if the checkpoint has no
/// classifier or is a bundle.
///
/// # Errors
/// As [`read()`], except that a missing file is not an error.
pub fn bytes(checkpoint: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    if is_bundle(checkpoint) {
        return Ok(None);
    }
    let path = classifier_path(checkpoint)?;
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read::bytes(&path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
    parse(&path, &bytes)?;
    Ok(Some(bytes))
}

/// Parses and checks a file.
fn parse(path: &Path, bytes: &[u8]) -> anyhow::Result<Parts> {
    let fail = |reason: String| usage(format!("{}: {reason}", path.display()));
    let file = Tensors::read(bytes).map_err(|e| fail(e.to_string()))?;
    let found: Vec<String> = file.tensors.keys().cloned().collect();
    let mut tensors = file.tensors;
    let (Some(weight), Some(bias), true) = (
        tensors.remove("weight"),
        tensors.remove("bias"),
        tensors.is_empty(),
    ) else {
        return Err(fail(format!(
            "expected the tensors `bias` and `weight` and no others, found [{}]",
            found.join(", ")
        )));
    };
    let labels = file.metadata.get(LABELS).ok_or_else(|| {
        fail(format!(
            "expected the synset ids of its classes under `{LABELS}` in its metadata, found no \
             such entry"
        ))
    })?;
    let labels: Vec<String> = labels.split('\n').map(str::to_owned).collect();
    let mut numbers = weight.data.iter().chain(&bias.data);
    if let Some(broken) = numbers.find(|v| !v.is_finite()) {
        return Err(fail(format!("expected finite numbers, found {broken}")));
    }
    Classifier::check(&weight, &bias, &labels).map_err(|e| fail(e.to_string()))?;
    Ok((weight, bias, labels))
}

/// Writes a classifier file next to the weights of a checkpoint, atomically.
///
/// # Errors
/// Bad usage if the shapes and the number of labels do not match; an error if the file cannot be
/// written.
pub fn write(path: &Path, (weight, bias, labels): Parts) -> anyhow::Result<()> {
    Classifier::check(&weight, &bias, &labels)
        .map_err(|e| usage(format!("{}: {e}", path.display())))?;
    let tensors = Tensors {
        tensors: BTreeMap::from([("weight".to_owned(), weight), ("bias".to_owned(), bias)]),
        metadata: BTreeMap::from([(LABELS.to_owned(), labels.join("\n"))]),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    write_atomic(path, &tensors.write(|_, _| None)?)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tensor;
    use espalier_core::model::Preset;
    use espalier_core::weights;
    use espalier_io::disk::run_folder::MODEL;

    use super::*;
    use crate::model_file::ModelCard;

    fn checkpoint(folder: &Path) -> usize {
        let mut config = Preset::VitT8_64.config();
        (config.vision.d_model, config.vision.n_layers) = (12, 1);
        (config.text.d_model, config.text.n_layers) = (12, 1);
        config.text.vocab_size = 600;
        let card = ModelCard::new(config.clone(), "clip");
        let model = config.init(&Device::flex());
        let bytes = weights::write(&model, card.metadata().unwrap()).unwrap();
        write_atomic(&folder.join(MODEL), &bytes).unwrap();
        config.vision.d_model
    }

    fn tensor(shape: &[usize]) -> HostTensor {
        let numbers: usize = shape.iter().product();
        HostTensor {
            shape: shape.to_vec(),
            data: (0..numbers).map(|i| i as f32 * 0.25 - 1.0).collect(),
        }
    }

    fn labels() -> Vec<String> {
        ["n01", "n02", "n03"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_classifier_is_read_back_with_its_labels_and_logits() {
        let folder = tempfile::tempdir().unwrap();
        let d = checkpoint(folder.path());
        let path = classifier_path(folder.path()).unwrap();
        assert_eq!(path, folder.path().join(CLASSIFIER));
        assert_eq!(bytes(folder.path()).unwrap(), None);
        write(&path, (tensor(&[3, d]), tensor(&[3]), labels())).unwrap();
        let found = read(folder.path(), &Device::flex()).unwrap();
        assert_eq!(found.labels, labels());
        assert_eq!((found.classes(), found.d_feature()), (3, d));
        // For a feature of ones, a logit is the sum of its row plus its bias.
        let ones = Tensor::ones([1, d], &Device::flex());
        let logits: Vec<f32> = found.forward(ones).into_data().try_into_vec().unwrap();
        let rows = tensor(&[3, d]).data;
        for (class, logit) in logits.iter().enumerate() {
            let sum: f32 = rows[class * d..][..d].iter().sum();
            assert!((logit - sum - tensor(&[3]).data[class]).abs() < 1e-4);
        }
        let stored = bytes(folder.path()).unwrap().unwrap();
        assert_eq!(stored, fs::read(path).unwrap());
    }

    #[test]
    fn mismatched_parts_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let d = checkpoint(folder.path());
        let path = folder.path().join(CLASSIFIER);
        let device = Device::flex();
        let missing = read(folder.path(), &device).unwrap_err().to_string();
        assert!(missing.contains("trainer import --labels"), "{missing}");

        for (biases, labels, reason) in [
            (3, labels()[..2].to_vec(), "3 rows"),
            (2, labels(), "`bias`: expected shape [3], found [2]"),
            (
                3,
                ["a", "b", "a"].map(str::to_owned).to_vec(),
                "`a` is used for two rows",
            ),
        ] {
            let error = write(&path, (tensor(&[3, d]), tensor(&[biases]), labels)).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
            assert!(!path.exists());
        }

        write(&path, (tensor(&[3, d + 1]), tensor(&[3]), labels())).unwrap();
        let error = || read(folder.path(), &device).unwrap_err().to_string();
        assert!(error().contains("width 13"), "{}", error());
        let mut file = Tensors::read(&fs::read(&path).unwrap()).unwrap();
        file.metadata.clear();
        write_atomic(&path, &file.write(|_, _| None).unwrap()).unwrap();
        assert!(error().contains("under `labels`"), "{}", error());
    }
}
