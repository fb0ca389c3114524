//! Sizes of images, and of the windows of convolutions with TensorFlow's SAME padding.

use std::ops::Range;

use crate::padding::{Span, same_padding};

/// Rows and columns of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl Sides {
    /// Returns the sides after a convolution with SAME padding.
    #[must_use]
    pub fn after(self, stride: usize) -> Self {
        Self {
            height: self.height.div_ceil(stride),
            width: self.width.div_ceil(stride),
        }
    }

    /// Returns the number of pixels.
    #[must_use]
    pub fn pixels(self) -> usize {
        self.height * self.width
    }
}

/// Rows of an image, and some of its channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageRows<'a, T> {
    /// `[rows, width, channels]`
    pub values: &'a [T],
    /// Number of channels of the image before the first one; whole panels.
    pub before: usize,
    /// Number of channels.
    pub channels: usize,
    /// Number of rows of the image before the first one.
    pub above: usize,
    /// Sides of the whole image.
    pub sides: Sides,
}

/// Window of a convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Rows and columns.
    pub kernel: usize,
    /// At least 1.
    pub stride: usize,
}

impl Window {
    /// Returns the rows of the input that some rows of the output are computed from.
    pub fn input_rows(self, sides: Sides, rows: Range<usize>) -> Range<usize> {
        let top = same_padding(sides.height, self.kernel, self.stride).0;
        let clip = |y: usize| Span::clipped(y * self.stride, top, self.kernel, sides.height);
        let last = clip(rows.end.saturating_sub(1));
        clip(rows.start).pixel..last.pixel + last.count
    }
}
