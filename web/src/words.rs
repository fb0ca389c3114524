//! Numbers put into words: what the page says first, before any number.

use espalier_core::caption::TaxonomyResult;

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
        p if p >= 0.05 => "hardly",
        _ => "almost certainly not",
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

/// The best guess below the stop, as one sentence; none where there is nothing below.
#[must_use]
pub fn guess_sentence(taxonomy: &TaxonomyResult) -> Option<String> {
    let stop = taxonomy
        .path
        .iter()
        .position(|step| step.id == taxonomy.stop)?;
    let last = taxonomy
        .path
        .last()
        .filter(|_| stop + 1 < taxonomy.path.len())?;
    Some(format!(
        "If it had to name one thing: {}. Its evidence does not carry that far.",
        with_article(&last.name)
    ))
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
    use espalier_core::caption::PathStep;

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
            Some("If it had to name one thing: a thrush. Its evidence does not carry that far.")
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
        let order = [0.99, 0.9, 0.6, 0.3, 0.1, 0.01].map(how_sure);
        let mut unique = order.to_vec();
        unique.dedup();
        assert_eq!(unique.len(), order.len());
        assert_eq!(how_sure(0.95), "almost certainly");
        assert_eq!(how_sure(0.5), "probably");
    }

    #[test]
    fn times_are_told_in_seconds_from_one_second_on() {
        assert_eq!(in_time(184.2), "184 ms");
        assert_eq!(in_time(1_840.2), "1.8 s");
    }
}
