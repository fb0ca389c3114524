//! Synthetic features for classes without photos, sampled from the weights of a classifier.
//!
//! The rows `w_c` of a linear classifier are discriminants. If the features of each class are
//! Gaussian with one covariance `S` for all classes, the best discriminants are
//! `w_c = S^-1 mu_c` up to a term shared by all classes (Fisher 1936, "The Use of Multiple
//! Measurements in Taxonomic Problems"; Hastie, Tibshirani and Friedman 2009, "The Elements of
//! Statistical Learning", eq. 4.10). Solved for the means: `mu_c = m + g S (w_c - w)`, where `m` is
//! the mean of all features, `w` is the mean of all rows, and `g = 1`. A feature is sampled as
//! `x ~ N(mu_c, n^2 S)`. `g` is `dataset.synthetic_spread`, `n` is `dataset.synthetic_noise`.

use burn::tensor::{Device, Tensor, TensorData};
use espalier_data::records::random::Random;
use espalier_eval::tensors;

use crate::config::DatasetConfig;

/// Number of rows that are multiplied at a time.
const BLOCK: usize = 4096;
/// Share of the mean variance that is added to each variance. It keeps the covariance positive
/// definite when a feature is constant.
const RIDGE: f64 = 1e-6;

/// Covariance of features, row major.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Covariance {
    width: usize,
    /// Mean of all features.
    mean: Vec<f64>,
    /// `[width, width]`
    values: Vec<f64>,
    /// Whether this is the covariance within classes; otherwise the covariance around the overall
    /// mean.
    pub(super) within: bool,
    /// Whether some feature is below 0.
    negative: bool,
}

impl Covariance {
    /// Estimates the covariance of features within their classes: the scatter around the class
    /// means divided by the number of rows minus the number of classes. If these degrees of freedom
    /// are fewer than the width of a feature, the covariance would not have full rank; the
    /// covariance of all features around their mean is then used instead.
    ///
    /// `values [rows, width]`, `classes [rows]` below `count`; at least 2 rows.
    pub(super) fn estimate(
        values: &[f32],
        width: usize,
        classes: &[usize],
        count: usize,
        device: &Device,
    ) -> anyhow::Result<Self> {
        let rows = classes.len();
        anyhow::ensure!(
            rows >= 2,
            "dataset.synthetic_features: expected features of at least 2 photos, found {rows}"
        );
        let mut mean = vec![0.0; width];
        let (mut sums, mut sizes) = (vec![0.0; count * width], vec![0_usize; count]);
        for (row, class) in values.chunks_exact(width).zip(classes) {
            sizes[*class] += 1;
            let sums = &mut sums[class * width..][..width];
            for ((value, sum), mean) in row.iter().zip(sums).zip(&mut mean) {
                *sum += f64::from(*value);
                *mean += f64::from(*value) / rows as f64;
            }
        }
        let degrees_of_freedom = rows - sizes.iter().filter(|size| **size > 0).count();
        let within = degrees_of_freedom >= width;
        let mut covariance = vec![0.0; width * width];
        let centre = |class: usize, column: usize| {
            if within {
                sums[class * width + column] / sizes[class] as f64
            } else {
                mean[column]
            }
        };
        for (rows, classes) in values.chunks(BLOCK * width).zip(classes.chunks(BLOCK)) {
            let pairs = rows.chunks_exact(width).zip(classes);
            let centred = |(row, class): (&[f32], &usize)| -> Vec<f32> {
                let columns = row.iter().enumerate();
                columns
                    .map(|(column, value)| (f64::from(*value) - centre(*class, column)) as f32)
                    .collect()
            };
            let deviations: Vec<f32> = pairs.flat_map(centred).collect();
            let deviations = tensors::matrix(deviations, width, device);
            let scatter = tensors::values(deviations.clone().transpose().matmul(deviations))?;
            for (sum, value) in covariance.iter_mut().zip(scatter) {
                *sum += f64::from(value);
            }
        }
        let divisor = if within { degrees_of_freedom } else { rows - 1 };
        let divide = |value: &mut f64| *value /= divisor as f64;
        covariance.iter_mut().for_each(divide);
        Ok(Self {
            width,
            mean,
            values: covariance,
            within,
            negative: values.iter().any(|v| *v < 0.0),
        })
    }

    /// Returns the covariance shrunk towards its diagonal by `share`.
    fn shrunk(mut self, share: f64) -> Self {
        let width = self.width;
        let variances = (0..width).map(|i| self.values[i * width + i]);
        let ridge = RIDGE * variances.sum::<f64>() / width as f64 + f64::MIN_POSITIVE;
        for (at, value) in self.values.iter_mut().enumerate() {
            if at / width == at % width {
                *value += ridge;
            } else {
                *value *= 1.0 - share;
            }
        }
        self
    }
}

/// Returns the lower triangle `L` with `L L^T = a` of a symmetric positive definite matrix
/// (Cholesky), with zeros above the diagonal; `None` where the matrix is not positive definite.
///
/// `a [n, n]` row major
fn cholesky(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for row in 0..n {
        for column in 0..=row {
            let (x, y) = (&l[row * n..][..column], &l[column * n..][..column]);
            let dot: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
            let remainder = a[row * n + column] - dot;
            l[row * n + column] = if row > column {
                remainder / l[column * n + column]
            } else if remainder > 0.0 {
                remainder.sqrt()
            } else {
                return None;
            };
        }
    }
    Some(l)
}

/// A Gaussian for each class.
pub(super) struct ClassFeatures {
    /// `[classes, width]`
    means: Tensor<2>,
    /// `n L^T`, `[width, width]`: standard normal rows times this matrix give the noise.
    noise: Tensor<2>,
    /// Whether samples are clamped at 0, as the outputs of ReLU6 are.
    non_negative: bool,
}

impl ClassFeatures {
    /// Computes the Gaussians of a classifier with `rows [classes, width]`.
    pub(super) fn new(
        covariance: Covariance,
        rows: Tensor<2>,
        settings: &DatasetConfig,
        device: &Device,
    ) -> anyhow::Result<Self> {
        let width = covariance.width;
        let covariance = covariance.shrunk(settings.synthetic_shrinkage);
        let root = cholesky(&covariance.values, width).ok_or_else(|| {
            anyhow::anyhow!(
                "the covariance of the features is not positive definite; raise \
                 dataset.synthetic_shrinkage, found {}",
                settings.synthetic_shrinkage
            )
        })?;
        let square = |values: &[f64], scale: f64| {
            let values: Vec<f32> = values.iter().map(|v| (scale * v) as f32).collect();
            tensors::matrix(values, width, device)
        };
        let mean: Vec<f32> = covariance.mean.iter().map(|v| *v as f32).collect();
        let mean = tensors::matrix(mean, width, device);
        let centred_rows = rows.clone() - rows.mean_dim(0);
        Ok(Self {
            means: mean
                + centred_rows.matmul(square(&covariance.values, settings.synthetic_spread)),
            noise: square(&root, settings.synthetic_noise).transpose(),
            non_negative: !covariance.negative,
        })
    }

    /// Samples `count` features, `[count, width]`, each of a class drawn uniformly from `classes`.
    pub(super) fn draw(&self, count: usize, classes: &[usize], random: &mut Random) -> Tensor<2> {
        let [_, width] = self.means.dims();
        let class_count = u32::try_from(classes.len()).unwrap_or(u32::MAX);
        let class_rows: Vec<i32> = (0..count)
            .filter_map(|_| classes.get(random.below(class_count) as usize))
            .map(|class| i32::try_from(*class).unwrap_or(i32::MAX))
            .collect();
        let device = self.means.device();
        let count = class_rows.len();
        let normal = tensors::matrix(normal(count * width, random), width, &device);
        let rows = Tensor::from_data(TensorData::new(class_rows, [count]), &device);
        let drawn = self.means.clone().select(0, rows) + normal.matmul(self.noise.clone());
        match self.non_negative {
            true => drawn.clamp_min(0.0),
            false => drawn,
        }
    }
}

/// Returns standard normal numbers (Box and Muller 1958).
fn normal(count: usize, random: &mut Random) -> Vec<f32> {
    let mut values = Vec::with_capacity(count + 1);
    while values.len() < count {
        let radius = (-2.0 * (1.0 - random.uniform()).ln()).sqrt();
        let (sin, cos) = (std::f32::consts::TAU * random.uniform()).sin_cos();
        values.extend([radius * cos, radius * sin]);
    }
    values.truncate(count);
    values
}

#[cfg(test)]
mod tests {
    use espalier_data::records::random::Purpose;

    use super::*;
    use crate::config::TrainConfig;

    fn random() -> Random {
        Random::new(3, Purpose::SyntheticFeatures, 0, 0)
    }

    #[test]
    fn the_cholesky_factor_times_its_transpose_is_the_matrix() {
        let a = [4.0, 2.0, 0.4, 2.0, 5.0, 1.0, 0.4, 1.0, 3.0];
        let l = cholesky(&a, 3).unwrap();
        assert_eq!((l[1], l[2], l[5]), (0.0, 0.0, 0.0));
        for (row, column) in (0..9).map(|at| (at / 3, at % 3)) {
            let dot: f64 = (0..3).map(|k| l[row * 3 + k] * l[column * 3 + k]).sum();
            assert!((dot - a[row * 3 + column]).abs() < 1e-12);
        }
        assert!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }

    #[test]
    fn the_covariance_within_classes_ignores_the_distance_between_them() {
        // Two classes at a distance of 100; the deviations within each are (1, 2) and (-1, -2).
        let values = [1.0, 2.0, -1.0, -2.0, 101.0, 102.0, 99.0, 98.0];
        let device = Device::flex();
        let estimate =
            |classes: &[usize]| Covariance::estimate(&values, 2, classes, 3, &device).unwrap();
        let within = estimate(&[0, 0, 2, 2]);
        // Scatter 4, 8, 8, 16 over 4 - 2 degrees of freedom.
        assert!(within.within && within.negative);
        for (found, known) in within.values.iter().zip([2.0, 4.0, 4.0, 8.0]) {
            assert!((found - known).abs() < 1e-4, "{:?}", within.values);
        }
        let shrunk = within.shrunk(0.5).values;
        assert!((shrunk[1] - 2.0).abs() < 1e-4 && (shrunk[0] - 2.0).abs() < 1e-4);
        // Three classes leave one degree of freedom for two numbers.
        let all = estimate(&[0, 0, 1, 2]);
        assert!(!all.within);
        let variance = all.values[0];
        assert!((variance - 10004.0 / 3.0).abs() < 0.1, "{variance}");
    }

    #[test]
    fn samples_have_the_mean_and_the_covariance_of_their_class() {
        let device = Device::flex();
        let covariance = Covariance {
            width: 2,
            mean: vec![5.0, 6.0],
            values: vec![2.0, 0.5, 0.5, 1.0],
            within: true,
            negative: true,
        };
        let rows = Tensor::<2>::from_floats([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]], &device);
        let settings = TrainConfig::of_pairs(&[
            "dataset.synthetic_shrinkage=0.0",
            "dataset.synthetic_spread=2.0",
            "dataset.synthetic_noise=0.5",
        ]);
        let settings = settings.unwrap().dataset;
        let classes = ClassFeatures::new(covariance, rows, &settings, &device).unwrap();
        let drawn = classes.draw(20_000, &[1], &mut random());
        let drawn = tensors::values(drawn).unwrap();
        let mean = |at: usize| drawn.chunks(2).map(|r| f64::from(r[at])).sum::<f64>() / 20_000.0;
        // w_1 - w = (-1, 2); twice S times that is (-2, 3).
        let (x, y) = (mean(0), mean(1));
        assert!((x - 3.0).abs() < 0.03 && (y - 9.0).abs() < 0.03, "{x} {y}");
        let product = drawn
            .chunks(2)
            .map(|r| (f64::from(r[0]) - x) * (f64::from(r[1]) - y));
        let covariance = product.sum::<f64>() / 20_000.0;
        assert!((covariance - 0.125).abs() < 0.01, "{covariance}");
        let sample = || tensors::values(classes.draw(4, &[0, 1, 2], &mut random())).unwrap();
        assert_eq!(sample(), sample());
    }
}
