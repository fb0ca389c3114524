//! Describes how well a name was learned.

use espalier_core::caption::TaughtCheck;

/// Number of photos that is enough to tell how well a name was learned.
const ENOUGH_PHOTOS: usize = 3;

/// Describes how well a name was learned, with a warning if it is easily taken for something else.
pub fn check_words(name: &str, check: &TaughtCheck) -> String {
    let TaughtCheck {
        recognised,
        photos,
        rival,
    } = check;
    match rival {
        Some(rival) => format!(
            "Learned, but “{name}” is hard to tell from “{rival}”: {recognised} of {photos} photos \
             were recognised by the others. More photos may help."
        ),
        None if *photos < ENOUGH_PHOTOS => {
            format!("Learned. “{name}” will be recognised better with three or more photos.")
        }
        None => format!("Learned. “{name}” is recognised from now on."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_another_gets_a_warning() {
        let check = |recognised, photos, rival: Option<&str>| TaughtCheck {
            recognised,
            photos,
            rival: rival.map(str::to_owned),
        };
        let words = check_words("axolotl", &check(1, 3, Some("mole salamander")));
        assert!(words.contains("hard to tell from “mole salamander”: 1 of 3 photos"));
        assert!(check_words("Bella", &check(1, 1, None)).contains("three or more photos"));
        assert_eq!(
            check_words("Bella", &check(3, 3, None)),
            "Learned. “Bella” is recognised from now on."
        );
    }
}
