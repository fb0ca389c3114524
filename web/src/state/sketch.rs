//! The parts of the disk that do not change while it is moved: the lines of the taxonomy, the sizes
//! of its nodes, and the priority of their names. Computed once, because the disk is repainted at
//! every pointer move and a taxonomy may have thousands of nodes.

use espalier_core::taxonomy::{NodeIx, Taxonomy};

use super::view::{Point, View};

/// Straight segments per hyperbolic line. Circles through the rim would be long near it.
const SEGMENTS: usize = 6;

/// Number of nodes up to which dots and lines have full size and strength.
const FULL_SIZE_NODES: f64 = 400.0;

/// A line of the taxonomy, from the nearest ancestor that has a position to a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The lower node.
    pub node: NodeIx,
    /// Points along the line, the upper node first.
    pub points: [Point; SEGMENTS + 1],
}

/// The part of a drawing of the disk that does not change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sketch {
    /// One line for each node that has a position and an ancestor with a position.
    pub lines: Vec<Line>,
    /// Radius of each node's dot in CSS pixels, in the order of the taxonomy.
    pub radii: Vec<f64>,
    /// Nodes that have a position, those with most labels below them first.
    pub broadest_first: Vec<NodeIx>,
    /// Opacity of nodes and lines off the path, from 0 to 1. It falls with the number of nodes, so
    /// that the path stays visible.
    pub strength: f64,
}

impl Sketch {
    /// Computes the sketch of `tree` with its nodes at `places`, in the order of the tree.
    pub fn of(tree: &Taxonomy, places: &[Option<Point>]) -> Self {
        let place = |ix: &NodeIx| places.get(ix.index()).copied().flatten();
        let placed: Vec<NodeIx> = (0..)
            .map(NodeIx)
            .take(tree.nodes().len().min(places.len()))
            .filter(|ix| place(ix).is_some())
            .collect();
        let line = |node: &NodeIx| {
            let at = place(node)?;
            let path = tree.path_to(*node);
            let above = path.iter().rev().skip(1).find_map(place)?;
            Some(Line {
                node: *node,
                points: geodesic(above, at),
            })
        };
        let labels = |ix: &NodeIx| tree.labelled_below(*ix).len();
        let mut broadest_first = placed.clone();
        broadest_first.sort_by_key(|ix| std::cmp::Reverse(labels(ix)));
        let strength = (FULL_SIZE_NODES / placed.len().max(1) as f64)
            .min(1.0)
            .sqrt();
        let radius = |ix: NodeIx| 1.6 * strength + 0.55 * ((labels(&ix) + 1) as f64).ln();
        Self {
            lines: placed.iter().filter_map(line).collect(),
            radii: (0..).map(NodeIx).take(places.len()).map(radius).collect(),
            broadest_first,
            strength,
        }
    }
}

/// Returns points on the geodesic between two points, evenly spaced in hyperbolic length.
fn geodesic(from: Point, to: Point) -> [Point; SEGMENTS + 1] {
    let centred = View::default().centred(from);
    let [x, y] = centred.to_view(to);
    let far = x.hypot(y);
    std::array::from_fn(|segment| {
        if far <= 1e-9 {
            return from;
        }
        let share = segment as f64 / SEGMENTS as f64;
        // tanh(share * atanh(far)), in a form that stays finite at the rim.
        let (ahead, behind) = ((1.0 + far).powf(share), (1.0 - far).max(0.0).powf(share));
        let length = (ahead - behind) / (ahead + behind);
        centred.to_disk([x / far * length, y / far * length])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        e\tentity\t\t0\n\
        a\tanimal\te\t0\n\
        d\tdog\ta\t1\n\
        c\tcat\ta\t1\n";

    fn near(a: Point, b: Point) -> bool {
        (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-5
    }

    #[test]
    fn lines_lead_from_the_nearest_node_above_that_has_a_place() {
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        let (root, dog) = ([0.0, 0.0], [0.3, 0.4]);
        // The animal and the cat have no position.
        let sketch = Sketch::of(&tree, &[Some(root), None, Some(dog), None]);
        assert_eq!(sketch.lines.len(), 1);
        let line = &sketch.lines[0];
        assert_eq!(line.node, tree.find("d").unwrap());
        assert!(near(line.points[0], root) && near(line.points[SEGMENTS], dog));
        // Half of the hyperbolic length: tanh(atanh(1/2) / 2) = 2 - sqrt(3) of the points out.
        let half = 2.0 - 3.0_f64.sqrt();
        assert!(near(line.points[SEGMENTS / 2], [0.6 * half, 0.8 * half]));
        assert_eq!(sketch.broadest_first, [tree.root(), line.node]);
    }

    #[test]
    fn broad_nodes_are_larger_and_many_nodes_are_fainter() {
        let tree = Taxonomy::from_tsv(TREE).unwrap();
        let few = Sketch::of(&tree, &[Some([0.0, 0.0]); 4]);
        assert!(few.radii[0] > few.radii[2]);
        assert_eq!(few.strength, 1.0);
        let mut rows = TREE.to_owned();
        for i in 0..1_596 {
            rows.push_str(&format!("x{i}\tx{i}\ta\t1\n"));
        }
        let tree = Taxonomy::from_tsv(&rows).unwrap();
        let many = Sketch::of(&tree, &vec![Some([0.1, 0.0]); 1_600]);
        assert_eq!(many.strength, 0.5);
        assert!(many.radii[2] < few.radii[2]);
        assert_eq!(many.broadest_first[0], tree.root());
    }
}
