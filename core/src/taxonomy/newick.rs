//! Trees in Newick format, `((thrush,wren)bird,cat)animal;`, as programs for phylogenies write
//! them.
//!
//! Branch lengths and comments such as `[&R]` are ignored; support values are kept beside the names. In names without
//! quotes, underscores become blanks; quotes are single or double. Of several trees the first is read.

use super::nested::Branch;
use super::parse::fail;
use super::taxa;
use crate::error::Result;

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

    fn tree(&mut self) -> Result<Branch> {
        let tree = self.branch(0)?;
        match self.peek() {
            Some(';') => {
                self.next();
                Ok(tree)
            }
            Some(c) => {
                let reason = format!("expected `;` at the end of the tree, found `{c}`");
                fail(self.line, reason)
            }
            None => Ok(tree),
        }
    }

    fn branch(&mut self, depth: usize) -> Result<Branch> {
        if depth > MAX_DEPTH {
            let reason = format!("brackets are nested deeper than {MAX_DEPTH}");
            return fail(self.line, reason);
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
        let mut name = self.name()?;
        while self.peek() == Some(':') {
            self.next();
            let length = self.name()?;
            // A name after a support value, `98:Felidae`.
            if !length.is_empty() && !taxa::is_number(&length) {
                name = format!("{name}:{length}");
            }
        }
        Ok(Branch {
            name,
            line,
            children,
        })
    }

    fn name(&mut self) -> Result<String> {
        let mut name = String::new();
        if let Some(quote @ ('\'' | '"')) = self.peek() {
            self.next();
            loop {
                match self.next() {
                    // A doubled quote is one within the name.
                    Some(c) if c == quote && self.rest.peek() == Some(&quote) => {
                        self.next();
                        name.push(quote);
                    }
                    Some(c) if c == quote => return Ok(name),
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
            name.push(c);
        }
        if !taxa::has_rank(&name) {
            name = name.replace('_', " ");
        }
        Ok(name.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Returns whether a text is in this format: it begins with a bracket, after comments.
pub(super) fn is_newick(text: &str) -> bool {
    reader(text, 1).peek() == Some('(')
}

fn reader(text: &str, line: usize) -> Reader<'_> {
    Reader {
        rest: text.chars().peekable(),
        line,
    }
}

/// Reads the first tree of a text that begins at a line, and counts the trees.
pub(super) fn read(text: &str, line: usize) -> Result<(Branch, usize)> {
    let mut reader = reader(text, line);
    let first = reader.tree()?;
    let mut count = 1;
    while reader.peek() == Some('(') {
        reader.tree()?;
        count += 1;
    }
    match reader.peek() {
        Some(c) => {
            let reason = format!("expected the end of the text after the tree, found `{c}`");
            fail(reader.line, reason)
        }
        None => Ok((first, count)),
    }
}

#[cfg(test)]
mod tests {
    use crate::taxonomy::Taxonomy;

    /// Returns the ids of a tree's nodes, separated by `; `.
    fn ids(text: &str) -> String {
        let tree = Taxonomy::from_text(text).unwrap();
        let ids: Vec<&str> = tree.nodes().iter().map(|node| node.id.as_str()).collect();
        ids.join("; ")
    }

    #[test]
    fn names_lengths_quotes_and_comments_are_read() {
        assert_eq!(
            ids("((song_thrush:0.1,'wren''s kin':2)bird[note],cat)animal;"),
            "animal; animal/bird; animal/bird/song thrush; animal/bird/wren's kin; animal/cat"
        );
    }

    #[test]
    fn an_inner_node_without_a_name_is_called_after_its_ends() {
        let expected = "a … c; a … c/a; a … c/b … c; a … c/b … c/b; a … c/b … c/c";
        assert_eq!(ids("(a,(b,c));"), expected);
    }

    #[test]
    fn two_nodes_of_one_name_stay_two() {
        let text = "((robin:0.1,wren:0.2)kin:0.3,(cat,dog)kin,(cat)kin)animal;";
        assert_eq!(
            ids(text),
            "animal; animal/kin; animal/kin/robin; animal/kin/wren; animal/kin (2); \
             animal/kin (2)/cat; animal/kin (2)/dog; animal/kin (3); animal/kin (3)/cat"
        );
    }

    #[test]
    fn support_values_are_no_names_unless_leaves_are_numbers_too() {
        let names = |text: &str| {
            let tree = Taxonomy::from_text(text).unwrap();
            let names = tree.nodes().iter().map(|node| node.names.join("|"));
            names.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            names("((robin:0.1,wren:0.2)100:0.3,(cat,dog)98.5/100)root;"),
            "root; robin … wren; robin; wren; cat … dog; cat; dog"
        );
        let tree = Taxonomy::from_text("((robin,wren)98.5/100,cat)animal;").unwrap();
        assert_eq!(tree.nodes()[1].support.as_deref(), Some("98.5/100"));
        assert!(tree.nodes()[2].support.is_none());
        assert!(tree.note().unwrap().contains("(1) are support values"));
        assert_eq!(
            names("((9606,9598)207598,9593)9604;"),
            "9604; 207598; 9606; 9598; 9593"
        );
        assert_eq!(
            names("((s__Felis_catus:1)'98.0:f__Felidae; g__Felis':2,x)o__Carnivora;"),
            "Carnivora; Felidae|Felis; Felis catus; x"
        );
        assert_eq!(names("((a,b)90:Felidae:0.1,c)d;"), "d; Felidae; a; b; c");
    }

    #[test]
    fn comments_may_come_first_and_quotes_may_be_double() {
        let text = "[exported in May]\n[&R] ((\"a \"\"b\"\", c\",wren)bird,cat)animal;";
        assert!(ids(text).contains("; animal/bird/a \"b\", c; "));
    }

    #[test]
    fn the_first_of_several_trees_is_read_and_the_others_are_counted() {
        let tree = Taxonomy::from_text("(a,b)c;\n(d,e)f;").unwrap();
        assert_eq!(tree.nodes().len(), 3);
        assert!(tree.note().unwrap().contains("first of 2 trees"));
        assert_eq!(Taxonomy::from_text("(a,b)c;").unwrap().note(), None);
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
        assert!(message("(a,b)c; d").contains("expected the end of the text after the tree"));
        assert!(message(&"(".repeat(5_000)).contains("nested deeper"));
        assert!(message("(a,)b;").contains("a name is empty"));
    }
}
