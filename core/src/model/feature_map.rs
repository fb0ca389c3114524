//! Features of the places of an image.

/// The projected features of a grid of places, of an encoder that averages them. The feature of the
/// image is their mean.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureMap {
    /// Number of rows, from top to bottom.
    pub rows: usize,
    /// Number of columns, from left to right.
    pub columns: usize,
    /// Features `[d_embed]`, row by row.
    pub features: Vec<Vec<f32>>,
}

impl FeatureMap {
    /// Returns the feature of the image: the mean.
    #[must_use]
    pub fn mean(&self) -> Vec<f32> {
        let width = self.features.first().map_or(0, Vec::len);
        let mut sum = vec![0.0_f64; width];
        for feature in &self.features {
            let terms = sum.iter_mut().zip(feature);
            terms.for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let count = self.features.len().max(1) as f64;
        sum.into_iter().map(|x| (x / count) as f32).collect()
    }

    /// Returns the feature that the image would have without each place, in the order of
    /// [`features`](Self::features). Of a single place, it is zero.
    #[must_use]
    pub fn without_each(&self) -> Vec<Vec<f32>> {
        let mean = self.mean();
        let count = self.features.len() as f32;
        let others = (count - 1.0).max(1.0);
        let without = |feature: &Vec<f32>| {
            let pairs = mean.iter().zip(feature);
            pairs.map(|(m, x)| (m * count - x) / others).collect()
        };
        self.features.iter().map(without).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_without_a_place_is_that_of_the_others() {
        let map = FeatureMap {
            rows: 1,
            columns: 3,
            features: vec![vec![1.0, 0.0], vec![2.0, 3.0], vec![6.0, 0.0]],
        };
        assert_eq!(map.mean(), [3.0, 1.0]);
        let without = map.without_each();
        assert_eq!(without[0], [4.0, 1.5]);
        assert_eq!(without[1], [3.5, 0.0]);
        assert_eq!(without[2], [1.5, 1.5]);
    }
}
