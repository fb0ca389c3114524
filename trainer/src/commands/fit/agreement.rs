//! What the ranks of a run agree on before the first step.

use anyhow::Context;
use espalier_core::bundle::sha256_hex;
use espalier_io::disk::read;
use espalier_io::exit::usage;
use espalier_io::ranks::{Collective, Fact, compare};

use super::resume::values;
use crate::commands::together::agree;
use crate::config::TrainConfig;
use crate::fit::Source;

/// Keys that may differ between ranks, because they do not change what a step learns. Data at
/// another path must be the same data, whose fingerprint is compared.
const MAY_DIFFER: [&str; 7] = [
    "dataset.data",
    "dataset.data_cache",
    "dataset.data_cache_gib",
    "dataset.val_data",
    "dataset.workers",
    "train.encoder_threads",
    "train.feature_cache",
];

/// Returns what must be the same on all ranks.
pub(super) fn facts(
    config: &TrainConfig,
    backend: &str,
    sources: [Option<&Source>; 2],
) -> anyhow::Result<Vec<Fact>> {
    let program = std::env::current_exe().context("the path of this program")?;
    let program = read::bytes(&program).map_err(|e| usage(e.to_string()))?;
    let hash = &sha256_hex(&program)[..16];
    let mut facts = vec![
        Fact::new(
            "program",
            format!("version {} with the hash {hash}", env!("CARGO_PKG_VERSION")),
        ),
        Fact::new("--backend", backend),
    ];
    let described = |source: &Source| {
        let (records, hash) = (source.data.records(), source.data.fingerprint());
        format!("{records} records with the fingerprint {hash}")
    };
    let names = ["training data", "validation data"];
    for (name, source) in names.into_iter().zip(sources) {
        let value = source.map_or_else(|| "none".to_owned(), described);
        facts.push(Fact::new(name, value));
    }
    let settings = values(config)?.into_iter();
    facts.extend(settings.filter(|fact| !MAY_DIFFER.contains(&fact.name.as_str())));
    Ok(facts)
}

/// Checks that all ranks have the same facts.
///
/// # Errors
/// With the code of bad usage if they differ; rank 0 reports each difference with its rank.
pub(super) fn check_same(ranks: &dyn Collective, own: &[Fact]) -> anyhow::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_may_differ_exists() {
        let config = TrainConfig::of_pairs(&[
            "dataset.data=[\"a\"]",
            "dataset.data_cache=\"c\"",
            "train.feature_cache=\"b\"",
        ]);
        let known = values(&config.unwrap()).unwrap();
        for key in MAY_DIFFER {
            assert!(known.iter().any(|fact| fact.name == key), "{key}");
        }
    }
}
