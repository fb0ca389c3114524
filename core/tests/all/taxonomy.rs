//! The shipped taxonomy: its contents, and that scores propagate to hypernyms correctly.

use std::collections::BTreeSet;

use espalier_core::taxonomy::{NodeIx, Taxonomy, descend, roll_up, score};

const WORDNET: &str = include_str!("../../../trainer/data/taxonomy/wordnet.tsv");

fn wordnet() -> Taxonomy {
    Taxonomy::from_tsv(WORDNET).unwrap()
}

#[test]
fn the_file_holds_what_its_readme_says() {
    let tax = wordnet();
    let nodes = tax.nodes();
    assert_eq!((nodes.len(), tax.labelled().len()), (551, 210));
    assert_eq!(
        (tax.node(tax.root()).id.as_str(), tax.name(tax.root())),
        ("n00001740", "entity")
    );
    assert_eq!(nodes.iter().filter(|n| n.parents.len() > 1).count(), 23);
    let all = || (0..551).map(NodeIx);
    assert_eq!(all().map(|ix| tax.depth(ix)).max(), Some(17));
    assert_eq!(all().map(|ix| tax.ancestors(ix).len()).max(), Some(18));
    let inner: Vec<&str> = tax
        .labelled()
        .iter()
        .filter(|&&ix| !tax.children(ix).is_empty())
        .map(|&ix| tax.name(ix))
        .collect();
    assert_eq!(inner, ["bird", "frog", "dog", "cat", "car", "truck"]);
    assert_eq!(tax.to_tsv(), WORDNET);
}

#[test]
fn known_relations_hold() {
    let tax = wordnet();
    let tabby = tax.find("n02123045").unwrap();
    let persian = tax.find("n02123394").unwrap();
    let cat = tax.find("n02121620").unwrap();
    let animal = tax.find("n00015388").unwrap();
    assert_eq!(tax.name(tabby), "tabby");
    assert!(tax.is_ancestor(cat, tabby) && tax.is_ancestor(animal, cat));
    assert!(!tax.is_ancestor(tabby, persian));
    // A domestic cat is a domestic animal too, which makes its shortest way up short.
    assert_eq!((tax.depth(tabby), tax.ancestors(tabby).len()), (9, 16));
    let siblings = score(&tax, tabby, persian);
    assert_eq!(
        (siblings.tie, siblings.lca, siblings.jaccard),
        (2.0, 1.0, 1.0)
    );
    let path: Vec<&str> = tax
        .path_to(tabby)
        .into_iter()
        .map(|ix| tax.name(ix))
        .collect();
    assert_eq!((path[0], path[path.len() - 1]), ("entity", "tabby"));
}

#[test]
fn everything_lies_below_the_root() {
    let tax = wordnet();
    assert_eq!(tax.labelled_below(tax.root()), tax.labelled());
    for ix in (1..551).map(NodeIx) {
        assert!(tax.is_ancestor(tax.root(), ix), "{}", tax.name(ix));
        let above: BTreeSet<NodeIx> = tax.ancestors(ix).iter().copied().collect();
        let by_parents: BTreeSet<NodeIx> = tax
            .node(ix)
            .parents
            .iter()
            .flat_map(|&p| tax.ancestors(p).iter().copied().chain([p]))
            .collect();
        assert_eq!(above, by_parents, "{}", tax.name(ix));
    }
}

#[test]
fn each_label_is_reached_when_it_is_certain() {
    let tax = wordnet();
    for (i, &label) in tax.labelled().iter().enumerate() {
        let mut leaf_p = vec![0.0; tax.labelled().len()];
        leaf_p[i] = 1.0;
        let p = roll_up(&tax, &leaf_p);
        let descent = descend(&tax, &p, &p, |ix| p[ix.index()] >= 0.5);
        let (end, certainty) = descent.path[descent.path.len() - 1];
        assert_eq!((end, certainty), (label, 1.0), "{}", tax.name(label));
        assert_eq!(descent.stop, descent.path.len() - 1);
    }
}

#[test]
fn an_undecided_photo_stops_high() {
    let tax = wordnet();
    let count = tax.labelled().len();
    let p = roll_up(&tax, &vec![1.0 / count as f32; count]);
    assert!((p[tax.root().index()] - 1.0).abs() < 1e-6);
    let descent = descend(&tax, &p, &p, |ix| p[ix.index()] >= 0.5);
    let stop = descent.path[descent.stop];
    assert!(stop.1 >= 0.5 && descent.path[descent.stop + 1].1 < 0.5);
    let share = tax.labelled_below(stop.0).len() as f32 / count as f32;
    assert!((share - stop.1).abs() < 1e-6, "{}", tax.name(stop.0));
}
