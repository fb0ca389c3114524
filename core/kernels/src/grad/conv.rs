//! Dense convolution: matrix products of the kernels with the neighbourhoods of the pixels.
//!
//! The neighbourhoods of one block of output positions are gathered at a time, so that they stay in
//! the cache of a core (Chellapilla et al. 2006, "High performance convolutional neural networks for
//! document processing").

use super::matrix::{Matrix, Target, Threads, product};
use super::pieces;
use super::window::Window;

/// Output positions of a block, about; whole rows of images are taken.
const BLOCK: usize = 192;
/// Number of pieces of a batch whose weight gradients are summed separately.
const PIECES: usize = 8;

/// Sizes of a dense convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Number of images.
    pub batch: usize,
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// Sizes of one channel.
    pub window: Window,
}

/// Rows of output positions: a range of rows of each image of a range.
struct Block {
    /// First image.
    image: usize,
    /// Number of images.
    images: usize,
    /// First output row.
    row: usize,
    /// Number of output rows.
    rows: usize,
}

/// Gradients of [`Conv::forward`].
pub struct Grads {
    /// Gradient of the input, `[batch, inputs, height, width]`, if wanted.
    pub x: Option<Vec<f32>>,
    /// Gradient of the kernels, `[outputs, inputs, kernel rows, kernel columns]`.
    pub weight: Vec<f32>,
    /// Gradient of the bias, `[outputs]`.
    pub bias: Vec<f32>,
}

impl Conv {
    /// Computes the convolution.
    ///
    /// # Shapes
    /// `x [batch, inputs, h, w]`, `weight [outputs, inputs, kernel rows, kernel columns]`, `bias
    /// [outputs] -> [batch, outputs, output rows, output columns]`
    #[must_use]
    pub fn forward(self, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        let mut output = vec![0.0; self.batch * self.outputs * self.window.places()];
        let group = self.group();
        let size = group * self.outputs * self.window.places();
        pieces::for_each(&mut output, size, |index, output| {
            let first = index * group;
            let (mut columns, mut result) = (Vec::new(), Vec::new());
            for block in self.blocks(first, self.batch.min(first + group)) {
                self.gather(x, &block, &mut columns);
                let places = self.places(&block);
                result.resize(self.outputs * places, 0.0);
                let kernels = Matrix::new(weight, self.outputs, self.depth(), self.depth());
                let columns = Matrix::new(&columns, self.depth(), places, places);
                product(
                    kernels,
                    columns,
                    1.0,
                    Target::overwrite(&mut result, places),
                    Threads::One,
                );
                self.put(&result, bias, &block, first, output);
            }
        });
        output
    }

    /// Computes the gradients from that of the output, `grad [batch, outputs, output rows, output
    /// columns]`; the other shapes are those of [`forward`](Self::forward).
    #[must_use]
    pub fn backward(self, x: &[f32], weight: &[f32], grad: &[f32], wants_x: bool) -> Grads {
        let image = self.inputs * self.window.pixels();
        let per_piece = self.batch.div_ceil(PIECES).max(1);
        // Without a gradient of the input one value per image stands for it, to cut into pieces.
        let image = if wants_x { image } else { 1 };
        let mut output = vec![0.0; self.batch * image];
        let length = self.outputs * self.depth() + self.outputs;
        let sums = pieces::map(&mut output, per_piece * image, |index, output| {
            let first = index * per_piece;
            let images = first..self.batch.min(first + per_piece);
            let output = wants_x.then_some(output);
            self.backward_piece(x, weight, grad, images, output)
        });
        let mut weight = pieces::sum(sums, length);
        let bias = weight.split_off(self.outputs * self.depth());
        Grads {
            x: wants_x.then_some(output),
            weight,
            bias,
        }
    }

    /// Computes the gradients of some images: those of the kernels and of the bias, one after the
    /// other; adds that of the input to `output`, which is 0 before.
    fn backward_piece(
        self,
        x: &[f32],
        weight: &[f32],
        grad: &[f32],
        images: std::ops::Range<usize>,
        mut output: Option<&mut [f32]>,
    ) -> Vec<f32> {
        let (depth, first) = (self.depth(), images.start);
        let mut sums = vec![0.0; self.outputs * depth + self.outputs];
        let (mut columns, mut slopes, mut spread) = (Vec::new(), Vec::new(), Vec::new());
        let group = self.group();
        for start in images.clone().step_by(group) {
            for block in self.blocks(start, images.end.min(start + group)) {
                let places = self.places(&block);
                self.gather(x, &block, &mut columns);
                self.take(grad, &block, &mut slopes);
                let (of_weight, of_bias) = sums.split_at_mut(self.outputs * depth);
                for (sum, row) in of_bias.iter_mut().zip(slopes.chunks_exact(places.max(1))) {
                    *sum += row.iter().sum::<f32>();
                }
                let slopes = Matrix::new(&slopes, self.outputs, places, places);
                let transposed = Matrix::new(&columns, depth, places, places).transposed();
                product(
                    slopes,
                    transposed,
                    1.0,
                    Target::add(of_weight, depth),
                    Threads::One,
                );
                if let Some(output) = output.as_deref_mut() {
                    spread.resize(depth * places, 0.0);
                    let kernels = Matrix::new(weight, self.outputs, depth, depth).transposed();
                    product(
                        kernels,
                        slopes,
                        1.0,
                        Target::overwrite(&mut spread, places),
                        Threads::One,
                    );
                    self.scatter(&spread, &block, first, output);
                }
            }
        }
        sums
    }

    /// Returns the number of values that an output position reads.
    fn depth(self) -> usize {
        self.inputs * self.window.taps()
    }

    /// Returns the number of images that are computed together: several if they are small.
    fn group(self) -> usize {
        (BLOCK / self.window.places().max(1)).max(1)
    }

    fn places(self, block: &Block) -> usize {
        block.images * block.rows * self.window.output[1]
    }

    /// Returns the blocks of some images.
    fn blocks(self, first: usize, end: usize) -> impl Iterator<Item = Block> {
        let [all, columns] = self.window.output;
        let rows = match end - first {
            1 => BLOCK.div_ceil(columns.max(1)).max(1),
            _ => all.max(1),
        };
        (0..all).step_by(rows).map(move |row| Block {
            image: first,
            images: end - first,
            row,
            rows: rows.min(all - row),
        })
    }

    /// Gathers the neighbourhoods of a block, `[depth, places]`.
    fn gather(self, x: &[f32], block: &Block, columns: &mut Vec<f32>) {
        let (window, places) = (self.window, self.places(block));
        columns.clear();
        columns.resize(self.depth() * places, 0.0);
        self.for_rows(block, |channel, tap, row, at| {
            let (range, first) = window.columns(tap[1]);
            let source = &x[channel * window.pixels() + row * window.input[1]..];
            let target = &mut columns[at + range.start..at + range.end];
            match (window.stride, source.get(first..)) {
                (_, None) => {}
                (1, Some(source)) => target.copy_from_slice(&source[..range.len()]),
                (stride, Some(source)) => {
                    for (value, x) in target.iter_mut().zip(source.iter().step_by(stride)) {
                        *value = *x;
                    }
                }
            }
        });
    }

    /// Adds the values of the neighbourhoods of a block to the input positions that they come from;
    /// `output` begins with image `first`.
    fn scatter(self, columns: &[f32], block: &Block, first: usize, output: &mut [f32]) {
        let window = self.window;
        self.for_rows(block, |channel, tap, row, at| {
            let (range, from) = window.columns(tap[1]);
            let channel = channel - first * self.inputs;
            let target = &mut output[channel * window.pixels() + row * window.input[1]..];
            let values = &columns[at + range.start..at + range.end];
            let target = target.get_mut(from..).unwrap_or_default();
            if window.stride == 1 {
                for (sum, value) in target.iter_mut().zip(values) {
                    *sum += value;
                }
            } else {
                for (sum, value) in target.iter_mut().step_by(window.stride).zip(values) {
                    *sum += value;
                }
            }
        });
    }

    /// Calls `work` with the channel (counted over all images), the kernel position, the input row,
    /// and the place in `[depth, places]` of each output row of a block that this kernel position
    /// does not read as padding.
    fn for_rows(self, block: &Block, mut work: impl FnMut(usize, [usize; 2], usize, usize)) {
        let (window, width) = (self.window, self.window.output[1]);
        let places = self.places(block);
        let [rows, columns] = window.kernel;
        for channel in 0..self.inputs {
            for tap in (0..rows * columns).map(|i| [i / columns, i % columns]) {
                let depth = (channel * rows + tap[0]) * columns + tap[1];
                for image in 0..block.images {
                    let place = (block.image + image) * self.inputs + channel;
                    for row in 0..block.rows {
                        if let Some(input) = window.input_row(block.row + row, tap[0]) {
                            let at = depth * places + (image * block.rows + row) * width;
                            work(place, tap, input, at);
                        }
                    }
                }
            }
        }
    }

    /// Writes the results of a block, `[outputs, places]`, plus the bias into `output`, which
    /// begins with image `first`.
    fn put(
        self,
        result: &[f32],
        bias: Option<&[f32]>,
        block: &Block,
        first: usize,
        output: &mut [f32],
    ) {
        let shift = |channel: usize| bias.map_or(0.0, |bias| bias[channel]);
        self.for_channels(block, |channel, place, at, length| {
            let place = place - first * self.outputs * self.window.places();
            let target = &mut output[place..place + length];
            let shift = shift(channel);
            for (value, result) in target.iter_mut().zip(&result[at..at + length]) {
                *value = result + shift;
            }
        });
    }

    /// Takes the values of a block from the gradient of the output, `[outputs, places]`.
    fn take(self, grad: &[f32], block: &Block, slopes: &mut Vec<f32>) {
        slopes.resize(self.outputs * self.places(block), 0.0);
        self.for_channels(block, |_, place, at, length| {
            slopes[at..at + length].copy_from_slice(&grad[place..place + length]);
        });
    }

    /// Calls `work` with the channel, the place in the output, the place in `[outputs, places]` and
    /// the number of values of each output channel of each image of a block.
    fn for_channels(self, block: &Block, mut work: impl FnMut(usize, usize, usize, usize)) {
        let [_, width] = self.window.output;
        let length = block.rows * width;
        for channel in 0..self.outputs {
            for image in 0..block.images {
                let plane = (block.image + image) * self.outputs + channel;
                let place = plane * self.window.places() + block.row * width;
                let at = channel * self.places(block) + image * length;
                work(channel, place, at, length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(index: usize) -> f32 {
        ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
    }

    /// Calls `with` with the places in output, input and weight of every multiplication.
    fn every(conv: Conv, mut with: impl FnMut(usize, usize, usize)) {
        let Conv {
            batch,
            inputs,
            outputs,
            window,
        } = conv;
        let ([h, w], [kh, kw], [rows, columns]) = (window.input, window.kernel, window.output);
        for image in 0..batch {
            for o in 0..outputs {
                for i in 0..inputs {
                    for (r, c) in (0..rows * columns).map(|p| (p / columns, p % columns)) {
                        for (y, x) in (0..kh * kw).map(|t| (t / kw, t % kw)) {
                            let row = (r * window.stride + y).wrapping_sub(window.before[0]);
                            let column = (c * window.stride + x).wrapping_sub(window.before[1]);
                            if row < h && column < w {
                                let output = ((image * outputs + o) * rows + r) * columns + c;
                                let input = ((image * inputs + i) * h + row) * w + column;
                                with(output, input, ((o * inputs + i) * kh + y) * kw + x);
                            }
                        }
                    }
                }
            }
        }
    }

    fn close(found: &[f32], expected: &[f32]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
    }

    #[test]
    fn values_and_gradients_are_those_of_plain_loops() {
        for (batch, inputs, outputs, side, kernel, stride, padding) in [
            (2, 3, 4, [5, 7], 3, 1, (1, 1)),
            (3, 2, 3, [8, 6], 3, 2, (0, 1)),
            (40, 2, 3, [4, 4], 3, 2, (1, 1)),
            (2, 3, 2, [30, 20], 3, 1, (1, 1)),
            (9, 5, 4, [3, 5], 1, 1, (0, 0)),
            (1, 1, 2, [6, 6], 5, 2, (1, 2)),
            (1, 2, 2, [1, 1], 3, 2, (1, 1)),
            (0, 2, 2, [4, 4], 3, 1, (1, 1)),
        ] {
            let window = Window::new(side, [kernel; 2], stride, [padding; 2]);
            let conv = Conv {
                batch,
                inputs,
                outputs,
                window,
            };
            let x: Vec<f32> = (0..batch * inputs * window.pixels()).map(value).collect();
            let taps = outputs * inputs * window.taps();
            let weight: Vec<f32> = (0..taps).map(|i| value(i + 3)).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| value(i + 5)).collect();
            let places = batch * outputs * window.places();
            let grad: Vec<f32> = (0..places).map(|i| value(i + 7)).collect();
            let channel = |i: usize| i / window.places() % outputs;
            let mut expected: Vec<f32> = (0..places).map(|i| bias[channel(i)]).collect();
            let (mut of_x, mut of_weight) = (vec![0.0; x.len()], vec![0.0; taps]);
            every(conv, |output, input, tap| {
                expected[output] += x[input] * weight[tap];
                of_x[input] += grad[output] * weight[tap];
                of_weight[tap] += grad[output] * x[input];
            });
            let mut of_bias = vec![0.0; outputs];
            (0..places).for_each(|i| of_bias[channel(i)] += grad[i]);
            close(&conv.forward(&x, &weight, Some(&bias)), &expected);
            for wants_x in [true, false] {
                let grads = conv.backward(&x, &weight, &grad, wants_x);
                close(&grads.weight, &of_weight);
                close(&grads.bias, &of_bias);
                assert_eq!(grads.x.is_some(), wants_x);
                close(&grads.x.unwrap_or(of_x.clone()), &of_x);
            }
        }
    }
}
