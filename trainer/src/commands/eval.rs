//! `trainer eval`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use burn::tensor::Device;
use espalier_core::taxonomy::NodeIx;

use crate::cli::EvalArgs;
use crate::data::lineage::{Lineages, NegativeKind};
use crate::data::{Dataset, Hierarcaps, open};
use crate::eval::embed::{self, Reading};
use crate::eval::{Record, TaskName, hierarchy, ordering, zero_shot};
use crate::exit::usage;
use crate::fit::checkpoint::write_whole;
use crate::model_file::{self, Model};

/// What tasks found: number of items, of classes, items left out by reason, values.
struct Found {
    n: usize,
    classes: usize,
    left_out: BTreeMap<String, u64>,
    metrics: BTreeMap<String, f64>,
}

/// Measure a model and print or write one object a task.
///
/// # Errors
/// Bad usage or data (exit code 2), or a failing device (1).
pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let device = args.common.backend.device()?;
    let model = model_file::open(&args.checkpoint, &device)?;
    let tasks: BTreeSet<TaskName> = args.task.iter().copied().collect();
    let mut found = BTreeMap::new();
    if tasks.contains(&TaskName::ZeroShot) || tasks.contains(&TaskName::Hierarchy) {
        found.extend(pictures(args, &model, &device)?);
    }
    if tasks.contains(&TaskName::Ordering) {
        found.insert(TaskName::Ordering, chains(args, &model, &device)?);
    }
    let records: Vec<Record> = tasks
        .iter()
        .filter_map(|task| Some((task, found.remove(task)?)))
        .map(|(task, found)| Record {
            dataset: args.data.iter().map(|p| p.display().to_string()).collect(),
            model: model.card.method.clone(),
            pretrained: model.file.display().to_string(),
            sha256: model.sha256.clone(),
            task: *task,
            language: "en".into(),
            prompts: args.prompts.clone(),
            backend: args.common.backend.resolve().name().into(),
            n: found.n,
            left_out: found.left_out,
            classes: found.classes,
            seed: args.seed,
            metrics: found.metrics,
        })
        .collect();
    report(args, &records)
}

fn report(args: &EvalArgs, records: &[Record]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for record in records {
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{}", serde_json::to_string(record)?);
    }
    if let Some(path) = &args.out {
        write_whole(path, lines.as_bytes())?;
    }
    if args.common.json {
        print!("{lines}");
        return Ok(());
    }
    for record in records {
        let task = serde_json::to_value(record.task)?;
        let task = task.as_str().unwrap_or_default();
        match record.task {
            TaskName::Ordering => println!("{task} on {} chains of texts", record.n),
            _ => println!(
                "{task} on {} pictures, {} classes, prompts {}",
                record.n, record.classes, record.prompts
            ),
        }
        for (name, value) in &record.metrics {
            println!("  {name:24} {value:.4}");
        }
    }
    if let Some(path) = &args.out {
        println!("written to {}", path.display());
    }
    Ok(())
}

/// Tasks on labelled pictures.
fn pictures(
    args: &EvalArgs,
    model: &Model,
    device: &Device,
) -> anyhow::Result<Vec<(TaskName, Found)>> {
    let taxonomy = open::taxonomy(args.taxonomy.as_deref(), &args.data)?;
    let reading = Reading {
        batch_size: args.batch_size,
        most: usize::MAX,
        max_broken: args.max_broken,
    };
    let found = embed::labelled(
        model,
        open::labelled(&args.data)?,
        &taxonomy,
        reading,
        device,
    )?;
    if found.labels.is_empty() {
        return Err(usage(format!(
            "--data: expected pictures with a label of the taxonomy; found {} without a label, {} \
             with an unknown one",
            found.unlabelled, found.unknown
        )));
    }
    let nodes = zero_shot::classes_of(&found);
    let classes = embed::classes(model, &taxonomy, &nodes, &args.prompts, device)?;
    let space = embed::space(model, device)?;
    let ranked = zero_shot::rank(&space, &found.points, &classes);
    let truth: Vec<usize> = found
        .labels
        .iter()
        .filter_map(|ix| nodes.binary_search(ix).ok())
        .collect();
    let predicted: Vec<NodeIx> = ranked.iter().map(|r| nodes[r[0]]).collect();
    let of = |metrics| Found {
        n: found.labels.len(),
        classes: nodes.len(),
        left_out: BTreeMap::from([
            ("without a label".to_owned(), found.unlabelled),
            ("label not in the taxonomy".to_owned(), found.unknown),
            ("broken".to_owned(), found.broken),
        ]),
        metrics,
    };
    Ok(vec![
        (
            TaskName::ZeroShot,
            of(zero_shot::metrics(&ranked, &truth, nodes.len())),
        ),
        (
            TaskName::Hierarchy,
            of(hierarchy::scores(&taxonomy, &predicted, &found.labels)),
        ),
    ])
}

/// The order of chains of texts: rows of HierarCaps, or the labels of a taxonomy, all of them or
/// those that pictures have.
fn chains(args: &EvalArgs, model: &Model, device: &Device) -> anyhow::Result<Found> {
    let name = |p: &PathBuf| {
        p.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let csv = args.data.iter().all(|p| {
        let name = name(p);
        name.ends_with(".csv") || name.ends_with(".csv.gz")
    });
    let mut broken = 0;
    let chains: Vec<Vec<String>> = if csv {
        let data = Hierarcaps::open(&args.data, 0)?;
        let mut chains = Vec::new();
        for (unit, size) in data.units().iter().enumerate() {
            let rows = data.load(unit).map_err(|b| usage(b.fault.detail))?;
            for row in 0..size.records as usize {
                match rows.read(row) {
                    Ok(record) => chains.extend(record.chain.map(|chain| chain.positives)),
                    Err(_) => broken += 1,
                }
            }
        }
        chains
    } else {
        let taxonomy = open::taxonomy(args.taxonomy.as_deref(), &args.data)?;
        let kind = NegativeKind::SameTier;
        let lineages = Lineages::new(taxonomy, args.tiers, args.rank_text, kind)?;
        let mut labels: BTreeSet<String> = lineages.labels().into_iter().collect();
        if open::taxonomy_file(&args.data).is_none() {
            let shown = embed::labels_of(open::labelled(&args.data)?.as_ref());
            labels.retain(|label| shown.contains(label));
        }
        labels
            .iter()
            .filter_map(|label| lineages.positives(label))
            .collect()
    };
    let Some(tiers) = chains.first().map(Vec::len) else {
        return Err(usage("--data: found no chain of texts to order"));
    };
    let points = embed::texts(model, &chains.concat(), device)?;
    let space = embed::space(model, device)?;
    Ok(Found {
        n: chains.len(),
        classes: 0,
        left_out: BTreeMap::from([("broken".to_owned(), broken)]),
        metrics: ordering::metrics(&space, &points, tiers),
    })
}
