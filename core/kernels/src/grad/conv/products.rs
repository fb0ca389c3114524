//! Products of rows of channels with the weights of a kernel.

use pulp::{Arch, Simd, WithSimd};

use super::rows::Rows;
use super::taps::Link;
use crate::panel::{PANEL, PanelRow};

/// Most rows of a tile of sums in registers.
const ROWS: usize = 6;
/// Most rows of a tile of an outer product where there are 32 registers of 16 values: each further row saves loads of the
/// other factor.
const OUTER_ROWS: usize = 12;

/// Returns the number of values of a row of `channels` that is read by whole panels.
pub(super) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(PANEL)
}

/// Returns the distance of such rows: an odd number of panels, or 0. Rows at a distance of a power of two would share few sets
/// of a cache.
pub(super) fn distance(channels: usize) -> usize {
    match channels.div_ceil(PANEL) {
        0 => 0,
        panels => (panels | 1) * PANEL,
    }
}

/// Weights `[taps, depth, width]` in panels of columns.
pub(super) struct Panels {
    /// The rows of each tap, panel by panel.
    pub(super) rows: Vec<PanelRow>,
    taps: usize,
    pub(super) depth: usize,
    width: usize,
}

impl Panels {
    /// Packs the weights; `weight` gives one by its tap, row and column.
    pub(super) fn new(
        [taps, depth, width]: [usize; 3],
        weight: impl Fn(usize, usize, usize) -> f32,
    ) -> Self {
        let panels = width.div_ceil(PANEL);
        let mut rows = Vec::with_capacity(panels * taps * depth);
        for first in (0..width).step_by(PANEL) {
            for tap in 0..taps {
                for d in 0..depth {
                    let mut row = [0.0; PANEL];
                    for (column, value) in (first..width).zip(&mut row) {
                        *value = weight(tap, d, column);
                    }
                    rows.push(PanelRow(row));
                }
            }
        }
        Self {
            rows,
            taps,
            depth,
            width,
        }
    }

    fn panel(&self, panel: usize, tap: usize) -> &[PanelRow] {
        let from = (panel * self.taps + tap) * self.depth;
        &self.rows[from..from + self.depth]
    }
}

/// Adds to the row that each link leads to the product of the row that it comes from with the weights
/// of its tap.
///
/// The rows of `target` are read by whole panels.
pub(super) fn add_products<'a>(
    source: &Rows,
    weights: &Panels,
    taps: impl Iterator<Item = &'a [Link]> + Clone,
    target: &mut Rows,
) {
    Arch::new().dispatch(Products {
        source,
        weights,
        taps,
        target,
    });
}

struct Products<'a, T> {
    source: &'a Rows,
    weights: &'a Panels,
    taps: T,
    target: &'a mut Rows,
}

impl<'l, T: Iterator<Item = &'l [Link]> + Clone> WithSimd for Products<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for first in (0..self.weights.width).step_by(PANEL) {
            let used = PANEL.min(self.weights.width - first);
            for (tap, links) in self.taps.clone().enumerate() {
                let panel = self.weights.panel(first / PANEL, tap);
                let mut vector = 0;
                while vector * S::F32_LANES < used {
                    let column = first + vector * S::F32_LANES;
                    if (vector + 1) * S::F32_LANES < used {
                        strip::<S, 2>(
                            simd,
                            self.source,
                            (panel, vector),
                            links,
                            self.target,
                            column,
                        );
                        vector += 2;
                    } else {
                        strip::<S, 1>(
                            simd,
                            self.source,
                            (panel, vector),
                            links,
                            self.target,
                            column,
                        );
                        vector += 1;
                    }
                }
            }
        }
    }
}

/// Adds the products of `N` vectors of columns.
#[inline(always)]
fn strip<S: Simd, const N: usize>(
    simd: S,
    source: &Rows,
    panel: (&[PanelRow], usize),
    mut links: &[Link],
    target: &mut Rows,
    column: usize,
) {
    while !links.is_empty() {
        let count = links.len().div_ceil(links.len().div_ceil(ROWS));
        let (now, later) = links.split_at(count);
        match count {
            1 => tile::<S, 1, N>(simd, source, panel, now, target, column),
            2 => tile::<S, 2, N>(simd, source, panel, now, target, column),
            3 => tile::<S, 3, N>(simd, source, panel, now, target, column),
            4 => tile::<S, 4, N>(simd, source, panel, now, target, column),
            5 => tile::<S, 5, N>(simd, source, panel, now, target, column),
            _ => tile::<S, ROWS, N>(simd, source, panel, now, target, column),
        }
        links = later;
    }
}

#[inline(always)]
fn tile<S: Simd, const R: usize, const N: usize>(
    simd: S,
    source: &Rows,
    (panel, vector): (&[PanelRow], usize),
    links: &[Link],
    target: &mut Rows,
    column: usize,
) {
    let width = N * S::F32_LANES;
    let at = |row: usize| links[row].to * target.stride + column;
    let mut sums: [[S::f32s; N]; R] = std::array::from_fn(|row| {
        let (vectors, _) = S::as_simd_f32s(&target.values[at(row)..at(row) + width]);
        std::array::from_fn(|part| vectors[part])
    });
    // Slices of a known length need no check in the loop.
    let rows: [&[f32]; R] = std::array::from_fn(|row| {
        let from = links[row].from * source.stride;
        &source.values[from..from + panel.len()]
    });
    for (d, weights) in panel.iter().enumerate() {
        let weights = &S::as_simd_f32s(&weights.0).0[vector..vector + N];
        for (row, sums) in rows.iter().zip(&mut sums) {
            let x = simd.splat_f32s(row[d]);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = simd.mul_add_e_f32s(x, *weight, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let at = links[row].to * target.stride + column;
        let (vectors, _) = S::as_mut_simd_f32s(&mut target.values[at..at + width]);
        vectors.copy_from_slice(sums);
    }
}

/// Adds to the weights of each tap, `[taps, depth, width]`, the products of the first `depth` channels of the rows
/// that its links come from with the first `width` channels, whole panels, of those they lead to.
pub(super) fn add_outer_products<'a>(
    from: &Rows,
    to: &Rows,
    [depth, width]: [usize; 2],
    taps: impl Iterator<Item = &'a [Link]>,
    sums: &mut [f32],
) {
    Arch::new().dispatch(OuterProducts {
        from,
        to,
        depth,
        width,
        taps,
        sums,
    });
}

struct OuterProducts<'a, T> {
    from: &'a Rows,
    to: &'a Rows,
    depth: usize,
    width: usize,
    taps: T,
    sums: &'a mut [f32],
}

impl<'l, T: Iterator<Item = &'l [Link]>> WithSimd for OuterProducts<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.width;
        let sums = self.sums.chunks_exact_mut((self.depth * width).max(1));
        for (links, sums) in self.taps.zip(sums) {
            for column in (0..width).step_by(2 * S::F32_LANES) {
                let mut first = 0;
                while first < self.depth {
                    let left = self.depth - first;
                    let most = if S::F32_LANES < 16 { ROWS } else { OUTER_ROWS };
                    let count = left.div_ceil(left.div_ceil(most));
                    let of = (self.from, self.to, links, [first, column, width]);
                    match count {
                        1 => outer::<S, 1>(simd, of, sums),
                        2 => outer::<S, 2>(simd, of, sums),
                        3 => outer::<S, 3>(simd, of, sums),
                        4 => outer::<S, 4>(simd, of, sums),
                        5 => outer::<S, 5>(simd, of, sums),
                        6 => outer::<S, 6>(simd, of, sums),
                        7 => outer::<S, 7>(simd, of, sums),
                        8 => outer::<S, 8>(simd, of, sums),
                        9 => outer::<S, 9>(simd, of, sums),
                        10 => outer::<S, 10>(simd, of, sums),
                        11 => outer::<S, 11>(simd, of, sums),
                        _ => outer::<S, OUTER_ROWS>(simd, of, sums),
                    }
                    first += count;
                }
            }
        }
    }
}

/// Adds the products of `R` channels with two vectors of channels.
#[inline(always)]
fn outer<S: Simd, const R: usize>(
    simd: S,
    (from, to, links, [first, column, all_columns]): (&Rows, &Rows, &[Link], [usize; 3]),
    all: &mut [f32],
) {
    let width = 2 * S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    for link in links {
        let x = link.from * from.stride + first;
        let x = &from.values[x..x + R];
        let y = link.to * to.stride + column;
        let (y, _) = S::as_simd_f32s(&to.values[y..y + width]);
        for (x, sums) in x.iter().zip(&mut sums) {
            let x = simd.splat_f32s(*x);
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum = simd.mul_add_e_f32s(x, *y, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let at = (first + row) * all_columns + column;
        let (vectors, _) = S::as_mut_simd_f32s(&mut all[at..at + width]);
        for (all, sum) in vectors.iter_mut().zip(sums) {
            *all = simd.add_f32s(*all, *sum);
        }
    }
}
