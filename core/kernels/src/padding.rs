//! TensorFlow's SAME padding.

/// Returns the number of rows (or columns) of zeros before and after the input.
#[must_use]
pub fn same_padding(side: usize, kernel: usize, stride: usize) -> (usize, usize) {
    let places = side.div_ceil(stride);
    let reach = places.saturating_sub(1) * stride + kernel;
    let padding = reach.saturating_sub(side);
    (padding / 2, padding - padding / 2)
}

/// The taps of a kernel, along one axis, that lie inside the image.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// First tap.
    pub tap: usize,
    /// Pixel under the first tap.
    pub pixel: usize,
    /// Number of taps.
    pub count: usize,
}

impl Span {
    /// Clips the taps `[start - padding, start - padding + kernel)` to `[0, side)`.
    #[inline(always)]
    pub fn clipped(start: usize, padding: usize, kernel: usize, side: usize) -> Self {
        let tap = padding.saturating_sub(start).min(kernel);
        let pixel = (start + tap).saturating_sub(padding);
        Self {
            tap,
            pixel,
            count: (kernel - tap).min(side.saturating_sub(pixel)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::same_padding;

    #[test]
    fn the_extra_row_lies_behind() {
        // TensorFlow's SAME: (side, kernel, stride) to (before, behind).
        for (sizes, padding) in [
            ((224, 3, 2), (0, 1)),
            ((65, 3, 2), (1, 1)),
            ((112, 5, 2), (1, 2)),
            ((33, 5, 2), (2, 2)),
            ((14, 3, 1), (1, 1)),
            ((14, 5, 1), (2, 2)),
            ((7, 1, 1), (0, 0)),
            ((1, 3, 2), (1, 1)),
            ((4, 1, 2), (0, 0)),
        ] {
            let (side, kernel, stride) = sizes;
            assert_eq!(same_padding(side, kernel, stride), padding, "{sizes:?}");
        }
    }
}
