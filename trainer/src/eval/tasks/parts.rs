//! Part-based retrieval: scenes by their objects and objects by their scenes (METHODS 6.8).

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;

use super::scenes::Scenes;
use crate::eval::Points;
use crate::eval::metrics::curve::Sweep;
use crate::eval::metrics::transport::{of_values, on_indices, total_variation};
use crate::eval::search::{self, angles::angles};
use crate::eval::task::{Context, Outcome, Place, Task, settings};
use crate::exit::usage;

/// Sizes of the retrieved set in same-class retrieval.
const KS: [usize; 4] = [5, 10, 50, 100];
/// Intervals of the precision-recall curve.
const GRID: usize = 256;

/// Same-class and hierarchical retrieval.
pub struct Parts;

impl Task for Parts {
    fn name(&self) -> &'static str {
        "parts"
    }

    fn about(&self) -> &'static str {
        "scenes and their objects: child_to_parent@K, parent_to_child@K, tree_recall@K, ot_index@K, \
         ot_values_x100@K, total_variation@K, average_precision"
    }

    fn needs(&self) -> &'static str {
        "pictures with labelled boxes: a folder of OpenImages (annotations-bbox CSV, class \
         descriptions, pictures), or shards with boxes"
    }

    fn places(&self) -> &'static [Place] {
        &[Place {
            dataset: "openimages",
            path: "openimages",
            get: "openimages/test-annotations-bbox.csv, openimages/class-descriptions-boxable.csv and \
                  the test pictures <ImageID>.jpg below openimages/",
        }]
    }

    fn run(&self, cx: &Context<'_>) -> anyhow::Result<Outcome> {
        let scenes = Scenes::open(cx, cx.data)?;
        if scenes.labels.is_empty() {
            return Err(usage("--data: expected pictures with boxes, found no box"));
        }
        let space = cx.model()?.space()?;
        let most = match cx.options.most {
            0 => usize::MAX,
            n => n,
        };
        let labels = Labels::of(&scenes);
        let mut metrics = child_to_parent(space, &scenes, &labels, most);
        metrics.extend(parent_to_child(
            space,
            &scenes,
            &labels,
            most,
            &cx.options.top,
        ));
        let wholes = scenes.wholes.points.len();
        let queries = wholes.min(most);
        Ok(Outcome {
            n: queries,
            classes: scenes.labels.len(),
            left_out: BTreeMap::from([(
                "scene that was not queried".into(),
                (wholes - queries) as u64,
            )]),
            settings: settings([
                ("resize", cx.resize_word(ResizeMode::WhitePad)),
                (
                    "similarity",
                    if flat(space) { "cosine" } else { "angle" }.to_owned(),
                ),
            ]),
            ledger: Some(scenes.ledger),
            metrics,
            ..Outcome::default()
        })
    }
}

/// Whether pairs are compared by cosine: CLIP has no angle from an origin.
fn flat(space: &Space) -> bool {
    matches!(space, Space::Sphere { .. })
}

/// Labels as numbers, and where they occur.
struct Labels {
    /// Number of the label of each part.
    of_part: Vec<usize>,
    /// Labels of each whole, sorted, each once.
    of_whole: Vec<Vec<usize>>,
    /// Parts of each label.
    count: Vec<usize>,
}

impl Labels {
    fn of(scenes: &Scenes) -> Self {
        let names: BTreeSet<&String> = scenes.labels.iter().collect();
        let names: Vec<&String> = names.into_iter().collect();
        let number = |name: &String| names.binary_search(&name).unwrap_or_default();
        let of_part: Vec<usize> = scenes.labels.iter().map(number).collect();
        let mut of_whole = vec![BTreeSet::new(); scenes.wholes.points.len()];
        let mut count = vec![0; names.len()];
        for (label, whole) in of_part.iter().zip(&scenes.whole_of) {
            count[*label] += 1;
            if let Some(whole) = whole {
                of_whole[*whole].insert(*label);
            }
        }
        Self {
            of_part,
            of_whole: of_whole
                .into_iter()
                .map(|set| set.into_iter().collect())
                .collect(),
            count,
        }
    }

    fn shows(&self, whole: usize, label: usize) -> bool {
        self.of_whole[whole].binary_search(&label).is_ok()
    }
}

/// Similarities of each query to the whole gallery: cosine, or what the angle at the query makes of
/// it; larger is closer.
fn similarities<T: Send>(
    space: &Space,
    queries: &Points,
    gallery: &Points,
    of_angle: fn(f64) -> f64,
    see: impl Fn(usize, &[f64]) -> T + Sync,
) -> Vec<T> {
    if flat(space) {
        return search::scores(space, queries, gallery, |at, row| {
            let row: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
            see(at, &row)
        });
    }
    angles(space, queries, gallery, |at, row| {
        let row: Vec<f64> = row.iter().map(|angle| of_angle(*angle)).collect();
        see(at, &row)
    })
}

/// Places of the values from large to small, at most `most`; of equal ones the earlier first.
fn best(values: &[f64], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by = |a: &usize, b: &usize| values[*b].total_cmp(&values[*a]).then(a.cmp(b));
    if most < order.len() {
        order.select_nth_unstable_by(most, by);
        order.truncate(most);
    }
    order.sort_unstable_by(by);
    order
}

fn first(points: &Points, most: usize) -> Points {
    points.select(&(0..points.len().min(most)).collect::<Vec<_>>())
}

/// Share of right ones among the first `k`, for each of [`KS`].
fn shares(right: &[bool]) -> Vec<f64> {
    let share = |k: &usize| {
        let taken = right.len().min(*k);
        right.iter().take(taken).filter(|r| **r).count() as f64 / taken.max(1) as f64
    };
    KS.iter().map(share).collect()
}

/// Column means of rows.
fn means(rows: &[Vec<f64>]) -> Vec<f64> {
    let width = rows.first().map_or(0, Vec::len);
    let n = rows.len().max(1) as f64;
    (0..width)
        .map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / n)
        .collect()
}

/// Objects query scenes: a scene is right that shows the object's label; by decreasing angle at the
/// object.
fn child_to_parent(
    space: &Space,
    scenes: &Scenes,
    labels: &Labels,
    most: usize,
) -> BTreeMap<String, f64> {
    let queries = first(&scenes.parts.points, most);
    let gallery = &scenes.wholes.points;
    let deepest = KS[KS.len() - 1];
    let rows = similarities(
        space,
        &queries,
        gallery,
        |angle| angle,
        |at, row| {
            let right = |whole: usize| labels.shows(whole, labels.of_part[at]);
            let found: Vec<bool> = best(row, deepest).into_iter().map(right).collect();
            shares(&found)
        },
    );
    let named = KS.iter().zip(means(&rows));
    named
        .map(|(k, value)| (format!("child_to_parent@{k}"), value))
        .collect()
}

/// What one scene's query found.
struct Tree {
    shares: Vec<f64>,
    /// Recall, both transport readings and total variation for each size of the retrieved set.
    sizes: Vec<f64>,
    sweep: Sweep,
}

/// Scenes query objects: by increasing exterior angle at the scene.
fn parent_to_child(
    space: &Space,
    scenes: &Scenes,
    labels: &Labels,
    most: usize,
    sizes: &[usize],
) -> BTreeMap<String, f64> {
    let queries = first(&scenes.wholes.points, most);
    let gallery = &scenes.parts.points;
    let grid = if flat(space) {
        Sweep::new(0.0, 1.0, GRID)
    } else {
        Sweep::new(0.0, std::f64::consts::PI, GRID)
    };
    let inward = |angle: f64| std::f64::consts::PI - angle;
    let found = similarities(space, &queries, gallery, inward, |at, row| {
        // A scene without a readable box asks for nothing.
        (!labels.of_whole[at].is_empty()).then(|| tree(at, row, labels, sizes, grid.clone()))
    });
    let found: Vec<Tree> = found.into_iter().flatten().collect();
    let same: Vec<Vec<f64>> = found.iter().map(|t| t.shares.clone()).collect();
    let named = KS.iter().zip(means(&same));
    let mut metrics: BTreeMap<String, f64> = named
        .map(|(k, value)| (format!("parent_to_child@{k}"), value))
        .collect();
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
    metrics
}

fn tree(at: usize, row: &[f64], labels: &Labels, sizes: &[usize], mut sweep: Sweep) -> Tree {
    let own = |part: usize| labels.shows(at, labels.of_part[part]);
    for (part, value) in row.iter().enumerate() {
        sweep.add(*value, own(part));
    }
    let deepest = sizes.iter().chain(&KS).copied().max().unwrap_or(0);
    let order = best(row, deepest);
    let right: Vec<bool> = order.iter().map(|part| own(*part)).collect();
    // Labels of the tree by decreasing share, then by number; "other" comes last.
    let mut tree = labels.of_whole[at].clone();
    tree.sort_by_key(|label| (std::cmp::Reverse(labels.count[*label]), *label));
    let all: usize = tree.iter().map(|label| labels.count[*label]).sum();
    let mut h: Vec<f64> = tree
        .iter()
        .map(|l| labels.count[*l] as f64 / all.max(1) as f64)
        .collect();
    h.push(0.0);
    let mut numbers = Vec::with_capacity(4 * sizes.len());
    for size in sizes {
        let taken = &order[..order.len().min(*size)];
        let mut r = vec![0.0; h.len()];
        for part in taken {
            let place = tree.iter().position(|l| *l == labels.of_part[*part]);
            r[place.unwrap_or(tree.len())] += 1.0 / taken.len() as f64;
        }
        let hits = right[..taken.len()].iter().filter(|r| **r).count();
        numbers.extend([
            hits as f64 / all.max(1) as f64,
            on_indices(&h, &r),
            100.0 * of_values(&h, &r),
            total_variation(&h, &r),
        ]);
    }
    Tree {
        shares: shares(&right),
        sizes: numbers,
        sweep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_five_objects_is_judged_by_hand() {
        // Two scenes: the first shows labels 0 and 1, the second 1 and 2.
        let labels = Labels {
            of_part: vec![0, 1, 1, 2, 1],
            of_whole: vec![vec![0, 1], vec![1, 2]],
            count: vec![1, 3, 1],
        };
        // Order of the first scene's query: 3 (wrong), 0, 1, 4, 2.
        let row = [0.8, 0.7, 0.2, 0.9, 0.5];
        let found = tree(0, &row, &labels, &[2, 4], Sweep::new(0.0, 1.0, 10));
        // All four right among five.
        assert_eq!(found.shares, [0.8, 0.8, 0.8, 0.8]);
        // The tree holds 4 items, h = (3/4 of label 1, 1/4 of label 0, 0 other).
        // First two: label 2 (other) and label 0: r = (0, 1/2, 1/2).
        let two = &found.sizes[..4];
        assert_eq!(two[0], 0.25);
        assert!((two[1] - (0.75 + 0.5)).abs() < 1e-12);
        // Sorted values 0, 1/4, 3/4 against 0, 1/2, 1/2: (1/4 + 1/4) / 3.
        assert!((two[2] - 100.0 * 0.5 / 3.0).abs() < 1e-9);
        assert!((two[3] - 0.75).abs() < 1e-12);
        assert_eq!(found.sizes[4], 0.75);
    }

    #[test]
    fn the_best_are_sorted_and_ties_keep_their_order() {
        assert_eq!(best(&[0.1, 0.9, 0.5, 0.9], 3), [1, 3, 2]);
        assert_eq!(best(&[0.1, 0.9], 5), [1, 0]);
        assert!(best(&[], 3).is_empty());
    }
}
