//! The factors of a product used by two concepts and by their composition (notation 6.11).

use espalier_eval::metrics::correlation::pearson;
use serde::Serialize;

use super::norms::{factors as split, norm};

/// One of the three texts.
#[derive(Clone, Debug, Serialize)]
pub struct Activation {
    /// The text.
    pub text: String,
    /// Euclidean norm of each factor.
    pub norms: Vec<f64>,
    /// The factor with the largest norm.
    pub strongest: usize,
}

/// Data of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Factors {
    /// Model.
    pub model: String,
    /// First concept, second concept, composition.
    pub texts: [Activation; 3],
    /// Factor-wise maximum of the norms of the two concepts.
    pub largest: Vec<f64>,
    /// Correlation of the composition with that maximum, in `[-1, 1]`; `None` if either is
    /// constant.
    pub correlation: Option<f64>,
    /// Mean over the factors of the difference between the composition and that maximum.
    pub mean_difference: f64,
}

fn activation(text: &str, curvatures: &[f64], point: &[f32]) -> Activation {
    let norms: Vec<f64> = split(curvatures, point).map(|(_, x)| norm(x)).collect();
    let strongest = (0..norms.len()).max_by(|a, b| norms[*a].total_cmp(&norms[*b]));
    Activation {
        text: text.to_owned(),
        strongest: strongest.unwrap_or(0),
        norms,
    }
}

/// Compares the factors of two concepts with those of their composition.
pub fn factors(model: &str, curvatures: &[f64], texts: [&str; 3], points: [&[f32]; 3]) -> Factors {
    let [a, b, both] = [0, 1, 2].map(|i| activation(texts[i], curvatures, points[i]));
    let each = a.norms.iter().zip(&b.norms);
    let largest: Vec<f64> = each.map(|(a, b)| a.max(*b)).collect();
    let differences = both.norms.iter().zip(&largest).map(|(c, m)| (c - m).abs());
    Factors {
        model: model.to_owned(),
        correlation: pearson(&both.norms, &largest),
        mean_difference: differences.sum::<f64>() / largest.len().max(1) as f64,
        texts: [a, b, both],
        largest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composition_that_is_the_larger_of_both_is_recognised() {
        let (dog, car) = (
            [3.0, 4.0, 0.1, 0.0, 0.0, 1.0],
            [0.0, 1.0, 0.0, 2.0, 0.6, 0.8],
        );
        let both = [3.0, 4.0, 0.0, 2.0, 0.0, 1.0];
        let found = factors(
            "m",
            &[1.0, 1.0, 1.0],
            ["dog", "car", "both"],
            [&dog, &car, &both],
        );
        assert_eq!(found.texts.each_ref().map(|t| t.strongest), [0, 1, 0]);
        for (found, known) in found.largest.iter().zip([5.0, 2.0, 1.0]) {
            assert!((found - known).abs() < 1e-6);
        }
        assert!((found.correlation.unwrap() - 1.0).abs() < 1e-6);
        assert!(found.mean_difference < 1e-6);
    }
}
