//! The blocks of a product of floats: groups of rows, parts of the depth, panels, tiles.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::float_weights::{DEPTH, FloatWeights};
use super::target::{Product, ROW_BLOCK, Target};
use crate::activation::Activation;
use crate::panel::{PANEL, PanelRow};
use crate::prefetch::prefetch;
use crate::vectors;

/// Most rows of a tile of two vectors. More sums do not fit into the registers of AVX2 and
/// WebAssembly.
pub(super) const ROWS: usize = 6;
/// Most rows of a tile of one vector of AVX2 or AVX-512: more rows need more pointers than there are
/// registers.
const ROWS_OF_ONE: usize = 8;
/// Computes a target that begins with the product's first row; its first column begins a panel.
pub(super) fn compute(
    product: Product<'_, FloatWeights, f32>,
    column: usize,
    target: &mut impl Target<Value = f32>,
) {
    Arch::new().dispatch(Blocks {
        product,
        column,
        target,
    });
}

/// The blocks of a target.
struct Blocks<'a, T> {
    product: Product<'a, FloatWeights, f32>,
    /// First column of the target.
    column: usize,
    target: &'a mut T,
}

impl<T: Target<Value = f32>> WithSimd for Blocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (rows, weights) = (self.target.rows(), self.product.weights);
        if rows == 0 {
            return;
        }
        let width = self.target.row(0).len();
        let mut unpacked = weights.buffer();
        for first in (0..rows).step_by(ROW_BLOCK) {
            let rows = first..rows.min(first + ROW_BLOCK);
            for first in (0..weights.inputs).step_by(DEPTH) {
                let depth = first..weights.inputs.min(first + DEPTH);
                for from in (0..width).step_by(PANEL) {
                    let index = (self.column + from) / PANEL;
                    let panel = weights.part(index, depth.clone(), &mut unpacked);
                    let next = weights.after(index, depth.clone());
                    let bias = S::as_simd_f32s(&weights.bias[index].0).0;
                    let used = PANEL.min(width - from).div_ceil(S::F32_LANES);
                    for vector in (0..used).step_by(2) {
                        let strip = Strip {
                            next: if vector == 0 { next } else { &[] },
                            panel,
                            vector,
                            from: from + vector * S::F32_LANES,
                            rows: rows.clone(),
                            depth: depth.clone(),
                        };
                        if vector + 1 < used {
                            self.strip(simd, strip, [bias[vector], bias[vector + 1]]);
                        } else {
                            self.strip(simd, strip, [bias[vector]]);
                        }
                    }
                }
            }
        }
    }
}

/// A group of rows of one or two vectors of columns.
struct Strip<'a> {
    panel: &'a [PanelRow],
    /// Rows that are multiplied after the panel; they are loaded while the tiles are computed.
    next: &'a [PanelRow],
    /// First vector of the panel.
    vector: usize,
    /// Its column in the target.
    from: usize,
    rows: Range<usize>,
    /// Inputs that the rows of the panel belong to.
    depth: Range<usize>,
}

impl<T: Target<Value = f32>> Blocks<'_, T> {
    /// Adds the products of a strip, tile by tile.
    #[inline(always)]
    fn strip<S: Simd, const N: usize>(&mut self, simd: S, strip: Strip, bias: [S::f32s; N]) {
        let each = strip.next.len().div_ceil(strip.rows.len().div_ceil(ROWS));
        let mut next = strip.next;
        let is_tall = N == 1 && S::F32_LANES >= 8;
        let mut row = strip.rows.start;
        while row < strip.rows.end {
            let left = strip.rows.end - row;
            let count = match left {
                ROWS_OF_ONE.. if is_tall => ROWS_OF_ONE,
                // Tiles of similar sizes.
                _ => left.div_ceil(left.div_ceil(ROWS)),
            };
            if !next.is_empty() {
                let (rows, later) = next.split_at(each.min(next.len()));
                rows.iter().for_each(|row| prefetch(&row.0));
                next = later;
            }
            match count {
                1 => self.tile::<S, 1, N>(simd, row, &strip, bias),
                2 => self.tile::<S, 2, N>(simd, row, &strip, bias),
                3 => self.tile::<S, 3, N>(simd, row, &strip, bias),
                4 => self.tile::<S, 4, N>(simd, row, &strip, bias),
                5 => self.tile::<S, 5, N>(simd, row, &strip, bias),
                ROWS => self.tile::<S, ROWS, N>(simd, row, &strip, bias),
                _ => self.tile::<S, ROWS_OF_ONE, N>(simd, row, &strip, bias),
            }
            row += count;
        }
    }

    /// Adds the products of `R` rows with `N` vectors of a panel to the bias, or to what the parts
    /// of the depth before it gave.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        strip: &Strip,
        bias: [S::f32s; N],
    ) {
        let inputs = self.product.weights.inputs;
        let mut sums = [bias; R];
        if strip.depth.start > 0 {
            for (index, sums) in sums.iter_mut().enumerate() {
                let row = &self.target.row(first + index)[strip.from..];
                for (part, sum) in sums.iter_mut().enumerate() {
                    let values = row.get(part * S::F32_LANES..).unwrap_or_default();
                    *sum = vectors::load(simd, values);
                }
            }
        }
        let panel = strip.panel;
        // Slices of a known length need no check in the loop.
        let rows: [&[f32]; R] = std::array::from_fn(|row| {
            let from = (first + row) * inputs + strip.depth.start;
            &self.product.input[from..from + panel.len()]
        });
        for (input, weights) in panel.iter().enumerate() {
            let weights = &S::as_simd_f32s(&weights.0).0[strip.vector..strip.vector + N];
            for (row, sums) in rows.iter().zip(&mut sums) {
                let x = simd.splat_f32s(row[input]);
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = simd.mul_add_e_f32s(x, *weight, *sum);
                }
            }
        }
        for (index, sums) in sums.into_iter().enumerate() {
            self.store(simd, first + index, strip, sums);
        }
    }

    /// Writes the vectors of a row; those of the last part of the depth are completed first.
    #[inline(always)]
    fn store<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        row: usize,
        strip: &Strip,
        sums: [S::f32s; N],
    ) {
        let Product {
            weights,
            skip,
            activation,
            ..
        } = self.product;
        let is_last = strip.depth.end == weights.inputs;
        let skip = skip.filter(|_| is_last).map(|skip| {
            let from = row * weights.outputs + self.column + strip.from;
            &skip[from..(row + 1) * weights.outputs]
        });
        let activation = if is_last {
            activation
        } else {
            Activation::None
        };
        let target = &mut self.target.row(row)[strip.from..];
        for (part, sum) in sums.into_iter().enumerate() {
            let from = part * S::F32_LANES;
            let mut value = activation.apply(simd, sum);
            if let Some(skip) = skip {
                value = simd.add_f32s(value, vectors::load(simd, &skip[from..]));
            }
            vectors::store(simd, &mut target[from..], value);
        }
    }
}
