//! Trees as indented text: one name per line, deeper names indented further.
//!
//! ```text
//! animal
//!   bird
//!     thrush | Turdus
//!   cat
//! ```
//!
//! A tab counts as one step of indentation, like a blank. Bullets (`-`, `*`, `+`, `•`) are ignored.

use super::lineages::Lineages;
use super::parse::fail;
use crate::error::Result;

/// Reads the lines into lineages.
pub(super) fn read(text: &str) -> Result<Lineages> {
    // Indentation and name of every node above the current line.
    let mut above: Vec<(&str, &str)> = Vec::new();
    let mut lineages = Lineages::default();
    for (line, row) in (1..).zip(text.lines()) {
        let name = row.trim().trim_start_matches(['-', '*', '+', '•']).trim();
        if name.is_empty() {
            continue;
        }
        let indent = &row[..row.len() - row.trim_start().len()];
        let is_above = |other: &str| other.len() < indent.len() && indent.starts_with(other);
        let mut sibling = None;
        while above.last().is_some_and(|(other, _)| !is_above(other)) {
            sibling = above.pop();
        }
        if let Some((other, sibling)) = sibling.filter(|(other, _)| *other != indent)
            && !indent.is_empty()
        {
            return fail(
                line,
                format!(
                    "`{name}` is indented by {}; expected {} as for `{sibling}` above it, or the \
                     indentation of another line above it",
                    in_words(indent),
                    in_words(other)
                ),
            );
        }
        above.push((indent, name));
        lineages.push(line, above.iter().map(|(_, name)| *name))?;
    }
    Ok(lineages)
}

/// Describes an indentation: `2 blanks`, `1 tab`, `1 tab and 2 blanks`.
fn in_words(indent: &str) -> String {
    let tabs = indent.chars().filter(|c| *c == '\t').count();
    let count = |n: usize, what: &str| match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    };
    let blanks = indent.chars().count() - tabs;
    let parts = [count(tabs, "tab"), count(blanks, "blank")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "nothing".to_owned();
    }
    parts.join(" and ")
}

#[cfg(test)]
mod tests {
    use crate::taxonomy::Taxonomy;

    fn shape(text: &str) -> String {
        let tree = Taxonomy::from_text(text).unwrap();
        tree.nodes()
            .iter()
            .map(|node| format!("{}{}", node.id, if node.labelled { "*" } else { "" }))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn indentation_makes_a_tree_whose_leaves_are_labelled() {
        let text = "animal\n  bird\n    thrush | Turdus\n    wren\n  cat\n";
        assert_eq!(
            shape(text),
            "animal animal/bird animal/bird/thrush ¦ Turdus* animal/bird/wren* animal/cat*"
        );
        let tree = Taxonomy::from_text(text).unwrap();
        let thrush = tree.labelled()[0];
        assert_eq!(tree.node(thrush).names, ["thrush", "Turdus"]);
    }

    #[test]
    fn bullets_and_tabs_are_read_and_several_tops_get_a_root() {
        assert_eq!(
            shape("- tool\n\t- saw\n- toy\n"),
            "everything everything/tool everything/tool/saw* everything/toy*"
        );
    }

    #[test]
    fn a_line_between_two_levels_is_named_and_an_empty_text_is_no_tree() {
        let fault = |text| Taxonomy::from_text(text).unwrap_err().to_string();
        for (text, expected) in [
            (
                "    animal\n  bird\n",
                "line 2: `bird` is indented by 2 blanks; expected 4 blanks",
            ),
            ("animal\n    dog\n    cat\n  bird\n", "line 4: `bird`"),
            (
                "animal\n\tdog\n  cat\n",
                "line 3: `cat` is indented by 2 blanks; expected 1 tab as for `dog`",
            ),
            (" \n\n", "expected at least one name, found none"),
        ] {
            let message = fault(text);
            assert!(message.contains(expected), "{message}");
        }
    }
}
