//! What the ranks of a run agree on before the first step.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::resume::values;
use crate::config::TrainConfig;
use crate::disk::read;
use crate::exit::{Stopped, usage};
use crate::exit_code::code;
use crate::fit::Source;
use crate::output::note;
use crate::ranks::{Collective, Fact, compare};

/// Keys that may differ between ranks, because they do not change what a step learns. Data at
/// another path must be the same data, whose fingerprint is compared.
const MAY_DIFFER: [&str; 5] = [
    "dataset.data",
    "dataset.val_data",
    "dataset.workers",
    "train.encoder_threads",
    "train.feature_cache",
];

/// Time that other ranks leave rank 0 to report an error that all of them have.
const AFTER_ROOT: Duration = Duration::from_secs(2);

/// An error of a rank, as the others learn of it.
#[derive(Serialize, Deserialize)]
struct Failure {
    code: u8,
    message: String,
}

/// Returns the value if all ranks have one. Otherwise the first rank with an error returns it, and
/// all others return an error without a message.
///
/// # Errors
/// As described.
pub(super) fn agree<T>(ranks: &dyn Collective, own: anyhow::Result<T>) -> anyhow::Result<T> {
    if ranks.world() == 1 {
        return own;
    }
    let failure = own.as_ref().err().map(|error| Failure {
        code: code(error),
        message: format!("{error:#}"),
    });
    let all = ranks.all_gather_bytes(&serde_json::to_vec(&failure)?);
    for (rank, bytes) in all.iter().enumerate() {
        let failure: Option<Failure> = serde_json::from_slice(bytes)?;
        let Some(failure) = failure else { continue };
        return match own {
            Err(error) if rank == ranks.rank() => Err(named(ranks, error)),
            _ => Err(Stopped::quietly(failure.code).into()),
        };
    }
    own
}

/// Names the rank in an error, where there are several.
fn named(ranks: &dyn Collective, error: anyhow::Error) -> anyhow::Error {
    if ranks.world() == 1 {
        return error;
    }
    Stopped {
        code: code(&error),
        message: format!("rank {}: {error:#}", ranks.rank()),
    }
    .into()
}

/// Returns what must be the same on all ranks.
///
/// # Errors
/// If the program cannot be read.
pub(super) fn facts(
    config: &TrainConfig,
    backend: &str,
    sources: [Option<&Source>; 2],
) -> anyhow::Result<Vec<Fact>> {
    let program = std::env::current_exe().context("the path of this program")?;
    let program = read::bytes(&program).map_err(|e| usage(e.to_string()))?;
    let hash: String = Sha256::digest(&program)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut facts = vec![
        Fact::new(
            "program",
            format!("version {} with the hash {hash}", env!("CARGO_PKG_VERSION")),
        ),
        Fact::new("--backend", backend),
    ];
    for (name, source) in ["training data", "validation data"]
        .into_iter()
        .zip(sources)
    {
        let value = source.map_or_else(
            || "none".to_owned(),
            |source| {
                let (records, hash) = (source.data.records(), source.data.fingerprint());
                format!("{records} records with the fingerprint {hash}")
            },
        );
        facts.push(Fact::new(name, value));
    }
    let settings = values(config)?.into_iter();
    let settings = settings.filter(|(key, _)| !MAY_DIFFER.contains(&key.as_str()));
    facts.extend(settings.map(|(key, value)| Fact::new(key, value.to_string())));
    Ok(facts)
}

/// Checks that all ranks have the same facts.
///
/// # Errors
/// Bad usage on rank 0 that lists each difference with its rank; an error without a message on the
/// others.
pub(super) fn check_same(ranks: &dyn Collective, own: &[Fact]) -> anyhow::Result<()> {
    if ranks.world() == 1 {
        return Ok(());
    }
    let all = ranks.all_gather_bytes(&serde_json::to_vec(own)?);
    let all = all.iter().map(|bytes| serde_json::from_slice(bytes));
    let differences = compare(&all.collect::<Result<Vec<Vec<Fact>>, _>>()?);
    if differences.is_empty() {
        return Ok(());
    }
    let error = usage(format!(
        "expected the same program, configuration and data on all ranks, found:\n  {}",
        differences.join("\n  ")
    ));
    let own = if ranks.is_root() { Err(error) } else { Ok(()) };
    agree(ranks, own)
}

/// Returns the number of cores for each process that may run on the same cores as this one; at
/// least 1.
pub(super) fn own_cores(ranks: &dyn Collective) -> usize {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if ranks.world() == 1 {
        return cores;
    }
    // The launcher may have bound the processes of a machine to different cores.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find(|l| l.starts_with("Cpus_allowed_list:"));
    let own = format!("{host} {}", allowed.unwrap_or_default()).into_bytes();
    let all = ranks.all_gather_bytes(&own);
    let here = all.iter().filter(|other| **other == own).count();
    (cores / here.max(1)).max(1)
}

/// Ends all ranks after an error of this one, since the others wait for it.
pub(super) fn end_all(ranks: &Rc<dyn Collective>, error: anyhow::Error) -> anyhow::Error {
    if ranks.world() == 1 {
        return error;
    }
    if !ranks.is_root() {
        // An error that all ranks have is reported once, by rank 0, which also ends this process.
        thread::sleep(AFTER_ROOT);
    }
    let message = format!("{error:#}");
    if !message.is_empty() {
        note(format_args!("error: rank {}: {message}", ranks.rank()));
    }
    ranks.abort(code(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::Single;

    #[test]
    fn a_single_process_agrees_with_itself_and_keeps_its_error() {
        assert_eq!(agree(&Single, Ok(3)).unwrap(), 3);
        let error = agree::<()>(&Single, Err(usage("no data"))).unwrap_err();
        assert_eq!((code(&error), error.to_string()), (2, "no data".to_owned()));
        assert!(own_cores(&Single) >= 1);
    }

    #[test]
    fn every_key_that_may_differ_exists() {
        let pairs = ["dataset.data=[\"a\"]", "train.feature_cache=\"b\""];
        let pairs = pairs.map(str::to_owned);
        let config = TrainConfig::resolve(None, toml::Table::new(), &pairs).unwrap();
        let known = values(&config).unwrap();
        for key in MAY_DIFFER {
            assert!(known.iter().any(|(name, _)| name == key), "{key}");
        }
    }
}
