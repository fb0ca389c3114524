//! `trainer plot disk`.

use espalier_core::geometry::Space;
use espalier_core::taxonomy::Taxonomy;
use espalier_eval::TextFeatures;
use espalier_eval::embed::{self, ReadLimits};
use espalier_figures::plot::disk::{Photo, Settings, broadest, disk};
use espalier_figures::plot::draw;
use espalier_figures::plot::norms::factors;
use espalier_figures::plot::subject::Subject;
use espalier_io::exit::usage;
use espalier_io::output::note;

use super::finish::finish;
use super::inputs;
use crate::cli::plot::DiskArgs;

/// Default number of photos.
const SAMPLES: usize = 200;

/// Number of images in a batch.
const BATCH: usize = 64;

/// Allowed number of nodes: enough for a figure, and few enough to be distinguishable.
const NODES: std::ops::RangeInclusive<usize> = 3..=3000;

/// Draws a taxonomy in the Poincaré disk.
pub(super) fn run(args: &DiskArgs) -> anyhow::Result<()> {
    let figure = &args.of.figure;
    let output = inputs::output(&figure.file)?;
    inputs::check_range("--nodes", NODES, args.nodes)?;
    let subject = inputs::subject(&args.of.model, figure)?;
    refuse_spheres(&subject)?;
    let kind = inputs::has_data(&args.data).then_some(args.data.dataset);
    let taxonomy = inputs::taxonomy(args.taxonomy.as_ref(), kind, &subject)?;
    let nodes = broadest(&taxonomy, args.nodes);
    if nodes.len() < *NODES.start() {
        return Err(usage(format!(
            "the taxonomy: expected at least {} nodes with a label at or below them, found {}",
            NODES.start(),
            nodes.len()
        )));
    }
    note(format_args!("embedding {} nodes", nodes.len()));
    let encoder = TextFeatures::new(&subject.model, subject.device())?;
    let mut points = embed::classes(&encoder, &taxonomy, &nodes, &args.prompts)?;
    let mut photos = photos(args, &subject, &taxonomy)?;
    let (c, factor) = ball(args, &subject.space, &mut points, &mut photos)?;
    note(format_args!(
        "projecting {} points",
        points.len() + photos.len()
    ));
    let settings = Settings {
        by: args.by,
        centre: args.centre,
        factor,
        seed: figure.seed,
    };
    let name = &subject.name;
    let data = disk(name, &taxonomy, (&nodes, &points), &photos, c, settings);
    let canvas = draw::disk(&data, figure.file.theme);
    let mut summary = vec![format!(
        "{} nodes and {} photos in {} branches",
        data.nodes.len(),
        data.photos.len(),
        data.branches.len()
    )];
    let percent = |share: f64| format!("{:.1} % of squared distances kept", 100.0 * share);
    summary.extend(data.kept.map(percent));
    finish(figure.common.json, &output, &canvas, &data, &summary)
}

fn refuse_spheres(subject: &Subject) -> anyhow::Result<()> {
    match subject.space {
        Space::Sphere { .. } => Err(usage(format!(
            "{}: expected a hyperbolic model (meru, hycoclip, phyclip, …), found one on the unit \
             sphere, which has no Poincaré disk; `trainer plot umap` draws any model",
            subject.model.file.display()
        ))),
        _ => Ok(()),
    }
}

fn photos(args: &DiskArgs, subject: &Subject, taxonomy: &Taxonomy) -> anyhow::Result<Vec<Photo>> {
    if !inputs::has_data(&args.data) {
        return Ok(Vec::new());
    }
    let most = args.data.samples.unwrap_or(SAMPLES);
    let data = inputs::dataset(&args.data, most, args.of.figure.seed)?;
    let limits = ReadLimits {
        batch_size: BATCH,
        most,
        max_broken: args.data.max_broken,
    };
    let found = embed::labelled(&subject.model, data, taxonomy, limits, subject.device())?;
    if found.points.is_empty() {
        return Err(usage(format!(
            "--data: expected photos with a label of the taxonomy, found none; {} photos have no \
             label, {} have a label that the taxonomy lacks",
            found.unlabelled, found.unknown
        )));
    }
    let each = found.points.into_iter().zip(found.labels).enumerate();
    Ok(each
        .map(|(i, (point, label))| Photo {
            key: format!("photo {}", i + 1),
            label: Some(label),
            point,
        })
        .collect())
}

/// Returns the curvature of the ball and, in a product space, the factor (counted from 1); there,
/// keeps only that factor's coordinates of the points.
fn ball(
    args: &DiskArgs,
    space: &Space,
    points: &mut [Vec<f32>],
    photos: &mut [Photo],
) -> anyhow::Result<(f64, Option<usize>)> {
    let curvatures = match space {
        Space::Product { curvatures, .. } => curvatures,
        Space::Lorentz { curvature } if args.factor.is_none() => return Ok((*curvature, None)),
        _ => {
            return Err(usage(
                "--factor: only product models (phyclip) have factors; omit the flag",
            ));
        }
    };
    let factor = match args.factor {
        None => most_used_factor(curvatures, points),
        Some(n) => {
            inputs::check_range("--factor", 1..=curvatures.len(), n)?;
            n - 1
        }
    };
    let all = points
        .iter_mut()
        .chain(photos.iter_mut().map(|p| &mut p.point));
    for point in all {
        let coordinates = factors(curvatures, point).nth(factor);
        *point = coordinates.map_or_else(Vec::new, |(_, x)| x.to_vec());
    }
    if points.iter().any(|p| p.len() < 2) {
        return Err(usage(
            "expected a model with at least two dimensions per factor, found one; a disk needs two",
        ));
    }
    Ok((curvatures[factor], Some(factor + 1)))
}

/// Returns the index of the factor with the largest mean distance of the points to its origin.
fn most_used_factor(curvatures: &[f64], points: &[Vec<f32>]) -> usize {
    let mut sums = vec![0.0; curvatures.len()];
    for point in points {
        for (sum, (curvature, x)) in sums.iter_mut().zip(factors(curvatures, point)) {
            *sum += Space::Lorentz { curvature }.radius(x);
        }
    }
    let largest = (0..sums.len()).max_by(|a, b| sums[*a].total_cmp(&sums[*b]));
    largest.unwrap_or(0)
}
