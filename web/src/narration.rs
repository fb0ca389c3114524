//! Turns a result into text in one place; the widget has no text of its own.

use espalier_core::bundle::Manifest;
use espalier_core::caption::{
    CaptionResult, Lineage, Receipt, Standing, TaxonomyResult, standings,
};
use espalier_core::taxonomy::Taxonomy;

use crate::messages::narration::{LevelText, Narration};
use crate::state::dial::Dial;
use crate::words::{also_sentence, answer_at, answer_guess, how_sure_of, position};

/// Turns a result into text, with a receipt for the bundle's manifest. `tree` is the taxonomy of
/// the result.
pub fn narrate(result: &CaptionResult, manifest: &Manifest, tree: Option<&Taxonomy>) -> Narration {
    let path = &result.taxonomy.path;
    let of_tree = Dial::of(&result.taxonomy, tree);
    let dial = Dial::of_ladder(result).unwrap_or_else(|| of_tree.clone());
    let stop = of_tree
        .evidence()
        .and_then(|level| of_tree.path_index(level));
    // The step that a position of the dial marks. A rung that names no step leaves the mark where it is.
    let step = |level: usize| {
        if !dial.is_of_ladder() {
            return dial.path_index(level);
        }
        let named = result.ladder.get(level)?.node.as_ref()?;
        path.iter().position(|step| step.id == *named)
    };
    let levels = (0..dial.len()).map(|level| LevelText {
        position: position(&dial, level, path, &result.ladder),
        sentence: answer_at(result, &of_tree, Some(level)),
        step: step(level).or(stop),
        hidden: (dial.shows(result, level).iter())
            .map(|shown| !shown)
            .collect(),
    });
    let answer = [
        Some(answer_at(result, &of_tree, None)),
        also_sentence(result),
    ];
    let standings = standings(&result.ladder, &result.taxonomy);
    let receipt = Receipt::new(result.clone(), manifest);
    Narration {
        sentence: answer.into_iter().flatten().collect::<Vec<_>>().join(" "),
        guess: answer_guess(result, &of_tree),
        step: stop,
        hidden: (standings.iter())
            .map(|standing| *standing == Standing::Unlikely)
            .collect(),
        beyond: (standings.iter())
            .map(|standing| *standing != Standing::Known)
            .collect(),
        levels: levels.collect(),
        evidence: dial.evidence(),
        named: of_tree.path_indices(Some(of_tree.len())).to_vec(),
        // Cannot fail: the receipt holds plain values only.
        receipt: serde_json::to_string_pretty(&receipt).unwrap_or_default(),
    }
}

/// Describes the location of a node in one sentence.
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
    let shared = place.path.iter().find(|step| step.id == place.shared);
    match shared.filter(|_| at.is_none()) {
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
mod tests {
    use espalier_core::caption::Rung;
    use espalier_core::statements::Role;

    use super::*;
    use crate::sample;

    fn result() -> CaptionResult {
        sample::result(
            vec![
                sample::rung("a bird", Some("bird")),
                sample::rung("a thrush", Some("thrush")),
            ],
            TaxonomyResult {
                path: sample::steps(&[("entity", 1.0), ("bird", 0.9), ("thrush", 0.3)]),
                stop: "bird".into(),
            },
        )
    }

    fn manifest() -> Manifest {
        let tiny = include_bytes!("../../static/models/tiny/manifest.json");
        Manifest::parse(tiny).unwrap()
    }

    fn sentences(narration: &Narration) -> Vec<&str> {
        let levels = narration.levels.iter();
        levels.map(|level| level.sentence.as_str()).collect()
    }

    #[test]
    fn the_text_of_a_level_says_less_or_guesses_and_never_denies_what_is_known() {
        let narration = narrate(&result(), &manifest(), None);
        assert_eq!((narration.evidence, narration.step), (Some(0), Some(1)));
        assert_eq!(narration.sentence, narration.levels[0].sentence);
        assert_eq!(
            narration.guess.as_deref(),
            Some("It might be a thrush, but I'm not sure enough.")
        );
        assert_eq!(
            sentences(&narration),
            [
                "Very likely a bird. I can't tell what kind.",
                "Very likely a bird. My guess: a thrush."
            ]
        );
        assert_eq!(narration.beyond, [false, true]);
        assert_eq!(narration.hidden, [false, false]);
        assert_eq!(narration.levels[0].hidden, [false, true]);
        let mut sure = result();
        sure.taxonomy.path[2].p = 0.99;
        sure.taxonomy.stop = "thrush".into();
        let sure = narrate(&sure, &manifest(), None);
        assert_eq!((sure.guess, sure.beyond), (None, vec![false, false]));
        let above = &sure.levels[0];
        assert_eq!(above.sentence, "Shown down to: very likely a bird.");
        assert_eq!(above.hidden, [false, true]);
        assert_eq!(
            (above.position.as_str(), above.step),
            ("bird, very likely", Some(1))
        );
        let receipt = Receipt::parse(&narration.receipt, &manifest()).unwrap();
        assert_eq!(receipt.result, result());
        assert_eq!(receipt.prompts.as_deref(), Some("simple-1"));
    }

    #[test]
    fn where_detectors_tell_what_a_photo_shows_every_level_says_it() {
        let rungs = [
            ("people", 0.999),
            ("people eating", 0.8),
            ("people eating pizza", 0.6),
        ];
        let rungs = rungs.map(|(text, p)| Rung {
            p: Some(p),
            ..sample::rung(text, None)
        });
        // The tree alone could not tell what the photo shows.
        let unknown = TaxonomyResult {
            path: sample::steps(&[("entity", 1.0), ("dish", 0.5), ("pizza", 0.4)]),
            stop: "entity".into(),
        };
        let mut result = sample::result(rungs.to_vec(), unknown);
        result.said = Some(2);
        result.shows = vec![sample::shown("people", 0.99, Role::Subject)];
        let narration = narrate(&result, &manifest(), None);
        assert_eq!(
            sentences(&narration),
            [
                "People.",
                "Very likely people eating.",
                "Very likely people eating. My guess: people eating pizza."
            ]
        );
        assert_eq!((narration.evidence, narration.step), (Some(1), None));
        assert_eq!(narration.named, [1, 2]);
        let first = &narration.levels[0];
        assert_eq!(
            (first.step, first.position.as_str()),
            (None, "people, almost certainly")
        );
        assert_eq!(first.hidden, [false, true, true]);
    }

    #[test]
    fn a_place_off_the_path_names_where_the_two_paths_diverge() {
        let place = Lineage {
            id: "robin".into(),
            name: "robin".into(),
            path: sample::steps(&[("entity", 1.0), ("bird", 0.9), ("robin", 0.1)]),
            shared: "bird".into(),
        };
        assert_eq!(
            place_sentence(&place, &result().taxonomy),
            "This is unlikely to be a robin. “robin” and “thrush” are both kinds of “bird”."
        );
        let on_path = Lineage {
            id: "bird".into(),
            name: "bird".into(),
            path: sample::steps(&[("entity", 1.0), ("bird", 0.9)]),
            shared: "bird".into(),
        };
        assert_eq!(
            place_sentence(&on_path, &result().taxonomy),
            "This is very likely a bird."
        );
    }
}
