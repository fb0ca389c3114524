//! Trees in the NEXUS format, as FigTree, BEAST and MrBayes write them: the first tree of the block `trees`, its
//! names translated.

use std::collections::BTreeMap;

use super::nested::Branch;
use super::newick;
use super::parse::fail;
use crate::error::Result;

/// Returns whether a text is in this format.
pub(super) fn is_nexus(text: &str) -> bool {
    let start = text.trim_start().get(..6);
    start.is_some_and(|start| start.eq_ignore_ascii_case("#nexus"))
}

/// A command of a file, without the `;` at its end.
struct Command<'a> {
    /// First word, in lower case.
    word: String,
    rest: &'a str,
    /// Line on which the rest begins.
    line: usize,
}

/// Reads the first tree, and counts the trees.
pub(super) fn read(text: &str) -> Result<(Branch, usize)> {
    let mut names = BTreeMap::new();
    let mut first: Option<Branch> = None;
    let mut count = 0;
    let mut in_trees = false;
    for command in commands(text) {
        match command.word.as_str() {
            "begin" => in_trees = command.rest.trim().eq_ignore_ascii_case("trees"),
            "end" | "endblock" => in_trees = false,
            "translate" if in_trees => names = translation(command.rest),
            "tree" | "utree" if in_trees => {
                let Some((_, tree)) = command.rest.split_once('=') else {
                    return fail(command.line, "a tree has no `=`");
                };
                count += 1;
                if first.is_none() {
                    first = Some(newick::read(tree, command.line)?.0);
                }
            }
            _ => {}
        }
    }
    let Some(mut tree) = first else {
        return fail(
            0,
            "expected a tree in a block `trees` of the NEXUS file, found none",
        );
    };
    translate(&mut tree, &names);
    Ok((tree, count))
}

/// Splits a text at each `;` that is neither quoted nor in a comment.
fn commands(text: &str) -> Vec<Command<'_>> {
    let mut found = Vec::new();
    let (mut start, mut line, mut first_line) = (0, 1, 1);
    let (mut quoted, mut comments) = (false, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '\n' => line += 1,
            '[' if !quoted => comments += 1,
            ']' if !quoted => comments = comments.saturating_sub(1),
            '\'' if comments == 0 => quoted = !quoted,
            ';' if comments == 0 && !quoted => {
                found.extend(command(&text[start..at], first_line));
                (start, first_line) = (at + 1, line);
            }
            _ => {}
        }
    }
    found
}

fn command(text: &str, line: usize) -> Option<Command<'_>> {
    let mut rest = text.trim_start();
    if is_nexus(rest) {
        rest = rest[6..].trim_start();
    }
    while let Some(comment) = rest.strip_prefix('[') {
        rest = comment.split_once(']')?.1.trim_start();
    }
    let end = rest
        .find(|c: char| c.is_whitespace() || c == '[')
        .unwrap_or(rest.len());
    let before = text.len() - rest.len() + end;
    Some(Command {
        word: rest[..end].to_lowercase(),
        rest: &rest[end..],
        line: line + text[..before].matches('\n').count(),
    })
}

/// Returns the names of a `translate` command: entries `1 Felis_catus`, separated by commas.
fn translation(list: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '\'' => quoted = !quoted,
            ',' if !quoted || at == list.len() => {
                if let Some((key, name)) = list[start..at].trim().split_once(char::is_whitespace) {
                    names.insert(key.to_owned(), name.trim().to_owned());
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

fn translate(branch: &mut Branch, names: &BTreeMap<String, String>) {
    if let Some(name) = names.get(&branch.name) {
        branch.name = match name
            .strip_prefix('\'')
            .and_then(|name| name.strip_suffix('\''))
        {
            Some(quoted) => quoted.replace("''", "'"),
            None => name.replace('_', " "),
        };
    }
    for child in &mut branch.children {
        translate(child, names);
    }
}

#[cfg(test)]
mod tests {
    use crate::taxonomy::Taxonomy;

    #[test]
    fn the_first_tree_is_read_with_its_names_translated() {
        let text = "#NEXUS\n[by hand; see notes]\nBegin taxa;\n taxlabels a b;\nend;\nBEGIN TREES;\n\
            Translate 1 Felis_catus, 2 'wren''s kin, small', 3 dog;\n\
            tree one = [&R] ((1:0.1,3:0.2)[&posterior=1]0.98:0.3,2)root;\ntree two = (1,2);\nEnd;\n";
        let tree = Taxonomy::from_text(text).unwrap();
        let names: Vec<&str> = tree.nodes().iter().map(|n| n.names[0].as_str()).collect();
        let expected = "root; Felis catus … dog; Felis catus; dog; wren's kin, small";
        assert_eq!(names.join("; "), expected);
        assert!(tree.note().unwrap().contains("first of 2 trees"));
    }

    #[test]
    fn a_file_without_a_tree_and_a_broken_tree_are_named() {
        let message = |text: &str| Taxonomy::from_text(text).unwrap_err().to_string();
        assert!(message("#nexus\nbegin data;\nend;").contains("block `trees`"));
        let broken = message("#NEXUS\nbegin trees;\n\ntree a =\n(b,c;\nend;");
        let expected = "line 5: a bracket is not closed";
        assert!(broken.contains(expected), "{broken}");
    }
}
