//! Small matters of English.

/// Nouns that take no indefinite article, judged by the head of a name: its last word, or the last word
/// before "of".
const UNCOUNTABLE: [&str; 61] = [
    "armor",
    "bedding",
    "brass",
    "bread",
    "broccoli",
    "cattle",
    "clothing",
    "coffee",
    "confectionery",
    "coral",
    "corn",
    "cream",
    "crockery",
    "cuisine",
    "cutlery",
    "dough",
    "equipment",
    "espresso",
    "feed",
    "fodder",
    "food",
    "footgear",
    "footwear",
    "furniture",
    "goods",
    "guacamole",
    "hairspray",
    "hay",
    "headgear",
    "hosiery",
    "housing",
    "instrumentation",
    "jewelry",
    "knitwear",
    "legwear",
    "loaf",
    "mail",
    "makeup",
    "matter",
    "meat",
    "meatloaf",
    "media",
    "neckwear",
    "nightwear",
    "nutriment",
    "outerwear",
    "paper",
    "potato",
    "produce",
    "rapeseed",
    "sunscreen",
    "swine",
    "tableware",
    "thatch",
    "transport",
    "underwear",
    "velvet",
    "ware",
    "wear",
    "woodenware",
    "wool",
];

/// A name with its indefinite article where it takes one: `an animal`, `a bird`, `sunglasses`.
///
/// Judged by letters, with the common exceptions of a vowel that sounds like a consonant; plurals
/// and `UNCOUNTABLE` nouns stand alone.
#[must_use]
pub fn with_article(name: &str) -> String {
    let lower = name.to_lowercase();
    let head = lower.split(" of ").next().unwrap_or_default();
    let last = head.rsplit([' ', '-']).next().unwrap_or_default();
    let singular_s = ["ss", "us", "is"].iter().any(|e| last.ends_with(e));
    let plural = last.ends_with('s') && !singular_s;
    if plural || UNCOUNTABLE.contains(&last) {
        return name.to_owned();
    }
    let vowel = lower.starts_with(['a', 'e', 'i', 'o', 'u']);
    let glide =
        (lower.starts_with("uni") && !lower.starts_with("unin") && !lower.starts_with("unim"))
            || ["use", "euro", "one", "ukulele", "ute", "ewe"]
                .iter()
                .any(|p| lower.starts_with(p));
    let silent_h = ["hour", "honest", "honour", "heir"]
        .iter()
        .any(|p| lower.starts_with(p));
    let article = if (vowel && !glide) || silent_h {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_article_follows_the_sound() {
        let said = [
            "animal",
            "bird",
            "umbrella",
            "unicycle",
            "Egyptian cat",
            "ewe",
            "hourglass",
        ]
        .map(with_article);
        assert_eq!(
            said,
            [
                "an animal",
                "a bird",
                "an umbrella",
                "a unicycle",
                "an Egyptian cat",
                "a ewe",
                "an hourglass"
            ]
        );
    }

    #[test]
    fn plurals_and_masses_stand_alone() {
        let said = [
            "sunglasses",
            "swimming trunks",
            "ice cream",
            "espresso",
            "protective clothing",
        ]
        .map(with_article);
        assert_eq!(
            said,
            [
                "sunglasses",
                "swimming trunks",
                "ice cream",
                "espresso",
                "protective clothing"
            ]
        );
        let said = [
            "ear of corn",
            "means of transport",
            "bird of prey",
            "toilet paper",
        ]
        .map(with_article);
        assert_eq!(
            said,
            [
                "an ear of corn",
                "means of transport",
                "a bird of prey",
                "toilet paper"
            ]
        );
        let said = ["abacus", "albatross", "mantis", "school bus"].map(with_article);
        assert_eq!(
            said,
            ["an abacus", "an albatross", "a mantis", "a school bus"]
        );
    }
}
