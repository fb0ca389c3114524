//! Convolution of few channels: the values that an output position reads are a column, and the columns of many
//! positions a matrix.

use std::ops::Range;

use super::by_rows::InputGradient;
use super::sizes::{Conv, Grads};
use crate::grad::matrix::{Matrix, Target, Threads, add_row_sums, product};
use crate::grad::pieces::{self, Start};
use crate::grad::strided::take_every;

/// Output positions that are computed together, about.
const BLOCK: usize = 512;

/// See [`Conv::forward`].
pub(super) fn forward(conv: Conv, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let (outputs, places) = (conv.outputs, conv.window.places());
    let (depth, size) = (conv.depth(), conv.inputs * conv.window.pixels());
    let weight = Matrix::new(weight, outputs, depth, depth);
    let start = Start::Zeros(conv.batch * outputs * places);
    let (output, _) = pieces::compute(start, outputs * places, |image, output| {
        if let Some(bias) = bias {
            for (row, bias) in output.chunks_exact_mut(places.max(1)).zip(bias) {
                row.fill(*bias);
            }
        }
        let mut columns = Vec::new();
        for rows in conv.blocks() {
            let (first, count) = conv.positions(&rows);
            conv.columns(&x[image * size..][..size], rows, &mut columns);
            let columns = Matrix::new(&columns, depth, count, count);
            let target = Target::add(&mut output[first..], places);
            product(weight, columns, 1.0, target, Threads::One);
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
    let (outputs, places) = (conv.outputs, conv.window.places());
    let (depth, size) = (conv.depth(), conv.inputs * conv.window.pixels());
    let length = outputs * depth + outputs;
    let input = wants_x.then(|| InputGradient::new(conv, weight));
    let (of_x, mut weight) = conv.gradients(wants_x, length, |images, of_x| {
        let mut sums = vec![0.0; length];
        let (of_weight, of_bias) = sums.split_at_mut(outputs * depth);
        let mut columns = Vec::new();
        for image in images.clone() {
            let grad = &grad[image * outputs * places..][..outputs * places];
            add_row_sums(grad, places, of_bias);
            for rows in conv.blocks() {
                let (first, count) = conv.positions(&rows);
                conv.columns(&x[image * size..][..size], rows, &mut columns);
                let columns = Matrix::new(&columns, depth, count, count).transposed();
                let grad = Matrix::new(&grad[first..], outputs, count, places);
                let target = Target::add(of_weight, depth);
                product(grad, columns, 1.0, target, Threads::One);
            }
        }
        if let (Some(input), Some(of_x)) = (&input, of_x) {
            let size = outputs * places;
            input.put_all(&grad[images.start * size..images.end * size], of_x);
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

impl Conv {
    /// Returns the length of a column.
    fn depth(self) -> usize {
        self.inputs * self.window.taps()
    }

    /// Returns the output rows that are computed together.
    fn blocks(self) -> impl Iterator<Item = Range<usize>> {
        let [rows, width] = self.window.output;
        let part = BLOCK.div_ceil(width.max(1));
        (0..rows)
            .step_by(part)
            .map(move |row| row..rows.min(row + part))
    }

    /// Returns the first position of some output rows, and their number.
    fn positions(self, rows: &Range<usize>) -> (usize, usize) {
        let width = self.window.output[1];
        (rows.start * width, rows.len() * width)
    }

    /// Puts the columns of some output rows of an image into `columns [depth, positions]`.
    fn columns(self, image: &[f32], rows: Range<usize>, columns: &mut Vec<f32>) {
        let window = self.window;
        let (taps, [_, width]) = (window.taps(), window.output);
        let count = rows.len() * width;
        columns.clear();
        columns.resize(self.depth() * count, 0.0);
        for (at, target) in columns.chunks_exact_mut(count.max(1)).enumerate() {
            let (channel, tap) = (at / taps, at % taps);
            let (range, first) = window.columns(tap % window.kernel[1]);
            for (row, target) in rows.clone().zip(target.chunks_exact_mut(width)) {
                if let Some(input) = window.input_row(row, tap / window.kernel[1]) {
                    let from = channel * window.pixels() + input * window.input[1] + first;
                    take_every(&image[from..], window.stride, &mut target[range.clone()]);
                }
            }
        }
    }
}
