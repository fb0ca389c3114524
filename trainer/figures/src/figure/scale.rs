//! Mapping of values to positions, and round tick values.

/// A linear map from an interval of values to an interval of positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    from: [f64; 2],
    to: [f64; 2],
}

impl Scale {
    /// Maps `from[0]` to `to[0]` and `from[1]` to `to[1]`; an empty interval is widened.
    pub fn new(from: [f64; 2], to: [f64; 2]) -> Self {
        let from = if from[0] == from[1] {
            [from[0] - 0.5, from[1] + 0.5]
        } else {
            from
        };
        Self { from, to }
    }

    /// Returns the position of a value.
    pub fn at(&self, value: f64) -> f64 {
        let share = (value - self.from[0]) / (self.from[1] - self.from[0]);
        self.to[0] + share * (self.to[1] - self.to[0])
    }

    /// Returns the positions' interval.
    pub fn range(&self) -> [f64; 2] {
        self.to
    }

    /// Returns about `count` round values within the interval, with the number of decimals they
    /// need.
    pub fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let [low, high] = self.from;
        let step = round_step((high - low) / count.max(1) as f64);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        (0..=(last - first).clamp(0.0, 1000.0) as usize)
            .map(|i| (first + i as f64) * step)
            .map(|v| (v, format!("{v:.decimals$}").replace('-', "\u{2212}")))
            .collect()
    }
}

/// Returns the smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `raw`; 2.5
/// only from 25 on, where it needs no decimal.
fn round_step(raw: f64) -> f64 {
    if !(raw.is_finite() && raw > 0.0) {
        return 1.0;
    }
    let power = 10.0_f64.powf(raw.log10().floor());
    let factors: &[f64] = if power >= 10.0 {
        &[1.0, 2.0, 2.5, 5.0, 10.0]
    } else {
        &[1.0, 2.0, 5.0, 10.0]
    };
    let found = factors.iter().find(|f| *f * power >= raw * (1.0 - 1e-9));
    found.unwrap_or(&10.0) * power
}

/// Returns the smallest and largest of the finite values; `None` if there are none.
pub fn bounds(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    values
        .into_iter()
        .filter(|v| v.is_finite())
        .fold(None, |found, v| match found {
            None => Some([v, v]),
            Some([low, high]) => Some([v.min(low), v.max(high)]),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: [f64; 2], count: usize) -> Vec<String> {
        let ticks = Scale::new(from, [0.0, 1.0]).ticks(count);
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(
            labels([0.0, 1.0], 5),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(labels([0.13, 0.48], 4), ["0.2", "0.3", "0.4"]);
        assert_eq!(labels([-3.0, 12.0], 4), ["0", "5", "10"]);
        assert_eq!(labels([-1.0, 1.0], 2), ["−1", "0", "1"]);
        assert_eq!(labels([0.0, 100.0], 4), ["0", "25", "50", "75", "100"]);
    }

    #[test]
    fn a_scale_maps_its_ends_to_its_ends_and_one_value_to_the_middle() {
        let scale = Scale::new([2.0, 4.0], [100.0, 0.0]);
        assert_eq!([2.0, 3.0, 4.0].map(|v| scale.at(v)), [100.0, 50.0, 0.0]);
        assert_eq!(Scale::new([7.0, 7.0], [0.0, 10.0]).at(7.0), 5.0);
    }
}
