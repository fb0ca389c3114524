//! Rows of an image of bytes, four at a time, with their bytes side by side.

use crate::instructions::Dots;
use crate::padding::same_padding;
use crate::panel::PANEL;
use crate::quads::{QUAD, Quads};
use crate::scratch::Scratch;
use crate::sides::{ImageRows, Sides, Window};

/// Interleaved rows of an image under a window, for the channels of a panel.
#[derive(Debug)]
pub(crate) struct Interleaved {
    /// `[quads of rows, columns]`
    quads: Scratch<Quads<u8>>,
    /// Number of columns, with those of the padding.
    columns: usize,
    window: Window,
    /// A row of zeros.
    outside: Scratch<u8>,
}

/// Returns the number of quads of rows under the window.
pub(crate) fn row_quads(window: Window) -> usize {
    window.kernel.div_ceil(QUAD)
}

impl Interleaved {
    /// Returns memory for an image of these sides. The columns of the padding stay zero.
    #[inline(always)]
    pub(crate) fn new(window: Window, sides: Sides, channels: usize) -> Self {
        let columns = (sides.after(window.stride).width - 1) * window.stride + window.kernel;
        let mut quads = Scratch::new(row_quads(window) * columns);
        quads.fill(Quads::default());
        let mut outside = Scratch::new(sides.width * channels);
        outside.fill(0);
        Self {
            quads,
            columns,
            window,
            outside,
        }
    }

    /// Returns the columns of each quad of rows.
    #[inline(always)]
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[Quads<u8>]> {
        self.quads.chunks_exact(self.columns)
    }

    /// Interleaves the rows of the image under row `row` of the output: the channels of the panel that
    /// begins with channel `first`.
    #[inline(always)]
    pub(crate) fn fill<D: Dots>(
        &mut self,
        dots: D,
        image: ImageRows<'_, u8>,
        row: usize,
        first: usize,
    ) {
        let ImageRows {
            values,
            channels,
            above,
            sides: Sides { height, width },
            ..
        } = image;
        let Window { kernel, stride } = self.window;
        let top = same_padding(height, kernel, stride).0;
        let left = same_padding(width, kernel, stride).0;
        let lines = self.quads.chunks_exact_mut(self.columns);
        for (quad, line) in lines.enumerate() {
            let rows: [&[u8]; QUAD] = std::array::from_fn(|slot| {
                let y = row * stride + quad * QUAD + slot;
                let y = y.checked_sub(top).filter(|y| *y < height);
                // Rows below the window are multiplied by 0.
                let y = y.and_then(|y| y.checked_sub(above));
                let row =
                    y.and_then(|y| values.get(y * width * channels..)?.get(..width * channels));
                &row.unwrap_or(&self.outside)[first..]
            });
            let inside = &mut line[left..];
            let count = width.min(inside.len());
            let inside = &mut inside[..count];
            match channels - first {
                PANEL.. => interleave_pixels::<D, PANEL>(dots, rows, channels, inside),
                16 => interleave_pixels::<D, 16>(dots, rows, channels, inside),
                count => {
                    for (x, quads) in inside.iter_mut().enumerate() {
                        for (channel, quad) in quads.0[..count].iter_mut().enumerate() {
                            *quad = rows.map(|row| row[x * channels + channel]);
                        }
                    }
                }
            }
        }
    }
}

/// Interleaves the first `N` of the channels of each pixel, a multiple of 16.
#[inline(always)]
fn interleave_pixels<D: Dots, const N: usize>(
    dots: D,
    rows: [&[u8]; QUAD],
    channels: usize,
    pixels: &mut [Quads<u8>],
) {
    for (x, quads) in pixels.iter_mut().enumerate() {
        let rows = rows.map(|row| &row[x * channels..][..N]);
        dots.interleave(rows, &mut quads.0[..N]);
    }
}
