//! Time of a forward and backward pass of image encoders on Burn's CPU backend, with the
//! operations of `espalier_core::ops` and with Burn's, in alternating rounds.
//!
//! A batch is cut into one piece per thread, as the trainer does. Each piece has its own copy of the
//! parameters: threads whose graphs share a parameter can block each other for ever in Burn's
//! graph. Arguments: names of encoders (`vit`, `conv`, `lite0`), all without; with `own`, Burn's
//! operations are left out, so that a profile shows our own.
//!
//! ```text
//! cargo run --release -p espalier-core -p espalier-trainer --example encoder_step -- vit
//! ```

use std::env;
use std::thread;
use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor};
use espalier_core::model::{Pool, Preset, VisionBackbone, VitConfig};
use espalier_core::nn::StageConfig;
use espalier_core::ops::use_own;

/// Pieces of a batch, each with a thread of its own.
const PIECES: usize = 2;
/// Rounds, each with both kinds of operations.
const ROUNDS: usize = 4;

/// An encoder and the number of images of a step.
struct Case {
    name: &'static str,
    config: VitConfig,
    side: usize,
    batch: usize,
}

fn cases() -> [Case; 3] {
    // Those of `static/models/tiny`.
    let stages = [(32, 0), (64, 1), (128, 2), (224, 2)];
    let stages = stages.map(|(width, blocks)| StageConfig { width, blocks });
    let conv = VitConfig::new(64, 16, 224, 0, 4).with_stem(Some(stages.to_vec()));
    let case = |name, config, side, batch| Case {
        name,
        config,
        side,
        batch,
    };
    [
        case("vit", Preset::VitT8_64.config().vision, 64, 64),
        case("conv", conv.with_pool(Pool::Mean), 64, 64),
        case("lite0", Preset::EfficientnetLite0.config().vision, 160, 16),
    ]
}

/// Computes a forward and a backward pass of the pieces of a batch; returns the loss.
fn step(models: &[VisionBackbone], images: &Tensor<4>) -> f32 {
    let rows = images.dims()[0] / PIECES;
    let piece = |index: usize, model: &VisionBackbone| {
        let images = images.clone().narrow(0, index * rows, rows);
        let features = model.forward(images);
        let loss = (features.clone() * features).mean();
        let value = loss.clone().inner().into_scalar::<f32>();
        drop(loss.backward());
        model.discard_statistics();
        value
    };
    let pieces = thread::scope(|scope| {
        let piece = &piece;
        let models = models.iter().enumerate();
        let running: Vec<_> = models
            .map(|(index, model)| scope.spawn(move || piece(index, model)))
            .collect();
        let losses = running
            .into_iter()
            .map(|piece| piece.join().unwrap_or(f32::NAN));
        losses.collect::<Vec<_>>()
    });
    pieces.iter().sum()
}

/// Returns the median seconds of a step and the loss, for each kind of operations: `false` stands
/// for Burn's, `true` for our own.
fn measured(case: &Case, device: &Device, kinds: &[bool]) -> Vec<(f64, f32)> {
    let model = |_| {
        device.seed(0);
        case.config.init(device)
    };
    let models: Vec<_> = (0..PIECES).map(model).collect();
    let shape = [case.batch, 3, case.side, case.side];
    let images = Tensor::<4>::random(shape, Distribution::Default, &device.clone().inner());
    let mut found = vec![(Vec::new(), 0.0); kinds.len()];
    for round in 0..=ROUNDS {
        for (own, (seconds, loss)) in kinds.iter().zip(&mut found) {
            use_own(*own);
            let since = Instant::now();
            *loss = step(&models, &images);
            if round > 0 {
                seconds.push(since.elapsed().as_secs_f64());
            }
        }
    }
    let median = |(mut all, loss): (Vec<f64>, f32)| {
        all.sort_by(f64::total_cmp);
        (all[all.len() / 2], loss)
    };
    found.into_iter().map(median).collect()
}

fn main() {
    let (options, wanted): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|argument| argument == "own");
    let kinds: &[bool] = if options.is_empty() {
        &[false, true]
    } else {
        &[true]
    };
    let device = Device::flex().autodiff();
    for case in cases() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == case.name) {
            continue;
        }
        let found = measured(&case, &device, kinds);
        for ((seconds, loss), own) in found.iter().zip(kinds) {
            let kind = if *own { "own" } else { "Burn's" };
            let each = 1e3 * seconds / case.batch as f64;
            println!(
                "{}, {kind} operations: {each:.2} ms an image, loss {loss}",
                case.name
            );
        }
        if let [(burn, _), (own, _)] = found[..] {
            println!("{}: {:.2} times as fast", case.name, burn / own);
        }
    }
}
