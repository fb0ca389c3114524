//! `trainer plot umap`.

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_figures::plot::lineage::{items, place};
use espalier_figures::plot::{draw, umap::MIN_NODES};
use espalier_io::exit::usage;

use super::finish::finish;
use super::inputs;
use crate::cli::plot::UmapArgs;

/// Maximum number of points, because the layout compares every pair of points.
const MAX_NODES: usize = 5000;

/// Maximum number of nodes that an error lists.
const MAX_LISTED: usize = 8;

/// Draws a taxonomy path and the siblings of its nodes.
pub(super) fn run(args: &UmapArgs) -> anyhow::Result<()> {
    let figure = &args.of.figure;
    let output = inputs::output(&figure.file)?;
    let subject = inputs::subject(&args.of.model, figure)?;
    let taxonomy = inputs::taxonomy(args.taxonomy.as_ref(), None, &subject)?;
    let label = find(&taxonomy, &args.label)?;
    let items = items(&taxonomy, label, args.rank_text);
    if !(MIN_NODES..=MAX_NODES).contains(&items.len()) {
        return Err(usage(format!(
            "--label {}: expected {MIN_NODES} to {MAX_NODES} nodes on its path and among their \
             siblings, found {}",
            args.label,
            items.len()
        )));
    }
    let texts: Vec<String> = items.iter().map(|i| i.text.clone()).collect();
    let points = subject.texts(&texts)?;
    let seed = figure.seed;
    let data = place(&subject.name, &subject.space, items, &points, seed);
    let canvas = draw::lineage(&data, figure.file.theme);
    let lineage: Vec<&str> = data
        .items
        .iter()
        .filter(|i| i.on_lineage)
        .map(|i| i.name.as_str())
        .collect();
    let siblings = data.items.len() - lineage.len();
    let summary = [lineage.join(" > "), format!("{siblings} siblings")];
    finish(figure.common.json, &output, &canvas, &data, &summary)
}

/// Finds a node by id, or by any of its names, ignoring case.
fn find(taxonomy: &Taxonomy, label: &str) -> anyhow::Result<NodeIx> {
    if let Some(ix) = taxonomy.find(label) {
        return Ok(ix);
    }
    let lower = label.trim().to_lowercase();
    let nodes = taxonomy.nodes().iter().zip((0..).map(NodeIx));
    let found: Vec<NodeIx> = nodes
        .filter(|(node, _)| node.names.iter().any(|n| n.to_lowercase() == lower))
        .map(|(_, ix)| ix)
        .collect();
    let ids = |nodes: &[NodeIx]| {
        let listed = nodes.iter().take(MAX_LISTED);
        let listed = listed.map(|ix| format!("{} ({})", taxonomy.node(*ix).id, taxonomy.name(*ix)));
        listed.collect::<Vec<_>>().join(", ")
    };
    match found.as_slice() {
        [node] => Ok(*node),
        [] => Err(usage(format!(
            "--label: expected the id or a name of a node of the taxonomy, found `{label}`; \
             examples are {}",
            ids(taxonomy.labelled())
        ))),
        several => Err(usage(format!(
            "--label {label}: expected one node, found several with this name; give one of the \
             ids {}",
            ids(several)
        ))),
    }
}
