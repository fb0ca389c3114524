//! Labels of images that name nodes of a taxonomy, such as the folders of a user's photos.

use std::collections::BTreeMap;

use espalier_core::taxonomy::{NodeIx, Taxonomy};

/// Replaces labels that are names of nodes by the ids of these nodes: `tabby cat` and `sports_car` by their
/// synsets. Labels that are ids, that name no node, or that name several labels of the taxonomy stay as they
/// are.
pub fn node_labels(taxonomy: &Taxonomy, labels: &[Option<String>]) -> Vec<Option<String>> {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    labels
        .iter()
        .map(|label| {
            let label = label.as_deref()?;
            let id = known.entry(label).or_insert_with(|| id_of(taxonomy, label));
            Some(id.clone())
        })
        .collect()
}

fn id_of(taxonomy: &Taxonomy, label: &str) -> String {
    let node = taxonomy.find(label).or_else(|| named(taxonomy, label));
    node.map_or_else(|| label.to_owned(), |ix| taxonomy.node(ix).id.clone())
}

fn named(taxonomy: &Taxonomy, label: &str) -> Option<NodeIx> {
    let name = label.replace('_', " ").to_lowercase();
    let is_name = |other: &String| other.to_lowercase() == name;
    let nodes = || taxonomy.labelled().iter().copied();
    let by_first: Vec<NodeIx> = nodes()
        .filter(|ix| is_name(&taxonomy.node(*ix).names[0]))
        .collect();
    let by_any: Vec<NodeIx> = nodes()
        .filter(|ix| taxonomy.node(*ix).names.iter().any(is_name))
        .collect();
    match (by_first.as_slice(), by_any.as_slice()) {
        ([one], _) | ([], [one]) => Some(*one),
        ([], []) => taxonomy.named(&name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\nn0\tthing\t\t0\nn1\tcat|house cat\tn0\t0\n\
        n2\ttabby cat|tabby\tn1\t1\nn3\tcrane\tn0\t1\nn4\tcrane|hoist\tn0\t1\n";

    #[test]
    fn names_of_one_node_become_its_id() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let ids = |labels: &[&str]| -> Vec<String> {
            let labels: Vec<_> = labels.iter().map(|l| Some((*l).to_owned())).collect();
            node_labels(&taxonomy, &labels)
                .into_iter()
                .flatten()
                .collect()
        };
        let found = ids(&["Tabby_cat", "tabby", "n2", "cat", "hoist", "crane", "dog"]);
        assert_eq!(found, ["n2", "n2", "n2", "n1", "n4", "crane", "dog"]);
    }
}
