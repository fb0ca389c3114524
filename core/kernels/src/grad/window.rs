//! The input positions that a convolution reads.

/// Sizes of a convolution of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Rows and columns of the input.
    pub input: [usize; 2],
    /// Rows and columns of the kernel.
    pub kernel: [usize; 2],
    /// Stride in pixels.
    pub stride: usize,
    /// Rows of zeros above and columns of zeros to the left.
    pub before: [usize; 2],
    /// Rows and columns of the output.
    pub output: [usize; 2],
}

impl Window {
    /// Creates the sizes from the padding before and after the rows and the columns.
    #[must_use]
    pub fn new(
        input: [usize; 2],
        kernel: [usize; 2],
        stride: usize,
        padding: [(usize, usize); 2],
    ) -> Self {
        let output = [0, 1].map(|axis| {
            let (before, after) = padding[axis];
            let reach = input[axis] + before + after;
            match kernel[axis] {
                size if size <= reach => (reach - size) / stride.max(1) + 1,
                _ => 0,
            }
        });
        Self {
            input,
            kernel,
            stride,
            before: padding.map(|(before, _)| before),
            output,
        }
    }

    /// Returns the number of input positions.
    #[must_use]
    pub fn pixels(&self) -> usize {
        self.input[0] * self.input[1]
    }

    /// Returns the number of output positions.
    #[must_use]
    pub fn places(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Returns the number of weights of the kernel.
    #[must_use]
    pub fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Returns the input row that output row `row` reads at kernel row `tap`, if it is not padding.
    pub(super) fn input_row(&self, row: usize, tap: usize) -> Option<usize> {
        let row = (row * self.stride + tap).checked_sub(self.before[0])?;
        (row < self.input[0]).then_some(row)
    }

    /// Returns the output columns whose input column at kernel column `tap` is not padding, and the
    /// input column of the first.
    pub(super) fn columns(&self, tap: usize) -> (std::ops::Range<usize>, usize) {
        let (stride, before) = (self.stride.max(1), self.before[1]);
        let first = before.saturating_sub(tap).div_ceil(stride);
        let end = (self.input[1] + before)
            .saturating_sub(tap)
            .div_ceil(stride);
        let end = end.min(self.output[1]);
        if first >= end {
            return (0..0, 0);
        }
        (first..end, first * stride + tap - before)
    }
}

/// Calls `with` with the places in output, input and kernel of every multiplication of a channel.
#[cfg(test)]
pub(crate) fn every_product(window: Window, mut with: impl FnMut(usize, usize, usize)) {
    let ([h, w], [kh, kw], [rows, columns]) = (window.input, window.kernel, window.output);
    for (r, c) in (0..rows * columns).map(|p| (p / columns, p % columns)) {
        for (y, x) in (0..kh * kw).map(|t| (t / kw, t % kw)) {
            let row = (r * window.stride + y).wrapping_sub(window.before[0]);
            let column = (c * window.stride + x).wrapping_sub(window.before[1]);
            if row < h && column < w {
                with(r * columns + c, row * w + column, y * kw + x);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_those_of_a_search() {
        for input in 1..7 {
            for kernel in 1..5 {
                for (stride, before, after) in
                    [(1, 0, 0), (1, 1, 1), (2, 0, 1), (2, 1, 1), (3, 2, 0)]
                {
                    let padding = [(before, after); 2];
                    let window = Window::new([input; 2], [kernel; 2], stride, padding);
                    for tap in 0..kernel {
                        let at = |i: usize| (i * stride + tap).checked_sub(before);
                        let inside = |i: &usize| at(*i).is_some_and(|at| at < input);
                        let expected: Vec<_> = (0..window.output[1]).filter(inside).collect();
                        let (range, first) = window.columns(tap);
                        assert_eq!(range.clone().collect::<Vec<_>>(), expected);
                        if let Some(i) = expected.first() {
                            assert_eq!(Some(first), at(*i));
                        }
                        for row in 0..window.output[0] {
                            let found = window.input_row(row, tap);
                            assert_eq!(found, at(row).filter(|at| *at < input));
                        }
                    }
                }
            }
        }
    }
}
