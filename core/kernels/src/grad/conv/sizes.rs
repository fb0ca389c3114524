//! Sizes of a dense convolution, and its gradients.

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

    /// Returns the number of images of each piece of a batch whose gradients are computed in one go, about
    /// [`PIECES`] pieces.
    pub(super) fn per_piece(self) -> usize {
        self.batch.div_ceil(PIECES).max(1)
    }
}
