//! Summary statistics of a list of numbers.

use std::collections::BTreeMap;

/// Returns the mean; 0 without any value.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let add = |(sum, count): (f64, f64), value: f64| (sum + value, count + 1.0);
    let (sum, count) = values.into_iter().fold((0.0, 0.0), add);
    sum / count.max(1.0)
}

/// Returns the quantile of sorted values, with linear interpolation; NaN without any.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// Returns the mean, standard deviation (of the population), extremes and quartiles, each named
/// with a prefix; empty for an empty list.
///
/// Quantiles interpolate linearly, as NumPy does by default.
pub fn summary(prefix: &str, values: &[f64]) -> BTreeMap<String, f64> {
    if values.is_empty() {
        return BTreeMap::new();
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = mean(sorted.iter().copied());
    let variance = mean(sorted.iter().map(|v| (v - middle).powi(2)));
    let quantile = |share| quantile(&sorted, share);
    let named = [
        ("mean", middle),
        ("std", variance.sqrt()),
        ("min", quantile(0.0)),
        ("q25", quantile(0.25)),
        ("median", quantile(0.5)),
        ("q75", quantile(0.75)),
        ("max", quantile(1.0)),
    ];
    named
        .map(|(name, value)| (format!("{prefix}_{name}"), value))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile(&values, 0.5), 2.5);
        assert_eq!(quantile(&values, 0.25), 1.75);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn four_numbers_are_summarised() {
        let s = summary("x", &[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((s["x_mean"], s["x_min"], s["x_max"]), (2.5, 1.0, 4.0));
        assert_eq!((s["x_q25"], s["x_median"], s["x_q75"]), (1.75, 2.5, 3.25));
        assert!((s["x_std"] - 1.25_f64.sqrt()).abs() < 1e-12);
        assert!(summary("x", &[]).is_empty());
    }
}
