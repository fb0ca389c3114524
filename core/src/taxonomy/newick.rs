//! Trees in Newick format, `((thrush,wren)bird,cat)animal;`, as programs for phylogenies write
//! them.
//!
//! Branch lengths and comments are ignored. In names without quotes, underscores become blanks. An
//! inner node without a name is named after its first and last leaf.

use super::lineages::Lineages;
use super::parse::fail;
use crate::error::Result;

/// A tree being read.
struct Branch {
    name: String,
    line: usize,
    children: Vec<Branch>,
}

impl Branch {
    fn first(&self) -> &str {
        self.children.first().map_or(&self.name, Self::first)
    }

    fn last(&self) -> &str {
        self.children.last().map_or(&self.name, Self::last)
    }

    fn called(&self) -> String {
        if self.name.is_empty() && !self.children.is_empty() {
            format!("{} … {}", self.first(), self.last())
        } else {
            self.name.clone()
        }
    }

    /// Adds the lineages of its leaves; `above` holds the names above it, and again afterwards.
    fn lineages(&self, above: &mut Vec<String>, into: &mut Lineages) -> Result<()> {
        above.push(self.called());
        if self.children.is_empty() {
            into.push(self.line, above.iter().map(String::as_str))?;
        }
        for child in &self.children {
            child.lineages(above, into)?;
        }
        above.pop();
        Ok(())
    }
}

/// Maximum nesting. A deeper tree is treated as a mistake, so that the recursion cannot overflow
/// the stack.
const MAX_DEPTH: usize = 400;

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        if next == Some('\n') {
            self.line += 1;
        }
        next
    }

    /// Returns the next character that is neither blank nor part of a comment, without consuming
    /// it.
    fn peek(&mut self) -> Option<char> {
        loop {
            match self.rest.peek().copied() {
                Some(c) if c.is_whitespace() => {
                    self.next();
                }
                Some('[') => while self.next().is_some_and(|c| c != ']') {},
                other => return other,
            }
        }
    }

    fn branch(&mut self, depth: usize) -> Result<Branch> {
        if depth > MAX_DEPTH {
            return fail(
                self.line,
                format!("brackets are nested deeper than {MAX_DEPTH}"),
            );
        }
        let mut children = Vec::new();
        if self.peek() == Some('(') {
            self.next();
            loop {
                children.push(self.branch(depth + 1)?);
                match self.peek() {
                    Some(',') => self.next(),
                    Some(')') => {
                        self.next();
                        break;
                    }
                    Some(c) => return fail(self.line, format!("expected `,` or `)`, found `{c}`")),
                    None => return fail(self.line, "a bracket is not closed"),
                };
            }
        }
        self.peek();
        let line = self.line;
        let name = self.name()?;
        if self.peek() == Some(':') {
            self.next();
            self.name()?;
        }
        Ok(Branch {
            name,
            line,
            children,
        })
    }

    fn name(&mut self) -> Result<String> {
        let mut name = String::new();
        if self.peek() == Some('\'') {
            self.next();
            loop {
                match self.next() {
                    Some('\'') if self.rest.peek() == Some(&'\'') => {
                        self.next();
                        name.push('\'');
                    }
                    Some('\'') => return Ok(name),
                    Some(c) => name.push(c),
                    None => return fail(self.line, "a quoted name is not closed"),
                }
            }
        }
        while let Some(c) = self.rest.peek().copied() {
            if "(),:;[".contains(c) {
                break;
            }
            self.next();
            name.push(if c == '_' { ' ' } else { c });
        }
        Ok(name.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Returns whether a text is in this format.
pub(super) fn is_newick(text: &str) -> bool {
    text.trim_start().starts_with('(')
}

/// Reads the tree into the lineages of its leaves.
pub(super) fn read(text: &str) -> Result<Lineages> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
        line: 1,
    };
    let root = reader.branch(0)?;
    if let Some(c) = reader.peek().filter(|c| *c != ';') {
        return fail(
            reader.line,
            format!("expected `;` at the end of the tree, found `{c}`"),
        );
    }
    let mut lineages = Lineages::default();
    root.lineages(&mut Vec::new(), &mut lineages)?;
    Ok(lineages)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::taxonomy::Taxonomy;

    fn ids(text: &str) -> Vec<String> {
        let tree = Taxonomy::from_text(text).unwrap();
        tree.nodes().iter().map(|node| node.id.clone()).collect()
    }

    #[test]
    fn names_lengths_quotes_and_comments_are_read() {
        assert_eq!(
            ids("((song_thrush:0.1,'wren''s kin':2)bird[note],cat)animal;"),
            [
                "animal",
                "animal/bird",
                "animal/bird/song thrush",
                "animal/bird/wren's kin",
                "animal/cat"
            ]
        );
    }

    #[test]
    fn an_inner_node_without_a_name_is_called_after_its_ends() {
        assert_eq!(ids("(a,(b,c));")[2..3], ["a … c/b … c"]);
    }

    #[test]
    fn brackets_may_be_nested_four_hundred_deep() {
        let nested = |depth: usize| {
            let text = format!("{}a{}b;", "(".repeat(depth), ")".repeat(depth));
            Taxonomy::from_text(&text)
        };
        assert!(nested(400).is_ok());
        let error = nested(401).unwrap_err().to_string();
        assert!(error.contains("nested deeper than 400"), "{error}");
    }

    #[test]
    fn a_broken_tree_says_where_and_what() {
        let message = |text: &str| Taxonomy::from_text(text).unwrap_err().to_string();
        assert!(message("((a,b)").contains("line 1: a bracket is not closed"));
        assert!(message("(a,\n'b").contains("line 2: a quoted name is not closed"));
        assert!(message("(a,b)c d) e;").contains("expected `;`"));
        assert!(message(&"(".repeat(5_000)).contains("nested deeper"));
        assert!(message("(a,)b;").contains("a name is empty"));
    }
}
