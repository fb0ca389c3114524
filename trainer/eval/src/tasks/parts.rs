//! Part-based retrieval: scenes by their objects and objects by their scenes (notation 6.8).

use std::collections::BTreeMap;
use std::f64::consts::PI;

use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;

use super::parts_tree::{KS, Labels, Tree, shares, tree};
use super::scenes::Scenes;
use crate::metrics::curve::{Point, Sweep};
use crate::metrics::summary::mean;
use crate::search::angles::{Apex, angles};
use crate::task::{BenchmarkData, Context, Task, TaskResult, named};
use crate::{Points, search};

/// Name of the curve for scenes as queries and objects as gallery.
pub const CURVE: &str = "parent_to_child";
/// Intervals of the precision-recall curve.
const GRID: usize = 256;
/// Sizes of the retrieved sets of the papers, for OpenImages and for LVIS.
const SIZES: [[usize; 3]; 2] = [[150_000, 200_000, 250_000], [10_000, 20_000, 30_000]];

/// Same-class and hierarchical retrieval.
pub const TASK: Task = Task {
    name: "parts",
    about: "scenes and their objects: child_to_parent@K, parent_to_child@K, tree_recall@K, ot_index@K, \
     ot_values_x100@K, total_variation@K, average_precision",
    needs: "images with labelled boxes: a folder of OpenImages (annotations-bbox CSV, class \
     descriptions, images), or shards with boxes",
    benchmarks: &[BenchmarkData {
        dataset: "openimages",
        path: "openimages",
        get: "openimages/test-annotations-bbox.csv, openimages/class-descriptions-boxable.csv and \
              the test images <ImageID>.jpg below openimages/",
    }],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let mut scenes = Scenes::open(cx)?;
    scenes.boxes = scenes.boxes.some("--data")?;
    let space = cx.model()?.space()?;
    let most = match cx.options.most {
        0 => usize::MAX,
        n => n,
    };
    let labels = Labels::of(&scenes);
    let mut metrics = child_to_parent(space, &scenes, &labels, most);
    let sizes = match cx.options.top.as_slice() {
        [] => sizes_for(scenes.boxes.parts.points.len()),
        given => given.to_vec(),
    };
    let (found, curve) = parent_to_child(space, &scenes, &labels, most, &sizes);
    metrics.extend(found);
    let images = scenes.images.points.len();
    let queries = images.min(most);
    let similarity = if uses_cosine(space) {
        "cosine"
    } else {
        "angle"
    };
    Ok(TaskResult {
        n: queries,
        classes: scenes.boxes.labels.len(),
        left_out: named([("scene that was not queried", (images - queries) as u64)]),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::WhitePad)),
            ("similarity", similarity.to_owned()),
        ]),
        coverage: Some(scenes.boxes.coverage),
        metrics,
        curves: named([(CURVE, curve)]),
        ..TaskResult::default()
    })
}

/// Returns the sizes of the retrieved sets for a number of boxes: a set as large as the gallery would say nothing.
fn sizes_for(boxes: usize) -> Vec<usize> {
    let fitting = SIZES.iter().find(|sizes| sizes[2] < boxes);
    let shares = || [boxes / 4, boxes / 3, boxes / 2].map(|size| size.max(1));
    let mut sizes = fitting.copied().unwrap_or_else(shares).to_vec();
    sizes.dedup();
    sizes
}

/// Returns whether pairs are compared by cosine: CLIP has no angle at an origin.
fn uses_cosine(space: &Space) -> bool {
    matches!(space, Space::Sphere { .. })
}

/// Returns the similarities of each query to the whole gallery: cosine, or `of_angle` of the angle
/// at the query; larger is closer.
fn similarities<T: Send>(
    space: &Space,
    queries: &Points,
    gallery: &Points,
    of_angle: fn(f64) -> f64,
    visit: impl Fn(usize, &[f64]) -> T + Sync,
) -> Vec<T> {
    if uses_cosine(space) {
        return search::scores(space, queries, gallery, |at, row| {
            let row: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
            visit(at, &row)
        });
    }
    angles(space, queries, gallery, Apex::Query, |at, row| {
        let row: Vec<f64> = row.iter().map(|angle| of_angle(*angle)).collect();
        visit(at, &row)
    })
}

fn first_points(points: &Points, most: usize) -> Points {
    points.select(&(0..points.len().min(most)).collect::<Vec<_>>())
}

/// Returns the column means of rows.
fn means(rows: &[Vec<f64>]) -> Vec<f64> {
    let width = rows.first().map_or(0, Vec::len);
    let column = |i: usize| mean(rows.iter().map(|row| row[i]));
    (0..width).map(column).collect()
}

/// Objects query scenes, ranked by decreasing angle at the object. A scene is relevant if it shows
/// the object's label.
fn child_to_parent(
    space: &Space,
    scenes: &Scenes,
    labels: &Labels,
    most: usize,
) -> BTreeMap<String, f64> {
    let queries = first_points(&scenes.boxes.parts.points, most);
    let gallery = &scenes.images.points;
    let deepest = KS[KS.len() - 1];
    let outward = |angle: f64| angle;
    let rows = similarities(space, &queries, gallery, outward, |at, row| {
        let right = |image: usize| labels.shows(image, labels.of_part[at]);
        let found = search::best(row, deepest).into_iter().map(right);
        let found: Vec<bool> = found.collect();
        shares(&found)
    });
    by_size("child_to_parent", &rows).collect()
}

/// Returns the mean of each column of rows, `NAME@K` for each of [`KS`].
fn by_size(name: &str, rows: &[Vec<f64>]) -> impl Iterator<Item = (String, f64)> {
    let names = KS.map(|k| format!("{name}@{k}"));
    names.into_iter().zip(means(rows))
}

/// Scenes query objects, ranked by increasing exterior angle at the scene. Returns the metrics and
/// the precision-recall curve of all pairs.
fn parent_to_child(
    space: &Space,
    scenes: &Scenes,
    labels: &Labels,
    most: usize,
    sizes: &[usize],
) -> (BTreeMap<String, f64>, Vec<Point>) {
    let queries = first_points(&scenes.images.points, most);
    let gallery = &scenes.boxes.parts.points;
    let largest = if uses_cosine(space) { 1.0 } else { PI };
    let grid = Sweep::new(largest, GRID);
    let inward = |angle: f64| PI - angle;
    let found = similarities(space, &queries, gallery, inward, |at, row| {
        // A scene without a readable box is no query.
        (!labels.of_image[at].is_empty()).then(|| tree(at, row, labels, sizes, grid.clone()))
    });
    let found: Vec<Tree> = found.into_iter().flatten().collect();
    let same: Vec<Vec<f64>> = found.iter().map(|t| t.shares.clone()).collect();
    let mut metrics: BTreeMap<String, f64> = by_size("parent_to_child", &same).collect();
    let trees: Vec<Vec<f64>> = found.iter().map(|t| t.sizes.clone()).collect();
    let names = [
        "tree_recall",
        "ot_index",
        "ot_values_x100",
        "total_variation",
    ];
    let keys = sizes
        .iter()
        .flat_map(|k| names.iter().map(move |name| format!("{name}@{k}")));
    metrics.extend(keys.zip(means(&trees)));
    let curve = found.iter().fold(grid, |all, tree| all.join(&tree.sweep));
    metrics.insert("average_precision".to_owned(), curve.average_precision());
    (metrics, curve.curve())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retrieved_sets_are_smaller_than_the_gallery() {
        assert_eq!(sizes_for(600_000), SIZES[0]);
        assert_eq!(sizes_for(50_000), SIZES[1]);
        assert_eq!(sizes_for(1_200), [300, 400, 600]);
        assert_eq!(sizes_for(2), [1]);
    }
}
