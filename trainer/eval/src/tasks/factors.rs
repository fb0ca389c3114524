//! Which factors of a product space are activated by texts, and whether a composition is the
//! factor-wise maximum of its parts (notation 6.11).

use std::collections::BTreeMap;

use espalier_core::geometry::Space;
use espalier_io::exit::usage;

use crate::metrics::correlation::pearson;
use crate::metrics::summary::mean;
use crate::task::{Context, Task, TaskResult, named};

/// Two concepts and their composition, all prefixed with `a photo of `.
const CASES: [(&str, [&str; 3]); 4] = [
    ("dog_car", ["a dog", "a car", "a dog and a car"]),
    ("boy_bicycle", ["a boy", "a bicycle", "a boy and a bicycle"]),
    (
        "sunset_ocean",
        ["a sunset", "an ocean", "a sunset over the ocean"],
    ),
    (
        "desk_coffee",
        ["a desk", "a cup of coffee", "a cup of coffee on a desk"],
    ),
];

/// Activations of factors.
pub const TASK: Task = Task {
    name: "factors",
    about: "whether a composed text is the factor-wise maximum of its parts, in product spaces",
    needs: "no data; a model whose space is a product of factors (phyclip)",
    benchmarks: &[],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let model = cx.model()?;
    let space = model.space()?;
    let Space::Product { curvatures, .. } = space else {
        return Err(usage(format!(
            "task factors: expected a model whose space is a product of factors, found method {}",
            model.model.card.method
        )));
    };
    let count = curvatures.len();
    let prompted = CASES.iter().flat_map(|(_, texts)| texts);
    let texts: Vec<String> = prompted.map(|text| format!("a photo of {text}")).collect();
    let points = model.texts(&texts)?;
    let mut metrics = BTreeMap::new();
    for (at, (name, _)) in CASES.iter().enumerate() {
        let row = |i: usize| points.row(3 * at + i);
        for (metric, value) in case_metrics(space, count, [row(0), row(1), row(2)]) {
            metrics.insert(format!("{name}_{metric}"), value);
        }
    }
    for metric in ["max_r", "first_kept", "second_kept", "max_score_gain"] {
        let end = format!("_{metric}");
        let each = metrics.iter().filter(|(name, _)| name.ends_with(&end));
        let values: Vec<f64> = each.map(|(_, value)| *value).collect();
        if !values.is_empty() {
            metrics.insert(metric.to_owned(), mean(values));
        }
    }
    Ok(TaskResult {
        n: CASES.len(),
        classes: count,
        prompts: "a photo of {}".into(),
        settings: named([("factors", count.to_string())]),
        metrics,
        ..TaskResult::default()
    })
}

/// Returns the Euclidean norm of each factor's coordinates.
fn activations(x: &[f32], factors: usize) -> Vec<f64> {
    let width = (x.len() / factors.max(1)).max(1);
    let norm = |f: &[f32]| f.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    x.chunks(width).map(norm).collect()
}

/// Returns the embedding that takes each factor from the point with the larger norm in it.
fn maximum(x: &[f32], y: &[f32], factors: usize) -> Vec<f32> {
    let width = (x.len() / factors.max(1)).max(1);
    let (a, b) = (activations(x, factors), activations(y, factors));
    let pairs = x.chunks(width).zip(y.chunks(width)).zip(a.iter().zip(&b));
    let larger = pairs.flat_map(|((x, y), (a, b))| if a >= b { x } else { y });
    larger.copied().collect()
}

fn top(values: &[f64]) -> usize {
    let larger = |best: usize, at: usize| if values[at] > values[best] { at } else { best };
    (0..values.len()).fold(0, larger)
}

/// Metrics of one case: the correlation of the composition's activations with the maximum of the
/// parts'; the activation of each part's strongest factor in the composition, as a share of that in
/// the part; the score of the composition against the factor-wise maximum minus that against the
/// better part.
fn case_metrics(
    space: &Space,
    factors: usize,
    [x, y, both]: [&[f32]; 3],
) -> BTreeMap<&'static str, f64> {
    let (a, b, c) = (
        activations(x, factors),
        activations(y, factors),
        activations(both, factors),
    );
    let max: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect();
    let kept = |part: &[f64]| {
        let strongest = top(part);
        c[strongest] / part[strongest].max(1e-12)
    };
    let better = space.score(x, both).max(space.score(y, both));
    let gain = space.score(&maximum(x, y, factors), both) - better;
    let mut found = BTreeMap::from([
        ("first_factor", top(&a) as f64),
        ("second_factor", top(&b) as f64),
        ("first_kept", kept(&a)),
        ("second_kept", kept(&b)),
        ("max_score_gain", gain),
    ]);
    found.extend(pearson(&c, &max).map(|r| ("max_r", r)));
    found
}

#[cfg(test)]
mod tests {
    use espalier_core::geometry::DistanceReduction;

    use super::*;

    #[test]
    fn a_composition_that_is_the_maximum_is_recognised() {
        let space = Space::Product {
            curvatures: vec![1.0; 3],
            join: DistanceReduction::L1,
        };
        let x = [0.9, 0.0, 0.1, 0.0, 0.2, 0.0];
        let y = [0.0, 0.1, 0.0, 0.8, 0.0, 0.1];
        let both = maximum(&x, &y, 3);
        assert_eq!(both, [0.9, 0.0, 0.0, 0.8, 0.2, 0.0]);
        let found = case_metrics(&space, 3, [&x, &y, &both]);
        assert!((found["max_r"] - 1.0).abs() < 1e-12);
        assert!((found["first_kept"] - 1.0).abs() < 1e-12);
        assert_eq!((found["first_factor"], found["second_factor"]), (0.0, 1.0));
        assert!(found["max_score_gain"] > 0.0);
    }
}
