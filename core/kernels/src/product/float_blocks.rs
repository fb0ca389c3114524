//! The blocks of a product of floats: groups of rows, parts of the depth, panels, tiles.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::float_weights::{DEPTH, FloatWeights};
use super::target::{Product, ROW_BLOCK, Target};
use crate::panel::{PANEL, PanelRow};
use crate::prefetch::prefetch;
use crate::scratch::Scratch;
use crate::vectors;

/// Most rows of a tile of two vectors. More sums do not fit into the registers of AVX2 and
/// WebAssembly.
pub(super) const ROWS: usize = 6;
/// Most rows of a tile of one vector of AVX2 or AVX-512: more rows need more pointers than there are
/// registers.
const ROWS_OF_ONE: usize = 8;
/// Most rows of a tile of two vectors of AVX-512, which has twice the registers. It reads copies of the
/// inputs.
const ROWS_OF_COPIES: usize = 12;
/// Fewest columns for which inputs are copied: for fewer, copying would take too much of the time.
const COPIED: usize = 8 * PANEL;
/// Inputs of a tile that are multiplied before more of the next weights are prefetched.
const BETWEEN: usize = 8;

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
        let is_copied = S::F32_LANES == 16 && width >= COPIED;
        let copied = if is_copied { rows.min(ROW_BLOCK) } else { 0 };
        let mut copies = Scratch::new(copied * DEPTH);
        for first in (0..rows).step_by(ROW_BLOCK) {
            let rows = first..rows.min(first + ROW_BLOCK);
            for first in (0..weights.inputs).step_by(DEPTH) {
                let depth = first..weights.inputs.min(first + DEPTH);
                let copies = copies.as_chunks_mut().0;
                if is_copied {
                    self.product.copy(rows.clone(), depth.clone(), copies);
                }
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
                        if vector + 1 < used && is_copied {
                            let bias = [bias[vector], bias[vector + 1]];
                            self.strip_of_copies(simd, strip, copies, bias);
                        } else if vector + 1 < used {
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

impl Product<'_, FloatWeights, f32> {
    /// Copies some inputs of some rows. The distance of two copies is a constant, so that a tile needs one
    /// pointer for all of its rows.
    fn copy(&self, rows: Range<usize>, depth: Range<usize>, copies: &mut [[f32; DEPTH]]) {
        let inputs = self.weights.inputs;
        let rows = self.input[rows.start * inputs..].chunks_exact(inputs);
        for (row, copy) in rows.zip(copies) {
            copy[..depth.len()].copy_from_slice(&row[depth.clone()]);
        }
    }
}

impl<T: Target<Value = f32>> Blocks<'_, T> {
    /// Adds the products of a strip of two vectors with copied inputs, tile by tile.
    #[inline(always)]
    fn strip_of_copies<S: Simd>(
        &mut self,
        simd: S,
        mut strip: Strip,
        copies: &[[f32; DEPTH]],
        bias: [S::f32s; 2],
    ) {
        let mut next = strip.next;
        let each = next
            .len()
            .div_ceil(strip.rows.len().div_ceil(ROWS_OF_COPIES));
        let mut row = strip.rows.start;
        while row < strip.rows.end {
            let left = strip.rows.end - row;
            // Tiles of similar sizes.
            let count = left.div_ceil(left.div_ceil(ROWS_OF_COPIES));
            let copies = &copies[row - strip.rows.start..];
            (strip.next, next) = next.split_at(each.min(next.len()));
            match count {
                1 => self.tile_of_copies::<S, 1, 0>(simd, row, &strip, copies, bias),
                2 => self.tile_of_copies::<S, 1, 1>(simd, row, &strip, copies, bias),
                3 => self.tile_of_copies::<S, 2, 1>(simd, row, &strip, copies, bias),
                4 => self.tile_of_copies::<S, 2, 2>(simd, row, &strip, copies, bias),
                5 => self.tile_of_copies::<S, 3, 2>(simd, row, &strip, copies, bias),
                6 => self.tile_of_copies::<S, 3, 3>(simd, row, &strip, copies, bias),
                7 => self.tile_of_copies::<S, 4, 3>(simd, row, &strip, copies, bias),
                8 => self.tile_of_copies::<S, 4, 4>(simd, row, &strip, copies, bias),
                9 => self.tile_of_copies::<S, 5, 4>(simd, row, &strip, copies, bias),
                10 => self.tile_of_copies::<S, 5, 5>(simd, row, &strip, copies, bias),
                11 => self.tile_of_copies::<S, 6, 5>(simd, row, &strip, copies, bias),
                _ => self.tile_of_copies::<S, 6, 6>(simd, row, &strip, copies, bias),
            }
            row += count;
        }
    }

    /// Computes a tile of `A + B` rows, as [`tile`](Self::tile) does, from copied inputs. The compiler keeps
    /// sums in registers only if it unrolls the loops over them, and it does not unroll long ones. So
    /// the rows are in two arrays.
    #[inline(always)]
    fn tile_of_copies<S: Simd, const A: usize, const B: usize>(
        &mut self,
        simd: S,
        first: usize,
        strip: &Strip,
        copies: &[[f32; DEPTH]],
        bias: [S::f32s; 2],
    ) {
        let (copies, other_copies) = copies[..A + B].split_at(A);
        let mut sums = self.first_sums::<S, A, 2>(simd, first, strip, bias);
        let mut other_sums = self.first_sums::<S, B, 2>(simd, first + A, strip, bias);
        let panel = &strip.panel[..strip.panel.len().min(DEPTH)];
        let each = strip.next.len().div_ceil(panel.len().div_ceil(BETWEEN));
        let mut next = strip.next.iter();
        for from in (0..panel.len()).step_by(BETWEEN) {
            next.by_ref().take(each).for_each(|row| prefetch(&row.0));
            for input in from..panel.len().min(from + BETWEEN) {
                let weights = S::as_simd_f32s(&panel[input].0).0;
                let weights = &weights[strip.vector..strip.vector + 2];
                for (copy, sums) in copies.iter().zip(&mut sums) {
                    add(simd, copy[input], weights, sums);
                }
                for (copy, sums) in other_copies.iter().zip(&mut other_sums) {
                    add(simd, copy[input], weights, sums);
                }
            }
        }
        self.store(simd, first, strip, sums);
        self.store(simd, first + A, strip, other_sums);
    }

    /// Returns the bias, or what the parts of the depth before this one gave.
    #[inline(always)]
    fn first_sums<S: Simd, const R: usize, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        strip: &Strip,
        bias: [S::f32s; N],
    ) -> [[S::f32s; N]; R] {
        let mut sums = [bias; R];
        if strip.depth.start > 0 {
            for (index, sums) in sums.iter_mut().enumerate() {
                let row = self.target.row(first + index);
                *sums = vectors::load::<S, N>(simd, &row[strip.from..]);
            }
        }
        sums
    }

    /// Adds the products of a strip, tile by tile.
    #[inline(always)]
    fn strip<S: Simd, const N: usize>(&mut self, simd: S, mut strip: Strip, bias: [S::f32s; N]) {
        let mut next = strip.next;
        let each = next.len().div_ceil(strip.rows.len().div_ceil(ROWS));
        let is_tall = N == 1 && S::F32_LANES >= 8;
        let mut row = strip.rows.start;
        while row < strip.rows.end {
            let left = strip.rows.end - row;
            let count = match left {
                ROWS_OF_ONE.. if is_tall => ROWS_OF_ONE,
                // Tiles of similar sizes.
                _ => left.div_ceil(left.div_ceil(ROWS)),
            };
            (strip.next, next) = next.split_at(each.min(next.len()));
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
        let mut sums = self.first_sums::<S, R, N>(simd, first, strip, bias);
        let panel = strip.panel;
        // Slices of a known length need no check in the loop.
        let rows: [&[f32]; R] = std::array::from_fn(|row| {
            let from = (first + row) * inputs + strip.depth.start;
            &self.product.input[from..from + panel.len()]
        });
        // Elsewhere prefetching does nothing; without rows, the compiler leaves it out.
        let next = if cfg!(target_arch = "x86_64") {
            strip.next
        } else {
            &[]
        };
        let mut next = next.iter();
        let (between, each) = match next.len() {
            0 => (DEPTH, 0),
            count => (BETWEEN, count.div_ceil(panel.len().div_ceil(BETWEEN))),
        };
        for from in (0..panel.len()).step_by(between) {
            next.by_ref().take(each).for_each(|row| prefetch(&row.0));
            for input in from..panel.len().min(from + between) {
                let weights = S::as_simd_f32s(&panel[input].0).0;
                let weights = &weights[strip.vector..strip.vector + N];
                for (row, sums) in rows.iter().zip(&mut sums) {
                    add(simd, row[input], weights, sums);
                }
            }
        }
        self.store(simd, first, strip, sums);
    }

    /// Writes the rows of a tile; those of the last part of the depth are completed first.
    #[inline(always)]
    fn store<S: Simd, const R: usize, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        strip: &Strip,
        mut sums: [[S::f32s; N]; R],
    ) {
        let Product {
            weights,
            skip,
            activation,
            ..
        } = self.product;
        if strip.depth.end == weights.inputs {
            for sums in &mut sums {
                activation.apply(simd, sums);
            }
            if let Some(skip) = skip {
                for (row, sums) in (first..).zip(&mut sums) {
                    let from = row * weights.outputs + self.column + strip.from;
                    let skip = &skip[from..(row + 1) * weights.outputs];
                    for (sum, skip) in sums.iter_mut().zip(vectors::load::<S, N>(simd, skip)) {
                        *sum = simd.add_f32s(*sum, skip);
                    }
                }
            }
        }
        for (row, sums) in (first..).zip(sums) {
            vectors::store::<S, N>(simd, &mut self.target.row(row)[strip.from..], sums);
        }
    }
}

/// Adds the products of an input with weights.
#[inline(always)]
fn add<S: Simd, const N: usize>(simd: S, x: f32, weights: &[S::f32s], sums: &mut [S::f32s; N]) {
    let x = simd.splat_f32s(x);
    for (sum, weight) in sums.iter_mut().zip(weights) {
        *sum = simd.mul_add_e_f32s(x, *weight, *sum);
    }
}
