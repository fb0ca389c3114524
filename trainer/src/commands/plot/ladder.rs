//! `trainer plot ladder`.

use espalier_figures::figure::Thumbnail;
use espalier_figures::plot::ladder::Ladder;
use espalier_figures::plot::{draw, subject::read_photo};
use espalier_io::exit::usage;

use super::finish::finish;
use super::inputs;
use crate::cli::plot::LadderArgs;
use crate::commands::caption::{captioner, supported};

/// Draws the ladder of a photo.
pub(super) fn run(args: &LadderArgs) -> anyhow::Result<()> {
    let figure = &args.of.figure;
    let output = inputs::output(&figure.file)?;
    let device = figure.common.backend.device()?;
    let photo = read_photo(&args.photo)?;
    let (captions, taxonomy) = (args.captions.as_ref(), args.taxonomy.as_ref());
    let captioner = captioner(&args.of.model, captions, taxonomy, &device)?;
    let embedded = pollster::block_on(captioner.embed(std::slice::from_ref(&photo)))?;
    let Some(point) = embedded.first() else {
        return Err(anyhow::anyhow!("the photo was not embedded"));
    };
    let mut found = captioner.rank(point);
    // Steps that people have words for, and the stop whatever its name.
    let (tree, stop) = (captioner.untaught().taxonomy(), found.taxonomy.stop.clone());
    let is_named = |id: &str| tree.find(id).is_none_or(|ix| tree.is_nameable(ix));
    (found.taxonomy.path).retain(|step| step.id == stop || is_named(&step.id));
    let data = Ladder {
        model: captioner.info().name.clone(),
        photo: inputs::file_name(&args.photo),
        radius: captioner.space().radius(point),
        rungs: found.ladder,
        taxonomy: found.taxonomy,
    };
    if data.rungs.is_empty() {
        return Err(usage(
            "expected at least one caption of the model for this photo, found none",
        ));
    }
    let thumbnail = Thumbnail::new(data.photo.as_str(), &photo)?;
    let canvas = draw::ladder(&data, &thumbnail, figure.file.theme);
    let rung = |r: &espalier_core::caption::Rung| format!("  {:5.2}  {}", r.radius, r.text);
    let mut summary = vec![data.photo.clone()];
    summary.extend(data.rungs.iter().map(rung));
    let path = data.informative_path();
    let path: Vec<String> = path
        .iter()
        .map(|s| {
            format!(
                "{} {:.0} %{}",
                s.name,
                100.0 * s.p,
                supported(s.id == data.taxonomy.stop)
            )
        })
        .collect();
    summary.push(format!("  {}", path.join(" > ")));
    finish(figure.common.json, &output, &canvas, &data, &summary)
}
