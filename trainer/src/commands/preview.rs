//! The image of a model that its card shows: its concepts in its space.

use std::path::Path;

use espalier_core::geometry::Space;
use espalier_core::taxonomy::Taxonomy;
use espalier_data::RankText;
use espalier_eval::{TextFeatures, embed};
use espalier_figures::figure::{Canvas, Output, Theme, save};
use espalier_figures::plot::disk::{By, Centre, Settings, broadest, disk};
use espalier_figures::plot::draw;
use espalier_figures::plot::lineage::{items, place};
use espalier_figures::plot::subject::Subject;
use espalier_figures::plot::umap::MIN_NODES;
use espalier_io::exit::usage;

use crate::cli::Common;
use crate::export::build::PROMPTS;
use crate::export::folder::PREVIEW;

/// Fewest and most nodes in it.
const NODES: (usize, usize) = (3, 120);

/// Pixels per unit of the figure.
const SCALE: f64 = 2.0;

/// Draws the concepts of a model: in the Poincaré disk, or in other spaces a path of the tree with its
/// siblings.
///
/// # Errors
/// Bad usage for a model that cannot be read or whose tree is too small; a failing disk.
pub fn preview(
    model: &Path,
    taxonomy: &Taxonomy,
    common: &Common,
    folder: &Path,
) -> anyhow::Result<()> {
    let output = Output::new(&folder.join(PREVIEW), SCALE)?;
    let subject = Subject::open(model, &common.backend.device()?)?;
    let canvas = match subject.space {
        Space::Lorentz { curvature } => in_disk(&subject, taxonomy, curvature)?,
        _ => in_plane(&subject, taxonomy)?,
    };
    save(&canvas, &output)
}

fn in_disk(subject: &Subject, taxonomy: &Taxonomy, curvature: f64) -> anyhow::Result<Canvas> {
    let (least, most) = NODES;
    let nodes = broadest(taxonomy, most);
    if nodes.len() < least {
        return Err(usage(format!(
            "the taxonomy: expected at least {least} nodes with a label at or below them, found {}",
            nodes.len()
        )));
    }
    let encoder = TextFeatures::new(&subject.model, subject.device())?;
    let points = embed::classes(&encoder, taxonomy, &nodes, PROMPTS)?;
    let settings = Settings {
        by: By::Horopca,
        centre: Centre::Root,
        factor: None,
        seed: 0,
    };
    let name = &subject.name;
    let data = disk(name, taxonomy, (&nodes, &points), &[], curvature, settings);
    Ok(draw::disk(&data, Theme::Light))
}

/// Draws the path to the label with the most siblings on its path that can still be drawn.
fn in_plane(subject: &Subject, taxonomy: &Taxonomy) -> anyhow::Result<Canvas> {
    let (_, most) = NODES;
    let all = taxonomy.labelled().iter();
    let candidates = all.map(|label| items(taxonomy, *label, RankText::Name));
    let fitting = candidates.filter(|items| (MIN_NODES..=most).contains(&items.len()));
    let items = fitting.max_by_key(Vec::len).ok_or_else(|| {
        usage(format!(
            "the taxonomy: expected a label with {MIN_NODES} to {most} nodes on its path and among their \
             siblings, found none"
        ))
    })?;
    let texts: Vec<String> = items.iter().map(|item| item.text.clone()).collect();
    let points = subject.texts(&texts)?;
    let data = place(&subject.name, &subject.space, items, &points, 0);
    Ok(draw::lineage(&data, Theme::Light))
}
