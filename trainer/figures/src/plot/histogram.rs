//! Automatic histogram bins, and smooth curves over them (notation 6.11).

use espalier_eval::metrics::summary::quantile;

/// Maximum number of bins in a figure; more cannot be distinguished in a column.
const MOST_BINS: usize = 80;

/// Number of samples of a smooth curve.
const CURVE: usize = 160;

/// Returns the bin width for one series, NumPy's `auto`: the smaller of the Freedman-Diaconis width
/// `2 IQR n^(-1/3)` and the Sturges width `range / (log2 n + 1)`; only the latter if the former is
/// zero.
fn auto_width(sorted: &[f64]) -> f64 {
    let n = sorted.len() as f64;
    let range = quantile(sorted, 1.0) - quantile(sorted, 0.0);
    let spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
    let (diaconis, sturges) = (2.0 * spread / n.cbrt(), range / (n.log2() + 1.0));
    if diaconis > 0.0 {
        diaconis.min(sturges)
    } else {
        sturges
    }
}

/// Returns the common bin edges for several series: uses the narrowest of their automatic widths,
/// so that no series loses detail next to a broader one.
///
/// Each series must be sorted and not empty; equal values get one bin around them.
pub fn edges(series: &[Vec<f64>]) -> Vec<f64> {
    let low = series.iter().map(|s| quantile(s, 0.0));
    let low = low.fold(f64::INFINITY, f64::min);
    let high = series.iter().map(|s| quantile(s, 1.0));
    let high = high.fold(f64::NEG_INFINITY, f64::max);
    if low >= high {
        return vec![low - 0.5, low + 0.5];
    }
    let width = series.iter().map(|s| auto_width(s)).filter(|w| *w > 0.0);
    let width = width.fold(high - low, f64::min);
    let bins = (((high - low) / width).ceil() as usize).clamp(1, MOST_BINS);
    (0..=bins)
        .map(|i| low + (high - low) * i as f64 / bins as f64)
        .collect()
}

/// Returns the percentage of the values in each bin; the last bin includes its right edge.
pub fn percents(values: &[f64], edges: &[f64]) -> Vec<f64> {
    let bins = edges.len().saturating_sub(1);
    let mut out = vec![0.0; bins];
    let share = 100.0 / values.len().max(1) as f64;
    for v in values {
        let above = edges.partition_point(|e| e <= v);
        if let Some(bin) = out.get_mut(above.saturating_sub(1).min(bins.saturating_sub(1))) {
            *bin += share;
        }
    }
    out
}

/// Returns a Gaussian kernel density with Scott's bandwidth `sd n^(-1/5)`, as percentages for a bin
/// of width `bin`: positions and values, up to three bandwidths beyond the values but within the
/// bounds. Empty if all values are equal.
pub fn smooth(sorted: &[f64], bin: f64, bounds: [f64; 2]) -> Vec<[f64; 2]> {
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let variance = sorted.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let width = variance.sqrt() * n.powf(-0.2);
    if width.is_nan() || width <= 0.0 {
        return Vec::new();
    }
    let low = bounds[0].max(quantile(sorted, 0.0) - 3.0 * width);
    let high = bounds[1].min(quantile(sorted, 1.0) + 3.0 * width);
    let norm = 100.0 * bin / (n * width * std::f64::consts::TAU.sqrt());
    let at = |x: f64| {
        let kernel = |v: &f64| (-0.5 * ((x - v) / width).powi(2)).exp();
        [x, norm * sorted.iter().map(kernel).sum::<f64>()]
    };
    (0..CURVE)
        .map(|i| at(low + (high - low) * i as f64 / (CURVE - 1) as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_numpys_auto() {
        // numpy.histogram_bin_edges(range(100), 'auto') has 8 bins of width 12.375.
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let edges = edges(std::slice::from_ref(&values));
        assert_eq!(edges.len(), 9);
        assert!((edges[1] - 12.375).abs() < 1e-9);
        let found = percents(&values, &edges);
        assert_eq!(found[..2], [13.0, 12.0]);
        assert!((found.iter().sum::<f64>() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn the_smooth_curve_covers_a_hundred_percent() {
        let mut sorted: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7).sin()).collect();
        sorted.sort_by(f64::total_cmp);
        let curve = smooth(&sorted, 0.1, [-4.0, 4.0]);
        let step = curve[1][0] - curve[0][0];
        let area: f64 = curve.iter().map(|p| p[1] * step / 0.1).sum();
        assert!((area - 100.0).abs() < 0.1, "{area}");
    }

    #[test]
    fn equal_values_get_one_bin_and_no_curve() {
        assert_eq!(edges(&[vec![2.0, 2.0]]), [1.5, 2.5]);
        assert!(smooth(&[2.0, 2.0], 1.0, [1.5, 2.5]).is_empty());
    }
}
