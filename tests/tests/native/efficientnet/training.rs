//! Training: gradients and running statistics equal those of PyTorch, micro-batches give the
//! statistics of the whole batch, and a locked encoder does not change.

use std::collections::BTreeMap;
use std::rc::Rc;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use espalier_core::input::Tokenizer;
use espalier_core::model::DualEncoder;
use espalier_core::nn::{BatchNorm, Norms, SameConv};
use espalier_core::weights::{collect, load};
use espalier_tests::ranks::on_ranks;
use espalier_trainer::config::{MethodName, Trainable};
use espalier_trainer::data::{BatchSpec, BatchStream, Position, Synthetic};
use espalier_trainer::fit::micro_batch::MicroBatching;
use espalier_trainer::fit::optimise::with_stable_ids;
use espalier_trainer::fit::step::Learner;
use espalier_trainer::model_file::MERGES;
use espalier_trainer::ranks::{Collective, Single};

use crate::efficientnet::support::{
    close, config, encoder, expected, floats, numbers, tensor, tensors,
};
use crate::micro_batches::{WHOLE, learner};

#[test]
fn one_block_has_the_gradients_and_running_statistics_of_pytorch() {
    let device = Device::flex().autodiff();
    let (encoder, _) = encoder(Norms::Batch, &device);
    let known = expected()["training"].clone();
    let shape = numbers(&known["shape"]);
    let shape: [usize; 4] = std::array::from_fn(|i| shape[i] as usize);
    let visual = encoder.visual;
    let at = known["block"].as_u64().unwrap() as usize;
    let block = visual.inverted.as_ref().unwrap().blocks[at].clone();

    let input = tensor::<4>(&known["input"], shape, &device).require_grad();
    let out = block.forward(input.clone());
    let output = floats(out.clone());
    close("output", &output, &numbers(&known["output"]), 1e-5);
    let weight = tensor::<4>(&known["weight"], shape, &device);
    let grads = (out * weight).sum().backward();

    let of_input = floats(input.grad(&grads).unwrap());
    close("input", &of_input, &numbers(&known["input_gradient"]), 1e-4);
    let of_conv = |conv: &SameConv| floats(conv.weight.val().grad(&grads).unwrap());
    let of_norm = |param: &Param<Tensor<1>>| floats(param.val().grad(&grads).unwrap());
    let norm = |norm: &Option<BatchNorm>| norm.clone().unwrap();
    let (bn0, bn1, bn2) = (norm(&block.bn0), norm(&block.bn1), norm(&block.bn2));
    let expand = block.expand_conv.as_ref().unwrap();
    let found = [
        ("_expand_conv.weight", of_conv(expand)),
        ("_bn0.weight", of_norm(&bn0.weight)),
        ("_bn0.bias", of_norm(&bn0.bias)),
        ("_depthwise_conv.weight", of_conv(&block.depthwise_conv)),
        ("_bn1.weight", of_norm(&bn1.weight)),
        ("_bn1.bias", of_norm(&bn1.bias)),
        ("_project_conv.weight", of_conv(&block.project_conv)),
        ("_bn2.weight", of_norm(&bn2.weight)),
        ("_bn2.bias", of_norm(&bn2.bias)),
    ];
    assert_eq!(found.len(), known["gradients"].as_object().unwrap().len());
    for (name, found) in found {
        close(name, &found, &numbers(&known["gradients"][name]), 1e-4);
    }

    let after = visual.with_merged_statistics();
    let stored = collect(&after).unwrap();
    for (name, known) in known["running"].as_object().unwrap() {
        let path = format!("inverted.blocks.{at}.{}", name.trim_start_matches('_'));
        let found = &stored.tensors[&path].data;
        close(name, found, &numbers(known), 1e-5);
    }
}

/// Returns the whole model with the golden image encoder.
fn model(norms: Norms) -> DualEncoder {
    let device = Device::flex().autodiff();
    device.seed(1);
    let config = config(norms);
    let built = config.init(&device);
    let mut all = collect(&built).unwrap();
    let mut read = tensors(&config).tensors;
    read.retain(|name, _| !name.starts_with("classifier."));
    all.tensors.extend(read);
    with_stable_ids(load(built, all).unwrap())
}

/// Returns a model with the same weights, as another process has it. Clones share the records of their
/// norms, which would mix the statistics of two ranks in one process.
fn copy(model: &DualEncoder, norms: Norms) -> DualEncoder {
    let built = config(norms).init(&Device::flex().autodiff());
    let weights = collect(model).unwrap();
    with_stable_ids(load(built, weights).unwrap())
}

/// Trains one step of MERU on synthetic images and returns the model.
fn step(model: &DualEncoder, threads: usize, trainable: Trainable, norms: Norms) -> DualEncoder {
    step_on(Rc::new(Single), model, threads, trainable, norms)
}

/// As [`step`], on one of several ranks.
fn step_on(
    ranks: Rc<dyn Collective>,
    model: &DualEncoder,
    threads: usize,
    trainable: Trainable,
    norms: Norms,
) -> DualEncoder {
    let config = config(norms);
    let tokenizer = Tokenizer::from_merges(MERGES, config.text.vocab_size).unwrap();
    let size = config.vision.image_size;
    let spec = BatchSpec {
        share: (ranks.rank(), ranks.world()),
        ..BatchSpec::new(6, size as u32, config.text.context)
    };
    let data = std::sync::Arc::new(Synthetic::new(16, size as u32, 0));
    let start = Position::default();
    let mut stream = BatchStream::start(data, tokenizer.into(), spec, start).unwrap();
    let learner = Learner {
        trainable,
        micro_batching: MicroBatching { threads, ..WHOLE },
        ranks,
        ..learner(model, MethodName::Meru)
    };
    let batch = stream.next().unwrap().unwrap();
    let (learner, report) = learner.step(&batch, 0, 1e-3).unwrap();
    assert!(report.not_finite().is_empty(), "{report:?}");
    learner.model
}

fn visual(model: &DualEncoder) -> BTreeMap<String, Vec<f32>> {
    let stored = collect(&model.image).unwrap().tensors.into_iter();
    let visual = stored.filter(|(name, _)| name.starts_with("visual."));
    visual.map(|(name, tensor)| (name, tensor.data)).collect()
}

#[test]
fn statistics_of_a_batch_in_parts_are_those_of_the_whole() {
    let before = model(Norms::Batch);
    let whole = visual(&step(&before, 1, Trainable::ALL, Norms::Batch));
    let parts = visual(&step(&before, 2, Trainable::ALL, Norms::Batch));
    let again = visual(&step(&before, 2, Trainable::ALL, Norms::Batch));
    // It does not depend on the order of the threads.
    assert_eq!(parts, again);
    let old = visual(&before);
    for name in ["visual._bn0.running_mean", "visual._bn0.running_var"] {
        assert_ne!(whole[name], old[name], "{name} did not change");
        // The input of the first norm does not depend on how the batch is divided.
        close(name, &parts[name], &whole[name], 1e-5);
    }
    for (name, values) in &parts {
        assert_ne!(values, &old[name], "{name} did not change");
    }
}

#[test]
fn ranks_exchange_the_statistics_of_their_parts() {
    let before = model(Norms::Batch);
    let threads = visual(&step(&before, 2, Trainable::ALL, Norms::Batch));
    let ranks = on_ranks(2, |ranks| {
        let own = copy(&before, Norms::Batch);
        visual(&step_on(ranks, &own, 1, Trainable::ALL, Norms::Batch))
    });
    for of_rank in ranks {
        assert_eq!(of_rank, threads);
    }
}

#[test]
fn a_locked_encoder_stays_and_frozen_norms_keep_their_statistics() {
    let mut locked = model(Norms::Batch);
    locked.image = locked.image.no_grad();
    let trainable = Trainable {
        image: false,
        ..Trainable::ALL
    };
    let moved = step(&locked, 2, trainable, Norms::Batch);
    assert_eq!(visual(&moved), visual(&locked));

    let before = model(Norms::Frozen);
    let old = visual(&before);
    let moved = step(&before, 2, Trainable::ALL, Norms::Frozen);
    for (name, values) in visual(&moved) {
        let stays = name.contains(".running_");
        assert_eq!(values == old[&name], stays, "{name}");
    }
}
