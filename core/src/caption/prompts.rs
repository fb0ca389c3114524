//! Prompts that present the name of a concept to a text encoder.

use crate::words::with_article;

/// Prompt set of models trained on short captions; bundles name it in their provenance.
pub const SIMPLE: &str = "simple-1";

/// The patterns of [`SIMPLE`]: `{}` is a name, `{a}` the name with its article.
pub const PATTERNS: [&str; 5] = [
    "{}",
    "{a}",
    "a photo of {a}",
    "a picture of {a}",
    "this is {a}",
];

/// Inserts a name into a pattern.
///
/// ```
/// use espalier_core::caption::prompts::prompt;
/// assert_eq!(prompt("a photo of {a}", "owl"), "a photo of an owl");
/// ```
#[must_use]
pub fn prompt(pattern: &str, name: &str) -> String {
    pattern
        .replace("{a}", &with_article(name))
        .replace("{}", name)
}
