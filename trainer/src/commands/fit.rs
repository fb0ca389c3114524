//! `trainer fit`.

mod agreement;
mod configuration;
mod interrupt;
mod photos;
mod resume;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use agreement::{check_same, facts};
use configuration::{configuration, separate_pairs};
use espalier_checkpoints::device::Backend;
use espalier_eval::task::value_name;
use espalier_io::disk::run_folder::{METRICS, latest};
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;
use espalier_io::output::{line, note};
use espalier_io::ranks::{self, Collective, Difference};
use espalier_io::storage;
use interrupt::Interrupts;
use photos::PhotoRun;
use serde_json::json;

use super::together::{agree, end_all, numbered_device, own_cores};
use crate::cli::FitArgs;
use crate::config::{DatasetKind, TrainConfig};
use crate::fit::report::{LOG, clock};
use crate::fit::{FitOutcome, Run, Source, check_labels, checkpoint, run};
use crate::memory::{self, MIB};
use crate::photos::classes::SHARE;
use crate::photos::plan::{PHOTOS, TAXONOMY};
pub use resume::CONFIG;
use resume::{Previous, check_changes, differences, resume_checkpoint};

/// Refuses a deterministic run on a backend that is not.
fn check_deterministic(config: &TrainConfig, backend: Backend) -> anyhow::Result<()> {
    if config.train.deterministic && backend != Backend::Flex {
        return Err(usage(format!(
            "--deterministic: expected --backend flex, found {}, whose sums depend on timing",
            backend.name()
        )));
    }
    Ok(())
}

/// Prints where the run is and its last values as JSON.
fn print_outcome(folder: &Path, outcome: FitOutcome) -> anyhow::Result<()> {
    let last: BTreeMap<String, f64> = outcome.last.into_iter().flat_map(|r| r.values).collect();
    line(json!({
        "run": folder, "checkpoint": outcome.checkpoint, "step": outcome.step,
        "interrupted": outcome.interrupted, "last": last,
    }))
}

/// A run that this process could start, before all ranks have agreed on it.
struct Prepared {
    /// The run, without its folder, and with one core.
    run: Run,
    backend: Backend,
    /// Changes of the configuration since the run that is resumed.
    changes: Vec<Difference>,
}

/// Reads the configuration and opens the data and the device. Nothing is written, so that an error
/// leaves no run folder.
fn prepare(args: &FitArgs, ranks: &Rc<dyn Collective>, is_brief: bool) -> anyhow::Result<Prepared> {
    let resume = resume_checkpoint(args)?;
    let config = configuration(args)?;
    let changes = match &resume {
        Some(_) => {
            let before = TrainConfig::resolve(None, resume::run_table(args)?, &[])?;
            differences(&before, &config)?
        }
        None => Vec::new(),
    };
    check_changes(&changes, args.resume_with_changes, ranks.is_root())?;
    if config.dataset.kind != DatasetKind::Synthetic && config.dataset.data.is_empty() {
        return Err(usage(
            "--data: expected files, folders or globs to train on, found none",
        ));
    }
    let backend = args.common.backend.resolve();
    let device = numbered_device(backend, &**ranks)?;
    check_deterministic(&config, backend)?;
    let cache = config.dataset.data_cache.as_deref();
    storage::set_cache(cache, Some(config.dataset.data_cache_gib));
    let source = Source::open(&config)?;
    check_labels(source.data.as_ref(), &source.taxonomy, &config)?;
    let run = Run {
        validation: Source::of_validation(&config)?,
        config,
        source,
        folder: PathBuf::new(),
        device,
        encoder_threads: 1,
        cores: 1,
        ranks: Rc::clone(ranks),
        resume,
        is_brief,
    };
    Ok(Prepared {
        run,
        backend,
        changes,
    })
}

/// Trains a model, or with `--dry-run` takes one step and reports the cost. Several processes that a
/// launcher started train one model together.
///
/// # Errors
/// Bad usage, configuration or data (exit code 2), or a failure while running (1);
/// [`Stopped`](espalier_io::exit::Stopped) after a signal or when nobody reads the messages any more, with
/// a checkpoint written before.
pub fn run(args: &FitArgs) -> anyhow::Result<()> {
    fit(args, SHARE, false)
}

/// As [`run()`] for photos in class folders and nothing else, of which the share `hold_out` is set aside. Prints the
/// progress without the values of training, which are in the log.
///
/// # Errors
/// As [`run()`].
pub fn run_on_photos(args: &FitArgs, hold_out: f64) -> anyhow::Result<()> {
    fit(args, hold_out, true)
}

fn fit(args: &FitArgs, hold_out: f64, is_brief: bool) -> anyhow::Result<()> {
    let args = &separate_pairs(args);
    let ranks = ranks::start()?;
    let photos = agree(
        &*ranks,
        PhotoRun::plan(args, hold_out, ranks.world(), is_brief),
    )?;
    let args = photos.as_ref().map_or(args, |photos| &photos.args);
    let prepared = prepare(args, &ranks, is_brief).inspect_err(|_| {
        if let Some(photos) = &photos {
            photos.discard();
        }
    });
    let Prepared {
        mut run,
        backend,
        changes,
    } = agree(&*ranks, prepared)?;
    if ranks.world() > 1 {
        let sources = [Some(&run.source), run.validation.as_ref()];
        let facts = facts(&run.config, backend.name(), sources);
        check_same(&*ranks, &agree(&*ranks, facts)?)?;
    }
    run.cores = own_cores(&*ranks);
    if backend == Backend::Flex {
        run.encoder_threads = run.cores;
    }
    if args.dry_run {
        return dry_run(args, &run).map_err(|e| end_all(&ranks, e));
    }
    train(args, run, &changes)
}

/// Trains to the last step or until a signal.
fn train(args: &FitArgs, mut run: Run, changes: &[Difference]) -> anyhow::Result<()> {
    let ranks = Rc::clone(&run.ranks);
    let is_resumed = args.resume.is_some();
    let name = args.name.clone().unwrap_or_else(|| {
        let kind = value_name(&run.config.dataset.kind);
        let method = run.config.train.method.name();
        run::free_name(&args.logs, format!("{kind}-{method}"))
    });
    let name = String::from_utf8(ranks.broadcast(name.into_bytes()))?;
    run.folder = args.logs.join(&name);
    // Rank 0 alone writes files.
    let begun = if ranks.is_root() {
        begin_folder(args, &name, &run, changes)
    } else {
        Ok(None)
    };
    let previous = agree(&*ranks, begun)?;
    let interrupts = Interrupts::listen();
    let folder = run.folder.clone();
    let trained = run.train(&interrupts.stop).inspect_err(|_| {
        if ranks.is_root() {
            remove_unused_folder(&folder, is_resumed);
        }
        match &previous {
            Some(previous) if latest(&folder) == run.resume => previous.restore(&folder),
            _ => {}
        }
    });
    let outcome = trained
        .map_err(|e| interrupts.explain(e))
        .map_err(|e| end_all(&ranks, e))?;
    let interrupted = outcome.interrupted;
    let printed = match args.common.json && ranks.is_root() {
        true => print_outcome(&folder, outcome),
        false => Ok(()),
    };
    // All ranks exchange their signals after rank 0 has printed, because a launcher may end rank 0
    // as soon as another rank exits. They do so even if printing failed, or the others would wait.
    let stopped = interrupted.then(|| interrupts.stopped(&*ranks));
    printed?;
    stopped.map_or(Ok(()), |stopped| Err(stopped.into()))
}

/// Creates the folder of a run, or readies that of a resumed one, and writes the configuration.
/// Returns the configuration before it was resumed with another one.
fn begin_folder(
    args: &FitArgs,
    name: &str,
    run: &Run,
    changes: &[Difference],
) -> anyhow::Result<Option<Previous>> {
    if args.resume.is_some() && run.resume.is_none() {
        run::begin_again(&args.logs.join(name))?;
    }
    let folder = run::folder(&args.logs, name, args.resume.is_some())?;
    if args.resume.is_some() && run.resume.is_none() {
        note(format_args!(
            "{}: no complete checkpoint yet; starting at step 0",
            folder.display()
        ));
    }
    // Before anything is written: they may fill the disk.
    checkpoint::remove_temporary(&folder)?;
    let previous = match &run.resume {
        Some(path) => Previous::keep(&folder, changes, checkpoint::read_state(path)?.step)?,
        None => None,
    };
    write_atomic(&folder.join(CONFIG), run.config.to_toml()?.as_bytes())?;
    Ok(previous)
}

/// Removes the folder of a run that failed before its first step, so that its name is free again.
fn remove_unused_folder(folder: &Path, resumed: bool) {
    let lines = fs::metadata(folder.join(METRICS)).map_or(0, |found| found.len());
    if resumed || lines > 0 {
        return;
    }
    // Ignore clean-up errors: the user must see the original error. The folder stays if it contains
    // other files, which belong to the user.
    let _ = fs::remove_dir_all(folder.join("tensorboard"));
    for file in [CONFIG, METRICS, LOG, PHOTOS, TAXONOMY] {
        let _ = fs::remove_file(folder.join(file));
    }
    let _ = fs::remove_dir(folder.join("checkpoints"));
    let _ = fs::remove_dir(folder);
}

fn dry_run(args: &FitArgs, run: &Run) -> anyhow::Result<()> {
    let (report, seconds, records, total) = run.dry_run()?;
    if !run.ranks.is_root() {
        return Ok(());
    }
    let train = &run.config.train;
    let method = train.method.build(&run.config.loss);
    let chance = method.chance_level(run.config.samples_of_step());
    let disk = (run.config.train.keep as u64).saturating_mul(run.config.checkpoint_bytes());
    let memory = memory::peak();
    if args.common.json {
        return line(json!({
            "records": records, "steps": total, "seconds_per_step": seconds,
            "eta_seconds": seconds * total as f64, "peak_memory_bytes": memory,
            "checkpoint_bytes_kept": disk, "chance": chance.map(|(term, value)| json!({term: value})),
            "values": report.values.iter().cloned().collect::<BTreeMap<_, _>>(),
        }));
    }
    line(format_args!("records        {records}"))?;
    line(format_args!(
        "steps          {total} of {} samples",
        run.config.samples_of_step()
    ))?;
    line(format_args!(
        "one step       {seconds:.2} s, whole run {}",
        clock(seconds * total as f64)
    ))?;
    if let Some(bytes) = memory {
        line(format_args!("peak memory    {:.0} MiB", bytes as f64 / MIB))?;
    }
    line(format_args!(
        "checkpoints    {:.0} MiB on disk",
        disk as f64 / MIB
    ))?;
    for (term, value) in &report.values {
        let at_chance = chance
            .filter(|(name, _)| name == term)
            .map_or_else(String::new, |(_, chance)| {
                format!(", at chance {chance:.4}")
            });
        line(format_args!("{term:14} {value:.4}{at_chance}"))?;
    }
    Ok(())
}
