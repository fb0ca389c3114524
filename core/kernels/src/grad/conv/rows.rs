//! Images as rows: one row of channels for each position.

/// Positions and channels that are copied at once, so that both sides stay in the cache.
const TILE: usize = 16;
/// Rows and columns that are exchanged within registers.
const BLOCK: usize = 4;

/// Rows of channels.
pub(super) struct Rows {
    pub(super) values: Vec<f32>,
    /// Distance of two rows, at least the number of channels; the rest of a row is 0.
    pub(super) stride: usize,
}

impl Rows {
    /// Returns rows of zeros.
    pub(super) fn zeros(rows: usize, stride: usize) -> Self {
        Self {
            values: vec![0.0; rows * stride],
            stride,
        }
    }

    /// Returns rows that all begin with the same values.
    pub(super) fn filled(rows: usize, stride: usize, values: Option<&[f32]>) -> Self {
        let Some(start) = values else {
            return Self::zeros(rows, stride);
        };
        let mut values = Vec::with_capacity(rows * stride);
        for row in 1..=rows {
            values.extend_from_slice(start);
            values.resize(row * stride, 0.0);
        }
        Self { values, stride }
    }

    /// Returns the rows of images `[images, channels, positions]`.
    pub(super) fn of_images(
        images: &[f32],
        [channels, positions]: [usize; 2],
        stride: usize,
    ) -> Self {
        let image = (channels * positions).max(1);
        let mut rows = Self::zeros(images.len() / image * positions, stride);
        let targets = rows.values.chunks_exact_mut((positions * stride).max(1));
        for (image, target) in images.chunks_exact(image).zip(targets) {
            transpose(image, positions, target, stride, [channels, positions]);
        }
        rows
    }

    /// Writes the rows as images `[images, channels, positions]`.
    pub(super) fn put_images(&self, images: &mut [f32], [channels, positions]: [usize; 2]) {
        let targets = images.chunks_exact_mut((channels * positions).max(1));
        let sources = self.values.chunks_exact((positions * self.stride).max(1));
        for (image, source) in targets.zip(sources) {
            transpose(source, self.stride, image, positions, [positions, channels]);
        }
    }
}

/// Copies `source [rows, columns]`, whose rows are `stride` apart, to `target [columns, rows]`.
fn transpose(
    source: &[f32],
    stride: usize,
    target: &mut [f32],
    target_stride: usize,
    [rows, columns]: [usize; 2],
) {
    for column in (0..columns).step_by(TILE) {
        let width = TILE.min(columns - column);
        for row in (0..rows).step_by(TILE) {
            let height = TILE.min(rows - row);
            let source = &source[row * stride + column..];
            let target = &mut target[column * target_stride + row..];
            transpose_tile(source, stride, target, target_stride, [height, width]);
        }
    }
}

/// Copies a tile: whole blocks, then the rows and columns that fill none.
fn transpose_tile(
    source: &[f32],
    stride: usize,
    target: &mut [f32],
    target_stride: usize,
    [height, width]: [usize; 2],
) {
    let [rows, columns] = [height, width].map(|side| side / BLOCK * BLOCK);
    for column in (0..columns).step_by(BLOCK) {
        for row in (0..rows).step_by(BLOCK) {
            let source = &source[row * stride + column..];
            let target = &mut target[column * target_stride + row..];
            transpose_block(source, stride, target, target_stride);
        }
    }
    for column in 0..width {
        let first = if column < columns { rows } else { 0 };
        for row in first..height {
            target[column * target_stride + row] = source[row * stride + column];
        }
    }
}

/// Copies a block of [`BLOCK`] rows and columns.
#[inline(always)]
fn transpose_block(source: &[f32], stride: usize, target: &mut [f32], target_stride: usize) {
    // Rows of a known length need no check for each value.
    let mut rows = [[0.0; BLOCK]; BLOCK];
    for (row, values) in rows.iter_mut().enumerate() {
        values.copy_from_slice(&source[row * stride..][..BLOCK]);
    }
    let [a, b, c, d] = rows;
    for i in 0..BLOCK {
        target[i * target_stride..][..BLOCK].copy_from_slice(&[a[i], b[i], c[i], d[i]]);
    }
}
