//! `trainer plot norms`.

use espalier_figures::plot::{draw, norms::norms};

use super::finish::finish;
use super::inputs;
use crate::cli::plot::NormsArgs;

/// Default number of images.
const SAMPLES: usize = 2000;

/// Draws the distances of images, texts and boxes from the root.
pub(super) fn run(args: &NormsArgs) -> anyhow::Result<()> {
    let figure = &args.of.figure;
    let output = inputs::output(&figure.file)?;
    let subject = inputs::subject(&args.of.model, figure)?;
    let seed = figure.seed;
    let scenes = inputs::read_scenes(&subject, &args.data, SAMPLES, false, seed)?;
    let data = norms(&subject.name, &subject.space, &scenes);
    let canvas = draw::norms(&data, figure.file.theme);
    let mut summary = vec![data.measure.words().to_owned()];
    summary.extend(data.series.iter().map(|s| {
        format!(
            "  {:13} {:6} items  median {:.4}  mean {:.4}",
            s.name, s.n, s.median, s.mean
        )
    }));
    finish(figure.common.json, &output, &canvas, &data, &summary)
}
