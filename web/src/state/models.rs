//! Decides which comparison of models the page offers, given the models installed with it.

use crate::load::{DEFAULT_MODEL, SMALL_MODEL};

/// The comparison that a visitor is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// No comparison: there is one model, or both are on the screen already.
    None,
    /// A link that shows the default model and the small one side by side.
    Both,
    /// A choice among all models, because there are models other than these two.
    Choice,
}

impl Comparison {
    /// Decides from the names of the installed models (`listed`) and of those on the screen
    /// (`shown`).
    pub fn of(listed: &[String], shown: &[String]) -> Self {
        let has = |names: &[String], name: &str| names.iter().any(|n| n == name);
        let both = |names: &[String]| has(names, DEFAULT_MODEL) && has(names, SMALL_MODEL);
        if listed.len() < 2 {
            Self::None
        } else if listed.len() > 2 || !both(listed) {
            Self::Choice
        } else if both(shown) {
            Self::None
        } else {
            Self::Both
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(listed: &[&str], shown: &[&str]) -> Comparison {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        Comparison::of(&owned(listed), &owned(shown))
    }

    #[test]
    fn both_models_are_offered_until_both_are_shown() {
        let listed = ["default", "tiny"];
        assert_eq!(of(&listed, &["default"]), Comparison::Both);
        assert_eq!(of(&listed, &["tiny"]), Comparison::Both);
        assert_eq!(of(&listed, &["tiny", "default"]), Comparison::None);
    }

    #[test]
    fn one_model_is_no_comparison_and_further_models_are_a_choice() {
        assert_eq!(of(&[], &["default"]), Comparison::None);
        assert_eq!(of(&["default"], &["default"]), Comparison::None);
        assert_eq!(of(&["birds", "default"], &["default"]), Comparison::Choice);
        let three = ["birds", "default", "tiny"];
        assert_eq!(of(&three, &["default", "tiny"]), Comparison::Choice);
    }
}
