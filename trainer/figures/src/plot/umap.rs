//! UMAP (McInnes et al. 2018) of a few thousand points from their distances.
//!
//! Implemented here because the existing crates draw from an unseeded source and update positions
//! from several threads at once, so their figures are not reproducible. Exact neighbours and one
//! thread are fast enough for the number of points that a figure can show. The steps are those of
//! the paper and of its reference implementation with its defaults: 15 neighbours, `min_dist` 0.1,
//! spread 1, learning rate 1, 500 epochs, 5 negative samples.

use espalier_data::records::random::{Purpose, Random};

/// Number of neighbours of a point.
const NEIGHBOURS: usize = 15;

/// Minimum number of points.
pub const MIN_NODES: usize = 4;

const EPOCHS: usize = 500;
const NEGATIVES: usize = 5;
/// Number of bisection steps in the search for the width of a neighbourhood.
const SEARCH: usize = 64;
/// Largest move of a coordinate in one step.
const CLIP: f64 = 4.0;
/// Side of the square of the initial positions.
const START: f64 = 10.0;

/// `a` and `b` of `1 / (1 + a d^(2 b))`, the curve that fits
/// `exp(-(d - 0.1))` beyond `min_dist` 0.1 best, as the reference implementation finds them.
const A: f64 = 1.576_943_460_575_499_3;
const B: f64 = 0.895_060_878_123_644_8;

/// An edge of the graph: both ends and its weight.
struct Edge {
    ends: [usize; 2],
    weight: f64,
}

/// Returns the indices of the `k` nearest other points, nearest first.
fn nearest(row: &[f64], own: usize, k: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).filter(|j| *j != own).collect();
    order.sort_by(|a, b| row[*a].total_cmp(&row[*b]));
    order.truncate(k);
    order
}

/// Returns the memberships `exp(-max(0, d - rho) / sigma)` of the neighbours, `rho` the nearest
/// distance above zero, `sigma` such that they sum to `log2(k)`.
fn memberships(distances: &[f64]) -> Vec<f64> {
    let rho = distances.iter().copied().find(|d| *d > 0.0).unwrap_or(0.0);
    // The reference counts the point itself as a neighbour.
    let target = ((distances.len() + 1) as f64).log2();
    let of = |sigma: f64| {
        distances
            .iter()
            .map(move |d| (-(d - rho).max(0.0) / sigma).exp())
    };
    let (mut low, mut high, mut sigma) = (0.0, f64::INFINITY, 1.0);
    for _ in 0..SEARCH {
        match of(sigma).sum::<f64>() > target {
            true => high = sigma,
            false => low = sigma,
        }
        sigma = match high.is_finite() {
            true => (low + high) / 2.0,
            false => sigma * 2.0,
        };
    }
    let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
    of(sigma.max(1e-3 * mean).max(f64::MIN_POSITIVE)).collect()
}

/// Returns the graph of neighbourhoods, symmetrised by `a + b - a b`.
fn graph(distances: &[Vec<f64>]) -> Vec<Edge> {
    let n = distances.len();
    let k = (NEIGHBOURS - 1).min(n - 1);
    let mut one_way = vec![vec![0.0; n]; n];
    for (i, row) in distances.iter().enumerate() {
        let near = nearest(row, i, k);
        let away: Vec<f64> = near.iter().map(|j| row[*j]).collect();
        for (j, weight) in near.into_iter().zip(memberships(&away)) {
            one_way[i][j] = weight;
        }
    }
    let mut edges = Vec::new();
    for (i, row) in one_way.iter().enumerate() {
        for (j, back) in one_way[..i].iter().enumerate() {
            let (a, b) = (row[j], back[i]);
            let weight = a + b - a * b;
            if weight > 1.0 / EPOCHS as f64 {
                edges.push(Edge {
                    ends: [i, j],
                    weight,
                });
            }
        }
    }
    edges
}

/// Returns the initial positions: two eigenvectors of the graph's normalised Laplacian, scaled to a
/// square, with a little noise so that no two points coincide.
fn spectral(edges: &[Edge], n: usize, random: &mut Random) -> Vec<[f64; 2]> {
    let mut degree = vec![1e-12; n];
    for edge in edges {
        edge.ends.iter().for_each(|i| degree[*i] += edge.weight);
    }
    let mut vectors =
        [0, 1].map(|_| -> Vec<f64> { (0..n).map(|_| f64::from(random.uniform()) - 0.5).collect() });
    let trivial: Vec<f64> = degree.iter().map(|d| d.sqrt()).collect();
    for _ in 0..400 {
        for at in 0..2 {
            let from = &vectors[at];
            // I + D^(-1/2) W D^(-1/2) has the Laplacian's eigenvectors, the smoothest first.
            let mut next = from.clone();
            for Edge {
                ends: [i, j],
                weight,
            } in edges
            {
                let w = weight / (degree[*i] * degree[*j]).sqrt();
                next[*i] += w * from[*j];
                next[*j] += w * from[*i];
            }
            without(&mut next, &trivial);
            if at == 1 {
                let first = vectors[0].clone();
                without(&mut next, &first);
            }
            vectors[at] = next;
        }
    }
    let all = vectors.iter().flatten();
    let largest = all.fold(1e-12, |m: f64, v| m.max(v.abs()));
    let mut place = |vector: &Vec<f64>, i: usize| {
        let noise = 1e-3 * (f64::from(random.uniform()) - 0.5);
        START * (vector[i] / largest + noise)
    };
    let [x, y] = &vectors;
    (0..n).map(|i| [place(x, i), place(y, i)]).collect()
}

/// Removes the component along `direction` and normalises the rest.
fn without(v: &mut [f64], direction: &[f64]) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let along = dot(v, direction) / dot(direction, direction).max(1e-300);
    v.iter_mut()
        .zip(direction)
        .for_each(|(v, d)| *v -= along * d);
    let norm = dot(v, v).sqrt().max(1e-300);
    v.iter_mut().for_each(|v| *v /= norm);
}

/// Returns the positions of points in the plane, from a symmetric matrix of at least [`MIN_NODES`]
/// rows of their distances.
pub fn umap(distances: &[Vec<f64>], seed: u64) -> Vec<[f64; 2]> {
    let n = distances.len();
    if n < 2 {
        return vec![[0.0; 2]; n];
    }
    let mut random = Random::new(seed, Purpose::Figure, 1, 0);
    let edges = graph(distances);
    let mut places = spectral(&edges, n, &mut random);
    let top = edges.iter().map(|e| e.weight).fold(0.0, f64::max);
    // An edge is sampled every `top / weight` epochs.
    let mut due: Vec<f64> = edges.iter().map(|e| top / e.weight).collect();
    for epoch in 0..EPOCHS {
        let rate = 1.0 - epoch as f64 / EPOCHS as f64;
        for (edge, due) in edges.iter().zip(&mut due) {
            if *due > (epoch + 1) as f64 {
                continue;
            }
            *due += top / edge.weight;
            for [i, j] in [edge.ends, [edge.ends[1], edge.ends[0]]] {
                attract(&mut places, i, j, rate);
                for _ in 0..NEGATIVES {
                    let other = random.below(n as u32) as usize;
                    if other != i {
                        repel(&mut places, i, other, rate);
                    }
                }
            }
        }
    }
    places
}

/// Returns the vector from the second point to the first, and the square of its length.
fn between(places: &[[f64; 2]], i: usize, j: usize) -> ([f64; 2], f64) {
    let ([a, b], [c, d]) = (places[i], places[j]);
    let away = [a - c, b - d];
    (away, away[0] * away[0] + away[1] * away[1])
}

fn add(place: &mut [f64; 2], by: [f64; 2], rate: f64) {
    place.iter_mut().zip(by).for_each(|(p, b)| *p += rate * b);
}

fn attract(places: &mut [[f64; 2]], i: usize, j: usize, rate: f64) {
    let (away, d2) = between(places, i, j);
    if d2 <= 0.0 {
        return;
    }
    let pull = -2.0 * A * B * d2.powf(B - 1.0) / (1.0 + A * d2.powf(B));
    let step = away.map(|v| (pull * v).clamp(-CLIP, CLIP));
    add(&mut places[i], step, rate);
    add(&mut places[j], step, -rate);
}

fn repel(places: &mut [[f64; 2]], i: usize, j: usize, rate: f64) {
    let (away, d2) = between(places, i, j);
    let push = 2.0 * B / ((0.001 + d2) * (1.0 + A * d2.powf(B)));
    let step = away.map(|v| (push * v).clamp(-CLIP, CLIP));
    add(&mut places[i], step, rate);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns three groups of ten on a line, far from one another.
    fn groups() -> Vec<Vec<f64>> {
        let at: Vec<f64> = (0..30)
            .map(|i| 20.0 * f64::from(i / 10) + (1.7 * f64::from(i)).sin())
            .collect();
        at.iter()
            .map(|a| at.iter().map(|b| (a - b).abs()).collect())
            .collect()
    }

    #[test]
    fn groups_stay_together_and_apart() {
        let places = umap(&groups(), 0);
        let middle = |g: usize| {
            let own = &places[10 * g..10 * g + 10];
            [0, 1].map(|k| own.iter().map(|p| p[k]).sum::<f64>() / 10.0)
        };
        for (i, place) in places.iter().enumerate() {
            let away = |g: usize| {
                let m = middle(g);
                (place[0] - m[0]).hypot(place[1] - m[1])
            };
            let nearest = (0..3).min_by(|a, b| away(*a).total_cmp(&away(*b)));
            assert_eq!(nearest, Some(i / 10), "{places:?}");
        }
    }

    #[test]
    fn the_places_depend_on_the_seed_alone() {
        assert_eq!(umap(&groups(), 5), umap(&groups(), 5));
        assert_ne!(umap(&groups(), 5), umap(&groups(), 6));
    }

    #[test]
    fn memberships_sum_to_the_logarithm_of_the_neighbours() {
        let distances = [0.3, 0.5, 0.9, 1.4, 1.5, 2.2, 3.0];
        let found = memberships(&distances);
        assert!((found.iter().sum::<f64>() - 3.0).abs() < 1e-9, "log2 of 8");
        assert_eq!(found[0], 1.0);
    }

    #[test]
    fn the_curve_is_the_best_fit_to_its_target() {
        // The published a and b minimise the squared error on 300 points in [0, 3].
        let error = |a: f64, b: f64| -> f64 {
            (0..300)
                .map(|i| 3.0 * f64::from(i) / 299.0)
                .map(|d| {
                    let target = if d < 0.1 { 1.0 } else { (0.1 - d).exp() };
                    (1.0 / (1.0 + a * d.powf(2.0 * b)) - target).powi(2)
                })
                .sum()
        };
        let best = error(A, B);
        for (da, db) in [(0.02, 0.0), (-0.02, 0.0), (0.0, 0.02), (0.0, -0.02)] {
            assert!(error(A + da, B + db) > best);
        }
    }

    #[test]
    fn equal_points_are_placed_without_a_nan() {
        let places = umap(&vec![vec![0.0; 6]; 6], 0);
        assert!(places.iter().flatten().all(|v| v.is_finite()));
    }
}
