//! A taxonomy, and photos, in the Poincaré disk (notation 6.11).

use std::collections::BTreeMap;

use clap::ValueEnum;
use espalier_core::geometry::poincare::{centred, frechet_mean, from_lorentz};
use espalier_core::project::{CoSne, cosne, horopca};
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::records::random::{Purpose, Random};
use espalier_eval::embed::names;
use serde::Serialize;

/// Number of branches with a colour of their own.
const BRANCHES: usize = 6;

/// How points are projected to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Horospherical projection onto the plane that keeps most of the distances.
    Horopca,
    /// Neighbour embedding that keeps neighbours and radii.
    Cosne,
}

/// The point in the middle of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Centre {
    /// The root of the model: farther out is more specific.
    Root,
    /// The Fréchet mean of the points, as HoroPCA is published.
    Mean,
}

/// A point of the disk.
#[derive(Clone, Debug, Serialize)]
pub struct Dot {
    /// Id of the node, or key of the photo.
    pub id: String,
    /// First name of the node, or of the photo's label.
    pub name: String,
    /// Position in the disk.
    pub at: [f64; 2],
    /// Distance to the root in the model, in units of the curvature.
    pub radius: f64,
    /// Index in [`Disk::branches`].
    pub branch: Option<usize>,
    /// Labels at or below the node; 0 for a photo.
    pub labels: usize,
    /// Index of the parent in [`Disk::nodes`].
    pub parent: Option<usize>,
}

/// The numbers of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Disk {
    /// Model.
    pub model: String,
    /// The factor of a product that is shown.
    pub factor: Option<usize>,
    /// How points were mapped to the disk.
    pub by: By,
    /// What lies in the middle.
    pub centre: Centre,
    /// Share of the mean squared distance that HoroPCA preserved; `None` for CO-SNE.
    pub kept: Option<f64>,
    /// Names of the coloured branches.
    pub branches: Vec<String>,
    /// Position of the model's root; `None` if CO-SNE has put another point in the middle.
    pub root: Option<[f64; 2]>,
    /// Nodes of the taxonomy.
    pub nodes: Vec<Dot>,
    /// Photos.
    pub photos: Vec<Dot>,
}

/// Returns the broadest nodes with a label at or below them, at most `most`, in the order of the
/// taxonomy.
pub fn broadest(taxonomy: &Taxonomy, most: usize) -> Vec<NodeIx> {
    let below = |ix: &NodeIx| taxonomy.labelled_below(*ix).len();
    let all = (0..).map(NodeIx).take(taxonomy.nodes().len());
    let mut nodes: Vec<NodeIx> = all.filter(|ix| below(ix) > 0).collect();
    nodes.sort_by_key(|ix| (std::cmp::Reverse(below(ix)), *ix));
    nodes.truncate(most);
    nodes.sort();
    nodes
}

/// Minimum share of the labels in a branch.
const BROAD: f64 = 0.03;

/// Minimum share of a node's labels that its broad children must hold for the node to be split.
const COVERED: f64 = 0.8;

/// Returns the nodes that divide a taxonomy into at most six branches, broadest first. Starts with
/// the root and repeatedly splits the broadest node whose broad children fit and hold nearly all
/// its labels.
pub fn branches(taxonomy: &Taxonomy) -> Vec<NodeIx> {
    let below = |ix: &NodeIx| taxonomy.labelled_below(*ix).len();
    let all = taxonomy.labelled().len();
    let least = ((BROAD * all as f64).ceil() as usize).max(2);
    let mut front = vec![taxonomy.root()];
    loop {
        front.sort_by_key(|ix| (std::cmp::Reverse(below(ix)), *ix));
        // The broadest branch whose children still fit.
        let split = front.iter().enumerate().find_map(|(at, ix)| {
            let children = taxonomy.children(*ix).iter();
            let broad: Vec<NodeIx> = children.filter(|c| below(c) >= least).copied().collect();
            let fits = front.len() - 1 + broad.len() <= BRANCHES;
            let covered: usize = broad.iter().map(below).sum();
            let most = covered as f64 >= COVERED * below(ix) as f64;
            (!broad.is_empty() && fits && most).then_some((at, broad))
        });
        let Some((at, children)) = split else {
            return front;
        };
        front.remove(at);
        for child in children {
            // A node with several parents may already be in a branch.
            if branch_of(taxonomy, &front, child).is_none() {
                front.push(child);
            }
        }
    }
}

/// Returns the branch of a node: the first branch that equals the node or is its ancestor.
fn branch_of(taxonomy: &Taxonomy, branches: &[NodeIx], node: NodeIx) -> Option<usize> {
    let holds = |branch: &NodeIx| *branch == node || taxonomy.is_ancestor(*branch, node);
    branches.iter().position(holds)
}

/// Parameters of a disk.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How points are mapped to the disk.
    pub by: By,
    /// What lies in the middle.
    pub centre: Centre,
    /// Factor of a product, for the record.
    pub factor: Option<usize>,
    /// Seed of the initial positions of CO-SNE.
    pub seed: u64,
}

/// A photo with its label and its point in the Lorentz model.
#[derive(Clone, Debug)]
pub struct Photo {
    /// Key.
    pub key: String,
    /// Label.
    pub label: Option<NodeIx>,
    /// Space components.
    pub point: Vec<f32>,
}

/// Returns `n` points near the middle, normally distributed with standard deviation 0.01.
fn starts(n: usize, seed: u64) -> Vec<[f64; 2]> {
    let mut random = Random::new(seed, Purpose::Figure, 0, 0);
    let mut normal = || {
        // Box-Muller transform; 1 - u is never zero.
        let u = 1.0 - f64::from(random.uniform());
        let (sine, cosine) = (std::f64::consts::TAU * f64::from(random.uniform())).sin_cos();
        [cosine, sine].map(|v| 0.01 * v * (-2.0 * u.ln()).sqrt())
    };
    (0..n).map(|_| normal()).collect()
}

/// Maps points of the ball to the disk; also returns the share that HoroPCA preserved.
fn project(points: &[Vec<f64>], settings: Settings) -> (Vec<[f64; 2]>, Option<f64>) {
    match settings.by {
        By::Horopca => {
            let found = horopca(points);
            (found.points, Some(found.explained))
        }
        By::Cosne => {
            let start = starts(points.len(), settings.seed);
            (cosne(points, &start, CoSne::default()), None)
        }
    }
}

/// Maps nodes, given by their points in the Lorentz model of curvature `-c`, and photos to the
/// disk.
pub fn disk(
    model: &str,
    taxonomy: &Taxonomy,
    (nodes, points): (&[NodeIx], &[Vec<f32>]),
    photos: &[Photo],
    c: f64,
    settings: Settings,
) -> Disk {
    let all = points.iter().chain(photos.iter().map(|p| &p.point));
    let mut ball: Vec<Vec<f64>> = all.map(|x| from_lorentz(x, c)).collect();
    let radii: Vec<f64> = ball.iter().map(|p| radius(p)).collect();
    // HoroPCA maps the root like any other point. CO-SNE has no map that could be applied to it;
    // there its norm term makes the root the middle.
    let root = vec![0.0; ball.first().map_or(0, Vec::len)];
    if settings.by == By::Horopca {
        ball.push(root);
    }
    if settings.centre == Centre::Mean {
        let mean = frechet_mean(&ball);
        ball = ball.iter().map(|p| centred(&mean, p)).collect();
    }
    let (places, kept) = project(&ball, settings);
    let branches = branches(taxonomy);
    let index: BTreeMap<NodeIx, usize> = nodes.iter().copied().zip(0..).collect();
    let dot = |at: usize, id: &str, node: Option<NodeIx>| Dot {
        id: id.to_owned(),
        name: node.map_or_else(String::new, |ix| taxonomy.name(ix).to_owned()),
        at: places[at],
        radius: radii[at],
        branch: node.and_then(|ix| branch_of(taxonomy, &branches, ix)),
        labels: 0,
        parent: None,
    };
    let of_node = |(at, ix): (usize, &NodeIx)| Dot {
        labels: taxonomy.labelled_below(*ix).len(),
        parent: nearest_shown(taxonomy, &index, *ix),
        ..dot(at, &taxonomy.node(*ix).id, Some(*ix))
    };
    let of_photo = |(at, p): (usize, &Photo)| dot(nodes.len() + at, &p.key, p.label);
    Disk {
        model: model.to_owned(),
        factor: settings.factor,
        by: settings.by,
        centre: settings.centre,
        kept,
        root: match (settings.by, settings.centre) {
            (By::Horopca, _) => places.last().copied(),
            (By::Cosne, Centre::Root) => Some([0.0; 2]),
            (By::Cosne, Centre::Mean) => None,
        },
        nodes: nodes.iter().enumerate().map(of_node).collect(),
        photos: photos.iter().enumerate().map(of_photo).collect(),
        branches: names(taxonomy, &branches),
    }
}

/// Returns the nearest ancestor along first parents that is shown.
fn nearest_shown(
    taxonomy: &Taxonomy,
    index: &BTreeMap<NodeIx, usize>,
    ix: NodeIx,
) -> Option<usize> {
    let path = taxonomy.path_to(ix);
    let mut above = path.iter().rev().skip(1);
    above.find_map(|ix| index.get(ix).copied())
}

/// Returns the distance of a point of the ball to its middle.
fn radius(p: &[f64]) -> f64 {
    let norm = p.iter().map(|v| v * v).sum::<f64>().sqrt();
    (2.0 * norm / (1.0 - norm)).ln_1p()
}

#[cfg(test)]
mod tests {
    use espalier_data::formats::synthetic;

    use super::*;

    fn shapes() -> Taxonomy {
        Taxonomy::from_tsv(&synthetic::taxonomy_tsv()).unwrap()
    }

    #[test]
    fn a_taxonomy_has_at_most_six_branches() {
        let taxonomy = shapes();
        let found = branches(&taxonomy);
        // Shape, two families, four shapes with four colours each: sixteen branches would be too
        // many.
        let below = found.iter().map(|ix| taxonomy.labelled_below(*ix).len());
        assert_eq!(below.collect::<Vec<_>>(), [4; 4]);
        let label = taxonomy.labelled()[0];
        let of = branch_of(&taxonomy, &found, label).unwrap();
        assert!(taxonomy.is_ancestor(found[of], label));
        assert_eq!(branch_of(&taxonomy, &found, taxonomy.root()), None);
    }

    #[test]
    fn the_broadest_nodes_are_joined_to_their_nearest_shown_ancestor() {
        let taxonomy = shapes();
        let nodes = broadest(&taxonomy, 7);
        assert_eq!(nodes.len(), 7);
        assert!(nodes.contains(&taxonomy.root()));
        let points: Vec<Vec<f32>> = (0..7).map(|i| vec![0.1 * i as f32, 1.0, 0.3]).collect();
        let settings = Settings {
            by: By::Horopca,
            centre: Centre::Root,
            factor: None,
            seed: 0,
        };
        let found = disk("m", &taxonomy, (&nodes, &points), &[], 1.0, settings);
        assert_eq!(found.nodes.iter().filter(|d| d.parent.is_none()).count(), 1);
        let root = found.root.unwrap();
        assert!(root[0].hypot(root[1]) < 1e-9, "the root is the middle");
        assert!(found.nodes.iter().all(|d| d.at[0].hypot(d.at[1]) < 1.0));
    }

    #[test]
    fn starts_depend_on_the_seed_alone() {
        assert_eq!(starts(5, 3), starts(5, 3));
        assert_ne!(starts(5, 3), starts(5, 4));
        let many = starts(4000, 1);
        let variance = many.iter().map(|p| p[0] * p[0]).sum::<f64>() / 4000.0;
        assert!((variance.sqrt() - 0.01).abs() < 0.0005);
    }
}
