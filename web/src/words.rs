//! Turns numbers into text, which the page shows before any number.

use espalier_core::caption::{CaptionResult, ConeTest, PlacedBy, TaxonomyResult, Verdict};
use espalier_core::words::with_article;

use crate::state::dial::Dial;

/// Returns the adverb for a calibrated probability.
///
/// The thresholds follow everyday speech: "probably" is true more often than not.
#[must_use]
pub fn how_sure(p: f64) -> &'static str {
    match p {
        p if p >= 0.95 => "almost certainly",
        p if p >= 0.8 => "quite surely",
        p if p >= 0.5 => "probably",
        p if p >= 0.25 => "perhaps",
        _ => "hardly",
    }
}

/// Minimum probability at which a step is named without an adverb.
const CERTAIN: f64 = 0.99;

/// Maximum number of steps named in a sentence.
const MAX_NAMED_STEPS: usize = 3;

/// Returns the sentence for the dial at `level`; `None` means the level where the evidence stops.
///
/// "It is an animal, a bird, probably a thrush; I cannot tell which."
#[must_use]
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
        let all: Vec<_> = all.map(|s| (with_article(&s.name), s.p)).collect();
        all[all.len().saturating_sub(MAX_NAMED_STEPS)..].to_vec()
    };
    let sure = steps(dial.path_indices(supported));
    let guesses: Vec<usize> = beyond.filter_map(|level| dial.path_index(level)).collect();
    let guesses = steps(&guesses);
    let last = shown.is_some_and(|shown| shown + 1 >= dial.len());
    match (sure.is_empty(), guesses.is_empty()) {
        (true, true) => "I cannot tell what this is.".to_owned(),
        (false, true) if last => format!("It is {}.", join_with_adverbs(&sure)),
        (false, true) => format!("It is {}; I cannot tell which.", join_with_adverbs(&sure)),
        (true, false) => format!("I cannot tell; a guess is: {}.", join_names(&guesses)),
        (false, false) => format!(
            "It is {}; a guess is: {}.",
            join_with_adverbs(&sure),
            join_names(&guesses)
        ),
    }
}

/// Joins names without adverbs: a guess is marked as such and needs none.
fn join_names(steps: &[(String, f64)]) -> String {
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}

/// Joins names, with an adverb wherever it changes.
fn join_with_adverbs(steps: &[(String, f64)]) -> String {
    let mut previous = "";
    let named = steps.iter().map(|(name, p)| {
        let adverb = if *p >= CERTAIN { "" } else { how_sure(*p) };
        let words = if adverb.is_empty() || adverb == previous {
            name.clone()
        } else {
            format!("{adverb} {name}")
        };
        previous = adverb;
        words
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Minimum probability at which a step below the stop is mentioned as a guess.
const MIN_GUESS: f64 = 0.25;

/// Returns a sentence with the most specific level of the dial beyond the evidence that is likely
/// enough to mention, if any.
#[must_use]
pub fn guess_sentence(taxonomy: &TaxonomyResult, dial: &Dial) -> Option<String> {
    let beyond = dial.evidence().map_or(0, |level| level + 1)..dial.len();
    let guess = beyond
        .rev()
        .filter_map(|level| taxonomy.path.get(dial.path_index(level)?))
        .find(|step| step.p >= MIN_GUESS)?;
    Some(format!(
        "Perhaps {}, but the evidence does not carry that far.",
        with_article(&guess.name)
    ))
}

/// Returns, for each rung of the ladder, whether it is more specific than the evidence supports. A
/// rung that names no node of the path is more specific than the one before it, so it is beyond the
/// evidence if that one is.
#[must_use]
pub fn beyond_evidence(result: &CaptionResult) -> Vec<bool> {
    let path = &result.taxonomy.path;
    let index_of = |id: &str| path.iter().position(|step| step.id == id);
    let stop = index_of(&result.taxonomy.stop);
    let mut beyond = false;
    let rungs = result.ladder.iter().map(|rung| {
        let node = rung.node.as_deref().and_then(index_of);
        beyond |= node.is_some_and(|node| stop.is_none_or(|stop| node > stop));
        beyond
    });
    rungs.collect()
}

/// Describes the relation of a phrase to a photo: how close they are, whether the phrase's cone
/// contains the photo, and where their paths diverge. `concept` and `common` are names of nodes;
/// `common` is `None` if its name is uninformative.
#[must_use]
pub fn verdict_sentences(
    phrase: &str,
    verdict: &Verdict,
    (concept, common): (&str, Option<&str>),
) -> Vec<String> {
    let mut sentences = vec![closeness_sentence(phrase, verdict)];
    sentences.extend(verdict.cone.map(|cone| cone_sentence(phrase, cone)));
    sentences.extend(placement_sentence(verdict.by, concept));
    sentences.push(path_sentence(verdict, concept, common));
    sentences
}

/// Says how many captions are closer to the photo than the phrase.
fn closeness_sentence(phrase: &str, verdict: &Verdict) -> String {
    match verdict.closer {
        0 => format!("“{phrase}” is closer to this photo than every caption I know."),
        1 => format!(
            "One of the {} captions I know is closer to this photo than “{phrase}”.",
            verdict.captions
        ),
        closer => format!(
            "{closer} of the {} captions I know are closer to this photo than “{phrase}”.",
            verdict.captions
        ),
    }
}

/// Says whether the phrase's cone contains the photo, and if not, how far outside the photo lies.
fn cone_sentence(phrase: &str, cone: ConeTest) -> String {
    if cone.holds() {
        format!("The photo lies within the cone of “{phrase}”: the phrase may well hold for it.")
    } else {
        let degrees = (cone.angle - cone.aperture).to_degrees().max(0.5);
        format!(
            "The photo lies {degrees:.0} degrees outside of the cone of “{phrase}”: nothing says \
             that the phrase holds for it."
        )
    }
}

/// Says which concept stands for a phrase that names no node; `None` if the phrase names one.
fn placement_sentence(by: PlacedBy, concept: &str) -> Option<String> {
    let how = match by {
        PlacedBy::Name => return None,
        PlacedBy::Noun => "it belongs to",
        PlacedBy::Embedding => "the nearest in it is",
    };
    let concept = with_article(concept);
    Some(format!("The tree has no such name; {how} {concept}."))
}

/// Says where the path to the phrase's concept leaves the photo's path, and how probable both nodes
/// are.
fn path_sentence(verdict: &Verdict, concept: &str, common: Option<&str>) -> String {
    if verdict.concept == verdict.common {
        format!(
            "My path leads through {}: it is {} one.",
            with_article(concept),
            how_sure(verdict.p)
        )
    } else if let Some(common) = common {
        format!(
            "The way to {} leaves my path at “{common}”: it is {} {}, and {} {}.",
            with_article(concept),
            how_sure(verdict.common_p),
            with_article(common),
            how_sure(verdict.p),
            with_article(concept),
        )
    } else {
        format!(
            "The way to {} leaves my path before that tells anything: it is {} one.",
            with_article(concept),
            how_sure(verdict.p)
        )
    }
}

/// Formats a duration, `1840.2` → `1.8 s`, `184.2` → `184 ms`.
#[must_use]
pub fn format_duration(milliseconds: f64) -> String {
    if milliseconds >= 1_000.0 {
        format!("{:.1} s", milliseconds / 1_000.0)
    } else {
        format!("{milliseconds:.0} ms")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use espalier_core::caption::PathStep;
    use espalier_core::taxonomy::Taxonomy;

    use super::*;
    use crate::sample;

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
            "It is an animal, a bird, probably a thrush; I cannot tell which."
        );
        assert_eq!(
            sentence_at(&THRUSH, 3, None),
            "It is an animal, a bird, probably a thrush."
        );
        let unsure = [("entity", 1.0), ("animal", 0.97), ("bird", 0.96)];
        assert_eq!(
            sentence_at(&unsure, 2, None),
            "It is almost certainly an animal, a bird."
        );
    }

    #[test]
    fn a_lower_dial_names_fewer_steps_and_a_higher_dial_marks_guesses() {
        assert_eq!(
            sentence_at(&THRUSH, 3, Some(0)),
            "It is an animal; I cannot tell which."
        );
        assert_eq!(
            sentence_at(&THRUSH, 1, Some(2)),
            "It is an animal; a guess is: a bird, a thrush."
        );
        assert_eq!(sentence_at(&THRUSH, 0, None), "I cannot tell what this is.");
        assert_eq!(
            sentence_at(&THRUSH, 0, Some(0)),
            "I cannot tell; a guess is: an animal."
        );
        let nowhere = TaxonomyResult {
            path: Vec::new(),
            stop: "n1".into(),
        };
        let dial = Dial::of(&nowhere, None);
        assert_eq!(
            sentence(&nowhere, &dial, None),
            "I cannot tell what this is."
        );
    }

    #[test]
    fn a_long_path_is_described_by_its_last_three_steps() {
        let steps: Vec<(String, f64)> = (0..9).map(|i| (format!("thing {i}"), 1.0)).collect();
        let steps: Vec<(&str, f64)> = steps.iter().map(|(n, p)| (n.as_str(), *p)).collect();
        assert_eq!(
            sentence_at(&steps, 8, None),
            "It is a thing 6, a thing 7, a thing 8."
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
            Some("Perhaps a thrush, but the evidence does not carry that far.")
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
            Some("Perhaps an artifact, but the evidence does not carry that far.")
        );
    }

    #[test]
    fn adverbs_follow_the_probability() {
        let order = [0.99, 0.9, 0.6, 0.3, 0.1].map(how_sure);
        let mut unique = order.to_vec();
        unique.dedup();
        assert_eq!(unique.len(), order.len());
        assert_eq!(how_sure(0.95), "almost certainly");
        assert_eq!(how_sure(0.5), "probably");
    }

    #[test]
    fn rungs_below_the_stop_are_beyond_the_evidence_and_so_is_all_that_follows() {
        let mut result = sample::result(
            vec![
                sample::rung("an animal", Some("n1")),
                sample::rung("a bird", Some("n2")),
                sample::rung("a thrush", Some("n3")),
                sample::rung("a thrush on a wall", None),
            ],
            path(
                &[("e", 1.0), ("animal", 0.9), ("bird", 0.6), ("thrush", 0.2)],
                2,
            ),
        );
        assert_eq!(beyond_evidence(&result), [false, false, true, true]);
        result.taxonomy.stop = "n3".into();
        assert_eq!(beyond_evidence(&result), [false; 4]);
    }

    #[test]
    fn a_verdict_states_closeness_cone_test_and_where_the_paths_diverge() {
        let mut verdict = Verdict {
            similarity: -2.0,
            closer: 12,
            captions: 400,
            radius: 0.4,
            cone: Some(espalier_core::caption::ConeTest {
                angle: 1.0,
                aperture: 0.5,
            }),
            concept: "r".into(),
            by: PlacedBy::Name,
            p: 0.1,
            common: "b".into(),
            common_p: 0.9,
        };
        let sentences = verdict_sentences("a robin", &verdict, ("robin", Some("bird")));
        assert_eq!(
            sentences,
            [
                "12 of the 400 captions I know are closer to this photo than “a robin”.",
                "The photo lies 29 degrees outside of the cone of “a robin”: nothing says that the \
                 phrase holds for it.",
                "The way to a robin leaves my path at “bird”: it is quite surely a bird, and hardly \
                 a robin."
            ]
        );
        let sentences = verdict_sentences("a robin", &verdict, ("robin", None));
        let last =
            "The way to a robin leaves my path before that tells anything: it is hardly one.";
        assert_eq!(sentences[2], last);
        verdict.by = PlacedBy::Embedding;
        verdict.common = "r".into();
        verdict.cone = None;
        verdict.closer = 0;
        verdict.p = 0.6;
        let sentences = verdict_sentences("redbreast", &verdict, ("robin", Some("robin")));
        assert_eq!(
            sentences,
            [
                "“redbreast” is closer to this photo than every caption I know.",
                "The tree has no such name; the nearest in it is a robin.",
                "My path leads through a robin: it is probably one."
            ]
        );
        verdict.by = PlacedBy::Noun;
        let sentences = verdict_sentences("redbreast", &verdict, ("robin", Some("robin")));
        assert_eq!(
            sentences[1],
            "The tree has no such name; it belongs to a robin."
        );
    }

    #[test]
    fn durations_of_one_second_and_more_are_in_seconds() {
        assert_eq!(format_duration(184.2), "184 ms");
        assert_eq!(format_duration(1_840.2), "1.8 s");
    }
}
