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

use super::lineages::Lineage;
use super::parse::fail;
use crate::error::Result;

/// Reads the lines into lineages.
pub(super) fn read(text: &str) -> Result<Vec<Lineage>> {
    // Indentation and name of every node above the current line.
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut lineages = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        let name = row.trim().trim_start_matches(['-', '*', '+', '•']).trim();
        if name.is_empty() {
            continue;
        }
        let blank = |c: &char| c.is_whitespace();
        let indent = row.chars().take_while(blank).count();
        above.retain(|(other, _)| *other < indent);
        if above.is_empty() && indent > 0 && !lineages.is_empty() {
            return fail(
                line,
                format!(
                    "`{name}` is indented less than the lines above it; expected no indentation"
                ),
            );
        }
        above.push((indent, name.to_owned()));
        lineages.push(Lineage {
            line,
            names: above.iter().map(|(_, name)| name.clone()).collect(),
        });
    }
    Ok(lineages)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
            "animal animal/bird animal/bird/thrush | Turdus* animal/bird/wren* animal/cat*"
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
    fn a_line_between_two_levels_of_nothing_is_named() {
        let error = Taxonomy::from_text("    animal\n  bird\n").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("line 2: `bird` is indented less"),
            "{error}"
        );
    }

    #[test]
    fn an_empty_text_is_no_tree() {
        let message = Taxonomy::from_text(" \n\n").unwrap_err().to_string();
        assert!(
            message.contains("expected at least one name, found none"),
            "{message}"
        );
    }
}
