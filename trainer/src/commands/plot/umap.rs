//! `trainer plot umap`.

use espalier_core::taxonomy::{NodeIx, Taxonomy};

use super::finish::finish;
use super::inputs;
use crate::cli::plot::UmapArgs;
use crate::exit::usage;
use crate::plot::lineage::{items, place};
use crate::plot::{draw, umap::FEWEST};

/// Maximum number of points, because the layout compares every pair of points.
const MOST: usize = 5000;

/// Maximum number of nodes that an error lists.
const NAMED: usize = 8;

/// Draws a taxonomy path and the siblings of its nodes.
pub(super) fn run(args: &UmapArgs) -> anyhow::Result<()> {
    let output = inputs::output(&args.of.figure)?;
    let subject = inputs::subject(&args.of.model, &args.of.figure)?;
    let taxonomy = inputs::taxonomy(args.taxonomy.as_ref(), None, &subject)?;
    let label = find(&taxonomy, &args.label)?;
    let items = items(&taxonomy, label, args.rank_text);
    if !(FEWEST..=MOST).contains(&items.len()) {
        return Err(usage(format!(
            "--label {}: UMAP needs {FEWEST} to {MOST} nodes, found {} on its path and beside it",
            args.label,
            items.len()
        )));
    }
    let texts: Vec<String> = items.iter().map(|i| i.text.clone()).collect();
    let points = subject.texts(&texts)?;
    let seed = args.of.figure.seed;
    let data = place(&subject.name, &subject.space, items, &points, seed);
    let canvas = draw::lineage(&data, args.of.figure.theme);
    let lineage: Vec<&str> = data
        .items
        .iter()
        .filter(|i| i.on_lineage)
        .map(|i| i.name.as_str())
        .collect();
    let siblings = data.items.len() - lineage.len();
    let summary = [lineage.join(" > "), format!("{siblings} siblings")];
    finish(&args.of.figure, &output, &canvas, &data, &summary)
}

/// Finds a node by id, or by any of its names, ignoring case.
fn find(taxonomy: &Taxonomy, wanted: &str) -> anyhow::Result<NodeIx> {
    if let Some(ix) = taxonomy.find(wanted) {
        return Ok(ix);
    }
    let lower = wanted.trim().to_lowercase();
    let nodes = taxonomy.nodes().iter().zip((0..).map(NodeIx));
    let found: Vec<NodeIx> = nodes
        .filter(|(node, _)| node.names.iter().any(|n| n.to_lowercase() == lower))
        .map(|(_, ix)| ix)
        .collect();
    let ids = |nodes: &[NodeIx]| {
        let each = nodes.iter().take(NAMED);
        let said = each.map(|ix| format!("{} ({})", taxonomy.node(*ix).id, taxonomy.name(*ix)));
        said.collect::<Vec<_>>().join(", ")
    };
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(usage(format!(
            "--label: expected the id or a name of a node of the taxonomy, found `{wanted}`; \
             examples are {}",
            ids(taxonomy.labelled())
        ))),
        several => Err(usage(format!(
            "--label {wanted}: expected one node, found several with this name; give one of the \
             ids {}",
            ids(several)
        ))),
    }
}
