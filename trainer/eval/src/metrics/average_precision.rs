//! Average precision of ranked items, as COCO's evaluation computes it.

/// Number of recall levels at which precision is sampled.
const RECALLS: usize = 101;

/// Returns the mean of the interpolated precisions at recall 0, 0.01, .., 1. The interpolated
/// precision is the highest precision at any rank that reaches the recall, 0 if none does. Items of
/// equal score keep their order.
///
/// `None` if no item is relevant.
pub fn average_precision(mut items: Vec<(f64, bool)>) -> Option<f64> {
    let relevant = items.iter().filter(|item| item.1).count();
    if relevant == 0 {
        return None;
    }
    items.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut right = 0;
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(items.len());
    for (rank, (_, is_right)) in (1..).zip(&items) {
        right += usize::from(*is_right);
        let recall = right as f64 / relevant as f64;
        points.push((recall, right as f64 / f64::from(rank)));
    }
    let mut best = 0.0_f64;
    for point in points.iter_mut().rev() {
        best = best.max(point.1);
        point.1 = best;
    }
    let precision_at = |step: usize| {
        let recall = step as f64 / (RECALLS - 1) as f64;
        let first = points.partition_point(|p| p.0 < recall);
        points.get(first).map_or(0.0, |p| p.1)
    };
    Some((0..RECALLS).map(precision_at).sum::<f64>() / RECALLS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_the_highest_at_any_later_rank() {
        let close = |items: &[(f64, bool)], known: f64| {
            let found = average_precision(items.to_vec()).unwrap_or(0.0);
            assert!((found - known).abs() < 1e-12, "{items:?}: {found}");
        };
        // Right, wrong, right: precision 1 up to recall 1/2 (51 levels), then 2/3 (50 levels).
        let known = (51.0 + 50.0 * 2.0 / 3.0) / 101.0;
        close(&[(0.9, true), (0.5, false), (0.4, true)], known);
        // Right, right, wrong, right: precision 1 up to recall 2/3 (67 levels), then 3/4 (34 levels).
        let known = (67.0 + 34.0 * 3.0 / 4.0) / 101.0;
        let items = [(0.9, true), (0.8, true), (0.5, false), (0.4, true)];
        close(&items, known);
        // Wrong, right, right: 2/3 everywhere.
        close(&[(0.1, true), (0.9, false), (0.4, true)], 2.0 / 3.0);
    }

    #[test]
    fn without_a_relevant_item_there_is_no_precision() {
        assert_eq!(average_precision(vec![(0.5, false)]), None);
        assert_eq!(average_precision(Vec::new()), None);
        assert_eq!(average_precision(vec![(0.5, true)]), Some(1.0));
    }
}
