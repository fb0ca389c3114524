//! Convolution of columns of positions.

use super::by_rows::InputGradient;
use super::columns::Block;
use super::products::{Panels, add_dots, add_products, padded};
use super::rows::Rows;
use super::sizes::{Conv, Grads};
use super::taps::Taps;
use crate::grad::pieces::{self, Start};

/// Output positions that are computed together, about.
const BLOCK: usize = 512;

/// Returns the inputs that the positions of a block read.
fn source(conv: Conv, x: &[f32], block: &Block) -> Panels {
    if conv.is_pointwise() {
        return Panels::of_images(x, [conv.inputs, conv.window.pixels()], block);
    }
    Panels::of_neighbourhoods(x, conv.inputs, conv.window, block)
}

/// See [`Conv::forward`].
pub(super) fn forward(conv: Conv, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let (outputs, places) = (conv.outputs, conv.window.places());
    let weights = Rows {
        values: weight.to_vec(),
        stride: conv.inputs * conv.window.taps(),
    };
    let links = Taps::one(outputs);
    let start = Start::Zeros(conv.batch * outputs * places);
    let group = (BLOCK / places.max(1)).max(1);
    let (output, _) = pieces::compute(start, group * outputs * places, |index, output| {
        let first = index * group;
        let images = first..first + output.len() / (outputs * places).max(1);
        for block in Block::all(images, conv.window.output, BLOCK) {
            let source = source(conv, x, &block);
            let width = padded(block.places());
            let mut target = Rows::zeros(outputs, width);
            if let Some(bias) = bias {
                for (row, bias) in target.values.chunks_exact_mut(width.max(1)).zip(bias) {
                    row.fill(*bias);
                }
            }
            add_products(&weights, &source, links.first(1, 1), &mut target);
            target.put_block(&block, first, [outputs, places], output);
        }
    });
    output
}

/// See [`Conv::backward`].
pub(super) fn backward(
    conv: Conv,
    x: &[f32],
    weight: &[f32],
    grad: &[f32],
    wants_x: bool,
) -> Grads {
    let Conv {
        inputs, outputs, ..
    } = conv;
    let (pixels, places) = (conv.window.pixels(), conv.window.places());
    let depth = inputs * conv.window.taps();
    let transposed = (wants_x && conv.is_pointwise()).then(|| {
        let mut transposed = Rows::zeros(inputs, outputs);
        for (o, row) in weight.chunks_exact(inputs.max(1)).enumerate() {
            for (i, value) in row.iter().enumerate() {
                transposed.values[i * outputs + o] = *value;
            }
        }
        (transposed, Taps::one(inputs))
    });
    let others = (wants_x && !conv.is_pointwise()).then(|| InputGradient::new(conv, weight));
    let length = outputs * depth + outputs;
    let (of_x, mut weight) = conv.gradients(wants_x, length, |images, mut output| {
        let mut sums = vec![0.0; length];
        let (of_weight, of_bias) = sums.split_at_mut(outputs * depth);
        let first = images.start;
        for block in Block::all(images.clone(), conv.window.output, BLOCK) {
            let slopes = Panels::of_images(grad, [outputs, places], &block);
            add_dots(&slopes, &source(conv, x, &block), of_weight);
            slopes.add_sums(of_bias);
            if let (Some((weights, links)), Some(output)) = (&transposed, output.as_deref_mut()) {
                let mut target = Rows::zeros(inputs, padded(block.places()));
                add_products(weights, &slopes, links.first(1, 1), &mut target);
                target.put_block(&block, first, [inputs, pixels], output);
            }
        }
        if let (Some(others), Some(output)) = (&others, output) {
            let size = outputs * places;
            others.put_all(&grad[first * size..images.end * size], output);
        }
        sums
    });
    let bias = weight.split_off(outputs * depth);
    Grads {
        x: of_x,
        weight,
        bias,
    }
}
