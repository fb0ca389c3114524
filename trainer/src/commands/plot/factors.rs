//! `trainer plot factors`.

use espalier_core::geometry::Space;
use espalier_figures::plot::{draw, factors::factors};
use espalier_io::exit::usage;

use super::finish::finish;
use super::inputs;
use crate::cli::plot::FactorsArgs;

/// Draws the factors of two texts and of their composition.
pub(super) fn run(args: &FactorsArgs) -> anyhow::Result<()> {
    let figure = &args.of.figure;
    let output = inputs::output(&figure.file)?;
    let [first, second, both] = args.texts.as_slice() else {
        let found = args.texts.len();
        return Err(usage(format!(
            "TEXT: expected three texts, two concepts and their composition, found {found}"
        )));
    };
    let subject = inputs::subject(&args.of.model, figure)?;
    let Space::Product { curvatures, .. } = &subject.space else {
        return Err(usage(format!(
            "{}: expected a product model, which has factors (--method phyclip), found one of \
             method {}",
            subject.model.file.display(),
            subject.model.card.method
        )));
    };
    let points = subject.texts(&args.texts)?;
    let [a, b, c] = points.as_slice() else {
        return Err(anyhow::anyhow!(
            "expected 3 points for 3 texts, found {}",
            points.len()
        ));
    };
    let data = factors(&subject.name, curvatures, [first, second, both], [a, b, c]);
    let canvas = draw::factors(&data, figure.file.theme);
    let mut summary: Vec<String> = data
        .texts
        .iter()
        .map(|t| {
            let (factor, norm) = (t.strongest + 1, t.norms[t.strongest]);
            format!(
                "{}: factor {factor} is the strongest, norm {norm:.4}",
                t.text
            )
        })
        .collect();
    let difference = data.mean_difference;
    summary.push(match data.correlation {
        Some(r) => format!("composition and larger of both: r = {r:.3}, {difference:.4} apart"),
        None => format!("composition and larger of both: {difference:.4} apart"),
    });
    finish(figure.common.json, &output, &canvas, &data, &summary)
}
