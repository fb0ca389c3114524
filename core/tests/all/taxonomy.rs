//! The shipped taxonomy: its contents, and that scores propagate to hypernyms correctly.

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
    assert_eq!(tax.node(tax.root()).id, "n00001740");
    assert_eq!(tax.name(tax.root()), "entity");
    assert_eq!(nodes.iter().filter(|n| n.parents.len() > 1).count(), 23);
    let all = || (0..551).map(NodeIx);
    assert_eq!(all().map(|ix| tax.depth(ix)).max(), Some(17));
    assert_eq!(all().map(|ix| tax.ancestors(ix).len()).max(), Some(18));
    let labelled = tax.labelled().iter();
    let inner = labelled.filter(|&&ix| !tax.children(ix).is_empty());
    let inner: Vec<&str> = inner.map(|&ix| tax.name(ix)).collect();
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
    let [tie, lca, jaccard] = [siblings.tie, siblings.lca, siblings.jaccard];
    assert_eq!([tie, lca, jaccard], [2.0, 1.0, 1.0]);
    let path = tax.path_to(tabby);
    assert_eq!((path[0], path.last()), (tax.root(), Some(&tabby)));
}

#[test]
fn each_label_is_reached_when_it_is_certain() {
    let tax = wordnet();
    for (i, &label) in tax.labelled().iter().enumerate() {
        let mut leaf_p = vec![0.0; tax.labelled().len()];
        leaf_p[i] = 1.0;
        let p = roll_up(&tax, &leaf_p);
        let path = descend(&tax, &p, &p, |ix| p[ix.index()] >= 0.5);
        assert_eq!(path.stop, path.steps.len() - 1);
        assert_eq!(path.steps[path.stop], (label, 1.0), "{}", tax.name(label));
    }
}
