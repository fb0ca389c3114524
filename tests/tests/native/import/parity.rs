//! Outputs equal those of the programs that wrote the checkpoints.

use burn::tensor::{Device, Tensor, TensorData};
use espalier_core::input::TokenBatch;
use espalier_core::model::Tokens;
use espalier_tests::{json_of, values};
use espalier_trainer::model_file::{self, Model};
use serde::Deserialize;

use crate::import::support::{SOURCES, golden, imported};

/// Largest difference in 32-bit arithmetic, relative to the largest number.
const TOLERANCE: f64 = 2e-5;

/// Inputs and outputs of a checkpoint, computed in float64 by the program that wrote it.
#[derive(Deserialize)]
struct Expected {
    /// Bytes, row by row, channels last.
    images: Vec<Vec<u8>>,
    ids: Vec<Vec<u32>>,
    image_hidden: Vec<Vec<f64>>,
    image: Vec<Vec<f64>>,
    text_hidden: Vec<Vec<f64>>,
    text: Vec<Vec<f64>>,
}

fn expected(name: &str) -> Expected {
    let json = json_of(&golden(&format!("{name}.json")));
    serde_json::from_value(json).unwrap()
}

/// Returns images as `[n, 3, side, side]` in `[0, 1]`.
fn images(rows: &[Vec<u8>], side: usize, device: &Device) -> Tensor<4> {
    let mut planes = Vec::new();
    for row in rows {
        for channel in 0..3 {
            let of_channel = row.iter().skip(channel).step_by(3);
            planes.extend(of_channel.map(|byte| f32::from(*byte) / 255.0));
        }
    }
    Tensor::from_data(TensorData::new(planes, [rows.len(), 3, side, side]), device)
}

fn tokens(ids: &[Vec<u32>], device: &Device) -> Tokens {
    let batch = TokenBatch {
        ids: ids.concat(),
        rows: ids.len(),
        len: ids[0].len(),
    };
    Tokens::new(&batch, device)
}

#[track_caller]
fn near(what: &str, found: &[f64], known: &[Vec<f64>]) {
    let known = known.concat();
    assert_eq!(found.len(), known.len(), "{what}");
    let largest = known.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let pairs = found.iter().zip(&known);
    let off = pairs.fold(0.0_f64, |m, (f, k)| m.max((f - k).abs())) / largest;
    assert!(
        off < TOLERANCE,
        "{what}: expected a relative difference below {TOLERANCE:e}, found {off:e}"
    );
    println!("{what}: {off:.1e}");
}

/// Ranks the images by their inner products with each text, best first.
fn ranking(image: &[f64], text: &[f64], width: usize) -> Vec<Vec<usize>> {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let rank = |query: &[f64]| {
        let scores: Vec<f64> = image.chunks(width).map(|p| product(p, query)).collect();
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order
    };
    text.chunks(width).map(rank).collect()
}

fn check(name: &str, model: &Model, device: &Device) {
    let known = expected(name);
    let encoder = &model.encoder;
    let side = model.card.config.vision.image_size;
    let planes = images(&known.images, side, device);
    let text = tokens(&known.ids, device);
    let (mean, std) = (&encoder.image.pixel_mean, &encoder.image.pixel_std);
    let normal = (planes.clone() - mean.val().unsqueeze()) / std.val().unsqueeze();
    let hidden = values(encoder.image.visual.forward_tokens(normal, None));
    let what = format!("{name}, image encoder");
    near(&what, &hidden, &known.image_hidden);
    let hidden = values(encoder.text.textual.forward(&text));
    let what = format!("{name}, text encoder");
    near(&what, &hidden, &known.text_hidden);
    let image = values(encoder.embed_image(planes));
    near(&format!("{name}, images"), &image, &known.image);
    let text = values(encoder.embed_text(&text));
    near(&format!("{name}, texts"), &text, &known.text);
    let width = model.card.config.d_embed;
    let order = ranking(&known.image.concat(), &known.text.concat(), width);
    assert_eq!(ranking(&image, &text, width), order, "{name}");
}

#[test]
fn embeddings_are_those_of_the_programs_that_wrote_the_checkpoints() {
    let device = Device::flex();
    for (source, flags) in SOURCES {
        let (_folder, out) = imported(source, flags);
        let model = model_file::open(&out, &device).unwrap();
        check(source.trim_end_matches(".pth"), &model, &device);
    }
}
