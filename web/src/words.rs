//! Numbers put into words: what the page says first, before any number.

use espalier_core::caption::{CaptionResult, TaxonomyResult};

/// Names that take no article, by their last word.
const UNCOUNTED: [&str; 27] = [
    "bread",
    "clothing",
    "coffee",
    "confectionery",
    "coral",
    "cream",
    "cutlery",
    "equipment",
    "espresso",
    "food",
    "footwear",
    "furniture",
    "goods",
    "guacamole",
    "hosiery",
    "housing",
    "matter",
    "media",
    "neckwear",
    "outerwear",
    "potato",
    "produce",
    "tableware",
    "thatch",
    "transport",
    "ware",
    "woodenware",
];

/// How sure a calibrated probability is, as an adverb.
///
/// The steps are those of everyday speech: "probably" is true more often than not.
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

/// A name with its indefinite article where it takes one: `an owl`, `a unicorn`, `food`.
#[must_use]
pub fn with_article(name: &str) -> String {
    let last = name.rsplit(' ').next().unwrap_or(name);
    let plural = last.ends_with('s') && !["ss", "us", "is"].iter().any(|end| last.ends_with(end));
    if plural || UNCOUNTED.contains(&last) {
        return name.to_owned();
    }
    let lower = name.to_lowercase();
    let sounded = ["hour", "honest", "heir"]
        .iter()
        .any(|start| lower.starts_with(start));
    let hidden = ["uni", "use", "uro", "eu", "one"]
        .iter()
        .any(|start| lower.starts_with(start));
    let vowel = lower.starts_with(['a', 'e', 'i', 'o', 'u']);
    let article = if sounded || (vowel && !hidden) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

/// Where the evidence stops, as one sentence.
#[must_use]
pub fn stop_sentence(taxonomy: &TaxonomyResult) -> String {
    let stop = taxonomy
        .path
        .iter()
        .position(|step| step.id == taxonomy.stop);
    let Some(stop) = stop else {
        return "It cannot tell what this is.".to_owned();
    };
    let step = &taxonomy.path[stop];
    let last = stop + 1 == taxonomy.path.len();
    if stop == 0 && !last {
        return "It cannot tell what this is.".to_owned();
    }
    let said = format!("It is {} {}", how_sure(step.p), with_article(&step.name));
    if last {
        format!("{said}.")
    } else {
        format!("{said}; which {}, it cannot tell.", step.name)
    }
}

/// Probability from which a step below the stop is worth a word.
const WORTH_A_GUESS: f64 = 0.25;

/// The narrowest guess below the stop that is worth a word, as one sentence.
#[must_use]
pub fn guess_sentence(taxonomy: &TaxonomyResult) -> Option<String> {
    let stop = taxonomy
        .path
        .iter()
        .position(|step| step.id == taxonomy.stop)?;
    let guess = taxonomy
        .path
        .iter()
        .skip(stop + 1)
        .rfind(|step| step.p >= WORTH_A_GUESS)?;
    Some(format!(
        "Perhaps {}, but the evidence does not carry that far.",
        with_article(&guess.name)
    ))
}

/// Which rungs of the ladder speak of something narrower than what the evidence carries. A rung
/// that names no node of the path says more than the one before it, so it is beyond if that one is.
#[must_use]
pub fn beyond_evidence(result: &CaptionResult) -> Vec<bool> {
    let path = &result.taxonomy.path;
    let place = |id: &str| path.iter().position(|step| step.id == id);
    let stop = place(&result.taxonomy.stop);
    let mut beyond = false;
    let rungs = result.ladder.iter().map(|rung| {
        let node = rung.node.as_deref().and_then(place);
        beyond |= node.is_some_and(|node| stop.is_none_or(|stop| node > stop));
        beyond
    });
    rungs.collect()
}

/// `1840.2` → `1.8 s`, `184.2` → `184 ms`.
#[must_use]
pub fn in_time(milliseconds: f64) -> String {
    if milliseconds >= 1_000.0 {
        format!("{:.1} s", milliseconds / 1_000.0)
    } else {
        format!("{milliseconds:.0} ms")
    }
}

#[cfg(test)]
mod tests {
    use espalier_core::caption::{ModelInfo, PathStep, PhotoInfo, Rung};

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

    #[test]
    fn a_stop_in_the_middle_says_what_is_sure_and_what_is_not() {
        let result = path(&[("entity", 1.0), ("bird", 0.86), ("thrush", 0.3)], 1);
        assert_eq!(
            stop_sentence(&result),
            "It is quite surely a bird; which bird, it cannot tell."
        );
        assert_eq!(
            guess_sentence(&result).as_deref(),
            Some("Perhaps a thrush, but the evidence does not carry that far.")
        );
    }

    #[test]
    fn a_guess_is_made_as_narrow_as_is_worth_a_word_and_no_narrower() {
        let steps = [
            ("entity", 1.0),
            ("bird", 0.7),
            ("thrush", 0.3),
            ("song thrush", 0.1),
        ];
        let guess = guess_sentence(&path(&steps, 1));
        assert_eq!(
            guess.as_deref(),
            Some("Perhaps a thrush, but the evidence does not carry that far.")
        );
        assert_eq!(
            guess_sentence(&path(&steps[..2], 0)).map(|g| g.contains("a bird")),
            Some(true)
        );
        assert_eq!(
            guess_sentence(&path(&[("entity", 1.0), ("bird", 0.2)], 0)),
            None
        );
    }

    #[test]
    fn a_stop_at_the_end_names_the_thing() {
        let result = path(&[("entity", 1.0), ("animal", 0.97), ("owl", 0.96)], 2);
        assert_eq!(stop_sentence(&result), "It is almost certainly an owl.");
        assert_eq!(guess_sentence(&result), None);
    }

    #[test]
    fn a_stop_at_the_root_or_nowhere_is_not_knowing() {
        let at_root = path(&[("entity", 1.0), ("animal", 0.4)], 0);
        assert_eq!(stop_sentence(&at_root), "It cannot tell what this is.");
        let nowhere = TaxonomyResult {
            path: Vec::new(),
            stop: "n1".into(),
        };
        assert_eq!(stop_sentence(&nowhere), "It cannot tell what this is.");
    }

    #[test]
    fn names_take_the_article_of_everyday_english() {
        for (name, said) in [
            ("owl", "an owl"),
            ("bird", "a bird"),
            ("hourglass", "an hourglass"),
            ("uniform", "a uniform"),
            ("umbrella", "an umbrella"),
            ("ungulate", "an ungulate"),
            ("Egyptian cat", "an Egyptian cat"),
            ("European fire salamander", "a European fire salamander"),
            ("outerwear", "outerwear"),
            ("overgarment", "an overgarment"),
            ("sunglasses", "sunglasses"),
            ("abacus", "an abacus"),
            ("albatross", "an albatross"),
            ("mantis", "a mantis"),
            ("food", "food"),
            ("sports equipment", "sports equipment"),
            ("ice cream", "ice cream"),
            ("iPod", "an iPod"),
        ] {
            assert_eq!(with_article(name), said);
        }
    }

    #[test]
    fn words_of_certainty_never_rise_while_p_falls() {
        let order = [0.99, 0.9, 0.6, 0.3, 0.1].map(how_sure);
        let mut unique = order.to_vec();
        unique.dedup();
        assert_eq!(unique.len(), order.len());
        assert_eq!(how_sure(0.95), "almost certainly");
        assert_eq!(how_sure(0.5), "probably");
    }

    #[test]
    fn rungs_below_the_stop_are_beyond_the_evidence_and_so_is_all_that_follows() {
        let rung = |text: &str, node: Option<&str>| Rung {
            text: text.into(),
            radius: 0.0,
            similarity: 0.0,
            node: node.map(Into::into),
        };
        let mut result = CaptionResult {
            model: ModelInfo {
                name: "m".into(),
                version: "1".into(),
                sha256: "0".into(),
            },
            backend: "cpu".into(),
            image: PhotoInfo {
                width: 1,
                height: 1,
                sha256: "0".into(),
            },
            ladder: vec![
                rung("an animal", Some("n1")),
                rung("a bird", Some("n2")),
                rung("a thrush", Some("n3")),
                rung("a thrush on a wall", None),
            ],
            taxonomy: path(
                &[("e", 1.0), ("animal", 0.9), ("bird", 0.6), ("thrush", 0.2)],
                2,
            ),
            timing_ms: std::collections::BTreeMap::new(),
        };
        assert_eq!(beyond_evidence(&result), [false, false, true, true]);
        result.taxonomy.stop = "n3".into();
        assert_eq!(beyond_evidence(&result), [false; 4]);
    }

    #[test]
    fn times_are_told_in_seconds_from_one_second_on() {
        assert_eq!(in_time(184.2), "184 ms");
        assert_eq!(in_time(1_840.2), "1.8 s");
    }
}
