//! Distances of images, texts and their parts from the root (notation 6.11).

use espalier_core::geometry::Space;
use espalier_eval::metrics::summary::quantile;
use serde::Serialize;

use super::histogram::{edges, percents, smooth};
use super::photo_parts::PhotoParts;

/// The measured quantity of a point; it differs by space, as in the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Euclidean norm of the space components, for a Lorentz model.
    SpaceNorm,
    /// Sum over the factors of the distances to the origin, for a product.
    SummedDistance,
    /// Chord to the root, for a model on the sphere.
    Radius,
}

impl Measure {
    /// Returns the measure of a space.
    pub fn of(space: &Space) -> Self {
        match space {
            Space::Lorentz { .. } => Self::SpaceNorm,
            Space::Product { .. } => Self::SummedDistance,
            Space::Sphere { .. } => Self::Radius,
        }
    }

    /// Its name on an axis.
    pub fn words(self) -> &'static str {
        match self {
            Self::SpaceNorm => "norm of the space components",
            Self::SummedDistance => "distance to the root, summed over factors",
            Self::Radius => "distance to the root",
        }
    }

    fn value(self, space: &Space, point: &[f32]) -> f64 {
        match self {
            Self::SpaceNorm => norm(point),
            Self::SummedDistance | Self::Radius => space.radius(point),
        }
    }
}

/// Returns the Euclidean norm.
pub fn norm(x: &[f32]) -> f64 {
    let square: f64 = x.iter().map(|v| f64::from(*v).powi(2)).sum();
    square.sqrt()
}

/// Returns the factors of a point of a product, each with its negated curvature.
pub fn factors<'a>(
    curvatures: &'a [f64],
    point: &'a [f32],
) -> impl Iterator<Item = (f64, &'a [f32])> {
    let width = (point.len() / curvatures.len().max(1)).max(1);
    curvatures.iter().copied().zip(point.chunks(width))
}

/// Distances of one kind of item.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Kind of item.
    pub name: String,
    /// Number of items.
    pub n: usize,
    /// Median.
    pub median: f64,
    /// Mean.
    pub mean: f64,
    /// Percentage of the items in each bin.
    pub percents: Vec<f64>,
    /// Smooth curve over the bins: value, percentage.
    pub curve: Vec<[f64; 2]>,
}

/// Distances of one kind of item in each factor of a product.
#[derive(Clone, Debug, Serialize)]
pub struct FactorSeries {
    /// Kind of item.
    pub name: String,
    /// Tenth, fiftieth and ninetieth percentile of each factor, in the order of the factors.
    pub percentiles: Vec<[f64; 3]>,
}

/// Data of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Norms {
    /// Model.
    pub model: String,
    /// The measured quantity.
    pub measure: Measure,
    /// Edges of the bins.
    pub edges: Vec<f64>,
    /// Kinds of items in the data.
    pub series: Vec<Series>,
    /// Distances by factor; empty unless the space is a product.
    pub factors: Vec<FactorSeries>,
}

/// Points by kind of item; kinds without points are skipped.
fn kinds(scenes: &[PhotoParts]) -> Vec<(&'static str, Vec<&[f32]>)> {
    let boxes = || scenes.iter().flat_map(|s| &s.boxes);
    let captioned = scenes.iter().filter(|s| !s.caption.trim().is_empty());
    let all: Vec<(&str, Vec<&[f32]>)> = vec![
        ("images", scenes.iter().map(|s| &s.image[..]).collect()),
        ("texts", captioned.map(|s| &s.text[..]).collect()),
        ("box images", boxes().map(|b| &b.image[..]).collect()),
        ("box texts", boxes().map(|b| &b.text[..]).collect()),
    ];
    all.into_iter().filter(|(_, p)| !p.is_empty()).collect()
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Measures the images, captions and boxes of scenes.
pub fn norms(model: &str, space: &Space, scenes: &[PhotoParts]) -> Norms {
    let kinds = kinds(scenes);
    let measure = Measure::of(space);
    let values: Vec<Vec<f64>> = kinds
        .iter()
        .map(|(_, points)| sorted(points.iter().map(|p| measure.value(space, p))))
        .collect();
    let edges = edges(&values);
    let (low, high) = (edges[0], edges[edges.len() - 1]);
    let bin = (high - low) / (edges.len() - 1) as f64;
    let series = kinds.iter().zip(&values).map(|((name, _), v)| Series {
        name: (*name).to_owned(),
        n: v.len(),
        median: quantile(v, 0.5),
        mean: v.iter().sum::<f64>() / v.len() as f64,
        percents: percents(v, &edges),
        curve: smooth(v, bin, [0.0_f64.min(low), f64::INFINITY]),
    });
    let factors = match space {
        Space::Product { curvatures, .. } => kinds
            .iter()
            .map(|(name, points)| by_factor(name, curvatures, points))
            .collect(),
        _ => Vec::new(),
    };
    Norms {
        model: model.to_owned(),
        measure,
        series: series.collect(),
        edges,
        factors,
    }
}

fn by_factor(name: &str, curvatures: &[f64], points: &[&[f32]]) -> FactorSeries {
    let mut each = vec![Vec::with_capacity(points.len()); curvatures.len()];
    for point in points {
        for (values, (curvature, x)) in each.iter_mut().zip(factors(curvatures, point)) {
            values.push(Space::Lorentz { curvature }.radius(x));
        }
    }
    let percentiles = each.into_iter().map(|values| {
        let values = sorted(values.into_iter());
        [0.1, 0.5, 0.9].map(|share| quantile(&values, share))
    });
    FactorSeries {
        name: name.to_owned(),
        percentiles: percentiles.collect(),
    }
}

#[cfg(test)]
mod tests {
    use espalier_core::geometry::DistanceReduction;

    use super::*;

    fn scene(image: [f32; 2], text: [f32; 2]) -> PhotoParts {
        PhotoParts {
            key: String::new(),
            caption: "x".into(),
            image: image.to_vec(),
            text: text.to_vec(),
            boxes: Vec::new(),
            thumbnail: None,
        }
    }

    #[test]
    fn a_lorentz_model_is_measured_by_the_norm_of_its_space_components() {
        let scenes = [scene([3.0, 4.0], [0.6, 0.8]), scene([0.0, 2.0], [1.0, 0.0])];
        let found = norms("m", &Space::Lorentz { curvature: 2.0 }, &scenes);
        let names: Vec<&str> = found.series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["images", "texts"], "there is no box");
        assert!((found.series[0].median - 3.5).abs() < 1e-6);
        assert!((found.series[1].mean - 1.0).abs() < 1e-6);
        assert!(found.factors.is_empty());
    }

    #[test]
    fn a_product_is_measured_by_the_sum_of_its_factors_distances() {
        let space = Space::Product {
            curvatures: vec![1.0, 1.0],
            join: DistanceReduction::L1,
        };
        let scenes = [scene(
            [1.0_f32.sinh(), 2.0_f32.sinh()],
            [0.0, 3.0_f32.sinh()],
        )];
        let found = norms("m", &space, &scenes);
        assert!((found.series[0].median - 3.0).abs() < 1e-5);
        let medians: Vec<f64> = found.factors[1].percentiles.iter().map(|p| p[1]).collect();
        assert!(medians[0].abs() < 1e-6 && (medians[1] - 3.0).abs() < 1e-5);
    }
}
