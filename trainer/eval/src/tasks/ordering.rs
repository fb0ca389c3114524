//! Whether the radii of text chains are in order (tau_d of notation 6.4), without images.

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::geometry::Space;
use espalier_core::taxonomy::NodeIx;
use espalier_data::formats::open;
use espalier_data::formats::registry::{self, Need};
use espalier_data::records::lineage::{Lineages, NegativeKind};
use espalier_data::{Captioned, Coverage, Dataset, Hierarcaps, HierarcapsTest};
use espalier_io::exit::usage;

use super::hierarcaps::{AS_GIVEN, chains_of};
use crate::metrics::correlation::kendall_tau;
use crate::metrics::summary::mean;
use crate::task::{Context, Task, TaskResult, named};
use crate::{Points, embed};

/// Order of chains by radius.
pub const TASK: Task = Task {
    name: "ordering",
    about: "whether chains of texts lie in order of their radii: tau_d, in_order",
    needs: "HierarCaps' CSV files (training or test form), a taxonomy TSV, or labelled images whose \
     labels have chains in --taxonomy",
    benchmarks: &[],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let Chains {
        chains,
        coverage,
        rule,
    } = chains(cx)?;
    if chains.is_empty() {
        return Err(usage("--data: expected chains of texts, found none"));
    }
    let lengths: Vec<usize> = chains.iter().map(Vec::len).collect();
    let model = cx.model()?;
    let points = model.texts(&chains.concat())?;
    Ok(TaskResult {
        n: chains.len(),
        left_out: named([("broken", coverage.expected - coverage.found)]),
        coverage: Some(coverage),
        metrics: metrics(model.space()?, &points, &lengths),
        settings: named([("chain", rule)]),
        ..TaskResult::default()
    })
}

/// Returns `tau_d`, the mean of tau over chains, and the share of chains that are fully in order.
///
/// `points` holds the texts of all chains one after the other, `lengths` their numbers of texts.
fn metrics(space: &Space, points: &Points, lengths: &[usize]) -> BTreeMap<String, f64> {
    let mut radii = points.rows().map(|point| space.radius(point));
    let tau = |length: &usize| kendall_tau(&radii.by_ref().take(*length).collect::<Vec<_>>());
    let taus: Vec<f64> = lengths.iter().map(tau).collect();
    let in_order = taus.iter().filter(|tau| **tau >= 1.0).count();
    named([
        ("in_order", in_order as f64 / taus.len().max(1) as f64),
        ("tau_d", mean(taus)),
    ])
}

/// Chains of texts, each from general to specific.
struct Chains {
    chains: Vec<Vec<String>>,
    /// What their file lists, and what of it is there.
    coverage: Coverage,
    /// How the texts of a chain were chosen.
    rule: String,
}

/// Returns the rows of HierarCaps, or a chain for each label of a taxonomy: for all labels, or for
/// those of the images.
fn chains(cx: &Context<'_, '_>) -> anyhow::Result<Chains> {
    let as_given = |(chains, coverage)| Chains {
        chains,
        coverage,
        rule: AS_GIVEN.to_owned(),
    };
    let is_csv = |name: &str| name.ends_with(".csv") || name.ends_with(".csv.gz");
    let csv = cx.data.iter().all(|p| is_csv(&p.to_string_lossy()));
    if let [path] = cx.data
        && (HierarcapsTest::matches(path) || path.is_file() && Captioned::matches(path))
    {
        let (data, rule) = chains_of(cx, path)?;
        return Ok(Chains {
            chains: data.chains,
            coverage: data.rows,
            rule: rule.to_owned(),
        });
    }
    if csv {
        return rows(&Hierarcaps::open(cx.data, 0)?).map(as_given);
    }
    let (taxonomy, _) = cx.taxonomy(cx.data)?;
    let kind = NegativeKind::SameTier;
    let ids = |ix: &NodeIx| taxonomy.node(*ix).id.clone();
    let mut labels: BTreeSet<String> = taxonomy.labelled().iter().map(ids).collect();
    let tiers = cx.options.tiers;
    let lineages = Lineages::new(taxonomy, tiers, cx.options.rank_text, kind)?;
    if open::taxonomy_file(cx.data).is_none() {
        let shown = embed::labels_of(registry::open(cx.data, Need::Labels)?.as_ref());
        labels.retain(|label| shown.contains(label));
    }
    let mut coverage = Coverage::default();
    let mut chains = Vec::new();
    for label in &labels {
        let chain = match tiers {
            0 => lineages.full_path(label),
            _ => lineages.positives(label),
        };
        match chain {
            Some(chain) => {
                coverage.usable(1);
                chains.push(chain);
            }
            None => coverage.miss("label without a chain", label),
        }
    }
    let rule = match tiers {
        0 => "all nodes of the path".to_owned(),
        n => format!("{n} nodes, evenly spaced"),
    };
    Ok(Chains {
        chains,
        coverage,
        rule,
    })
}

fn rows(data: &Hierarcaps) -> anyhow::Result<(Vec<Vec<String>>, Coverage)> {
    let (mut chains, mut coverage) = (Vec::new(), Coverage::default());
    for (unit, size) in data.units().iter().enumerate() {
        let rows = data.load(unit).map_err(|b| usage(b.fault.detail))?;
        for row in 0..size.records as usize {
            match rows.read(row) {
                Ok(record) => {
                    coverage.usable(1);
                    chains.extend(record.chain.map(|chain| chain.positives));
                }
                Err(broken) => coverage.miss(broken.fault.cause.description(), &broken.key),
            }
        }
    }
    Ok((chains, coverage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_runs_over_chains() {
        let space = Space::Lorentz { curvature: 1.0 };
        let points = Points::new(1, vec![0.1, 0.2, 0.6, 0.5, 0.4]);
        let m = metrics(&space, &points, &[2, 3]);
        assert_eq!((m["tau_d"], m["in_order"]), (0.0, 0.5));
    }
}
