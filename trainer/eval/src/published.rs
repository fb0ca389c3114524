//! Values reported by papers, printed next to ours.

use super::record::{Compared, Record};

/// Values copied from the papers' tables: task, benchmark, method, architecture (`*` for any, if
/// the paper does not specify it), metric, value, source.
const TABLE: &str = include_str!("published.tsv");

/// Returns the published values of a record's task, benchmark, method and architecture.
pub fn matching(record: &Record) -> Vec<Compared> {
    let Some(benchmark) = record.benchmark.as_deref() else {
        return Vec::new();
    };
    let architecture = record.architecture.as_deref().unwrap_or("none");
    let compared = |line: &str| -> Option<Compared> {
        let row: Vec<&str> = line.split('\t').collect();
        let &[task, dataset, method, of, metric, paper, source] = row.as_slice() else {
            return None;
        };
        let fits = (task, dataset, method)
            == (record.task.as_str(), benchmark, record.model.as_str())
            && (of == "*" || of == architecture);
        let (value, paper) = (*record.metrics.get(metric)?, paper.parse::<f64>().ok()?);
        fits.then(|| Compared {
            metric: metric.to_owned(),
            value,
            paper,
            gap: value - paper,
            source: source.to_owned(),
        })
    };
    TABLE.lines().skip(1).filter_map(compared).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::tasks;

    fn record(task: &str, benchmark: &str, model: &str, metric: &str) -> Record {
        Record {
            benchmark: Some(benchmark.into()),
            model: model.into(),
            architecture: Some("vit_s16_224".into()),
            task: task.into(),
            metrics: BTreeMap::from([(metric.into(), 0.8)]),
            ..Record::default()
        }
    }

    #[test]
    fn a_value_is_found_by_task_benchmark_and_model() {
        // HyCoCLIP, table 2: ViT-S/16, text retrieval on COCO, R@10 79.5.
        let metric = "text_retrieval_recall@10";
        let found = matching(&record("retrieval", "coco", "hycoclip", metric));
        assert_eq!(found.len(), 1);
        let (paper, source) = (found[0].paper, found[0].source.as_str());
        assert_eq!((paper, source), (0.795, "HyCoCLIP, table 2"));
        assert!((found[0].gap - 0.005).abs() < 1e-9);
        assert!(matching(&record("retrieval", "coco", "atmg", metric)).is_empty());
        // Macro accuracy: HyCoCLIP, table 1.
        let metric = "mean_per_class_recall";
        let found = matching(&record("zero-shot", "food101", "hycoclip", metric));
        assert_eq!(found[0].paper, 0.502);
    }

    #[test]
    fn every_line_is_complete_and_names_a_task() {
        let names: BTreeSet<&str> = tasks::ALL.iter().map(|t| t.name).collect();
        let mut seen = BTreeSet::new();
        for line in TABLE.lines().skip(1) {
            let row: Vec<&str> = line.split('\t').collect();
            assert_eq!(row.len(), 7, "{line}");
            assert!(names.contains(row[0]), "{line}");
            let value: f64 = row[5].parse().unwrap();
            let distance = ["tie", "lca"].contains(&row[4]);
            assert!(value > 0.0 && (distance || value <= 1.0), "{line}");
            assert!(seen.insert((row[..5].to_vec(), row[6])), "twice: {line}");
        }
        assert!(seen.len() > 300);
    }
}
