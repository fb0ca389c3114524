//! Turns a result into text in one place; the widget has no text of its own.

use espalier_core::bundle::Manifest;
use espalier_core::caption::{
    CaptionResult, Lineage, Receipt, Standing, TaxonomyResult, standings,
};
use espalier_core::taxonomy::Taxonomy;

use crate::messages::narration::{Narration, StopText};
use crate::state::dial::Dial;
use crate::words::{
    also_sentence, answer_guess, answer_sentence, certainty, how_sure_of, sentence,
};

/// Turns a result into text, with a receipt for the bundle's manifest. `tree` is the taxonomy of
/// the result.
#[must_use]
pub fn narrate(result: &CaptionResult, manifest: &Manifest, tree: Option<&Taxonomy>) -> Narration {
    let path = &result.taxonomy.path;
    let stop = path.iter().position(|step| step.id == result.taxonomy.stop);
    let dial = Dial::of(&result.taxonomy, tree);
    let known = standings(&result.ladder, &result.taxonomy);
    let levels = dial.path_indices(Some(dial.len())).iter().copied();
    let stop_texts = levels.enumerate().map(|(level, index)| {
        let step = &path[index];
        let level = Some(level);
        let is_stop = level == dial.evidence();
        let is_above = Some(index) < stop && !is_stop;
        // Rungs down to the cut; whether they are known depends on the evidence, not on the cut.
        let mut cut = result.taxonomy.clone();
        cut.stop.clone_from(&step.id);
        let within = standings(&result.ladder, &cut);
        let hidden = known
            .iter()
            .zip(&within)
            .map(|(known, within)| match is_above {
                true => *within != Standing::Known,
                false => *known == Standing::Unlikely && *within != Standing::Known,
            });
        StopText {
            index,
            stop: step.id.clone(),
            certainty: certainty(step.p, Some(index) > stop).to_owned(),
            sentence: sentence(&result.taxonomy, &dial, level.filter(|_| !is_stop)),
            guess: is_stop.then(|| answer_guess(result, &dial)).flatten(),
            beyond: known.iter().map(|s| *s != Standing::Known).collect(),
            hidden: hidden.collect(),
        }
    });
    let receipt = Receipt::new(result.clone(), manifest);
    let answer = answer_sentence(result, &dial);
    Narration {
        sentence: [Some(answer), also_sentence(result)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
        stop_texts: stop_texts.collect(),
        stop: dial.evidence(),
        // Cannot fail: the receipt holds plain values only.
        receipt: serde_json::to_string_pretty(&receipt).unwrap_or_default(),
    }
}

/// Describes the location of a node in one sentence.
#[must_use]
pub fn place_sentence(place: &Lineage, taxonomy: &TaxonomyResult) -> String {
    let p = place.path.last().map_or(0.0, |step| step.p);
    let stop = taxonomy
        .path
        .iter()
        .position(|step| step.id == taxonomy.stop);
    let at = taxonomy.path.iter().position(|step| step.id == place.id);
    // Whatever is not on the path down to the stop is beyond it.
    let beyond = at.is_none() || at > stop;
    let statement = format!(
        "This is {}",
        how_sure_of((&place.id, &place.name), p, beyond)
    );
    if taxonomy.path.iter().any(|step| step.id == place.id) {
        return format!("{statement}.");
    }
    let shared = place.path.iter().find(|step| step.id == place.shared);
    match shared {
        Some(shared) => {
            let (asked, answer) = (&place.name, taxonomy.path.last());
            let answer = answer.map_or("", |step| &*step.name);
            let shared = &shared.name;
            format!("{statement}. “{asked}” and “{answer}” are both kinds of “{shared}”.")
        }
        None => format!("{statement}."),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use espalier_core::caption::PathStep;

    use super::*;
    use crate::sample;

    fn steps(names: &[(&str, f64)]) -> Vec<PathStep> {
        let step = |(name, p): &(&str, f64)| PathStep {
            id: (*name).into(),
            name: (*name).into(),
            p: *p,
        };
        names.iter().map(step).collect()
    }

    fn result() -> CaptionResult {
        sample::result(
            vec![
                sample::rung("a bird", Some("bird")),
                sample::rung("a thrush", Some("thrush")),
            ],
            TaxonomyResult {
                path: steps(&[("entity", 1.0), ("bird", 0.9), ("thrush", 0.3)]),
                stop: "bird".into(),
            },
        )
    }

    fn manifest() -> Manifest {
        let tiny = include_bytes!("../../static/models/tiny/manifest.json");
        Manifest::parse(tiny).unwrap()
    }

    #[test]
    fn the_text_of_a_cut_says_less_or_guesses_and_never_denies_what_is_known() {
        let narration = narrate(&result(), &manifest(), None);
        assert_eq!(narration.stop, Some(0));
        assert_eq!(narration.sentence, narration.stop_texts[0].sentence);
        let sentences: Vec<&str> = (narration.stop_texts.iter())
            .map(|text| text.sentence.as_str())
            .collect();
        assert_eq!(
            sentences,
            [
                "Very likely a bird. I can't tell what kind.",
                "Very likely a bird. My guess: a thrush."
            ]
        );
        for text in &narration.stop_texts {
            assert_eq!(text.beyond, [false, true]);
            assert_eq!(text.hidden, [false, false]);
        }
        let mut sure = result();
        sure.taxonomy.path[2].p = 0.99;
        sure.taxonomy.stop = "thrush".into();
        let above = &narrate(&sure, &manifest(), None).stop_texts[0];
        assert_eq!(above.sentence, "Shown down to: very likely a bird.");
        assert_eq!(
            (above.guess.as_deref(), above.hidden.as_slice()),
            (None, &[false, true][..])
        );
        assert_eq!(above.beyond, [false, false]);
        let receipt = Receipt::parse(&narration.receipt, &manifest()).unwrap();
        assert_eq!(receipt.result, result());
        assert_eq!(receipt.prompts.as_deref(), Some("simple-1"));
    }

    #[test]
    fn a_place_off_the_path_names_where_the_two_paths_diverge() {
        let place = Lineage {
            id: "robin".into(),
            name: "robin".into(),
            path: steps(&[("entity", 1.0), ("bird", 0.9), ("robin", 0.1)]),
            shared: "bird".into(),
        };
        assert_eq!(
            place_sentence(&place, &result().taxonomy),
            "This is unlikely to be a robin. “robin” and “thrush” are both kinds of “bird”."
        );
        let on_path = Lineage {
            id: "bird".into(),
            name: "bird".into(),
            path: steps(&[("entity", 1.0), ("bird", 0.9)]),
            shared: "bird".into(),
        };
        assert_eq!(
            place_sentence(&on_path, &result().taxonomy),
            "This is very likely a bird."
        );
    }
}
