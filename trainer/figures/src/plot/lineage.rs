//! A lineage of a taxonomy among its siblings, by UMAP of their texts (RCME's figure).

use espalier_core::geometry::Space;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::RankText;
use serde::Serialize;

use super::umap::umap;

/// A node of the figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// Id.
    pub id: String,
    /// First name.
    pub name: String,
    /// The text that was embedded.
    pub text: String,
    /// Depth below the first node of the lineage.
    pub rank: usize,
    /// Whether it is on the lineage.
    pub on_lineage: bool,
    /// Its position.
    pub at: [f64; 2],
}

/// Data of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Umap {
    /// Model.
    pub model: String,
    /// Name of the last node of the lineage.
    pub label: String,
    /// The lineage first, from general to specific, then the siblings of each of its nodes.
    pub items: Vec<Item>,
}

/// Returns the nodes of a lineage and their siblings, without positions: every node of the path
/// from the root, and the other children of its parent.
pub fn items(taxonomy: &Taxonomy, label: NodeIx, text: RankText) -> Vec<Item> {
    let path = taxonomy.path_to(label);
    let item = |ix: NodeIx, above: &[NodeIx], rank: usize, on_lineage: bool| {
        let names = above.iter().chain([&ix]).map(|ix| taxonomy.name(*ix));
        Item {
            id: taxonomy.node(ix).id.clone(),
            name: taxonomy.name(ix).to_owned(),
            text: match text {
                RankText::Name => taxonomy.name(ix).to_owned(),
                RankText::Joined => names.collect::<Vec<_>>().join(" "),
            },
            rank,
            on_lineage,
            at: [0.0; 2],
        }
    };
    let mut lineage = vec![item(path[0], &[], 0, true)];
    let mut siblings: Vec<Item> = Vec::new();
    for (rank, pair) in path.windows(2).enumerate() {
        let above = &path[..=rank];
        lineage.push(item(pair[1], above, rank + 1, true));
        for child in taxonomy.children(pair[0]) {
            let id = &taxonomy.node(*child).id;
            // A node with two parents is listed as a sibling once.
            if *child != pair[1] && !siblings.iter().any(|s| s.id == *id) {
                siblings.push(item(*child, above, rank + 1, false));
            }
        }
    }
    siblings.retain(|s| !lineage.iter().any(|l| l.id == s.id));
    lineage.extend(siblings);
    lineage
}

/// Returns the distance for UMAP: the chord on the sphere, as in Euclidean UMAP of unit vectors;
/// otherwise the distance that the model was trained with.
fn distance(space: &Space, x: &[f32], y: &[f32]) -> f64 {
    match space {
        Space::Sphere { .. } => {
            let square = x.iter().zip(y).map(|(a, b)| f64::from(a - b).powi(2));
            square.sum::<f64>().sqrt()
        }
        _ => -space.logit(x, y),
    }
}

/// Positions items by UMAP of their points.
pub fn place(
    model: &str,
    space: &Space,
    mut items: Vec<Item>,
    points: &[Vec<f32>],
    seed: u64,
) -> Umap {
    let row = |x: &Vec<f32>| points.iter().map(|y| distance(space, x, y)).collect();
    let distances: Vec<Vec<f64>> = points.iter().map(row).collect();
    for (item, at) in items.iter_mut().zip(umap(&distances, seed)) {
        item.at = at;
    }
    let last = items.iter().rfind(|i| i.on_lineage);
    Umap {
        model: model.to_owned(),
        label: last.map_or_else(String::new, |i| i.name.clone()),
        items,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "kingdom\tphylum\tclass\n\
        Animalia\tChordata\tAves\n\
        Animalia\tChordata\tMammalia\n\
        Animalia\tMollusca\tBivalvia\n\
        Plantae\tBryophyta\tBryopsida\n";

    fn birds(text: RankText) -> Vec<Item> {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let label = taxonomy.find("Animalia/Chordata/Aves").unwrap();
        items(&taxonomy, label, text)
    }

    #[test]
    fn a_lineage_comes_first_and_then_the_siblings_of_each_rank() {
        let found = birds(RankText::Name);
        let rows: Vec<(&str, usize, bool)> = found
            .iter()
            .map(|i| (i.name.as_str(), i.rank, i.on_lineage))
            .collect();
        let expected = [
            ("Eukarya", 0, true),
            ("Animalia", 1, true),
            ("Chordata", 2, true),
            ("Aves", 3, true),
            ("Plantae", 1, false),
            ("Mollusca", 2, false),
            ("Mammalia", 3, false),
        ];
        assert_eq!(rows, expected);
        let joined = &birds(RankText::Joined)[6].text;
        assert_eq!(joined, "Eukarya Animalia Chordata Mammalia");
    }

    #[test]
    fn every_item_gets_a_place() {
        let points: Vec<Vec<f32>> = (0..7).map(|i| vec![i as f32, 1.0]).collect();
        let space = Space::Lorentz { curvature: 1.0 };
        let found = place("m", &space, birds(RankText::Name), &points, 0);
        assert_eq!(found.label, "Aves");
        assert!(found.items.iter().all(|i| i.at[0].is_finite()));
        let first = found.items[0].at;
        assert!(found.items.iter().any(|i| i.at != first));
    }
}
