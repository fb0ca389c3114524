//! Names of classes for people.

/// Returns the name of a class as it is shown: the name of its folder, with blanks.
#[must_use]
pub fn name_of(label: &str) -> String {
    let text = label.replace(['_', '/'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
