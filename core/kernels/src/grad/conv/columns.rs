//! Images as columns: one column of values for each output position, in panels of positions.

use std::ops::Range;

use super::products::Panels;
use super::rows::Rows;
use crate::grad::window::Window;
use crate::panel::{PANEL, PanelRow};

/// Output positions: a range of rows of each image of a range.
pub(super) struct Block {
    pub(super) images: Range<usize>,
    pub(super) rows: Range<usize>,
    /// Positions of a row.
    pub(super) width: usize,
}

impl Block {
    /// Returns blocks of some images of about `size` positions: several images or parts of one.
    pub(super) fn all(
        images: Range<usize>,
        [rows, width]: [usize; 2],
        size: usize,
    ) -> impl Iterator<Item = Self> {
        let together = (size / (rows * width).max(1)).max(1);
        let part = size.div_ceil(width.max(1));
        let end = images.end;
        images.step_by(together).flat_map(move |first| {
            let images = first..end.min(first + together);
            (0..rows).step_by(part).map(move |row| Self {
                images: images.clone(),
                rows: row..rows.min(row + part),
                width,
            })
        })
    }

    /// Returns the number of positions of an image.
    fn of_image(&self) -> usize {
        self.rows.len() * self.width
    }

    /// Returns the number of positions.
    pub(super) fn places(&self) -> usize {
        self.images.len() * self.of_image()
    }

    /// Returns the values of each channel of each image of the block: the channel, the range of
    /// positions in the block, and the range of values in images of `channels` channels.
    pub(super) fn parts(
        &self,
        channels: usize,
        places: usize,
    ) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
        let length = self.of_image();
        self.images
            .clone()
            .enumerate()
            .flat_map(move |(at, image)| {
                (0..channels).map(move |channel| {
                    let from = (image * channels + channel) * places + self.rows.start * self.width;
                    (channel, at * length..(at + 1) * length, from..from + length)
                })
            })
    }
}

impl Panels {
    /// Returns the values of a block of images `[batch, channels, places]`, one column for each
    /// position.
    pub(super) fn of_images(images: &[f32], [channels, places]: [usize; 2], block: &Block) -> Self {
        let mut panels = Self::zeros(channels, block.places());
        for (channel, to, from) in block.parts(channels, places) {
            panels.put(channel, to.start, &images[from], 1);
        }
        panels
    }

    /// Returns the inputs that the positions of a block read, `[inputs, kernel rows, kernel
    /// columns]` in each column; padding is 0.
    pub(super) fn of_neighbourhoods(
        x: &[f32],
        inputs: usize,
        window: Window,
        block: &Block,
    ) -> Self {
        let taps = window.taps();
        let mut panels = Self::zeros(inputs * taps, block.places());
        for (at, image) in block.images.clone().enumerate() {
            for depth in 0..inputs * taps {
                let (plane, tap) = (image * inputs + depth / taps, depth % taps);
                let (range, first) = window.columns(tap % window.kernel[1]);
                for (index, row) in block.rows.clone().enumerate() {
                    let Some(input) = window.input_row(row, tap / window.kernel[1]) else {
                        continue;
                    };
                    if range.is_empty() {
                        continue;
                    }
                    let from = plane * window.pixels() + input * window.input[1] + first;
                    let length = (range.len() - 1) * window.stride + 1;
                    let to = (at * block.rows.len() + index) * block.width + range.start;
                    panels.put(depth, to, &x[from..from + length], window.stride);
                }
            }
        }
        panels
    }

    /// Writes every `step`th of some values into a row, from column `first` on.
    fn put(&mut self, row: usize, first: usize, mut values: &[f32], step: usize) {
        let mut column = first;
        while !values.is_empty() {
            let PanelRow(target) = &mut self.rows[column / PANEL * self.depth + row];
            let target = &mut target[column % PANEL..];
            if step == 1 {
                let count = target.len().min(values.len());
                target[..count].copy_from_slice(&values[..count]);
            } else {
                for (target, value) in target.iter_mut().zip(values.iter().step_by(step)) {
                    *target = *value;
                }
            }
            column += target.len();
            values = values.get(target.len() * step..).unwrap_or_default();
        }
    }

    /// Adds the sums of the rows.
    pub(super) fn add_sums(&self, sums: &mut [f32]) {
        for rows in self.rows.chunks_exact(self.depth.max(1)) {
            for (PanelRow(values), sum) in rows.iter().zip(&mut *sums) {
                *sum += values.iter().sum::<f32>();
            }
        }
    }
}

impl Rows {
    /// Writes rows of positions, one for each channel, into images `[batch, channels, places]` that
    /// begin with image `first`.
    pub(super) fn put_block(
        &self,
        block: &Block,
        first: usize,
        [channels, places]: [usize; 2],
        images: &mut [f32],
    ) {
        for (channel, from, to) in block.parts(channels, places) {
            let skipped = first * channels * places;
            let row = &self.values[channel * self.stride..][from];
            images[to.start - skipped..to.end - skipped].copy_from_slice(row);
        }
    }
}
