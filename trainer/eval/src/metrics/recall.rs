//! Retrieval: whether a relevant item is among a query's best items (notation 6.2).

use crate::search::Ranked;

/// Recall at `k` with its number of ties.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recall {
    /// Share of queries with at least one relevant item among the first `k`, in `[0, 1]`.
    pub value: f64,
    /// Number of queries whose items of rank `k` and `k + 1` have equal scores; for them the order
    /// of the data decides.
    pub ties: u64,
}

/// Returns the recall at `k`; queries without a relevant item do not count.
///
/// `relevant` holds the relevant items of each query. `ranked` should hold at least `k + 1` items
/// per query, or ties at rank `k` are not detected.
pub fn recall_at(ranked: &Ranked, relevant: &[Vec<u32>], k: usize) -> Recall {
    let (mut hits, mut queries, mut ties) = (0_u64, 0_u64, 0_u64);
    for (query, relevant) in relevant.iter().enumerate().take(ranked.len()) {
        if relevant.is_empty() {
            continue;
        }
        queries += 1;
        let items = ranked.items(query);
        hits += u64::from(items.iter().take(k).any(|item| relevant.contains(item)));
        let scores = ranked.scores(query);
        let tied = k > 0 && scores.len() > k && scores[k - 1] == scores[k];
        ties += u64::from(tied);
    }
    Recall {
        value: hits as f64 / queries.max(1) as f64,
        ties,
    }
}

#[cfg(test)]
mod tests {
    use espalier_core::geometry::Space;

    use super::*;
    use crate::Points;
    use crate::search::top_k;

    /// Returns the ranking of items whose scores are these, the same for each query.
    fn ranked(queries: usize, scores: &[f32]) -> Ranked {
        let space = Space::Sphere { root: vec![0.0] };
        let queries = Points::new(1, vec![1.0; queries]);
        let items = Points::new(1, scores.to_vec());
        top_k(&space, &queries, &items, scores.len())
    }

    #[test]
    fn a_query_is_a_hit_if_any_of_its_items_is_among_the_first() {
        // Order 3, 1, 0, 2.
        let ranked = ranked(3, &[0.2, 0.5, 0.1, 0.9]);
        let relevant = vec![vec![3], vec![0, 2], vec![]];
        let value = |k| recall_at(&ranked, &relevant, k).value;
        assert_eq!((value(1), value(2), value(3)), (0.5, 0.5, 1.0));
    }

    #[test]
    fn ties_of_rank_k_with_a_further_item_are_counted() {
        let recall = |value, ties| Recall { value, ties };
        for scores in [&[0.5, 0.5][..], &[0.5, 0.5, 0.1]] {
            let ranked = ranked(1, scores);
            let found = [0, 1, 2, 3].map(|k| recall_at(&ranked, &[vec![1]], k));
            let known = [(0.0, 0), (0.0, 1), (1.0, 0), (1.0, 0)];
            assert_eq!(found, known.map(|(value, ties)| recall(value, ties)));
        }
    }
}
