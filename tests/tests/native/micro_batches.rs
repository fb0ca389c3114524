//! A batch cut into micro-batches updates the weights as the whole batch does.

use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use espalier_core::input::{TokenBatch, Tokenizer};
use espalier_core::model::{DualEncoder, Preset};
use espalier_trainer::config::{MethodName, Precision, TrainConfig, Trainable};
use espalier_trainer::data::{Batch, BatchSpec, BatchStream, Position, Synthetic};
use espalier_trainer::fit::micro_batch::MicroBatching;
use espalier_trainer::fit::optimise::{optimizer, with_stable_ids};
use espalier_trainer::fit::step::{Learner, StepReport};
use espalier_trainer::fit::text_features::FrozenTexts;
use espalier_trainer::model_file::MERGES;
use espalier_trainer::ranks::Single;

const SAMPLES: usize = 5;

pub const WHOLE: MicroBatching = MicroBatching {
    threads: 1,
    passes: 1,
    precision: Precision::Fp32,
    checkpointing: false,
};

fn batch() -> Batch {
    let config = Preset::VitT8_64.config();
    let tokenizer = Arc::new(Tokenizer::from_merges(MERGES, config.text.vocab_size).unwrap());
    let data = Arc::new(Synthetic::new(64, 64, 0));
    let spec = BatchSpec::new(SAMPLES, 64, config.text.context);
    let mut stream = BatchStream::start(data, tokenizer, spec, Position::default()).unwrap();
    stream.next().unwrap().unwrap()
}

fn defaults() -> TrainConfig {
    TrainConfig::resolve(None, Default::default(), &[]).unwrap()
}

/// Returns the model before a step.
fn start() -> DualEncoder {
    let defaults = defaults();
    let config = Preset::VitT8_64.config();
    let method = MethodName::Hycoclip.build(&defaults.loss);
    let lift = method.lift(config.d_embed);
    let device = Device::flex().autodiff();
    device.seed(0);
    with_stable_ids(config.with_lift(lift).init(&device))
}

/// Returns what trains a model by a method with its defaults, whole batches at a time in one process.
pub fn learner(model: &DualEncoder, method: MethodName) -> Learner {
    let defaults = defaults();
    Learner {
        model: model.clone(),
        optimizer: optimizer(&defaults.optim).unwrap(),
        method: method.build(&defaults.loss),
        loss_config: defaults.loss.clone(),
        frozen: None,
        texts: FrozenTexts::default(),
        root: TokenBatch::default(),
        device: Device::flex().autodiff(),
        grad_clip_norm: 0.0,
        patch_keep: 1.0,
        patches: 1,
        half_steps: 0,
        trainable: Trainable::ALL,
        micro_batching: WHOLE,
        contrast_rows: NonZeroUsize::MAX,
        entail_ramp: 0,
        seed: 0,
        ranks: Rc::new(Single),
    }
}

/// Trains one step from `model`.
fn step(
    model: &DualEncoder,
    batch: &Batch,
    trainable: Trainable,
    micro_batching: MicroBatching,
) -> (DualEncoder, StepReport) {
    let learner = Learner {
        patch_keep: 0.5,
        patches: 64,
        trainable,
        micro_batching,
        ..learner(model, MethodName::Hycoclip)
    };
    let (learner, report) = learner.step(batch, 0, 1e-3).unwrap();
    (learner.model, report)
}

fn weights(model: &impl Module) -> Vec<f32> {
    struct All(Vec<f32>);
    impl ModuleVisitor for All {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let data = param.val().inner().into_data();
            self.0.extend(data.iter::<f32>());
        }
    }
    let mut all = All(Vec::new());
    model.visit(&mut all);
    all.0
}

#[test]
fn micro_batches_and_passes_give_the_step_of_the_whole_batch() {
    let (model, batch) = (start(), batch());
    let (moved, whole) = step(&model, &batch, Trainable::ALL, WHOLE);
    let (before, after) = (weights(&model), weights(&moved));
    let moves = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum() };
    let distance = moves(&before, &after);
    assert!(distance > 1.0, "the weights moved by {distance} alone");
    // More micro-batches than samples, an uneven cut, several accumulation steps, and both
    // combined.
    let cuts = [
        (2, 1, false),
        (7, 1, false),
        (1, 2, false),
        (2, 3, false),
        (2, 1, true),
    ];
    for (threads, passes, checkpointing) in cuts {
        let micro_batching = MicroBatching {
            threads,
            passes,
            checkpointing,
            ..WHOLE
        };
        let (moved, report) = step(&model, &batch, Trainable::ALL, micro_batching);
        let cut = format!("{micro_batching:?}");
        for ((name, expected), (_, found)) in whole.values.iter().zip(&report.values) {
            let is_near = (expected - found).abs() < 1e-4 * expected.abs().max(1.0);
            assert!(is_near, "{cut}, {name}: expected {expected}, found {found}");
        }
        let off = moves(&after, &weights(&moved));
        assert!(off < 0.01 * distance, "{cut}: off by {off} of {distance}");
    }
}

#[test]
fn half_precision_stays_near_and_weights_stay_whole() {
    let (model, batch) = (start(), batch());
    let (_, whole) = step(&model, &batch, Trainable::ALL, WHOLE);
    let half = MicroBatching {
        precision: Precision::Bf16,
        ..WHOLE
    };
    let (moved, report) = step(&model, &batch, Trainable::ALL, half);
    assert!(report.not_finite().is_empty(), "{report:?}");
    let [expected, found] = [&whole, &report].map(|report| report.get("loss").unwrap());
    let is_near = (expected - found).abs() < 0.02 * expected;
    assert!(is_near, "expected {expected}, found {found}");
    // bfloat16 keeps 8 bits; weights that were updated in 32 have more.
    let fine = weights(&moved).iter().any(|w| w.to_bits() & 0xffff != 0);
    assert!(fine);
}

#[test]
fn a_locked_encoder_stays_as_it_is() {
    let (model, batch) = (start(), batch());
    let mut locked = model.clone();
    locked.text = locked.text.no_grad();
    let trainable = Trainable {
        text: false,
        ..Trainable::ALL
    };
    let two = MicroBatching {
        threads: 2,
        ..WHOLE
    };
    let (moved, report) = step(&locked, &batch, trainable, two);
    assert!(report.not_finite().is_empty(), "{report:?}");
    assert_eq!(weights(&model.text), weights(&moved.text));
    assert_ne!(weights(&model.image), weights(&moved.image));
}
