//! The table at the end of a run: where each value began, where it ended, and its lowest.

use std::fmt::Write as _;
use std::path::Path;

use espalier_io::run_metrics::{RunMetrics, names};

/// Measured, but no sign of how good the model is.
const MEMORY: &str = "peak_memory_mib";

/// Returns the table of a run folder; `None` if the run wrote no metrics.
#[must_use]
pub(super) fn table(folder: &Path) -> Option<String> {
    RunMetrics::read(folder).ok().map(|run| of_run(&run))
}

fn of_run(run: &RunMetrics) -> String {
    let mut rows = Vec::new();
    for name in names(std::slice::from_ref(run)) {
        let series = &run.series[name];
        if name != MEMORY {
            rows.push((name.to_owned(), &series.training));
            rows.push((format!("val_{name}"), &series.validation));
        }
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = format!(
        "{:width$} {:>11} {:>11} {:>11} {:>8}",
        "", "first", "last", "lowest", "at step"
    );
    for (name, points) in rows {
        let lowest = points.iter().min_by(|a, b| a[1].total_cmp(&b[1]));
        let (Some([_, first]), Some([_, last]), Some([at, lowest])) =
            (points.first(), points.last(), lowest)
        else {
            continue;
        };
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\n{name:width$} {:>11} {:>11} {:>11} {at:>8}",
            number(*first),
            number(*last),
            number(*lowest),
        );
    }
    out
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && size < 1e-3 => format!("{value:.3e}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use espalier_io::disk::run_folder::METRICS;

    use super::*;

    #[test]
    fn a_value_has_its_first_last_and_lowest_number() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(table(folder.path()), None);
        let lines = "{\"step\":10,\"loss\":3.5,\"lr\":0.0001,\"samples\":320}\n\
                     {\"step\":20,\"loss\":1.25,\"lr\":0.001,\"val_loss\":2.0}\n\
                     {\"step\":30,\"loss\":1.5,\"lr\":0.0,\"val_loss\":1.0}\n";
        std::fs::write(folder.path().join(METRICS), lines).unwrap();
        let table = table(folder.path()).unwrap();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|row| row.split_whitespace().collect())
            .collect();
        assert_eq!(rows[1], ["loss", "3.5000", "1.5000", "1.2500", "20"]);
        assert_eq!(rows[2], ["val_loss", "2.0000", "1.0000", "1.0000", "30"]);
        assert_eq!(rows[3], ["lr", "1.000e-4", "0.0000", "0.0000", "30"]);
        assert_eq!(rows.len(), 4);
    }
}
