//! `trainer eval`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use espalier_core::taxonomy::{NodeIx, Taxonomy};

use crate::cli::EvalArgs;
use crate::data::Grit;
use crate::eval::embed::{self, Reading};
use crate::eval::{Record, TaskName, hierarchy, zero_shot};
use crate::exit::usage;
use crate::fit::checkpoint::write_whole;
use crate::fit::run::TAXONOMY;
use crate::model_file;

/// Measure a model and print or write one object a task.
///
/// # Errors
/// Bad usage or data (exit code 2), or a failing device (1).
pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let device = args.common.backend.device()?;
    let model = model_file::open(&args.checkpoint, &device)?;
    let text = match &args.taxonomy {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|e| usage(format!("--taxonomy {}: {e}", path.display())))?,
        None => TAXONOMY.to_owned(),
    };
    let taxonomy = Taxonomy::from_tsv(&text)?;
    let data = Arc::new(Grit::open(&args.data)?);
    let reading = Reading {
        batch_size: args.batch_size,
        most: usize::MAX,
        max_broken: args.max_broken,
    };
    let found = embed::labelled(&model, data, &taxonomy, reading, &device)?;
    if found.labels.is_empty() {
        return Err(usage(format!(
            "--data: expected pictures with a label of the taxonomy; found {} without a label, {} \
             with an unknown one",
            found.unlabelled, found.unknown
        )));
    }
    let nodes = zero_shot::classes_of(&found);
    let classes = embed::classes(&model, &taxonomy, &nodes, &args.prompts, &device)?;
    let space = embed::space(&model, &device)?;
    let ranked = zero_shot::rank(&space, &found.points, &classes);
    let truth: Vec<usize> = found
        .labels
        .iter()
        .filter_map(|ix| nodes.binary_search(ix).ok())
        .collect();
    let predicted: Vec<NodeIx> = ranked.iter().map(|r| nodes[r[0]]).collect();

    let metrics = |task| match task {
        TaskName::ZeroShot => zero_shot::metrics(&ranked, &truth, nodes.len()),
        TaskName::Hierarchy => hierarchy::scores(&taxonomy, &predicted, &found.labels),
    };
    let records: Vec<Record> = args
        .task
        .iter()
        .map(|task| Record {
            dataset: args.data.iter().map(|p| p.display().to_string()).collect(),
            model: model.card.method.clone(),
            pretrained: model.file.display().to_string(),
            sha256: model.sha256.clone(),
            task: *task,
            language: "en".into(),
            prompts: args.prompts.clone(),
            backend: args.common.backend.resolve().name().into(),
            n: found.labels.len(),
            left_out: BTreeMap::from([
                ("without a label".to_owned(), found.unlabelled),
                ("label not in the taxonomy".to_owned(), found.unknown),
                ("broken".to_owned(), found.broken),
            ]),
            classes: nodes.len(),
            seed: args.seed,
            metrics: metrics(*task),
        })
        .collect();

    let mut lines = String::new();
    for record in &records {
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
    for record in &records {
        let task = serde_json::to_value(record.task)?;
        println!(
            "{} on {} pictures, {} classes, prompts {}",
            task.as_str().unwrap_or_default(),
            record.n,
            record.classes,
            record.prompts
        );
        for (name, value) in &record.metrics {
            println!("  {name:24} {value:.4}");
        }
    }
    if let Some(path) = &args.out {
        println!("written to {}", path.display());
    }
    Ok(())
}
