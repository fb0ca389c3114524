//! The best items of a gallery for every query, without materialising all scores.

use espalier_core::geometry::Space;
use rayon::prelude::*;

use super::coordinates::{self, Side};
use super::product;
use crate::Points;

/// Items of the gallery in one matrix product.
const BLOCK: usize = 512;
/// Maximum number of queries in one matrix product.
const TILE: usize = 1024;
/// Extra candidates per query: products are `f32`, and the order of nearly equal scores is decided
/// in `f64` afterwards.
const EXTRA: usize = 8;
/// Number of scores compared with the threshold at a time.
const LANES: usize = 32;

/// Ranked items of the gallery for each query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    k: usize,
    items: Vec<u32>,
    scores: Vec<f64>,
}

impl Ranked {
    /// Returns the number of items per query: the requested `k`, or the size of the gallery if that
    /// is smaller.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Returns the items of a query, best first; of equal scores, the earlier item first.
    pub fn items(&self, query: usize) -> &[u32] {
        &self.items[query * self.k..(query + 1) * self.k]
    }

    /// Scores of [`Ranked::items`], non-increasing.
    pub fn scores(&self, query: usize) -> &[f64] {
        &self.scores[query * self.k..(query + 1) * self.k]
    }

    /// Creates the ranking of queries with `k` items each: score and item, best first, of one or
    /// several queries in a row.
    pub(super) fn from_rows(k: usize, rows: Vec<Vec<(f64, u32)>>) -> Self {
        let (scores, items) = rows.into_iter().flatten().unzip();
        Self { k, items, scores }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.items.len().checked_div(self.k).unwrap_or(0)
    }

    /// Returns whether there is no query, or no item to rank.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The best candidates of one query so far, best first.
struct Top {
    capacity: usize,
    /// Lowest score in `best` once it is full.
    threshold: f32,
    best: Vec<(f32, u32)>,
}

impl Top {
    fn new(capacity: usize) -> Self {
        Self {
            capacity,
            threshold: f32::NEG_INFINITY,
            best: Vec::with_capacity(capacity + 1),
        }
    }

    /// Considers the scores of items `first ..`.
    fn offer(&mut self, scores: &[f32], first: u32) {
        for (lanes, at) in scores.chunks(LANES).zip((first..).step_by(LANES)) {
            // No branch per lane, so that it compiles to a few vector instructions; almost always
            // nothing passes.
            let threshold = self.threshold;
            let full = self.best.len() == self.capacity;
            if full && !lanes.iter().fold(false, |any, s| any | (*s > threshold)) {
                continue;
            }
            for (score, item) in lanes.iter().zip(at..) {
                self.consider(*score, item);
            }
        }
    }

    fn consider(&mut self, score: f32, item: u32) {
        let full = self.best.len() == self.capacity;
        if full && score <= self.threshold {
            return;
        }
        let place = self.best.partition_point(|(s, _)| *s >= score);
        self.best.insert(place, (score, item));
        self.best.truncate(self.capacity);
        if self.best.len() == self.capacity {
            self.threshold = self.best.last().map_or(f32::NEG_INFINITY, |last| last.0);
        }
    }
}

/// Returns the `k` best items of `gallery` for each of `queries` by [`Space::score`].
///
/// Memory: the gallery's coordinates once, `k` items per query and a few mebibytes per thread; both
/// sides may have any number of rows. Points must be finite.
///
/// # Shapes
/// `queries` `[q, d]`, `gallery` `[g, d]`; at most `k` items per query.
pub fn top_k(space: &Space, queries: &Points, gallery: &Points, k: usize) -> Ranked {
    let k = k.min(gallery.len());
    if k == 0 || queries.is_empty() {
        return Ranked::default();
    }
    let curvatures = coordinates::curvatures(space);
    let items = coordinates::gallery(curvatures, gallery);
    let threads = rayon::current_num_threads().max(1);
    // A few tiles per thread, to balance the load at the end.
    let tile = queries.len().div_ceil(4 * threads).clamp(1, TILE);
    let width = queries.width();
    let tiles = queries.data().par_chunks(tile * width).map(|rows| {
        let tops = candidates(curvatures, rows, width, &items, k + EXTRA);
        exact_best(space, rows, gallery, &tops, k)
    });
    Ranked::from_rows(k, tiles.collect())
}

/// Returns the indices of the largest scores in descending order, at most `most`; of equal scores,
/// the earlier first.
pub fn best(scores: &[f64], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    let by = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if most < order.len() {
        order.select_nth_unstable_by(most, by);
        order.truncate(most);
    }
    order.sort_unstable_by(by);
    order
}

/// Returns the candidates for a tile of queries, by `f32` products.
fn candidates(
    curvatures: &[f64],
    rows: &[f32],
    width: usize,
    items: &Points,
    capacity: usize,
) -> Vec<Top> {
    let mut coordinates = Vec::with_capacity(rows.len() + rows.len() / width.max(1));
    coordinates::append(curvatures, Side::Query, rows, width, &mut coordinates);
    let queries = rows.len() / width;
    let mut tops: Vec<Top> = (0..queries).map(|_| Top::new(capacity)).collect();
    let mut scores = vec![0.0; queries * BLOCK.min(items.len())];
    let mut first = 0;
    for block in items.data().chunks(BLOCK * items.width()) {
        let n = block.len() / items.width();
        let scores = &mut scores[..queries * n];
        product::dots(&coordinates, block, items.width(), scores);
        for (top, row) in tops.iter_mut().zip(scores.chunks_exact(n)) {
            top.offer(row, first);
        }
        first += n as u32;
    }
    tops
}

/// Returns the best `k` candidates of each query, ordered by scores in `f64`: score and item.
fn exact_best(
    space: &Space,
    rows: &[f32],
    gallery: &Points,
    tops: &[Top],
    k: usize,
) -> Vec<(f64, u32)> {
    let mut all = Vec::with_capacity(k * tops.len());
    for (query, top) in rows.chunks_exact(gallery.width()).zip(tops) {
        let exact = |(_, item): &(f32, u32)| {
            let score = space.score(query, gallery.row(*item as usize));
            (score, *item)
        };
        let mut exact: Vec<(f64, u32)> = top.best.iter().map(exact).collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.extend_from_slice(&exact[..k]);
    }
    all
}

#[cfg(test)]
mod tests {
    use espalier_core::geometry::DistanceReduction;
    use proptest::prelude::*;

    use super::*;

    /// Returns reproducible points.
    fn cloud(n: usize, width: usize, seed: f32) -> Points {
        let wave = |i: usize| (seed + i as f32 * 12.9898).sin() * 43.7585;
        let data = (0..n * width).map(|i| wave(i) - wave(i).floor() - 0.5);
        Points::new(width, data.collect())
    }

    /// Returns the reference ranking, by sorting all scores in `f64`.
    fn brute_force(space: &Space, queries: &Points, gallery: &Points, k: usize) -> Vec<Vec<u32>> {
        let best = |query: &[f32]| {
            let scores: Vec<f64> = gallery.rows().map(|g| space.score(query, g)).collect();
            let mut order: Vec<u32> = (0..gallery.len() as u32).collect();
            order.sort_by(|a, b| {
                let (x, y) = (scores[*a as usize], scores[*b as usize]);
                y.total_cmp(&x).then(a.cmp(b))
            });
            order.truncate(k);
            order
        };
        queries.rows().map(best).collect()
    }

    fn spaces() -> [Space; 3] {
        [
            Space::Sphere { root: vec![0.0; 8] },
            Space::Lorentz { curvature: 0.7 },
            Space::Product {
                curvatures: vec![0.5, 1.0, 2.0, 1.5],
                join: DistanceReduction::L1,
            },
        ]
    }

    #[test]
    fn blocks_agree_with_the_full_matrix() {
        // More than one block and one tile, neither of them full at the end.
        let (queries, gallery) = (cloud(1100, 8, 0.1), cloud(1300, 8, 0.7));
        for space in spaces() {
            let ranked = top_k(&space, &queries, &gallery, 10);
            let known = brute_force(&space, &queries, &gallery, 10);
            assert_eq!(ranked.len(), 1100);
            for (query, known) in known.iter().enumerate() {
                assert_eq!(ranked.items(query), known, "query {query} in {space:?}");
            }
        }
    }

    #[test]
    fn of_equal_items_the_earlier_comes_first() {
        let space = Space::Lorentz { curvature: 1.0 };
        let gallery = Points::new(2, [0.5, 0.5].repeat(40));
        let ranked = top_k(&space, &gallery.select(&[0]), &gallery, 3);
        assert_eq!(ranked.items(0), [0, 1, 2]);
        assert_eq!(ranked.scores(0)[0], ranked.scores(0)[2]);
    }

    #[test]
    fn a_small_gallery_is_ranked_completely_and_an_empty_one_gives_nothing() {
        let space = Space::Lorentz { curvature: 1.0 };
        let ranked = top_k(&space, &cloud(3, 4, 0.3), &cloud(2, 4, 0.9), 10);
        assert_eq!((ranked.k(), ranked.len()), (2, 3));
        let none = top_k(&space, &cloud(3, 4, 0.3), &Points::default(), 10);
        assert!(none.is_empty() && none.k() == 0);
        assert!(top_k(&space, &Points::default(), &cloud(2, 4, 0.9), 1).is_empty());
    }

    #[test]
    fn the_best_are_sorted_and_ties_keep_their_order() {
        assert_eq!(best(&[0.1, 0.9, 0.5, 0.9], 3), [1, 3, 2]);
        assert_eq!(best(&[0.1, 0.9], 5), [1, 0]);
        assert!(best(&[], 3).is_empty());
    }

    proptest! {
        #[test]
        fn any_sizes_agree_with_the_whole_matrix(
            q in 1_usize..70, g in 1_usize..90, k in 1_usize..12, seed in 0.0_f32..100.0,
        ) {
            let (queries, gallery) = (cloud(q, 8, seed), cloud(g, 8, seed + 0.5));
            for space in spaces() {
                let ranked = top_k(&space, &queries, &gallery, k);
                for (query, known) in brute_force(&space, &queries, &gallery, k).iter().enumerate() {
                    prop_assert_eq!(ranked.items(query), known);
                }
            }
        }
    }
}
