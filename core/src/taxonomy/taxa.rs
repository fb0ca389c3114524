//! Names of taxa as databases and programs for phylogenies write them.

/// Returns whether a text is a number such as `100`, `-0.5` or `1e-3`.
///
/// By its characters: the conversion of numbers would take 15 kB of the page.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            .all(|c| c.is_ascii_digit() || ".eE+-".contains(c))
}

/// Returns whether a label is a support value: a number, or several separated by `/`, such as `100`, `0.98` and
/// IQ-TREE's `98.5/100`.
pub(super) fn is_support(label: &str) -> bool {
    label.split('/').all(|part| is_number(part.trim()))
}

/// Returns the support value that a label begins with, and its name: `98.0:f__Felidae` has both, and `100` has no
/// name.
pub(super) fn split_support(label: &str) -> (Option<&str>, &str) {
    if is_support(label) {
        return (Some(label), "");
    }
    match label.split_once(':') {
        Some((support, name)) if is_support(support) => (Some(support.trim()), name.trim()),
        _ => (None, label),
    }
}

/// Returns a name without the prefixes of ranks that GTDB, Greengenes and SILVA write: `f__Felidae` is `Felidae`,
/// and `s__`, a rank without a name, is empty. A node of several ranks, `f__Felidae; g__Felis`, has several names.
pub(super) fn without_ranks(name: &str) -> String {
    if !name.split(';').all(|part| has_rank(part.trim())) {
        return name.to_owned();
    }
    let names = name.split(';').map(|part| part.trim()[RANK.len()..].trim());
    let names: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(|name| name.replace('_', " "))
        .collect();
    names.join(" | ")
}

/// A prefix of a rank.
const RANK: &str = "d__";

/// Returns whether a name begins with the prefix of a rank, from domain or kingdom to species.
pub(super) fn has_rank(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| "dkpcofgs".contains(c)) && chars.as_str().starts_with("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn support_values_are_no_names() {
        for label in ["100", "0.98", "98.5/100", "1e-3", ".5"] {
            assert_eq!(split_support(label), (Some(label), ""));
        }
        for label in ["f__Felidae", "inf", "nan", "7-spot ladybird", "98.0/x"] {
            assert_eq!(split_support(label), (None, label));
        }
        let both = (Some("98.0"), "f__Felidae");
        assert_eq!(split_support("98.0:f__Felidae"), both);
    }

    #[test]
    fn prefixes_of_ranks_are_no_part_of_a_name() {
        assert_eq!(without_ranks("f__Felidae; g__Felis"), "Felidae | Felis");
        assert_eq!(without_ranks("s__Felis_catus"), "Felis catus");
        assert_eq!(without_ranks("s__"), "");
        assert_eq!(without_ranks("snow__leopard"), "snow__leopard");
        assert_eq!(without_ranks("cat; s__Felis"), "cat; s__Felis");
    }
}
