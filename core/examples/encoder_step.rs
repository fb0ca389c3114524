//! Time of a forward and backward pass of image encoders on Burn's CPU backend, with the
//! operations of `espalier_core::ops` and with Burn's, in alternating rounds.
//!
//! A batch is cut into one piece per thread, as the trainer does. Arguments: names of encoders
//! (`vit`, `conv`, `lite0`); all without arguments.
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
    let stages = [(64, 1), (128, 1), (256, 2), (512, 1)];
    let stages = stages.map(|(width, blocks)| StageConfig { width, blocks });
    let conv = VitConfig::new(64, 16, 512, 0, 8).with_stem(Some(stages.to_vec()));
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
fn step(model: &VisionBackbone, images: &Tensor<4>) -> f32 {
    let rows = images.dims()[0] / PIECES;
    let piece = |index: usize| {
        let images = images.clone().narrow(0, index * rows, rows);
        let features = model.forward(images);
        let loss = (features.clone() * features).mean();
        let value = loss.clone().inner().into_scalar::<f32>();
        drop(loss.backward());
        value
    };
    let pieces = thread::scope(|scope| {
        let piece = &piece;
        let running: Vec<_> = (0..PIECES)
            .map(|index| scope.spawn(move || piece(index)))
            .collect();
        let losses = running
            .into_iter()
            .map(|piece| piece.join().unwrap_or(f32::NAN));
        losses.collect::<Vec<_>>()
    });
    model.discard_statistics();
    pieces.iter().sum()
}

fn main() {
    let wanted: Vec<String> = env::args().skip(1).collect();
    let device = Device::flex().autodiff();
    device.seed(0);
    for case in cases() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == case.name) {
            continue;
        }
        let model = case.config.init(&device);
        let shape = [case.batch, 3, case.side, case.side];
        let images = Tensor::<4>::random(shape, Distribution::Default, &device.clone().inner());
        let mut seconds = [Vec::new(), Vec::new()];
        let mut losses = [0.0; 2];
        for round in 0..=ROUNDS {
            for (which, own) in [false, true].into_iter().enumerate() {
                use_own(own);
                let since = Instant::now();
                losses[which] = step(&model, &images);
                if round > 0 {
                    seconds[which].push(since.elapsed().as_secs_f64());
                }
            }
        }
        let [burn, own] = seconds.map(|mut all| {
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        });
        println!(
            "{}: {:.1} ms an image with Burn's operations, {:.1} with our own, {:.2} times as fast; \
             losses {} and {}",
            case.name,
            1e3 * burn / case.batch as f64,
            1e3 * own / case.batch as f64,
            burn / own,
            losses[0],
            losses[1],
        );
    }
}
