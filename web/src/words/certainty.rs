//! Probabilities in words, and lists of names with them.

use espalier_core::caption::{MIN_GUESS, spoken_name};

/// Returns the words for a calibrated probability.
///
/// The thresholds follow everyday speech: "probably" is true more often than not.
pub fn how_sure(p: f64) -> &'static str {
    match p {
        p if p >= 0.95 => "almost certainly",
        p if p >= 0.8 => "very likely",
        p if p >= 0.5 => "probably",
        p if p >= MIN_GUESS => "possibly",
        _ => "unlikely",
    }
}

/// Returns the words for the probability of a concept. What lies `beyond` the node where the evidence stops is
/// at most possible, so that no list is surer than the sentence, which says that it cannot tell.
pub fn certainty(p: f64, beyond: bool) -> &'static str {
    match beyond {
        true => how_sure(p.min(MIN_GUESS)),
        false => how_sure(p),
    }
}

/// Names a concept, given by id and name, with its probability: "very likely a bird", "unlikely to be
/// a robin".
pub fn how_sure_of((id, name): (&str, &str), p: f64, beyond: bool) -> String {
    let name = spoken_name(id, name);
    match certainty(p, beyond) {
        "unlikely" => format!("unlikely to be {name}"),
        sure => format!("{sure} {name}"),
    }
}

/// Minimum probability at which a step is named without an adverb.
const CERTAIN: f64 = 0.99;

/// Returns a sentence with its first letter in upper case.
pub(super) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Joins names without adverbs: a guess is marked as such and needs none.
pub(super) fn join_names(steps: &[(String, f64)]) -> String {
    let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
    names.join(", ")
}

/// Joins names, with an adverb wherever it changes.
pub(super) fn join_with_adverbs(steps: &[(String, f64)]) -> String {
    let mut previous = "";
    let named = steps.iter().map(|(name, p)| {
        let adverb = if *p >= CERTAIN { "" } else { how_sure(*p) };
        let words = match adverb {
            "" => name.clone(),
            _ if adverb == previous => name.clone(),
            "unlikely" => format!("unlikely to be {name}"),
            _ => format!("{adverb} {name}"),
        };
        previous = adverb;
        words
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Formats a duration, `1840.2` → `1.8 s`, `184.2` → `184 ms`.
pub fn format_duration(milliseconds: f64) -> String {
    if milliseconds >= 1_000.0 {
        format!("{:.1} s", milliseconds / 1_000.0)
    } else {
        format!("{milliseconds:.0} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn durations_of_one_second_and_more_are_in_seconds() {
        assert_eq!(format_duration(184.2), "184 ms");
        assert_eq!(format_duration(1_840.2), "1.8 s");
    }
}
