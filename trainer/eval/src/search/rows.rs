//! Whole rows of scores, a few at a time, for tasks that need more than the best items of a row.

use espalier_core::geometry::Space;
use rayon::prelude::*;

use super::coordinates::{self, Side};
use super::product;
use crate::Points;

/// Number of scores that a thread holds at a time.
const MAX_SCORES: usize = 1 << 21;
/// Maximum number of queries per block.
const TILE: usize = 256;

/// Calls `visit` with each query's row of scores ([`Space::score`]) against the whole gallery, and
/// collects its results in the order of the queries.
///
/// # Shapes
/// `queries` `[q, d]`, `gallery` `[g, d]`; `visit` gets the query's index and `[g]` scores.
pub fn scores<T: Send>(
    space: &Space,
    queries: &Points,
    gallery: &Points,
    visit: impl Fn(usize, &[f32]) -> T + Sync,
) -> Vec<T> {
    blocks(coordinates::curvatures(space), queries, gallery, visit)
}

/// As [`scores`], with plain dot products of the stored coordinates.
///
/// # Shapes
/// As for [`scores`].
pub fn dots<T: Send>(
    queries: &Points,
    gallery: &Points,
    visit: impl Fn(usize, &[f32]) -> T + Sync,
) -> Vec<T> {
    blocks(&[], queries, gallery, visit)
}

fn blocks<T: Send>(
    curvatures: &[f64],
    queries: &Points,
    gallery: &Points,
    visit: impl Fn(usize, &[f32]) -> T + Sync,
) -> Vec<T> {
    if queries.is_empty() {
        return Vec::new();
    }
    let items = coordinates::gallery(curvatures, gallery);
    let n = items.len();
    let tile = (MAX_SCORES / n.max(1)).clamp(1, TILE);
    let visit_block = |(block, rows): (usize, &[f32])| -> Vec<T> {
        let count = rows.len() / queries.width();
        let mut out = vec![0.0; count * n];
        if n > 0 {
            let mut left = Vec::with_capacity(count * items.width());
            coordinates::append(curvatures, Side::Query, rows, queries.width(), &mut left);
            product::dots(&left, items.data(), items.width(), &mut out);
        }
        let row = |i: usize| visit(block * tile + i, &out[i * n..(i + 1) * n]);
        (0..count).map(row).collect()
    };
    let blocks = queries.data().par_chunks(tile * queries.width());
    let results: Vec<Vec<T>> = blocks.enumerate().map(visit_block).collect();
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_order_with_their_scores() {
        let queries = Points::new(1, (0..600).map(|i| i as f32 / 600.0).collect());
        let gallery = Points::new(1, vec![0.0, 1.0]);
        let space = Space::Lorentz { curvature: 1.0 };
        let found = scores(&space, &queries, &gallery, |at, row| (at, row.to_vec()));
        for (at, (results, row)) in found.iter().enumerate() {
            assert_eq!(at, *results);
            let known = space.score(queries.row(at), gallery.row(1));
            assert!((f64::from(row[1]) - known).abs() < 1e-6);
        }
        assert_eq!(dots(&queries, &gallery, |_, row| row[1])[300], 0.5);
    }

    #[test]
    fn an_empty_gallery_gives_empty_rows() {
        let queries = Points::new(1, vec![0.5, 0.6]);
        let rows = dots(&queries, &Points::default(), |_, row| row.len());
        assert_eq!(rows, [0, 0]);
    }
}
