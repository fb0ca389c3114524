//! Convolution of rows of channels.

use super::products::{Panels, add_outer_products, add_products, distance, padded};
use super::rows::Rows;
use super::sizes::{Conv, Grads};
use super::taps::Taps;
use crate::grad::pieces::{self, Start};

/// Output positions that are computed together, about: as many images as give so many, at least one.
const BLOCK: usize = 192;

/// Returns the number of images that are computed together.
fn group(conv: Conv) -> usize {
    (BLOCK / conv.window.places().max(1)).max(1)
}

/// See [`Conv::forward`].
pub(super) fn forward(conv: Conv, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let Conv {
        inputs, outputs, ..
    } = conv;
    let (pixels, places, taps) = (
        conv.window.pixels(),
        conv.window.places(),
        conv.window.taps(),
    );
    let start = Start::Zeros(conv.batch * outputs * places);
    let group = group(conv);
    let links = Taps::new(conv.window, group);
    let weights = Panels::new([taps, inputs, outputs], |tap, i, o| {
        weight[(o * inputs + i) * taps + tap]
    });
    let (output, _) = pieces::compute(start, group * outputs * places, |index, output| {
        let images = output.len() / (outputs * places).max(1);
        let first = index * group;
        let x = &x[first * inputs * pixels..(first + images) * inputs * pixels];
        let source = Rows::of_images(x, [inputs, pixels], distance(inputs));
        let mut target = Rows::filled(images * places, distance(outputs), bias);
        add_products(&source, &weights, links.first(images, group), &mut target);
        target.put_images(output, [outputs, places]);
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
    let (pixels, places, taps) = (
        conv.window.pixels(),
        conv.window.places(),
        conv.window.taps(),
    );
    let group = group(conv);
    let links = Taps::new(conv.window, group);
    let input = wants_x.then(|| InputGradient::new(conv, weight));
    let width = padded(outputs);
    let length = (taps * inputs + 1) * width;
    let (of_x, sums) = conv.gradients(wants_x, length, |all, mut output| {
        let mut sums = vec![0.0; length];
        let (of_weight, of_bias) = sums.split_at_mut(taps * inputs * width);
        for first in all.clone().step_by(group) {
            let images = group.min(all.end - first);
            let x = &x[first * inputs * pixels..(first + images) * inputs * pixels];
            let source = Rows::of_images(x, [inputs, pixels], distance(inputs));
            let slopes = &grad[first * outputs * places..(first + images) * outputs * places];
            let slopes = Rows::of_images(slopes, [outputs, places], distance(outputs));
            let links = links.first(images, group);
            add_outer_products(&source, &slopes, [inputs, width], links, of_weight);
            pieces::add_rows(&slopes.values, slopes.stride, of_bias);
            if let (Some(input), Some(output)) = (&input, output.as_deref_mut()) {
                let from = (first - all.start) * inputs * pixels;
                input.put(&slopes, &mut output[from..from + images * inputs * pixels]);
            }
        }
        sums
    });
    let (of_weight, of_bias) = sums.split_at(taps * inputs * width);
    let mut weight = vec![0.0; outputs * inputs * taps];
    for (row, values) in of_weight.chunks_exact(width.max(1)).enumerate() {
        let (tap, i) = (row / inputs, row % inputs);
        for (o, value) in values[..outputs].iter().enumerate() {
            weight[(o * inputs + i) * taps + tap] = *value;
        }
    }
    Grads {
        x: of_x,
        weight,
        bias: of_bias[..outputs].to_vec(),
    }
}

/// The gradient of the input: products of the gradients of outputs with the transposed weights.
pub(super) struct InputGradient {
    conv: Conv,
    weights: Panels,
    links: Taps,
    group: usize,
}

impl InputGradient {
    pub(super) fn new(conv: Conv, weight: &[f32]) -> Self {
        let (taps, inputs) = (conv.window.taps(), conv.inputs);
        let group = group(conv);
        Self {
            conv,
            weights: Panels::new([taps, conv.outputs, inputs], |tap, o, i| {
                weight[(o * inputs + i) * taps + tap]
            }),
            links: Taps::new(conv.window, group).reversed(),
            group,
        }
    }

    /// Writes the gradient of a group of images from the rows of that of their outputs.
    fn put(&self, slopes: &Rows, output: &mut [f32]) {
        let (inputs, pixels) = (self.conv.inputs, self.conv.window.pixels());
        let images = output.len() / (inputs * pixels).max(1);
        let mut target = Rows::zeros(images * pixels, distance(inputs));
        let links = self.links.first(images, self.group);
        add_products(slopes, &self.weights, links, &mut target);
        target.put_images(output, [inputs, pixels]);
    }

    /// Writes the gradient of some images from that of their outputs.
    pub(super) fn put_all(&self, grad: &[f32], output: &mut [f32]) {
        let Conv {
            inputs, outputs, ..
        } = self.conv;
        let (pixels, places) = (self.conv.window.pixels(), self.conv.window.places());
        let groups = output.chunks_mut((self.group * inputs * pixels).max(1));
        for (grad, output) in grad
            .chunks((self.group * outputs * places).max(1))
            .zip(groups)
        {
            let slopes = Rows::of_images(grad, [outputs, places], distance(outputs));
            self.put(&slopes, output);
        }
    }
}
