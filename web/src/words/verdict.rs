//! Sentences about a phrase: whether the photo shows what it says.

use espalier_core::caption::{MIN_GUESS, PlacedBy, Shown, Verdict, spoken_name};

use super::certainty::{capitalised, how_sure_of, join_names, join_with_adverbs};

/// Describes the relation of a phrase to a photo by the probabilities of the photo's path, the same
/// that the answer is made of. `concept` and `common` are names of nodes; `common` is `None` if its
/// name is uninformative.
pub fn verdict_sentences(
    phrase: &str,
    verdict: &Verdict,
    (concept, common): (&str, Option<&str>),
) -> Vec<String> {
    if !verdict.understood {
        return vec![
            format!("I don't know what “{phrase}” means, so I can't say whether it fits."),
            "I know the names of things, such as “dog” or “sofa”.".to_owned(),
        ];
    }
    let mut sentences = vec![path_sentence(verdict, concept, common)];
    let spoken = spoken_name(&verdict.concept, concept);
    sentences.extend(placement_sentence(phrase, verdict.by, &spoken));
    sentences.push(closeness_sentence(phrase, verdict));
    sentences
}

/// Says of the parts that a phrase mentions how likely the photo shows them.
pub fn part_sentences(parts: &[Shown]) -> Vec<String> {
    let (likely, unlikely): (Vec<&Shown>, Vec<&Shown>) =
        parts.iter().partition(|part| part.p >= MIN_GUESS);
    let named = |parts: &[&Shown]| -> Vec<(String, f64)> {
        parts
            .iter()
            .map(|part| (part.text.clone(), part.p))
            .collect()
    };
    let mut sentences = Vec::new();
    if !likely.is_empty() {
        let said = capitalised(&join_with_adverbs(&named(&likely)));
        sentences.push(format!("{said}, as far as I see."));
    }
    if !unlikely.is_empty() {
        sentences.push(format!("I don't see: {}.", join_names(&named(&unlikely))));
    }
    sentences
}

/// Says how many captions are closer to the photo than the phrase.
fn closeness_sentence(phrase: &str, verdict: &Verdict) -> String {
    match (verdict.closer, verdict.captions) {
        (0, _) => format!("“{phrase}” fits the photo better than every caption I know."),
        (closer, captions) if 2 * closer > captions => {
            format!("Most captions I know fit the photo better than “{phrase}”.")
        }
        (1, captions) => {
            format!("Of the {captions} captions I know, one fits the photo better than “{phrase}”.")
        }
        (closer, captions) => format!(
            "Of the {captions} captions I know, {closer} fit the photo better than “{phrase}”."
        ),
    }
}

/// Says which concept stands for a phrase that names no node; `None` if the phrase names one.
fn placement_sentence(phrase: &str, by: PlacedBy, concept: &str) -> Option<String> {
    match by {
        PlacedBy::Name => None,
        PlacedBy::Noun => Some(format!(
            "The tree has no entry for “{phrase}”; I count it as {concept}."
        )),
        PlacedBy::Embedding => Some(format!(
            "The tree has no entry for “{phrase}”; the closest one is {concept}."
        )),
    }
}

/// Says whether the photo shows the phrase's concept, and at which node the paths to the two diverge.
fn path_sentence(verdict: &Verdict, concept: &str, common: Option<&str>) -> String {
    let name = spoken_name(&verdict.concept, concept);
    let concept = (verdict.concept.as_str(), concept);
    if verdict.concept == verdict.common {
        return match verdict.p {
            p if p >= 0.5 && !verdict.beyond => {
                format!("It fits: this is {}.", how_sure_of(concept, p, false))
            }
            p if p >= MIN_GUESS => format!("This might be {name}, but I'm not sure enough."),
            _ => format!("This is unlikely to be {name}."),
        };
    }
    match common {
        Some(common) if verdict.common_p >= MIN_GUESS => format!(
            "This is {}{} {}.",
            how_sure_of(
                (&verdict.common, common),
                verdict.common_p,
                verdict.common_beyond
            ),
            if verdict.p < MIN_GUESS { ", but" } else { "," },
            how_sure_of(concept, verdict.p, verdict.beyond),
        ),
        _ if verdict.p < MIN_GUESS => {
            format!("They have almost nothing in common; probably not {name}.")
        }
        _ => format!(
            "This is {}.",
            how_sure_of(concept, verdict.p, verdict.beyond)
        ),
    }
}

#[cfg(test)]
mod tests {
    use espalier_core::statements::Role;

    use super::super::certainty::certainty;
    use super::*;
    use crate::sample;

    fn verdict(p: f64) -> Verdict {
        Verdict {
            similarity: -2.0,
            closer: 12,
            captions: 400,
            radius: 0.4,
            cone: None,
            concept: "r".into(),
            by: PlacedBy::Name,
            understood: true,
            p,
            beyond: false,
            common: "b".into(),
            common_p: 0.9,
            common_beyond: false,
        }
    }

    #[test]
    fn a_verdict_follows_the_probabilities_of_the_answer() {
        let off_path = |p, common| verdict_sentences("a robin", &verdict(p), ("robin", common));
        assert_eq!(
            off_path(0.1, Some("bird")),
            [
                "This is very likely a bird, but unlikely to be a robin.",
                "Of the 400 captions I know, 12 fit the photo better than “a robin”.",
            ]
        );
        assert_eq!(
            off_path(0.3, Some("bird"))[0],
            "This is very likely a bird, possibly a robin."
        );
        assert_eq!(
            off_path(0.1, None)[0],
            "They have almost nothing in common; probably not a robin."
        );
        let on_path = |p| {
            let mut verdict = verdict(p);
            verdict.common = "r".into();
            verdict_sentences("a robin", &verdict, ("robin", Some("robin"))).swap_remove(0)
        };
        assert_eq!(on_path(0.6), "It fits: this is probably a robin.");
        assert_eq!(
            on_path(0.3),
            "This might be a robin, but I'm not sure enough."
        );
        assert_eq!(on_path(0.1), "This is unlikely to be a robin.");
    }

    #[test]
    fn parts_of_a_phrase_are_seen_or_not() {
        let texts = [("a beach", 0.9), ("running", 0.3), ("a woman", 0.1)];
        let parts = texts.map(|(text, p)| sample::shown(text, p, Role::Thing));
        assert_eq!(
            part_sentences(&parts),
            [
                "Very likely a beach, possibly running, as far as I see.",
                "I don't see: a woman."
            ]
        );
        assert_eq!(part_sentences(&parts[2..]), ["I don't see: a woman."]);
    }

    #[test]
    fn what_lies_beyond_the_evidence_is_at_most_possible() {
        for p in [0.3, 0.5, 0.85, 1.0] {
            assert_eq!(certainty(p, true), "possibly");
        }
        assert_eq!(
            (certainty(0.1, true), certainty(0.85, false)),
            ("unlikely", "very likely")
        );
        let mut on_path = verdict(0.9);
        on_path.common = "r".into();
        on_path.beyond = true;
        let said =
            |verdict: &Verdict| verdict_sentences("a robin", verdict, ("robin", Some("bird")));
        assert_eq!(
            said(&on_path)[0],
            "This might be a robin, but I'm not sure enough."
        );
        let mut off_path = verdict(0.4);
        (off_path.beyond, off_path.common_beyond) = (true, true);
        assert_eq!(
            said(&off_path)[0],
            "This is possibly a bird, possibly a robin."
        );
    }

    #[test]
    fn a_phrase_that_names_no_node_is_placed_or_not_understood() {
        let mut verdict = verdict(0.1);
        verdict.closer = 300;
        verdict.by = PlacedBy::Noun;
        let sentences = verdict_sentences("redbreast", &verdict, ("robin", Some("bird")));
        assert_eq!(
            sentences[1..],
            [
                "The tree has no entry for “redbreast”; I count it as a robin.",
                "Most captions I know fit the photo better than “redbreast”.",
            ]
        );
        verdict.by = PlacedBy::Embedding;
        verdict.understood = false;
        verdict.cone = Some(espalier_core::caption::ConeTest {
            angle: 0.1,
            aperture: 0.5,
        });
        let sentences = verdict_sentences("asdfgh", &verdict, ("robin", Some("bird")));
        assert_eq!(
            sentences[0],
            "I don't know what “asdfgh” means, so I can't say whether it fits."
        );
        assert!(sentences.iter().all(|sentence| !sentence.contains("robin")));
    }
}
