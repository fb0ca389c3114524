//! English articles, plurals and singulars.

/// Nouns that take no indefinite article. They are compared with the head of a name: its last word,
/// or the last word before "of" or "or".
const UNCOUNTABLE: &str = "\
    armor bedding brass bread broccoli cattle clothing coffee confectionery coral corn cream \
    crockery cuisine cutlery dough equipment espresso feed fodder food footgear footwear \
    furniture goods guacamole hairspray hay headgear hosiery housing instrumentation jewelry \
    knitwear legwear loaf mail makeup matter meat meatloaf media neckwear nightwear nutriment \
    outerwear paper potato produce rapeseed sunscreen swine tableware thatch transport underwear \
    velvet ware wear woodenware wool";

/// Returns a name with its indefinite article if it takes one: `an animal`, `a bird`, `sunglasses`.
///
/// The first letters decide between `a` and `an`, with the common exceptions of a vowel letter that
/// sounds like a consonant. Plurals and `UNCOUNTABLE` nouns get no article.
#[must_use]
pub fn with_article(name: &str) -> String {
    let lower = name.to_lowercase();
    let head = lower.split(" of ").next().unwrap_or_default();
    let head = head.split(" or ").next().unwrap_or_default();
    let (_, last) = split_last(head);
    let singular_s = ends(last, &["ss", "us", "is"]);
    let plural = last.ends_with('s') && !singular_s;
    if plural || is_listed(last, UNCOUNTABLE) {
        return name.to_owned();
    }
    let begins = |beginnings: &[&str]| beginnings.iter().any(|b| lower.starts_with(b));
    let vowel = lower.starts_with(['a', 'e', 'i', 'o', 'u']);
    let glide = begins(&["uni"]) && !begins(&["unin", "unim"])
        || begins(&["use", "euro", "one", "ukulele", "ute", "ewe"]);
    let silent_h = begins(&["hour", "honest", "honour", "heir"]);
    match vowel && !glide || silent_h {
        true => format!("an {name}"),
        false => format!("a {name}"),
    }
}

/// Splits a name before its last word.
fn split_last(name: &str) -> (&str, &str) {
    name.split_at(name.rfind([' ', '-']).map_or(0, |at| at + 1))
}

fn is_listed(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

fn ends(word: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| word.ends_with(ending))
}

/// Irregular plurals, by the last word of a name.
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

/// Returns the plural of a name: the plural of its last word, by its ending, with the common
/// exceptions. A name that is already a plural is returned unchanged.
#[must_use]
pub fn plural(name: &str) -> String {
    let (before, last) = split_last(name);
    for (singular, plural) in IRREGULAR {
        // `fireman` is irregular like `man`; `human` is not. Other such words are rare.
        let is_irregular = |stem: &&str| stem.is_empty() || singular != "ox" && last != "human";
        if let Some(stem) = last.strip_suffix(singular).filter(is_irregular) {
            return format!("{before}{stem}{plural}");
        }
    }
    let is_vowel = |c: char| "aeiou".contains(c);
    let before_last = last.chars().rev().nth(1);
    if ends(last, &["ss", "x", "ch", "sh", "us", "z"]) {
        format!("{name}es")
    } else if last.ends_with('s') {
        name.to_owned()
    } else if last.ends_with('y') && !before_last.is_some_and(is_vowel) {
        format!("{}ies", &name[..name.len() - 1])
    } else {
        format!("{name}s")
    }
}

/// Returns the names that `name` may be a plural of, the most likely first: `kitten` for `kittens`,
/// `knife` for `knives`. A word that is not a plural may also give names; the caller checks which
/// of them exist.
#[must_use]
pub fn singulars(name: &str) -> Vec<String> {
    let (before, last) = split_last(name);
    let mut names = Vec::new();
    for (singular, plural) in IRREGULAR {
        if let Some(stem) = last.strip_suffix(plural) {
            names.push(format!("{before}{stem}{singular}"));
        }
    }
    for (ending, replacement) in [
        ("ies", "y"),
        ("ves", "f"),
        ("ves", "fe"),
        ("es", ""),
        ("s", ""),
    ] {
        if let Some(stem) = last.strip_suffix(ending).filter(|stem| stem.len() > 1) {
            names.push(format!("{before}{stem}{replacement}"));
        }
    }
    names
}

/// Last words of names that look like plurals but are said of one thing, without an article: `sunglasses`.
const NO_PLURALS: &str = "\
    athletics bars bedclothes binoculars clothes drygoods durables earphones electronics glasses \
    goods groceries headphones jeans molasses news pajamas pants pliers scissors shorts \
    spectacles stairs starches stockings sunglasses sweets tights tongs trousers trunks tweezers";

/// The same with an article: `a lens`.
const SINGULAR_S: [&str; 5] = ["lens", "longlegs", "patas", "series", "triceratops"];

/// Names one thing of a kind, as a sentence does: `a bird` for both `bird` and `birds`, but
/// `sunglasses` and `a lens`. Names of classes in a visitor's tree are often plurals.
#[must_use]
pub fn one_of(name: &str) -> String {
    let (before, last) = split_last(name);
    let lower = last.to_lowercase();
    if SINGULAR_S.contains(&lower.as_str()) {
        return match before {
            "" => format!("a {last}"),
            _ => format!("{} {last}", with_article(before).trim_end()),
        };
    }
    // The head of `chest of drawers` is not its last word.
    let is_head = !name.contains(" of ") && !name.contains(" or ");
    match singular_of(&lower).filter(|_| is_head && !is_listed(&lower, NO_PLURALS)) {
        Some(singular) => with_article(&format!("{before}{singular}")),
        None => with_article(name),
    }
}

/// Returns the singular of a word in lower case that has the form of a plural.
fn singular_of(word: &str) -> Option<String> {
    for (singular, plural) in IRREGULAR {
        if word == plural && singular != plural {
            return Some(singular.to_owned());
        }
    }
    if !word.ends_with('s') || ends(word, &["ss", "us", "is"]) || word.len() < 4 {
        return None;
    }
    let keeps_e = ["shoes", "canoes", "toes", "aches"];
    let has_es = ends(word, &["sses", "xes", "zzes", "ches", "shes", "oes"]);
    Some(if let Some(stem) = word.strip_suffix("ies") {
        format!("{stem}y")
    } else if has_es && !ends(word, &keeps_e) {
        word[..word.len() - 2].to_owned()
    } else {
        word[..word.len() - 1].to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_of_a_kind_is_named_in_the_singular() {
        for (name, expected) in [
            ("birds", "a bird"),
            ("bird", "a bird"),
            ("Wild boxes", "a Wild box"),
            ("sunglasses", "sunglasses"),
            ("lens", "a lens"),
            ("camera lens", "a camera lens"),
            ("mice", "a mouse"),
            ("sheep", "a sheep"),
            ("berries", "a berry"),
            ("horses", "a horse"),
            ("chest of drawers", "a chest of drawers"),
            ("socks or stockings", "socks or stockings"),
            ("furniture", "furniture"),
            ("octopus", "an octopus"),
        ] {
            assert_eq!(one_of(name), expected);
        }
    }

    #[test]
    fn the_article_follows_the_sound_and_plurals_and_uncountable_nouns_get_none() {
        for phrase in [
            "an animal",
            "a bird",
            "an umbrella",
            "a unicycle",
            "an Egyptian cat",
            "a ewe",
            "an hourglass",
            "an ear of corn",
            "a bird of prey",
            "an abacus",
            "an albatross",
            "a mantis",
            "a school bus",
        ] {
            let (_, name) = phrase.split_once(' ').unwrap_or_default();
            assert_eq!(with_article(name), phrase);
        }
        for name in [
            "sunglasses",
            "swimming trunks",
            "ice cream",
            "espresso",
            "protective clothing",
            "means of transport",
            "toilet paper",
            "food or drink",
        ] {
            assert_eq!(with_article(name), name);
        }
    }

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
        for (singular, expected) in known {
            assert_eq!(plural(singular), expected);
        }
    }

    #[test]
    fn plurals_lead_back_to_their_names() {
        for (plural, singular) in [
            ("kittens", "kitten"),
            ("puppies", "puppy"),
            ("kitchen knives", "kitchen knife"),
            ("wolves", "wolf"),
            ("firemen", "fireman"),
            ("boxes", "box"),
        ] {
            assert!(
                singulars(plural).iter().any(|name| name == singular),
                "{plural}"
            );
        }
        assert!(singulars("s").is_empty());
    }
}
