//! Ranks that are threads: the same code as in several processes, without a launcher.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use espalier_core::weights;
use espalier_tests::calls::metrics;
use espalier_tests::methods::{SYNTHETIC, TrainingData, every_method};
use espalier_tests::ranks::{on_ranks, write_chains};
use espalier_trainer::config::{MethodName, TrainConfig};
use espalier_trainer::fit::{Run, Source, checkpoint, run};
use espalier_trainer::model_file;
use espalier_trainer::ranks::{Collective, Single};
use serde_json::Value;

const STEPS: &str = "train.steps=5";

fn config(folder: &Path, method: MethodName, data: TrainingData, more: &[&str]) -> TrainConfig {
    let mut pairs = vec![
        format!("train.method={}", method.name()),
        format!("dataset.kind={}", data.dataset),
        STEPS.to_owned(),
    ];
    let fixed = [
        "model.preset=vit_t8_64",
        "train.batch_size=7",
        "train.deterministic=true",
        "train.log_frequency=1",
        "dataset.synthetic_records=40",
        "dataset.workers=1",
        "optim.warmup=2",
        "optim.lr=1e-3",
    ];
    pairs.extend(fixed.map(str::to_owned));
    if let Some(path) = data.path(folder) {
        pairs.push(format!("dataset.data=[{path:?}]"));
    }
    pairs.extend(more.iter().map(|pair| (*pair).to_owned()));
    TrainConfig::resolve(None, Default::default(), &pairs).unwrap()
}

/// Prepares a run with its folder in `logs`; the ranks wait for the folder.
fn prepared(
    config: &TrainConfig,
    logs: &Path,
    name: &str,
    resume: Option<PathBuf>,
    ranks: Rc<dyn Collective>,
) -> Run {
    if ranks.is_root() {
        run::folder(logs, name, resume.is_some()).unwrap();
    }
    ranks.barrier();
    Run {
        source: Source::open(config).unwrap(),
        config: config.clone(),
        validation: Source::of_validation(config).unwrap(),
        folder: logs.join(name),
        device: Device::flex(),
        encoder_threads: 1,
        cores: 1,
        ranks,
        resume,
        is_brief: false,
    }
}

/// Trains a run; returns the checkpoint and the last loss.
fn train(
    config: &TrainConfig,
    logs: &Path,
    name: &str,
    resume: Option<PathBuf>,
    ranks: Rc<dyn Collective>,
) -> (PathBuf, f64) {
    let run = prepared(config, logs, name, resume, ranks);
    let outcome = run.train(&AtomicBool::new(false)).unwrap();
    let loss = outcome.last.unwrap().get("loss").unwrap();
    (outcome.checkpoint, loss)
}

/// Returns the weights of a checkpoint by name.
fn stored(checkpoint: &Path) -> BTreeMap<String, Vec<f32>> {
    let model = model_file::open(checkpoint, &Device::flex()).unwrap();
    let tensors = weights::collect(&model.encoder).unwrap().tensors;
    let tensors = tensors.into_iter();
    tensors.map(|(name, tensor)| (name, tensor.data)).collect()
}

/// Returns the largest difference of two sets of weights.
fn difference(a: &BTreeMap<String, Vec<f32>>, b: &BTreeMap<String, Vec<f32>>) -> f32 {
    assert!(a.keys().eq(b.keys()));
    let pairs = a.values().flatten().zip(b.values().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Writes the start weights of a method, which all runs of a test share: threads of one process draw
/// random numbers from the same generator.
fn start(config: &TrainConfig, logs: &Path) -> PathBuf {
    let mut config = config.clone();
    config.train.steps = 1;
    train(&config, logs, "start", None, Rc::new(Single)).0
}

fn from(config: &TrainConfig, start: &Path) -> TrainConfig {
    let mut config = config.clone();
    config.model.init = Some(start.to_owned());
    config
}

/// Trains in one process and in two; both must end with the same bits.
fn same_bits(method: MethodName, data: TrainingData, more: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    write_chains(dir.path());
    let config = config(dir.path(), method, data, more);
    let config = from(&config, &start(&config, dir.path()));
    let (whole, loss) = train(&config, dir.path(), "one", None, Rc::new(Single));
    let of_two = on_ranks(2, |ranks| train(&config, dir.path(), "two", None, ranks));
    let (one, two) = (stored(&whole), stored(&of_two[0].0));
    let change = difference(&stored(config.model.init.as_ref().unwrap()), &one);
    let name = method.name();
    assert!(change > 1e-4, "{name}: nothing was learned");
    assert_eq!(difference(&one, &two), 0.0, "{name} {more:?}");
    for (_, of_rank) in of_two {
        assert_eq!(of_rank.to_bits(), loss.to_bits(), "{name}");
    }
}

#[test]
fn two_ranks_train_every_method_to_the_bits_of_one_process() {
    for (method, data) in every_method() {
        same_bits(method, data, &[]);
    }
}

#[test]
fn two_ranks_train_with_every_option_to_the_bits_of_one_process() {
    let clip = |more: &[&str]| same_bits(MethodName::Clip, SYNTHETIC, more);
    let hycoclip = |more: &[&str]| same_bits(MethodName::Hycoclip, SYNTHETIC, more);
    hycoclip(&["train.accum_freq=2", "train.batch_size=5"]);
    hycoclip(&["train.grad_checkpointing=true"]);
    hycoclip(&["train.precision=bf16"]);
    hycoclip(&["train.patch_keep=0.5", "dataset.hflip=true"]);
    clip(&["train.lock_text=true"]);
    clip(&["train.lock_image=true", "train.keep_features=false"]);
    let dir = tempfile::tempdir().unwrap();
    let cache = format!("train.feature_cache={:?}", dir.path().join("features"));
    clip(&["train.lock_image=true", &cache]);
    let in_lanes = ["dataset.lanes=2", "dataset.synthetic_records=600"];
    hycoclip(&in_lanes);
    same_bits(MethodName::Parts, SYNTHETIC, &in_lanes);
    let labels = ["loss.labels=1", "loss.order=1", "loss.outliers=1"];
    hycoclip(&labels);
}

#[test]
fn ranks_train_to_the_bits_of_as_many_threads_of_one_process() {
    let dir = tempfile::tempdir().unwrap();
    // Seven samples are no multiple of any of these numbers.
    let more = ["train.deterministic=false", "optim.lr=1e-4"];
    let config = config(dir.path(), MethodName::Hycoclip, SYNTHETIC, &more);
    let config = from(&config, &start(&config, dir.path()));
    let (_, expected) = train(&config, dir.path(), "one", None, Rc::new(Single));
    for world in [3, 4] {
        let mut of_threads = config.clone();
        of_threads.train.encoder_threads = world;
        let name = format!("threads{world}");
        let (threads, _) = train(&of_threads, dir.path(), &name, None, Rc::new(Single));
        let name = format!("ranks{world}");
        let of_all = on_ranks(world, |ranks| {
            train(&config, dir.path(), &name, None, ranks)
        });
        let (ranks, loss) = &of_all[0];
        let off = difference(&stored(&threads), &stored(ranks));
        assert_eq!(off, 0.0, "{world}");
        // Another number of threads adds the gradients in other groups.
        let off = (loss - expected).abs();
        assert!(off < 1e-5, "{world}: {loss}, {expected}");
    }
}

/// Trains a run of some steps in one process, and another that other numbers of ranks begin and resume
/// after some steps, as after kills; returns the states of both at their ends.
fn same_when_resumed<const N: usize>(
    method: MethodName,
    more: &[&str],
    begun_by: usize,
    resumed_by: [(u64, usize); N],
) -> String {
    let dir = tempfile::tempdir().unwrap();
    let kept = ["train.save_frequency=2", "train.keep=3"];
    let config = config(dir.path(), method, SYNTHETIC, &[&kept, more].concat());
    let config = from(&config, &start(&config, dir.path()));
    let (whole, loss) = train(&config, dir.path(), "whole", None, Rc::new(Single));
    on_ranks(begun_by, |ranks| {
        train(&config, dir.path(), "a", None, ranks)
    });
    let mut resumed = Vec::new();
    for (step, world) in resumed_by {
        let from = checkpoint::path(&dir.path().join("a"), step);
        resumed = on_ranks(world, |ranks| {
            train(&config, dir.path(), "a", Some(from.clone()), ranks)
        });
    }
    for (_, found) in &resumed {
        assert!((found - loss).abs() < 1e-5, "{found}, expected {loss}");
    }
    let state = |checkpoint: &Path| std::fs::read_to_string(checkpoint.join("state.json")).unwrap();
    let state_of_all = state(&resumed[0].0);
    assert_eq!(state(&whole), state_of_all);
    let positions = |name: &str| -> Vec<[Value; 3]> {
        let lines = metrics(&dir.path().join(name)).into_iter();
        let position = lines.map(|line| ["step", "epoch", "index"].map(|key| line[key].clone()));
        position.collect()
    };
    assert_eq!(positions("whole"), positions("a"));
    assert_eq!(positions("a").len() as u64, config.train.steps);
    state_of_all
}

#[test]
fn a_run_is_resumed_with_another_number_of_ranks() {
    let validated = [
        "dataset.val_data=[\"synthetic\"]",
        "train.val_batches=2",
        "train.steps=6",
    ];
    same_when_resumed(MethodName::Hycoclip, &validated, 2, [(2, 3), (4, 1)]);
    let in_lanes = [
        "dataset.lanes=3",
        "dataset.synthetic_records=800",
        "train.steps=4",
    ];
    let state = same_when_resumed(MethodName::Clip, &in_lanes, 3, [(2, 2)]);
    assert_eq!(state.matches("\"epoch\"").count(), 3);
}

#[test]
fn a_flipped_weight_on_one_rank_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path(), MethodName::Clip, SYNTHETIC, &[]);
    let start = start(&config, dir.path());
    let flipped = dir.path().join("flipped");
    std::fs::create_dir(&flipped).unwrap();
    let mut model = std::fs::read(start.join("model.safetensors")).unwrap();
    // The lowest bit of one weight.
    let last = model.len() - 4;
    model[last] ^= 1;
    std::fs::write(flipped.join("model.safetensors"), model).unwrap();
    let errors = on_ranks(3, |ranks| {
        let of_rank = if ranks.rank() == 1 { &flipped } else { &start };
        let config = from(&config, of_rank);
        let run = prepared(&config, dir.path(), "a", None, ranks);
        let error = run.train(&AtomicBool::new(false)).unwrap_err();
        error.to_string()
    });
    let told = "expected the same weights on all ranks, found others on rank 1;";
    for error in errors {
        assert!(error.contains(told), "{error}");
    }
}
