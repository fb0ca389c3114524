//! HierarCaps: matching an image with texts from general to specific (notation 6.4).

use std::path::Path;

use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;
use espalier_core::statements::Vocabulary;
use espalier_data::benchmarks::hierarcaps_test::EXPECTED;
use espalier_data::{Captioned, HierarcapsTest, Splits};
use espalier_io::exit::usage;

use crate::matching::{self, Chains, Walk};
use crate::metrics::steps::Radii;
use crate::task::{BenchmarkData, Context, Task, TaskResult, named, value_name};

/// Precision, recall and order on HierarCaps' test set.
pub const TASK: Task = Task {
    name: "hierarcaps",
    about: "texts found on the path outward from the root: precision, recall, d_corr (tau_d)",
    needs: EXPECTED,
    benchmarks: &[BenchmarkData {
        dataset: "hierarcaps",
        path: "hierarcaps",
        get: "hierarcaps/hierarcaps_test.csv from the HierarCaps repository and its 1,000 \
              images of COCO val2014 below hierarcaps/",
    }],
    run,
};

/// Returns the walk set by the options; by default with the published radii: per image from the
/// origin in hyperbolic spaces, over the global range of radii on the sphere.
pub fn walk(cx: &Context<'_, '_>, space: &Space) -> anyhow::Result<Walk> {
    let published = match space {
        Space::Sphere { .. } => Radii::Global,
        _ => Radii::PerImage,
    };
    if cx.options.walk_steps == 0 {
        return Err(usage("--walk-steps: expected at least 1, found 0"));
    }
    Ok(Walk {
        radii: cx.options.radii.unwrap_or(published),
        steps: cx.options.walk_steps,
        drop_first: cx.options.drop_first,
    })
}

/// Rule of chains that a file has.
pub(super) const AS_GIVEN: &str = "as given";

/// Reads the benchmark's CSV, or makes chains of captions; also returns the rule of the chains.
pub(super) fn chains_of(
    cx: &Context<'_, '_>,
    path: &Path,
) -> anyhow::Result<(HierarcapsTest, &'static str)> {
    let images = cx.options.images.as_deref();
    if HierarcapsTest::matches(path) || !Captioned::matches(path) {
        return Ok((HierarcapsTest::open(path, images)?, AS_GIVEN));
    }
    let captioned = Captioned::open(path, images, Splits(&[&cx.options.split]))?;
    let data = HierarcapsTest::of_captions(captioned, &Vocabulary::everyday()?);
    if data.chains.is_empty() {
        return Err(usage(format!(
            "--data {}: expected captions that mention who, what or where, such as `a man on a beach`, found none",
            path.display()
        )));
    }
    Ok((
        data,
        "statements of the first caption with three, and the caption",
    ))
}

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let (data, rule) = chains_of(cx, cx.path()?)?;
    let model = cx.model()?;
    let space = model.space()?;
    let walk = walk(cx, space)?;
    let listed = model.files(&data.images, cx.resize(ResizeMode::CentreCrop))?;
    let mut of_image = vec![Vec::new(); listed.points().len()];
    for (chain, image) in data.image_of.iter().enumerate() {
        let row = image.and_then(|image| listed.row_of[image]);
        if let Some(chains) = row.and_then(|row| of_image.get_mut(row)) {
            chains.push(chain);
        }
    }
    let mut coverage = data.coverage.clone();
    let rows = |file: usize| data.image_of.iter().filter(|p| **p == Some(file)).count() as u64;
    listed.subtract_unreadable(&mut coverage, rows);
    if listed.points().is_empty() {
        return Err(usage(format!(
            "--data: expected {EXPECTED}, found no image of its {} rows",
            data.chains.len()
        )));
    }
    let points = model.texts(&data.chains.concat())?;
    let tiers = data.chains[0].len();
    let radii: Vec<f64> = points.rows().map(|p| space.radius(p)).collect();
    let is_tied = |radii: &&[f64]| radii.windows(2).any(|w| w[0] == w[1]);
    let ties = radii.chunks(tiers).filter(is_tied).count() as u64;
    coverage.note("chain with two texts at one radius", ties, "");
    let chains = Chains {
        texts: &data.chains,
        points: &points,
        of_image: &of_image,
    };
    Ok(TaskResult {
        dataset: (rule == AS_GIVEN).then(|| "hierarcaps".into()),
        n: listed.points().len(),
        classes: points.len(),
        coverage: Some(coverage),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::CentreCrop)),
            ("chains", rule.to_owned()),
            ("radii", value_name(&walk.radii)),
            ("steps", walk.steps.to_string()),
            ("drop_first", walk.drop_first.to_string()),
        ]),
        metrics: matching::metrics(space, listed.points(), chains, walk),
        ..TaskResult::default()
    })
}
