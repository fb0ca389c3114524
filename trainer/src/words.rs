//! Small matters of English; kept in core, which composes texts too.

pub use espalier_core::words::with_article;

/// Plurals that follow no rule, by the last word of a name.
const IRREGULAR: [(&str, &str); 20] = [
    ("man", "men"),
    ("woman", "women"),
    ("child", "children"),
    ("person", "people"),
    ("foot", "feet"),
    ("tooth", "teeth"),
    ("goose", "geese"),
    ("mouse", "mice"),
    ("ox", "oxen"),
    ("wolf", "wolves"),
    ("calf", "calves"),
    ("leaf", "leaves"),
    ("loaf", "loaves"),
    ("knife", "knives"),
    ("wife", "wives"),
    ("shelf", "shelves"),
    ("scarf", "scarves"),
    ("sheep", "sheep"),
    ("fish", "fish"),
    ("deer", "deer"),
];

/// The plural of a name: that of its last word, by letters, with the common exceptions. Names that
/// are plural already stay as they are.
#[must_use]
pub fn plural(name: &str) -> String {
    let begin = name.rfind([' ', '-']).map_or(0, |at| at + 1);
    let (before, last) = name.split_at(begin);
    let irregular = IRREGULAR.iter().find(|(one, _)| {
        let rest = last.strip_suffix(one);
        // `fireman` is irregular, `human` and `bigfish` are rare enough.
        rest.is_some_and(|rest| rest.is_empty() || one.len() > 2 && *one != "ox" && last != "human")
    });
    if let Some((one, many)) = irregular {
        let stem = last.strip_suffix(one).unwrap_or_default();
        return format!("{before}{stem}{many}");
    }
    let is_vowel = |c: char| "aeiou".contains(c);
    let before_last = last.chars().rev().nth(1);
    let hisses = ["ss", "x", "ch", "sh", "us", "z"]
        .iter()
        .any(|end| last.ends_with(end));
    if hisses {
        format!("{name}es")
    } else if last.ends_with('s') {
        name.to_owned()
    } else if last.ends_with('y') && !before_last.is_some_and(is_vowel) {
        format!("{}ies", &name[..name.len() - 1])
    } else {
        format!("{name}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_the_last_word() {
        let known = [
            ("dog", "dogs"),
            ("puppy", "puppies"),
            ("toy", "toys"),
            ("fire truck", "fire trucks"),
            ("wine glass", "wine glasses"),
            ("church", "churches"),
            ("scissors", "scissors"),
            ("white wolf", "white wolves"),
            ("fireman", "firemen"),
            ("human", "humans"),
            ("box", "boxes"),
        ];
        for (one, many) in known {
            assert_eq!(plural(one), many);
        }
    }
}
