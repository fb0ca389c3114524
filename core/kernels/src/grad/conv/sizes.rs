//! Sizes of a dense convolution, and its gradients.

use std::ops::Range;

use crate::grad::pieces::{self, Start};
use crate::grad::window::Window;

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
    /// Returns whether each output position reads the input position of the same number alone.
    pub(super) fn is_pointwise(self) -> bool {
        self.window.taps() == 1
            && self.window.input == self.window.output
            && self.window.stride == 1
    }

    /// Computes gradients in pieces of the batch: calls `work` with the images of each piece and, if the gradient of
    /// their input is wanted, with zeros for it. Returns that gradient and the totals of the `length` sums of each piece.
    pub(super) fn gradients(
        self,
        wants_x: bool,
        length: usize,
        work: impl Fn(Range<usize>, Option<&mut [f32]>) -> Vec<f32> + Send + Sync,
    ) -> (Option<Vec<f32>>, Vec<f32>) {
        let image = self.inputs * self.window.pixels();
        let has_x = wants_x && image > 0;
        // Without that gradient, one value stands for each image.
        let image = if has_x { image } else { 1 };
        let per_piece = self.batch.div_ceil(PIECES).max(1);
        let start = Start::Zeros(self.batch * image);
        let (output, sums) = pieces::compute(start, per_piece * image, |index, output| {
            let first = index * per_piece;
            let images = first..first + output.len() / image;
            work(images, has_x.then_some(output))
        });
        let x = wants_x.then(|| if has_x { output } else { Vec::new() });
        (x, pieces::sum(sums, length))
    }
}
