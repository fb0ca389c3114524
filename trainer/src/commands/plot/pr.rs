//! `trainer plot pr`.

use espalier_figures::plot::draw;
use espalier_figures::plot::pr::{Pr, curve, curves_of_results, size};
use espalier_io::exit::usage;

use super::finish::finish;
use super::inputs;
use crate::cli::plot::PrArgs;

/// Default number of images.
const SAMPLES: usize = 500;

/// Maximum number of curves that can be distinguished by colour.
const CURVES: usize = 6;

/// Draws precision and recall of retrieving boxes with their whole image.
pub(super) fn run(args: &PrArgs) -> anyhow::Result<()> {
    let output = inputs::output(&args.figure.file)?;
    let data = if args.eval.is_empty() {
        curves_of_models(args)?
    } else {
        curves_of_results(&args.eval)?
    };
    if data.curves.len() > CURVES {
        return Err(usage(format!(
            "expected at most {CURVES} curves, which colours can distinguish, found {}",
            data.curves.len()
        )));
    }
    let canvas = draw::pr(&data, args.figure.file.theme);
    let mut summary = vec![format!(
        "{} images, {} boxes, chance {:.4}",
        data.queries, data.candidates, data.chance
    )];
    let curves = data.curves.iter();
    summary.extend(curves.map(|c| format!("  {}: AP {:.4}", c.model, c.average_precision)));
    finish(args.figure.common.json, &output, &canvas, &data, &summary)
}

fn curves_of_models(args: &PrArgs) -> anyhow::Result<Pr> {
    if args.model.len() > CURVES {
        let found = args.model.len();
        return Err(usage(format!(
            "--model: expected at most {CURVES} models, found {found}"
        )));
    }
    let mut data = Pr {
        queries: 0,
        candidates: 0,
        chance: 0.0,
        curves: Vec::new(),
    };
    for path in &args.model {
        let subject = inputs::subject(path, &args.figure)?;
        let seed = args.figure.seed;
        let scenes = inputs::read_scenes(&subject, &args.data, SAMPLES, false, seed)?;
        (data.queries, data.candidates, data.chance) = size(&scenes);
        if data.candidates < 2 || data.chance <= 0.0 {
            return Err(usage(format!(
                "--data: expected images with boxes, found {} boxes in {} images",
                data.candidates,
                scenes.len()
            )));
        }
        let repeated = data.curves.iter().any(|c| c.model == subject.name);
        let name = if repeated {
            path.display().to_string()
        } else {
            subject.name
        };
        data.curves.push(curve(&name, &subject.space, &scenes));
    }
    Ok(data)
}
