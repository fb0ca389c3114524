//! Resuming a run: its checkpoint, and what of its configuration may change.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use espalier_io::disk::read;
use espalier_io::disk::run_folder::latest;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;
use espalier_io::output::note;
use espalier_io::ranks::{self, Difference, Fact};
use toml::{Table, Value};

use crate::cli::FitArgs;
use crate::config::TrainConfig;
use crate::fit::checkpoint;

/// Name of the resolved configuration in the folder of a run.
pub const CONFIG: &str = "config.toml";

/// Keys that may change when a run is resumed, because they do not change what a step learns:
/// length, checkpoints, validation, log and speed. Data at another path must be the same data; the
/// checkpoint knows its fingerprint.
const MAY_CHANGE: [&str; 19] = [
    "dataset.data",
    "dataset.data_cache",
    "dataset.data_cache_gib",
    "dataset.max_broken",
    "dataset.val_data",
    "dataset.workers",
    "train.encoder_threads",
    "train.epochs",
    "train.feature_cache",
    "train.grad_checkpointing",
    "train.keep",
    "train.log_frequency",
    "train.num_samples",
    "train.rank_check",
    "train.rank_timeout",
    "train.report_to",
    "train.save_frequency",
    "train.steps",
    "train.val_batches",
];

/// Returns the folder of the run that `--resume` continues.
fn run_folder(args: &FitArgs) -> anyhow::Result<PathBuf> {
    let name = args.name.as_deref().ok_or_else(|| {
        usage("--resume: name the run with --name NAME (and --logs DIR if it is not in logs/)")
    })?;
    let folder = args.logs.join(name);
    if !folder.join(CONFIG).exists() {
        return Err(usage(format!(
            "--resume: expected a run with a {CONFIG}, found none at {}",
            folder.display()
        )));
    }
    Ok(folder)
}

/// Returns the checkpoint that `--resume` names; `None` without the flag, or if the run has no
/// checkpoint yet.
pub(super) fn resume_checkpoint(args: &FitArgs) -> anyhow::Result<Option<PathBuf>> {
    let Some(what) = &args.resume else {
        return Ok(None);
    };
    let folder = run_folder(args)?;
    if what != "latest" {
        let path = PathBuf::from(what);
        checkpoint::read_state(&path)?;
        return Ok(Some(path));
    }
    Ok(latest(&folder))
}

/// Returns the configuration in the folder of the run that is resumed, as it was written.
pub(super) fn run_table(args: &FitArgs) -> anyhow::Result<Table> {
    let path = run_folder(args)?.join(CONFIG);
    let place = |e: String| usage(format!("--resume: {}: {e}", path.display()));
    let text = read::text(&path).map_err(|e| place(e.to_string()))?;
    text.parse().map_err(|e| place(format!("{e}")))
}

/// Lists all values of a configuration by their key, as `block.key` or `block.table.key`.
pub(super) fn values(config: &TrainConfig) -> anyhow::Result<Vec<Fact>> {
    fn of(table: Table, prefix: &str) -> Vec<Fact> {
        let keys = |(key, value)| match value {
            Value::Table(inner) => of(inner, &format!("{prefix}{key}.")),
            value => vec![Fact::new(format!("{prefix}{key}"), value.to_string())],
        };
        table.into_iter().flat_map(keys).collect()
    }
    Ok(of(Table::try_from(config)?, ""))
}

/// Returns the values that differ, by key.
pub(super) fn differences(
    before: &TrainConfig,
    now: &TrainConfig,
) -> anyhow::Result<Vec<Difference>> {
    let mut all = ranks::differences(&values(before)?, &values(now)?);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn list(differences: &[&Difference]) -> String {
    let line =
        |d: &&Difference| format!("\n  {}: {} in the run, {} now", d.name, d.first, d.second);
    differences.iter().map(line).collect()
}

/// Refuses a changed configuration of a resumed run, unless the flag allows it; the changes are then
/// printed, if `print` is set.
///
/// # Errors
/// Bad usage that lists every change of what the run learns.
pub(super) fn check_changes(
    differences: &[Difference],
    allowed: bool,
    print: bool,
) -> anyhow::Result<()> {
    let changes: Vec<&Difference> = differences
        .iter()
        .filter(|d| !MAY_CHANGE.contains(&d.name.as_str()))
        .collect();
    if changes.is_empty() {
        return Ok(());
    }
    if allowed {
        if print {
            note(format_args!(
                "resumed with another configuration:{}",
                list(&changes)
            ));
        }
        return Ok(());
    }
    Err(usage(format!(
        "--resume: expected the configuration of the run, found other values:{}\nOmit them to \
         continue the run, give --resume-with-changes to continue it with them, or start another \
         run with another --name and --init",
        list(&changes)
    )))
}

/// The configuration of a run before it was resumed with another one.
pub(super) struct Previous {
    kept: PathBuf,
    text: String,
}

impl Previous {
    /// Keeps the configuration of a run before it is replaced, as `config_1.toml`, `config_2.toml`, …
    /// in the order of the changes. Its first lines say what changed after which step.
    pub(super) fn keep(
        folder: &Path,
        differences: &[Difference],
        step: u64,
    ) -> anyhow::Result<Option<Self>> {
        if differences.is_empty() {
            return Ok(None);
        }
        let kept = (1..)
            .map(|n| folder.join(format!("config_{n}.toml")))
            .find(|path| !path.exists())
            .unwrap_or_else(|| folder.join("config_0.toml"));
        let changes: String = differences
            .iter()
            .map(|d| format!("# {}: {} before, {} since\n", d.name, d.first, d.second))
            .collect();
        let path = folder.join(CONFIG);
        let text = read::text(&path).with_context(|| format!("reading {}", path.display()))?;
        let with_changes = format!(
            "# The configuration of this run until it was resumed after step {step} with other \
             values:\n{changes}\n{text}"
        );
        write_atomic(&kept, with_changes.as_bytes())?;
        Ok(Some(Self { kept, text }))
    }

    /// Makes the previous configuration that of the run again, because no step was taken with the
    /// new one. Errors are ignored: the user must see why the run failed.
    pub(super) fn restore(&self, folder: &Path) {
        if write_atomic(&folder.join(CONFIG), self.text.as_bytes()).is_ok() {
            let _ = fs::remove_file(&self.kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[&str]) -> TrainConfig {
        TrainConfig::of_pairs(pairs).unwrap()
    }

    #[test]
    fn every_key_that_may_change_exists() {
        let pairs = [
            "dataset.data=[\"a\"]",
            "dataset.data_cache=\"c\"",
            "train.feature_cache=\"b\"",
        ];
        let known = values(&config(&pairs)).unwrap();
        for key in MAY_CHANGE {
            assert!(known.iter().any(|fact| fact.name == key), "{key}");
        }
    }

    #[test]
    fn previous_configurations_are_numbered() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(CONFIG), "first = 1\n").unwrap();
        let changes = differences(&config(&[]), &config(&["train.seed=7"])).unwrap();
        assert!(Previous::keep(dir.path(), &[], 3).unwrap().is_none());
        Previous::keep(dir.path(), &changes, 3).unwrap();
        fs::write(dir.path().join(CONFIG), "second = 2\n").unwrap();
        let second = Previous::keep(dir.path(), &changes, 5).unwrap();
        let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        assert!(text("config_1.toml").contains("after step 3"));
        assert!(text("config_1.toml").ends_with("\nfirst = 1\n"));
        assert!(text("config_2.toml").contains("# train.seed: 0 before, 7 since"));
        assert!(text("config_2.toml").ends_with("\nsecond = 2\n"));
        fs::write(dir.path().join(CONFIG), "third = 3\n").unwrap();
        second.unwrap().restore(dir.path());
        assert_eq!(text(CONFIG), "second = 2\n");
        assert!(!dir.path().join("config_2.toml").exists());
    }
}
