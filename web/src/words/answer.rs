//! Sentences of an answer, for any position of the dial.

use std::cmp::Ordering;
use std::slice;

use espalier_core::caption::{
    CaptionResult, MIN_GUESS, PathStep, Rung, Shown, Subject, TaxonomyResult, spoken_name,
};
use espalier_core::statements::Role;

use super::certainty::{capitalised, certainty, join_names, join_with_adverbs};
use crate::state::dial::Dial;

/// Returns the sentence for a photo of two subjects; `None` unless there are two.
pub fn two_things(subjects: &[Subject]) -> Option<String> {
    let [a, b] = subjects else { return None };
    let [a, b] = [a, b].map(|subject| spoken_name(&subject.node, &subject.name));
    Some(format!("It seems to show two things: {a} and {b}."))
}

/// Maximum number of steps named in a sentence.
const MAX_NAMED_STEPS: usize = 3;

/// Returns the sentence for the dial at `level`; `None` means the level where the evidence stops. A dial above it
/// says less than is known, and does not deny the rest.
///
/// "An animal, a bird, probably a thrush. I can't tell what kind."
pub fn sentence(taxonomy: &TaxonomyResult, dial: &Dial, level: Option<usize>) -> String {
    let path = &taxonomy.path;
    let evidence = dial.evidence();
    let shown = level.or(evidence);
    let supported = match (shown, evidence) {
        (Some(shown), Some(evidence)) => Some(shown.min(evidence)),
        _ => None,
    };
    let beyond = match (shown, evidence) {
        (Some(shown), Some(evidence)) if shown > evidence => evidence + 1..shown + 1,
        (Some(shown), None) => 0..shown + 1,
        _ => 0..0,
    };
    let steps = |indices: &[usize]| -> Vec<(String, f64)> {
        let all = indices.iter().filter_map(|index| path.get(*index));
        let all: Vec<_> = all.map(|s| (spoken_name(&s.id, &s.name), s.p)).collect();
        all[all.len().saturating_sub(MAX_NAMED_STEPS)..].to_vec()
    };
    let sure = steps(dial.path_indices(supported));
    if let (Some(step), true) = (sure.last(), shown < evidence) {
        return format!(
            "Shown down to: {}.",
            join_with_adverbs(slice::from_ref(step))
        );
    }
    let guesses: Vec<usize> = beyond.filter_map(|level| dial.path_index(level)).collect();
    let guesses = steps(&guesses);
    let last = shown.is_some_and(|shown| shown + 1 >= dial.len());
    let known = capitalised(&join_with_adverbs(&sure));
    match (sure.is_empty(), guesses.is_empty()) {
        (true, true) => "I can't tell what this is.".to_owned(),
        (false, true) if last => format!("{known}."),
        (false, true) => format!("{known}. I can't tell what kind."),
        (true, false) => format!(
            "I can't tell what this is. My guess: {}.",
            join_names(&guesses)
        ),
        (false, false) => format!("{known}. My guess: {}.", join_names(&guesses)),
    }
}

/// Returns the most specific caption that the evidence carries, where detectors tell more than the tree.
pub fn told(result: &CaptionResult) -> Option<&Rung> {
    result.ladder.get(Dial::of_ladder(result)?.evidence()?)
}

/// Returns the answer in one sentence: what the photo shows as a whole, where that is known, else where the path in
/// the tree stops.
///
/// "Very likely a gun dog in snow."
pub fn answer_sentence(result: &CaptionResult, dial: &Dial) -> String {
    let Some(rung) = told(result) else {
        return sentence(&result.taxonomy, dial, None);
    };
    rung_sentence(rung)
}

/// Returns a caption as a sentence with its probability in words.
fn rung_sentence(rung: &Rung) -> String {
    let named = (rung.text.clone(), rung.p.unwrap_or_default());
    format!("{}.", capitalised(&join_with_adverbs(&[named])))
}

/// Returns the answer in one sentence with the dial at `level`: of the ladder where detectors tell what the photo
/// shows, else of the path, whose dial is `dial`.
///
/// "Very likely people eating. My guess: people eating pizza."
pub fn answer_at(result: &CaptionResult, dial: &Dial, level: Option<usize>) -> String {
    let ladder = Dial::of_ladder(result);
    let rung = level.zip(ladder.and_then(|ladder| ladder.evidence()));
    let rung =
        rung.and_then(|(level, evidence)| Some((result.ladder.get(level)?, level.cmp(&evidence))));
    match (level, rung) {
        (None, _) | (_, Some((_, Ordering::Equal))) => answer_sentence(result, dial),
        (Some(_), Some((rung, Ordering::Less))) => rung_sentence(rung),
        (Some(_), Some((rung, Ordering::Greater))) => {
            format!("{} My guess: {}.", answer_sentence(result, dial), rung.text)
        }
        (Some(level), None) => sentence(&result.taxonomy, dial, Some(level)),
    }
}

/// Returns a level of the dial in words, for assistive technology; `path` and `ladder` are those that the dial was
/// made of. Empty if there is no such level.
///
/// "people eating, very likely"
pub fn position(dial: &Dial, level: usize, path: &[PathStep], ladder: &[Rung]) -> String {
    let beyond = Some(level) > dial.evidence();
    let named = dial.path_index(level).and_then(|index| {
        if dial.is_of_ladder() {
            let rung = ladder.get(index)?;
            return Some((&rung.text, rung.p.unwrap_or_default()));
        }
        path.get(index).map(|step| (&step.name, step.p))
    });
    let in_words = |(name, p): (&String, f64)| format!("{name}, {}", certainty(p, beyond));
    named.map(in_words).unwrap_or_default()
}

/// Returns a sentence with what the photo shows beside the answer, if anything: "Also: a boat, probably trees."
pub fn also_sentence(result: &CaptionResult) -> Option<String> {
    let rung = told(result);
    let answer = rung.map_or("", |rung| rung.text.as_str());
    // An answer about people already names them: another word for them would read like more people.
    let is_of_people = rung.is_some_and(|rung| rung.node.is_none());
    let says_again =
        |shown: &Shown| is_of_people && shown.role == Role::Subject && shown.node.is_none();
    // A text of the ladder is not repeated: "a drink" above espresso, or "a car" that is a guess.
    let is_of_ladder = |shown: &Shown| {
        result.ladder.iter().any(|rung| {
            let rest = rung.text.strip_prefix(&shown.text);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    let others = result.shows.iter().filter(|shown| {
        !answer.contains(&shown.text) && !says_again(shown) && !is_of_ladder(shown)
    });
    let others: Vec<_> = others.map(|shown| (shown.text.clone(), shown.p)).collect();
    (!others.is_empty()).then(|| format!("Also: {}.", join_with_adverbs(&others)))
}

/// Returns the guess below the answer, as [`guess_sentence`]; none where the answer is not about what the tree names.
pub fn answer_guess(result: &CaptionResult, dial: &Dial) -> Option<String> {
    let is_of_tree = told(result).is_none_or(|rung| rung.node.is_some());
    is_of_tree
        .then(|| guess_sentence(&result.taxonomy, dial))
        .flatten()
}

/// Returns a sentence with the most specific level of the dial beyond the evidence that is likely
/// enough to mention, if any.
pub fn guess_sentence(taxonomy: &TaxonomyResult, dial: &Dial) -> Option<String> {
    let beyond = dial.evidence().map_or(0, |level| level + 1)..dial.len();
    let guess = beyond
        .rev()
        .filter_map(|level| taxonomy.path.get(dial.path_index(level)?))
        .find(|step| step.p >= MIN_GUESS)?;
    Some(format!(
        "It might be {}, but I'm not sure enough.",
        spoken_name(&guess.id, &guess.name)
    ))
}

#[cfg(test)]
mod tests {
    use espalier_core::caption::PathStep;
    use espalier_core::taxonomy::Taxonomy;

    use super::*;

    fn path(steps: &[(&str, f64)], stop: usize) -> TaxonomyResult {
        let path: Vec<PathStep> = steps
            .iter()
            .enumerate()
            .map(|(i, (name, p))| PathStep {
                id: format!("n{i}"),
                name: (*name).into(),
                p: *p,
            })
            .collect();
        TaxonomyResult {
            stop: format!("n{stop}"),
            path,
        }
    }

    fn sentence_at(steps: &[(&str, f64)], stop: usize, level: Option<usize>) -> String {
        let result = path(steps, stop);
        sentence(&result, &Dial::of(&result, None), level)
    }

    const THRUSH: [(&str, f64); 4] = [
        ("entity", 1.0),
        ("animal", 1.0),
        ("bird", 0.995),
        ("thrush", 0.6),
    ];

    #[test]
    fn a_sentence_goes_from_general_to_specific_and_says_where_it_stops() {
        let five = [&THRUSH[..], &[("song thrush", 0.3)]].concat();
        assert_eq!(
            sentence_at(&five, 3, None),
            "An animal, a bird, probably a thrush. I can't tell what kind."
        );
        assert_eq!(
            sentence_at(&THRUSH, 3, None),
            "An animal, a bird, probably a thrush."
        );
        let unsure = [("entity", 1.0), ("animal", 0.97), ("bird", 0.96)];
        assert_eq!(
            sentence_at(&unsure, 2, None),
            "Almost certainly an animal, a bird."
        );
    }

    #[test]
    fn what_detectors_tell_is_the_answer_and_what_else_they_tell_stands_beside() {
        let rung = |text: &str, p: f64, node: Option<&str>| Rung {
            p: Some(p),
            ..crate::sample::rung(text, node)
        };
        let mut result = crate::sample::result(
            vec![
                rung("people", 0.97, None),
                rung("people outdoors", 0.85, None),
            ],
            path(&THRUSH, 1),
        );
        let dial = Dial::of(&result.taxonomy, None);
        let shown = |text: &str, p: f64| crate::sample::shown(text, p, Role::Thing);
        // Results of earlier versions, and models without detectors.
        assert_eq!(
            answer_sentence(&result, &dial),
            sentence(&result.taxonomy, &dial, None)
        );
        assert_eq!(
            (also_sentence(&result), answer_guess(&result, &dial)),
            (None, guess_sentence(&result.taxonomy, &dial))
        );
        result.said = Some(2);
        let children = crate::sample::shown("children", 0.85, Role::Subject);
        result.shows = vec![
            shown("people", 0.97),
            children,
            shown("a boat", 0.9),
            shown("water", 0.82),
            shown("sitting", 0.6),
        ];
        assert_eq!(
            answer_sentence(&result, &dial),
            "Very likely people outdoors."
        );
        assert_eq!(
            also_sentence(&result).as_deref(),
            Some("Also: very likely a boat, water, probably sitting.")
        );
        assert_eq!(answer_guess(&result, &dial), None);
        result.ladder.push(rung("people in a boat", 0.4, None));
        let at = |level| answer_at(&result, &dial, level);
        assert_eq!(at(Some(0)), "Almost certainly people.");
        assert_eq!(
            (at(Some(1)), at(None)),
            (answer_sentence(&result, &dial), at(Some(1)))
        );
        assert_eq!(
            at(Some(2)),
            "Very likely people outdoors. My guess: people in a boat."
        );
        result.ladder[1] = rung("an animal outdoors", 0.995, Some("n1"));
        assert_eq!(answer_sentence(&result, &dial), "An animal outdoors.");
        assert!(answer_guess(&result, &dial).is_some());
        // A guess of the ladder is not called likely beside it.
        result
            .ladder
            .push(rung("a boat at the sea", 0.3, Some("n2")));
        assert_eq!(
            also_sentence(&result).as_deref(),
            Some("Also: very likely children, water, probably sitting.")
        );
    }

    #[test]
    fn a_lower_dial_names_fewer_steps_and_a_higher_dial_marks_guesses() {
        assert_eq!(
            sentence_at(&THRUSH, 3, Some(0)),
            "Shown down to: an animal."
        );
        assert_eq!(
            sentence_at(&THRUSH, 1, Some(2)),
            "An animal. My guess: a bird, a thrush."
        );
        assert_eq!(sentence_at(&THRUSH, 0, None), "I can't tell what this is.");
        assert_eq!(
            sentence_at(&THRUSH, 0, Some(0)),
            "I can't tell what this is. My guess: an animal."
        );
        let nowhere = TaxonomyResult {
            path: Vec::new(),
            stop: "n1".into(),
        };
        let dial = Dial::of(&nowhere, None);
        assert_eq!(
            sentence(&nowhere, &dial, None),
            "I can't tell what this is."
        );
    }

    #[test]
    fn a_long_path_is_described_by_its_last_three_steps() {
        let steps: Vec<(String, f64)> = (0..9).map(|i| (format!("thing {i}"), 1.0)).collect();
        let steps: Vec<(&str, f64)> = steps.iter().map(|(n, p)| (n.as_str(), *p)).collect();
        assert_eq!(
            sentence_at(&steps, 8, None),
            "A thing 6, a thing 7, a thing 8."
        );
    }

    #[test]
    fn the_guess_is_the_most_specific_step_that_is_likely_enough() {
        let steps = [
            ("entity", 1.0),
            ("bird", 0.7),
            ("thrush", 0.3),
            ("song thrush", 0.1),
        ];
        let guessed = |steps: &[(&str, f64)], stop| {
            let result = path(steps, stop);
            guess_sentence(&result, &Dial::of(&result, None))
        };
        let guess = guessed(&steps, 1);
        assert_eq!(
            guess.as_deref(),
            Some("It might be a thrush, but I'm not sure enough.")
        );
        assert_eq!(
            guessed(&steps[..2], 0).map(|g| g.contains("a bird")),
            Some(true)
        );
        assert_eq!(guessed(&[("entity", 1.0), ("bird", 0.2)], 0), None);
    }

    #[test]
    fn a_guess_is_a_nameable_concept() {
        let tree = "synset\tnames\thypernyms\tlabelled\nn0\tentity\t\t0\nn1\tartifact\tn0\t0\n\
                    n2\tcontainer\tn03575240\t0\nn03575240\tinstrumentality\tn1\t0\n\
                    t\ttable\tn1\t1\nc\tcup\tn2\t1\nj\tjar\tn2\t1\nb\tbird\tn0\t1\nd\tdog\tn0\t1\n";
        let tree = Taxonomy::from_tsv(tree).unwrap();
        let steps = [
            ("entity", 1.0),
            ("artifact", 0.7),
            ("instrumentality", 0.4),
            ("container", 0.1),
        ];
        let mut result = path(&steps, 0);
        result.path[2].id = "n03575240".into();
        result.path[3].id = "n2".into();
        let guess = guess_sentence(&result, &Dial::of(&result, Some(&tree)));
        assert_eq!(
            guess.as_deref(),
            Some("It might be an artifact, but I'm not sure enough.")
        );
    }
}
