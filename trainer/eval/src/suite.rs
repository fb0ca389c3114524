//! The benchmarks of the papers in one folder: which are available, and how to get the others.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::task::{BenchmarkData, Task};
use super::tasks;

/// A set of tasks and benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// Everything that the papers report.
    Papers,
}

/// A task on a benchmark.
pub struct Planned {
    /// The task.
    pub task: &'static Task,
    /// The benchmark.
    pub benchmark: BenchmarkData,
    /// Path of its data, which may be absent.
    pub path: PathBuf,
}

/// Returns the tasks on benchmarks below `folder`: those whose data is available, and those whose
/// data is not.
pub fn plan(folder: &Path) -> (Vec<Planned>, Vec<Planned>) {
    let planned = |task: &'static Task| {
        task.benchmarks.iter().map(move |benchmark| Planned {
            task,
            path: folder.join(benchmark.path),
            benchmark: *benchmark,
        })
    };
    let all = tasks::ALL.iter().flat_map(planned);
    all.partition(|planned| planned.path.exists())
}

/// Lists the missing benchmarks for the user, one per line.
pub fn missing(absent: &[Planned]) -> String {
    let line = |planned: &Planned| {
        let BenchmarkData { dataset, get, .. } = planned.benchmark;
        format!("  {} on {dataset}: {get}", planned.task.name)
    };
    let lines: Vec<String> = absent.iter().map(line).collect();
    lines.join("\n")
}

/// Finds the file of a benchmark's folder that serves as the default of an option, by its name.
///
/// - `classnames.tsv`: [`super::Options::class_names`]
/// - `taxonomy.tsv` or `imagenet_isa.txt`: [`super::Options::taxonomy`]
pub fn companion_file(path: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut files = names.iter().map(|name| path.join(name));
    files.find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_benchmarks_are_planned_and_others_listed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("coco")).unwrap();
        let (available, absent) = plan(dir.path());
        assert_eq!(available.len(), 1);
        assert_eq!(
            (available[0].task.name, available[0].benchmark.dataset),
            ("retrieval", "coco")
        );
        let message = missing(&absent);
        for line in [
            "hyperlex on hyperlex: hyperlex/hyperlex-all.txt",
            "zero-shot on food101: food101/meta/test.txt",
        ] {
            assert!(message.contains(line), "{message}");
        }
        assert_eq!(message.lines().count(), absent.len());
    }
}
