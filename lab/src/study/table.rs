//! The tables of a study: the metrics of each method, and the differences from the first method.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;

/// Metrics that are not results of a method, such as the accuracy by chance.
const NOT_RESULTS: [&str; 1] = ["chance"];

/// Values by task and metric, then by method, one per seed.
pub(super) type Results = BTreeMap<(String, String), BTreeMap<String, Vec<f64>>>;

/// Adds the metrics of a run, one JSON object per task.
///
/// # Errors
/// Fails if a line is not a JSON object.
pub(super) fn collect(results: &mut Results, method: &str, lines: &str) -> Result<()> {
    for line in lines.lines() {
        let record: Value = serde_json::from_str(line)
            .with_context(|| format!("expected a JSON object, found `{line}`"))?;
        let task = record["task"].as_str().unwrap_or_default();
        for (metric, value) in record["metrics"].as_object().into_iter().flatten() {
            let (false, Some(value)) = (NOT_RESULTS.contains(&metric.as_str()), value.as_f64())
            else {
                continue;
            };
            let methods = results
                .entry((task.to_owned(), metric.clone()))
                .or_default();
            methods.entry(method.to_owned()).or_default().push(value);
        }
    }
    Ok(())
}

/// Returns the mean and sample standard deviation; `None` for the latter if there is only one
/// value.
fn mean_and_spread(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (
        mean,
        (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
    )
}

/// Returns a table with metrics as rows and `methods` as columns; `cell` formats a method's values.
fn grid(
    results: &Results,
    methods: &[String],
    cell: impl Fn(&BTreeMap<String, Vec<f64>>, &String) -> Option<String>,
) -> String {
    let columns = "--:|".repeat(methods.len());
    let mut table = format!(
        "| task | metric | {} |\n|---|---|{columns}\n",
        methods.join(" | ")
    );
    for ((task, metric), values) in results {
        let _ = write!(table, "| {task} | `{metric}` |");
        for method in methods {
            let text = cell(values, method).unwrap_or_else(|| "–".to_owned());
            let _ = write!(table, " {text} |");
        }
        table.push('\n');
    }
    table
}

/// Returns one row per metric, one column per method: mean ± standard deviation.
pub(super) fn values(results: &Results, methods: &[String]) -> String {
    grid(results, methods, |values, method| {
        Some(shown(values.get(method)?, 4))
    })
}

/// Returns the mean ± standard deviation with so many digits.
fn shown(values: &[f64], digits: usize) -> String {
    match mean_and_spread(values) {
        (mean, Some(spread)) => format!("{mean:.digits$} ± {spread:.digits$}"),
        (mean, None) => format!("{mean:.digits$}"),
    }
}

/// Returns one row per method, with the mean ± standard deviation of some metrics, each under its head.
pub(super) fn short(results: &Results, methods: &[String], metrics: &[(String, String)]) -> String {
    let heads: Vec<&str> = metrics.iter().map(|(_, head)| head.as_str()).collect();
    let mut table = format!(
        "| method | {} |\n|---|{}\n",
        heads.join(" | "),
        "--:|".repeat(heads.len())
    );
    for method in methods {
        let _ = write!(table, "| `{method}` |");
        for (metric, _) in metrics {
            let mut found = results.iter().filter(|((_, name), _)| name == metric);
            let values = found.find_map(|(_, values)| values.get(method));
            let text = values.map_or_else(|| "–".to_owned(), |values| shown(values, 3));
            let _ = write!(table, " {text} |");
        }
        table.push('\n');
    }
    table
}

/// Returns the difference of each method from the first one, paired by seed: mean ± standard error.
/// Seeds share their start and their data, so common variation cancels. Empty if there is nothing
/// to compare.
pub(super) fn differences(results: &Results, methods: &[String]) -> String {
    let Some((first, others)) = methods
        .split_first()
        .filter(|(_, others)| !others.is_empty())
    else {
        return String::new();
    };
    let table = grid(results, others, |values, method| {
        let pairs = values.get(method)?.iter().zip(values.get(first)?);
        let differences: Vec<f64> = pairs.map(|(value, base)| value - base).collect();
        let (mean, spread) = mean_and_spread(&differences);
        let error = spread? / (differences.len() as f64).sqrt();
        let bold = if mean.abs() > 3.0 * error { "**" } else { "" };
        Some(format!("{bold}{mean:+.4} ± {error:.4}{bold}"))
    });
    format!(
        "Less `{first}`, seed by seed: mean ± standard error; bold where the mean is more than three \
         standard errors from 0\n\n{table}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(values: &[(&str, f64)]) -> Results {
        let mut results = Results::new();
        for (method, value) in values {
            let record = serde_json::json!({
                "task": "zero-shot", "metrics": { "acc1": value, "chance": 0.005 },
            });
            collect(&mut results, method, &record.to_string()).unwrap();
        }
        results
    }

    fn methods() -> Vec<String> {
        ["clip", "meru"].map(str::to_owned).to_vec()
    }

    #[test]
    fn the_table_shows_mean_and_spread_of_the_seeds() {
        let table = values(
            &results(&[("clip", 0.1), ("meru", 0.5), ("clip", 0.3)]),
            &methods(),
        );
        assert!(
            table.ends_with("| zero-shot | `acc1` | 0.2000 ± 0.1414 | 0.5000 |\n"),
            "{table}"
        );
        assert!(!table.contains("chance"), "{table}");
    }

    #[test]
    fn differences_are_taken_seed_by_seed() {
        let of = |meru: [f64; 2]| {
            let values = [
                ("clip", 0.1),
                ("clip", 0.3),
                ("meru", meru[0]),
                ("meru", meru[1]),
            ];
            differences(&results(&values), &methods())
        };
        // The methods' spreads are large, but the spread of their difference is small.
        let table = of([0.15, 0.37]);
        assert!(
            table.ends_with("| zero-shot | `acc1` | **+0.0600 ± 0.0100** |\n"),
            "{table}"
        );
        assert!(of([0.15, 0.29]).ends_with("| +0.0200 ± 0.0300 |\n"));
        assert_eq!(differences(&results(&[("clip", 0.1)]), &methods()[..1]), "");
    }

    #[test]
    fn the_short_table_has_a_row_for_each_method_under_heads_that_are_given() {
        let results = results(&[("clip", 0.1), ("meru", 0.5), ("clip", 0.3)]);
        let heads = [("acc1", "right"), ("tau_d", "order")].map(|(m, h)| (m.into(), h.into()));
        assert_eq!(
            short(&results, &methods(), &heads),
            "| method | right | order |\n|---|--:|--:|\n\
             | `clip` | 0.200 ± 0.141 | – |\n| `meru` | 0.500 | – |\n"
        );
    }

    #[test]
    fn a_line_that_is_not_json_is_named() {
        let error = collect(&mut Results::new(), "clip", "oops").unwrap_err();
        assert!(error.to_string().contains("`oops`"), "{error}");
    }
}
