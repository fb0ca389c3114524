//! Tests of the classifier.

use super::*;
use crate::caption::evidence::Evidence;
use crate::taxonomy::tree_of;

const TREE: &str =
    "r = thing; a = animal < r; *w = wren < a; *c = cat < a; *t = table < r; x = void < r";

fn classifier() -> (Classifier, Space) {
    let labels = vec![1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
    let space = Space::Sphere {
        root: vec![-1.0, 0.0],
    };
    let classifier = Classifier::new(tree_of(TREE), labels, 2, Calibration::of_scale(4.0));
    (classifier.unwrap(), space)
}

/// Returns a classifier whose calibration has a change.
fn changed(of: &Classifier, change: impl FnOnce(&mut Calibration)) -> Result<Classifier> {
    let mut calibration = of.calibration().clone();
    change(&mut calibration);
    of.clone().with_calibration(calibration)
}

#[test]
fn softmax_does_not_overflow() {
    let p = softmax(&[2_000.0, 1_999.0, -5_000.0], 1.0);
    let larger = 1.0 / (1.0 + (-1.0_f32).exp());
    for (found, expected) in p.iter().zip([larger, 1.0 - larger]) {
        assert!((found - expected).abs() < 1e-6, "{p:?}");
    }
    assert_eq!(p[2], 0.0);
}

#[test]
fn evidence_is_the_best_logit_of_the_calibrated_scale() {
    let (classifier, space) = classifier();
    let evidence = Evidence {
        weights: vec![1.0, 0.0, 0.0, 1.0],
        stop_weights: None,
        best: [2.0, 1.0],
        radius: [1.0, 1.0],
    };
    let photo = [0.3, 0.4];
    let at = classifier.node("c").unwrap().index();
    let share = f64::from(classifier.place(&space, &photo, None).p[at]);
    let judged = changed(&classifier, |c| c.evidence = Some(evidence.clone())).unwrap();
    let found = f64::from(judged.place(&space, &photo, None).p[at]);
    // The photo has half the length of the point of `cat`, so its best logit is 0.5.
    let seen = ImageEvidence {
        best: 2.0,
        radius: space.radius(&photo),
    };
    let expected = evidence.probability(share, 1, seen);
    assert!((found - expected).abs() < 1e-6, "{found} {expected}");
}

#[test]
fn the_first_informative_node_has_its_own_threshold() {
    let (classifier, _) = classifier();
    let thresholds = |c: &mut Calibration| (c.threshold, c.first_threshold) = (0.8, Some(0.5));
    let classifier = changed(&classifier, thresholds).unwrap();
    let threshold = |id: &str| classifier.threshold_of(classifier.node(id).unwrap());
    // Two of three labels are animals, so `animal` says little; `table` and the labels below
    // `animal` are the first nodes that say something. `void` has no label below it.
    assert_eq!(["r", "a", "x"].map(threshold), [0.8; 3]);
    assert_eq!(["t", "w", "c"].map(threshold), [0.5; 3]);
}

#[test]
fn below_a_node_only_its_labels_share_the_probability() {
    let (classifier, space) = classifier();
    let node = |id: &str| classifier.node(id).unwrap();
    let photo = [0.0, 1.0];
    let open = classifier.place(&space, &photo, None);
    assert_eq!(open.path.steps.last().unwrap().0, node("t"));
    let restricted = classifier.place(&space, &photo, Some(node("a")));
    assert_eq!(restricted.path.steps.last().unwrap().0, node("c"));
    let p = |id: &str| restricted.p[node(id).index()];
    assert!((p("a") - 1.0).abs() < 1e-6 && p("t").abs() < 1e-6);
    // softmax of 4 * 0.8 against 4 * 0.
    let expected = 1.0 / (1.0 + (-3.2_f32).exp());
    assert!((p("c") - expected).abs() < 1e-6, "{}", p("c"));
}

#[test]
fn a_level_sharpens_its_nodes_and_none_rises_above_its_parent() {
    let photo = [0.0, 1.0];
    let (plain, space) = classifier();
    let levelled = changed(&plain, |c| c.levels = vec![1.0, 0.5, 3.0]).unwrap();
    let [before, after] = [&plain, &levelled].map(|c| c.probabilities(&space, &photo, None));
    let of = |p: &[f32], id: &str| f64::from(p[plain.node(id).unwrap().index()]);
    let table = of(&before, "t");
    let known = table.sqrt() / (table.sqrt() + (1.0 - table).sqrt());
    assert!((of(&after, "t") - known).abs() < 1e-5);
    for leaf in ["w", "c"] {
        assert!(of(&after, leaf) <= of(&after, "a"), "{leaf}");
    }
}

#[test]
fn the_path_of_an_unfamiliar_photo_stops_at_the_root() {
    let (classifier, space) = classifier();
    let photo = [0.0, 1.0];
    let radius = space.radius(&photo);
    let of = |radii| {
        let changed = changed(&classifier, |c| c.radii = Some(radii)).unwrap();
        let below = changed.node("a").unwrap();
        let p = changed.probabilities(&space, &photo, Some(below));
        (changed.place(&space, &photo, None), p[below.index()])
    };
    let (place, asked) = of([radius + 0.1, radius + 0.2]);
    assert_eq!(place.path.stop, 0);
    assert!(place.path.steps[1..].iter().all(|(_, p)| *p == 0.0));
    assert!((place.path.steps[0].1 - 1.0).abs() < 1e-6);
    assert!((asked - 1.0).abs() < 1e-6, "{asked}");
    let (place, _) = of([radius - 0.2, radius - 0.1]);
    assert_eq!(place, classifier.place(&space, &photo, None));
}

#[test]
fn without_its_label_a_photo_gets_another_path() {
    let (classifier, space) = classifier();
    let table = classifier.node("t").unwrap();
    let fewer = classifier.without_labels(|ix| ix == table).unwrap();
    assert_eq!(fewer.taxonomy().labelled().len(), 2);
    let last = |of: &Classifier| of.path(&space, &[0.0, 1.0]).steps.last().unwrap().0;
    assert_eq!(last(&classifier), table);
    assert_eq!(last(&fewer), classifier.node("c").unwrap());
    assert!(classifier.without_labels(|_| true).is_err());
}

#[test]
fn the_first_informative_node_may_be_less_certain() {
    let (classifier, space) = classifier();
    let stop = |threshold, first_threshold| {
        let thresholds =
            |c: &mut Calibration| (c.threshold, c.first_threshold) = (threshold, first_threshold);
        let changed = changed(&classifier, thresholds);
        changed.map(|c| c.path(&space, &[0.0, 1.0]).stop).ok()
    };
    let steps = classifier.path(&space, &[0.0, 1.0]).steps;
    let above_all = f64::from(steps[1].1) + 0.01;
    assert_eq!(stop(above_all, None), Some(0));
    let first = f64::from(steps[1].1) - 0.01;
    assert_eq!(stop(above_all, Some(first)), Some(1));
    assert_eq!(stop(0.5, Some(0.6)), None, "above the threshold");
}

#[test]
fn nodes_that_say_nearly_the_same_as_the_first_informative_one_share_its_threshold() {
    let mut rows = "r = all; t = thing < r; l = living < r; a = animal < l; *p = plant < l; \
        d = dog < a"
        .to_owned();
    for (parent, count) in [("t", 10), ("d", 5), ("a", 4)] {
        for i in 0..count {
            rows.push_str(&format!("; *{parent}{i} = {parent} {i} < {parent}"));
        }
    }
    let taxonomy = tree_of(&rows);
    let calibration = Calibration {
        threshold: 0.8,
        first_threshold: Some(0.4),
        ..Calibration::of_scale(1.0)
    };
    let labels = taxonomy.labelled().len();
    let classifier = Classifier::new(taxonomy, vec![0.0; labels], 1, calibration).unwrap();
    let threshold = |id: &str| classifier.threshold_of(classifier.node(id).unwrap());
    assert_eq!(["t", "l", "a"].map(threshold), [0.4; 3]);
    assert_eq!(["r", "d", "p", "a0", "t0"].map(threshold), [0.8; 5]);
}

#[test]
fn the_stop_has_separate_weights() {
    let (classifier, space) = classifier();
    let with = |stop_weights: Option<Vec<f64>>| {
        let evidence = Evidence {
            weights: vec![1.0],
            stop_weights,
            best: [0.0, 1.0],
            radius: [0.0, 1.0],
        };
        let changed = changed(&classifier, |c| c.evidence = Some(evidence)).unwrap();
        changed.path(&space, &[0.6, 0.8])
    };
    let (default, careful) = (with(None), with(Some(vec![1.0, -9.0])));
    // The probabilities stay the same.
    assert_eq!(default.steps, careful.steps);
    assert!(default.stop > 0 && careful.stop == 0);
}

#[test]
fn a_node_that_is_unknown_or_without_labels_is_an_error() {
    let (classifier, _) = classifier();
    for (node, expected) in [("n9", "`n9`"), ("x", "labelled")] {
        let error = classifier.node_with_labels(node).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
