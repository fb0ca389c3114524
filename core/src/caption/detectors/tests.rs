//! Tests of the detectors.

use std::collections::BTreeMap;

use super::super::classifier::Placement;
use super::*;
use crate::taxonomy::{TaxonomyPath, tree_of};
use crate::weights::HostTensor;

const WORDS: &str = "role\tid\tabove\texcludes\tname\tlink\tnode\twords\n\
    subject\tperson\t\t\tperson|people|people\t\t\tperson\n\
    subject\tchild\tperson\t\tchild\t\t\tchild\n\
    place\toutdoors\t\tindoors\toutdoors\t\t\toutside\n\
    place\tindoors\t\toutdoors\tindoors\t\t\tinside\n\
    place\tsnow\toutdoors\t\tsnow\tin\t\tsnow\n\
    thing\ttable\t\t\ttable\tat\tn1\ttable\n";

/// Returns detectors whose scores are the given log-odds for every photo. Later parts lie farther out.
pub(in crate::caption) fn constant(vocabulary: Vocabulary, scores: Vec<f32>) -> Detectors {
    let count = scores.len();
    let points = (0..count).flat_map(|at| [at as f32 / 100.0, 0.0]).collect();
    let tensor = |name: &str, shape: &[usize], data: Vec<f32>| {
        let shape = shape.to_vec();
        (name.to_owned(), HostTensor { shape, data })
    };
    let tensors = Tensors {
        tensors: BTreeMap::from([
            tensor(WEIGHTS, &[count, 2], vec![0.0; 2 * count]),
            tensor(BIAS, &[count], scores),
            tensor(POINTS, &[count, 2], points),
        ]),
        ..Tensors::default()
    };
    Detectors::new(vocabulary, &tensors, 2).unwrap()
}

fn detectors(scores: [f32; 6]) -> Detectors {
    constant(Vocabulary::from_tsv(WORDS).unwrap(), scores.to_vec())
}

fn shown(scores: [f32; 6]) -> Vec<Shown> {
    let detectors = detectors(scores);
    detectors.shown(&detectors.probabilities(&[1.0, 0.0], &[]))
}

fn texts(scores: [f32; 6]) -> Vec<String> {
    let shown = shown(scores);
    assert!(shown.windows(2).all(|pair| pair[0].p >= pair[1].p));
    shown.into_iter().map(|shown| shown.text).collect()
}

#[test]
fn the_most_specific_parts_are_told_most_certain_first() {
    let found = texts([2.0, -2.0, 1.0, -3.0, 0.5, 3.0]);
    assert_eq!(found, ["a table", "people", "snow"]);
    assert_eq!(texts([-1.0; 6]), Vec::<String>::new());
}

#[test]
fn a_part_is_at_least_as_probable_as_those_below_it() {
    let p = detectors([-3.0, 2.0, -3.0, -3.0, 1.0, -3.0]).probabilities(&[0.0, 0.0], &[]);
    assert_eq!((p[0], p[2]), (p[1], p[4]));
    assert!(p[1] > 0.88 && p[3] < 0.05);
}

#[test]
fn of_parts_that_exclude_each_other_the_more_certain_is_told() {
    // Snow is outdoors, so `indoors` is not told.
    assert_eq!(texts([-3.0, -3.0, -3.0, 0.5, 1.0, -3.0]), ["snow"]);
    assert_eq!(texts([-3.0, -3.0, -3.0, 2.0, 1.0, -3.0]), ["indoors"]);
}

#[test]
fn a_kind_of_person_needs_more_evidence() {
    assert_eq!(texts([1.0, 0.5, -3.0, -3.0, -3.0, -3.0]), ["people"]);
    assert_eq!(texts([1.0, 1.5, -3.0, -3.0, -3.0, -3.0]), ["a child"]);
}

#[test]
fn a_gender_needs_more_evidence_than_an_age() {
    let words = Vocabulary::everyday().unwrap();
    let count = words.parts().len();
    let detectors = constant(words.clone(), vec![0.0; count]);
    let told = |p_of_woman: f64| {
        let mut p = vec![0.0; count];
        for (id, value) in [("person", 1.0), ("adult", 0.95), ("woman", p_of_woman)] {
            p[words.find(id).unwrap().index()] = value;
        }
        let told = detectors.told(&p).into_iter();
        told.map(|ix| words.part(ix).id.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(0.85), ["person", "adult"]);
    assert_eq!(told(0.92), ["person", "adult", "woman"]);
}

#[test]
fn a_phrase_is_asked_for_by_its_parts() {
    let detectors = detectors([-3.0, 2.0, -3.0, -3.0, 1.0, -1.0]);
    let p = detectors.probabilities(&[1.0, 0.0], &[]);
    let asked = detectors.asked("why is there no table and child outside in the snow", &p);
    let asked = asked.iter().map(|part| (part.text.as_str(), part.p > 0.5));
    let expected = [("a child", true), ("snow", true), ("a table", false)];
    assert_eq!(asked.collect::<Vec<_>>(), expected);
    assert!(detectors.asked("asdfgh", &p).is_empty());
}

#[test]
fn a_subject_that_looks_like_none_of_its_many_labels_is_denied() {
    let words = "role\tid\tabove\texcludes\tname\tlink\tnode\twords\n\
        subject\tanimal\t\t\tanimal\t\tr\tanimal\n\
        subject\tdog\tanimal\t\tdog\t\td\tdog\n\
        subject\tbear\tanimal\t\tbear\t\tb\tbear\n";
    let tree = |dogs: usize| {
        let dogs = (0..dogs).map(|i| format!("; *d{i} = dog {i} < d"));
        let dogs: String = dogs.collect();
        tree_of(&format!("r = animal; d = dog < r; *b = bear < r{dogs}"))
    };
    let detectors = constant(Vocabulary::from_tsv(words).unwrap(), vec![2.0; 3]);
    let dog = detectors.vocabulary().find("dog").unwrap();
    let denied = |dogs: usize, share: f32| {
        let tree = tree(dogs);
        let mut shares = vec![1.0; tree.nodes().len()];
        shares[tree.find("d").unwrap().index()] = share;
        shares[tree.find("b").unwrap().index()] = 0.0;
        detectors.denied(&tree, &shares)
    };
    assert_eq!(denied(20, 0.005), [dog]);
    assert_eq!((denied(20, 0.03), denied(19, 0.005)), (vec![], vec![]));
    let p = detectors.probabilities(&[1.0, 0.0], &[dog]);
    assert_eq!(p[dog.index()], 0.0);
    assert!(p[0] > 0.8, "the bear is an animal");
}

#[test]
fn a_path_goes_on_to_what_a_detector_tells() {
    let tree = "r = thing; f = furniture < r; n1 = table < f; *d = desk < n1; *c = cup < r";
    let tree = tree_of(tree);
    let node = |id: &str| tree.find(id).unwrap();
    let confirmed = |p_of_table: f32, certainty: f64| {
        let steps = [("r", 1.0), ("f", 0.7), ("n1", p_of_table), ("d", 0.1)];
        let mut p = vec![0.0; tree.nodes().len()];
        for (id, value) in steps {
            p[node(id).index()] = value;
        }
        let path = TaxonomyPath {
            steps: steps.map(|(id, p)| (node(id), p)).to_vec(),
            stop: 1,
        };
        let shares = p.clone();
        let parts = [0.0, 0.0, 0.0, 0.0, 0.0, certainty];
        let place = detectors([0.0; 6]).confirm(Placement { path, p, shares }, &tree, &parts);
        let on_path: Vec<f32> = place.path.steps.iter().map(|(_, p)| *p).collect();
        let of_nodes = ["r", "f", "n1", "d"].map(|id| place.p[node(id).index()]);
        assert_eq!(on_path, of_nodes);
        (place.path.stop, of_nodes)
    };
    assert_eq!(confirmed(0.4, 0.9), (2, [1.0, 0.9, 0.9, 0.1]));
    assert_eq!(confirmed(0.65, 0.6), (2, [1.0, 0.7, 0.65, 0.1]));
    // The detector, or the path, speaks against it.
    assert_eq!(confirmed(0.4, 0.55), (1, [1.0, 0.7, 0.4, 0.1]));
    assert_eq!(confirmed(0.2, 0.9), (1, [1.0, 0.7, 0.2, 0.1]));
}

#[test]
fn only_the_direction_of_a_point_counts() {
    let mut detectors = detectors([0.0; 6]);
    detectors.weights[0] = 4.0;
    let near = detectors.probabilities(&[0.1, 0.0], &[]);
    assert_eq!(near, detectors.probabilities(&[7.0, 0.0], &[]));
    assert!((near[0] - 1.0 / (1.0 + (-4.0_f64).exp())).abs() < 1e-6);
}

#[test]
fn tensors_of_another_vocabulary_are_refused() {
    let vocabulary = || Vocabulary::from_tsv(WORDS).unwrap();
    let mut tensors = Tensors::default();
    let missing = Detectors::new(vocabulary(), &tensors, 2).unwrap_err();
    assert!(missing.to_string().contains(WEIGHTS), "{missing}");
    for (rows, value, expected) in [(5, 0.0, "[6, 2]"), (6, f32::NAN, "finite"), (6, 0.0, BIAS)] {
        let (shape, data) = (vec![rows, 2], vec![value; 2 * rows]);
        let weights = HostTensor { shape, data };
        tensors.tensors.insert(WEIGHTS.to_owned(), weights);
        let error = Detectors::new(vocabulary(), &tensors, 2).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn what_is_shown_has_its_role_and_node() {
    let shown = shown([-3.0, -3.0, -3.0, -3.0, -3.0, 3.0]);
    assert_eq!(shown[0].role, Role::Thing);
    assert_eq!(shown[0].node.as_deref(), Some("n1"));
}
