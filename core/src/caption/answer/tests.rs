//! Tests of answers of the taxonomy and of detectors together.

use std::collections::BTreeSet;

use super::super::detectors::tests::constant;
use super::*;
use crate::statements::Vocabulary;

const SPACE: Space = Space::Lorentz { curvature: 1.0 };

/// Detectors that give some parts a probability, whatever the photo, and all others none.
fn detectors(p: &[(&str, f64)]) -> Detectors {
    let vocabulary = Vocabulary::everyday().unwrap();
    let mut bias = vec![-20.0; vocabulary.parts().len()];
    for (id, p) in p {
        bias[vocabulary.find(id).unwrap().index()] = (p / (1.0 - p)).ln() as f32;
    }
    constant(vocabulary, bias)
}

/// The answer of a tree whose path has these steps and stops at the last one that is at least as likely as not.
fn tree(steps: &[(&str, f64)]) -> Caption {
    let stop = steps.iter().rfind(|(_, p)| *p >= 0.5).unwrap().0;
    stopped(steps, stop)
}

/// The answer of a tree whose path has these steps; each but the first has a rung.
fn stopped(steps: &[(&str, f64)], stop: &str) -> Caption {
    let steps = steps.iter().map(|(name, p)| PathStep {
        id: (*name).to_owned(),
        name: (*name).to_owned(),
        p: *p,
    });
    let path: Vec<PathStep> = steps.collect();
    let rung = |(at, step): (usize, &PathStep)| Rung {
        text: format!("a {}", step.name),
        radius: at as f64,
        similarity: -1.0,
        p: None,
        node: Some(step.id.clone()),
    };
    let ladder = path.iter().enumerate().skip(1).map(rung).collect();
    let stop = stop.to_owned();
    Caption::of_tree(ladder, TaxonomyResult { path, stop })
}

fn answer(tree: Caption, parts: &[(&str, f64)]) -> Caption {
    let (detectors, point) = (detectors(parts), [0.1, 0.2]);
    let p = detectors.probabilities(&point, &[]);
    tree.told(&detectors, p, &SPACE, &point)
}

fn told(steps: &[(&str, f64)], parts: &[(&str, f64)]) -> Caption {
    let caption = answer(tree(steps), parts);
    let ladder = &caption.ladder;
    let grows = |w: &[Rung]| w[0].radius <= w[1].radius && w[0].p >= w[1].p;
    assert!(ladder.windows(2).all(grows));
    let texts: BTreeSet<&str> = ladder.iter().map(|rung| rung.text.as_str()).collect();
    assert_eq!(texts.len(), ladder.len(), "{ladder:?}");
    assert!(caption.shows.windows(2).all(|w| w[0].p >= w[1].p));
    caption
}

/// Returns the rungs that the evidence carries, separated by commas.
fn said(caption: &Caption) -> String {
    let said = caption.ladder[..caption.said].iter();
    let said: Vec<&str> = said.map(|rung| rung.text.as_str()).collect();
    said.join(", ")
}

fn shows(caption: &Caption) -> String {
    let shows = caption.shows.iter();
    let shows: Vec<&str> = shows.map(|shown| shown.text.as_str()).collect();
    shows.join(", ")
}

const NOTHING: [(&str, f64); 2] = [("entity", 1.0), ("pot", 0.2)];

#[test]
fn a_ladder_of_people_grows_by_parts_while_these_are_likely() {
    let parts = [
        ("several", 0.98),
        ("woman", 0.95),
        ("beach", 0.9),
        ("run", 0.7),
        ("boat", 0.6),
    ];
    let caption = told(&NOTHING, &parts);
    let expected = "people, women, women outdoors, women on a beach, women running on a beach";
    assert_eq!(said(&caption), expected);
    assert_eq!(shows(&caption), "women, a beach, running, a boat");
    let last = caption.ladder.last().unwrap();
    assert!((last.p.unwrap() - 0.95 * 0.9 * 0.7).abs() < 1e-6);
}

#[test]
fn a_subject_that_the_taxonomy_speaks_against_is_doubted() {
    // A cup is no animal, and a raccoon's face is no person, even where its kind is not certain enough to be said.
    let cup = [("entity", 1.0), ("cup", 0.99)];
    assert_eq!(said(&told(&cup, &[("animal", 0.7)])), "a cup");
    let of_person = |steps: &[(&str, f64)], stop: &str, person: f64| {
        let parts = [("person", person), ("several", 0.01)];
        let caption = answer(stopped(steps, stop), &parts);
        shows(&caption).contains("a person")
    };
    let badger = [("entity", 1.0), ("animal", 0.98), ("badger", 0.5)];
    for stop in ["entity", "animal"] {
        assert!(!of_person(&badger, stop, 0.7) && of_person(&badger, stop, 0.9));
    }
    let dog = [("entity", 1.0), ("animal", 0.98), ("dog", 0.97)];
    assert!(of_person(&dog, "dog", 0.7));
}

#[test]
fn the_number_of_people_is_said_where_it_is_known() {
    let first = |several: f64| {
        let caption = told(&NOTHING, &[("person", 0.9), ("several", several)]);
        caption.ladder[0].text.clone()
    };
    assert_eq!(
        [first(0.1), first(0.4), first(0.8)],
        ["a person", "one or more people", "people"]
    );
    // A child among others is not "a child", nor are adults called children.
    let children = told(&NOTHING, &[("child", 0.9), ("several", 0.8)]);
    assert_eq!(said(&children), "people, children");
    let unknown = told(&NOTHING, &[("child", 0.9), ("several", 0.4)]);
    assert_eq!(said(&unknown), "one or more people, one or more children");
    let parts = [("person", 0.9), ("child", 0.6), ("several", 0.1)];
    assert_eq!(said(&told(&NOTHING, &parts)), "a person");
}

#[test]
fn what_the_tree_names_keeps_its_names_and_the_statement_says_more_of_it() {
    let steps = [
        ("entity", 1.0),
        ("animal", 0.98),
        ("dog", 0.95),
        ("gun dog", 0.9),
        ("setter", 0.3),
    ];
    let caption = told(&steps, &[("snow", 0.85), ("person", 0.65), ("run", 0.55)]);
    let expected = "a animal, a dog, a gun dog, a gun dog in snow";
    assert_eq!(said(&caption), expected);
    let guess = caption.ladder.last().unwrap();
    assert_eq!(guess.text, "a setter in snow");
    assert!((guess.p.unwrap() - 0.255).abs() < 1e-6);
    // The dog is named once, by its most specific name.
    assert_eq!(shows(&caption), "a gun dog, snow, a person, running");
}

#[test]
fn people_come_before_a_thing_that_has_a_name() {
    let steps = [("entity", 1.0), ("ball", 0.7)];
    let parts = [("person", 0.9), ("several", 0.05), ("sport", 0.8)];
    let caption = told(&steps, &parts);
    let expected = "a person, a person doing sports, a person doing sports with a ball";
    assert_eq!(said(&caption), expected);
    assert_eq!(shows(&caption), "a person, doing sports, a ball");
}

#[test]
fn the_ladder_goes_on_to_what_the_statement_is_about() {
    // The path stops at "animal", of which a dog is a kind; a fox is none.
    let fox = [("entity", 1.0), ("animal", 0.95), ("fox", 0.3)];
    let caption = told(&fox, &[("dog", 0.8), ("grass", 0.9)]);
    assert_eq!(said(&caption), "a animal, a dog, a dog on grass");
    assert_eq!(caption.ladder.len(), 3);
    assert_eq!(shows(&caption), "grass, a dog");
    // The path names it, but no caption of the ladder does.
    let steps = [
        ("entity", 1.0),
        ("animal", 0.95),
        ("dog", 0.9),
        ("setter", 0.3),
    ];
    let mut answer_of_path = tree(&steps);
    answer_of_path.ladder.remove(1);
    answer_of_path.said = 1;
    let caption = answer(answer_of_path, &[]);
    assert_eq!(said(&caption), "a animal, a dog");
    assert_eq!(caption.ladder.len(), 3);
    assert_eq!(caption.ladder[2].text, "a setter");
}

#[test]
fn a_thing_of_little_certainty_does_not_lead() {
    let parts = [("building", 0.8), ("street", 0.75)];
    let of_tree = |p: f64| {
        let caption = told(&[("entity", 1.0), ("cart", p)], &parts);
        caption.ladder[caption.said - 1].text.clone()
    };
    assert_eq!(of_tree(0.7), "a building on a street");
    assert_eq!(of_tree(0.9), "a cart in front of a building on a street");
}

#[test]
fn a_subject_does_not_do_what_is_done_to_it() {
    let parts = [("horse", 0.9), ("ride a horse", 0.85), ("grass", 0.8)];
    let expected = "an animal, a horse, a horse outdoors, a horse on grass";
    assert_eq!(said(&told(&NOTHING, &parts)), expected);
}

#[test]
fn a_thing_is_shown_by_its_most_specific_name() {
    // The path goes on to "bench", but the ladder ends with "seat".
    let steps = [("entity", 1.0), ("seat", 0.95), ("bench", 0.9)];
    let mut answer_of_path = tree(&steps);
    answer_of_path.ladder.truncate(1);
    answer_of_path.said = 1;
    let parts = [("person", 0.95), ("several", 0.02), ("bench", 0.9)];
    let caption = answer(answer_of_path, &parts);
    assert_eq!(said(&caption), "a person, a person on a bench");
    assert_eq!(shows(&caption), "a person, a bench");
}

#[test]
fn without_evidence_the_answer_is_that_of_the_tree() {
    let steps = [("entity", 1.0), ("bird", 0.8), ("robin", 0.3)];
    let alone = tree(&steps);
    let caption = told(&steps, &[("person", 0.3)]);
    assert_eq!(caption.ladder, alone.ladder);
    assert_eq!((caption.said, alone.said), (1, 1));
    assert_eq!(shows(&caption), "a bird");
    let nothing = told(&NOTHING, &[]);
    assert_eq!((nothing.said, nothing.shows.len()), (0, 0));
}

#[test]
fn a_finer_part_is_not_replaced_by_what_the_tree_says() {
    let steps = [("entity", 1.0), ("animal", 0.9)];
    let caption = told(&steps, &[("dog", 0.7)]);
    assert_eq!(shows(&caption), "a dog");
}
