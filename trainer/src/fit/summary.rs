//! The table at the end of a run: where each value began, where it ended, and its lowest.

use std::path::Path;

use espalier_io::disk::run_folder::METRICS;
use espalier_io::run_metrics::{RunMetrics, names};

/// Share of its chance level above which a term counts as not learned, and the values at the end of a run that it is
/// the mean of.
const CHANCE: f64 = 0.99;
const LAST: usize = 10;
/// Values that a run must have for a verdict.
const LEAST: usize = 3;

/// Measured, but no sign of how good the model is.
const MEMORY: &str = "peak_memory_mib";

/// Returns the table of a run folder; `None` if the run wrote no metrics.
pub(super) fn table(folder: &Path) -> Option<String> {
    RunMetrics::read(folder).ok().map(|run| of_run(&run))
}

/// Warns if a term of a run ends at the value of an untrained model, `level`, or above: nothing was learned. `path` is the run's
/// folder, or a checkpoint in it.
pub fn at_chance(path: &Path, (term, level): (&str, f64)) -> Option<String> {
    let mut folders = path.ancestors();
    let folder = folders.find(|folder| folder.join(METRICS).is_file())?;
    let run = RunMetrics::read(folder).ok()?;
    let points = &run.series.get(term)?.training;
    let last = &points[points.len().saturating_sub(LAST)..];
    let mean = last.iter().map(|[_, value]| value).sum::<f64>() / last.len().max(1) as f64;
    (last.len() >= LEAST && mean >= CHANCE * level).then(|| {
        format!(
            "warning: {term} ends at {mean:.4}, and an untrained model has {level:.4}: this model cannot tell \
             the samples of a batch apart. It needs more steps, another learning rate, or a trained encoder to start \
             from (--init static/models/default --lock-image)"
        )
    })
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
        out.push_str(&format!(
            "\n{name:width$} {:>11} {:>11} {:>11} {at:>8}",
            number(*first),
            number(*last),
            number(*lowest),
        ));
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
mod tests {
    use super::*;

    #[test]
    fn a_run_that_learned_nothing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let run = |last: f64| {
            let line = |(step, value): (u64, f64)| {
                format!("{{\"step\":{step},\"contrastive\":{value}}}\n")
            };
            let lines: String = [(1, 2.9), (20, last), (30, last)].map(line).concat();
            std::fs::write(folder.path().join(METRICS), lines).unwrap();
            at_chance(folder.path(), ("contrastive", 2.7726))
        };
        assert!(run(2.7729).unwrap().contains("ends at 2.8153"));
        assert_eq!(run(1.5), None);
        assert_eq!(at_chance(folder.path(), ("entail", 1.0)), None);
    }

    #[test]
    fn a_value_has_its_first_last_and_lowest_number() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(table(folder.path()), None);
        let lines = "{\"step\":10,\"loss\":3.5,\"lr\":0.0001,\"samples\":320}\n\
                     {\"step\":20,\"loss\":1.25,\"lr\":0.001,\"val_loss\":2.0}\n\
                     {\"step\":30,\"loss\":1.5,\"lr\":0.0,\"val_loss\":1.0}\n";
        std::fs::write(folder.path().join(METRICS), lines).unwrap();
        let table = table(folder.path()).unwrap();
        let rows = table.lines().map(|row| row.split_whitespace().collect());
        let rows: Vec<Vec<&str>> = rows.collect();
        assert_eq!(rows[1], ["loss", "3.5000", "1.5000", "1.2500", "20"]);
        assert_eq!(rows[2], ["val_loss", "2.0000", "1.0000", "1.0000", "30"]);
        assert_eq!(rows[3], ["lr", "1.000e-4", "0.0000", "0.0000", "30"]);
        assert_eq!(rows.len(), 4);
    }
}
