//! Named, versioned sets of prompts. `{}` is a class name, `{a}` the name with its article.

use crate::exit::usage;
use crate::words::with_article;

/// Prompt sets by name.
const SETS: [(&str, &[&str]); 2] = [
    (
        "simple-1",
        &[
            "{}",
            "{a}",
            "a photo of {a}",
            "a picture of {a}",
            "this is {a}",
        ],
    ),
    (
        // METHODS 6.1, row imagenet.
        "meru-imagenet",
        &[
            "i took a picture : itap of a {}.",
            "pics : a bad photo of the {}.",
            "pics : a origami {}.",
            "pics : a photo of the large {}.",
            "pics : a {} in a video game.",
            "pics : art of the {}.",
            "pics : a photo of the small {}.",
        ],
    ),
];

/// The prompts of a set for one class name.
///
/// # Errors
/// Bad usage for an unknown set, with those that exist.
pub fn fill(set: &str, name: &str) -> anyhow::Result<Vec<String>> {
    let (_, templates) = SETS.iter().find(|(n, _)| *n == set).ok_or_else(|| {
        let known: Vec<&str> = SETS.iter().map(|(n, _)| *n).collect();
        usage(format!(
            "--prompts: expected one of {}, found `{set}`",
            known.join(", ")
        ))
    })?;
    let one = |t: &&str| t.replace("{a}", &with_article(name)).replace("{}", name);
    Ok(templates.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_with_the_name_and_its_article() {
        let filled = fill("simple-1", "umbrella").unwrap();
        assert_eq!(
            filled[..3],
            ["umbrella", "an umbrella", "a photo of an umbrella"]
        );
        let error = fill("simple-9", "x").unwrap_err().to_string();
        assert_eq!(
            error,
            "--prompts: expected one of simple-1, meru-imagenet, found `simple-9`"
        );
    }
}
