//! Distances of images, texts, boxes and phrases from the root (notation 6.11).

use std::collections::BTreeMap;

use espalier_core::input::ResizeMode;
use espalier_io::exit::usage;

use super::scenes::Scenes;
use crate::Points;
use crate::metrics::summary::summary;
use crate::task::{Context, Task, TaskResult, named};

/// Radii and norms of the four series.
pub const TASK: Task = Task {
    name: "norms",
    about: "distance to the root and norm of images, texts, boxes and phrases: mean, std, quartiles",
    needs: "shards of images with captions and boxes",
    benchmarks: &[],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let model = cx.model()?;
    let space = model.space()?;
    let scenes = Scenes::open(cx)?;
    if scenes.images.points.is_empty() {
        return Err(usage(
            "--data: expected images with captions, found none that can be read",
        ));
    }
    let captions = model.texts(&scenes.images.about.captions)?;
    let phrases = model.texts(&scenes.boxes.parts.about.captions)?;
    let mut metrics = BTreeMap::new();
    let mut series = |name: &str, points: &Points| {
        let radii: Vec<f64> = points.rows().map(|p| space.radius(p)).collect();
        let norm = |p: &[f32]| p.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let norms: Vec<f64> = points.rows().map(norm).collect();
        metrics.extend(summary(&format!("{name}_radius"), &radii));
        metrics.extend(summary(&format!("{name}_norm"), &norms));
    };
    series("image", &scenes.images.points);
    series("text", &captions);
    series("box", &scenes.boxes.parts.points);
    series("phrase", &phrases);
    let about = &scenes.images.about;
    let images = scenes.images.points.len();
    Ok(TaskResult {
        n: images,
        settings: named([("resize", cx.resize_name(ResizeMode::WhitePad))]),
        coverage: Some(about.coverage(images as u64 + about.counts.broken(), images)),
        metrics,
        ..TaskResult::default()
    })
}
