//! The taxonomy as an outline: expanded rows, focus and keyboard navigation.
//!
//! As in WordNet, a concept may have several parents and thus several rows. A row is therefore
//! identified by its path from the root.

use std::collections::BTreeSet;

use espalier_core::taxonomy::{NodeIx, Taxonomy};

/// The path from the root to a row, both included.
pub type RowPath = Vec<NodeIx>;

/// A visible row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The path to it.
    pub path: RowPath,
    /// Whether it is expanded; `None` for a node without children.
    pub open: Option<bool>,
    /// Position among its siblings, from 1.
    pub position: usize,
    /// Number of siblings, including itself.
    pub siblings: usize,
}

impl Row {
    /// Returns the node of the row.
    pub fn node(&self) -> NodeIx {
        self.path.last().copied().unwrap_or(NodeIx(0))
    }

    /// Returns a key of the row that is stable for a given taxonomy.
    pub fn key(&self) -> String {
        key_of(&self.path)
    }
}

/// Returns the key of the row at the end of a path.
pub fn key_of(path: &[NodeIx]) -> String {
    let steps: Vec<String> = path.iter().map(|ix| ix.0.to_string()).collect();
    steps.join("-")
}

/// Expanded rows and the focus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    open: BTreeSet<RowPath>,
    focus: RowPath,
}

impl Outline {
    /// Creates an outline with the root expanded.
    pub fn new(tree: &Taxonomy) -> Self {
        let root = vec![tree.root()];
        Self {
            open: BTreeSet::from([root.clone()]),
            focus: root,
        }
    }

    /// Returns the path of the row that has the focus.
    pub fn focus(&self) -> &[NodeIx] {
        &self.focus
    }

    /// Moves the focus to a row.
    pub fn set_focus(&mut self, path: RowPath) {
        self.focus = path;
    }

    /// Collapses or expands a row.
    pub fn toggle(&mut self, path: &[NodeIx]) {
        if !self.open.remove(path) {
            self.open.insert(path.to_vec());
        }
    }

    /// Expands all ancestors of a row and moves the focus to it.
    pub fn reveal(&mut self, path: RowPath) {
        for end in 1..path.len() {
            self.open.insert(path[..end].to_vec());
        }
        self.focus = path;
    }

    /// Collapses everything, expands one path and moves the focus to its row at index `focus`.
    pub fn show_only(&mut self, path: &[NodeIx], focus: usize) {
        self.open.clear();
        self.reveal(path.to_vec());
        self.focus = path[..(focus + 1).min(path.len())].to_vec();
    }

    /// Returns all visible rows, top to bottom; siblings by descending `weight`, then by name.
    pub fn rows(&self, tree: &Taxonomy, weight: impl Fn(NodeIx) -> f32) -> Vec<Row> {
        let mut rows = Vec::new();
        self.add(tree, &weight, vec![tree.root()], (1, 1), &mut rows);
        rows
    }

    fn add(
        &self,
        tree: &Taxonomy,
        weight: &impl Fn(NodeIx) -> f32,
        path: RowPath,
        (position, siblings): (usize, usize),
        rows: &mut Vec<Row>,
    ) {
        let node = path.last().copied().unwrap_or(tree.root());
        let mut children = tree.children(node).to_vec();
        let open = (!children.is_empty()).then(|| self.open.contains(&path));
        rows.push(Row {
            path: path.clone(),
            open,
            position,
            siblings,
        });
        if open == Some(true) {
            children.sort_by(|a, b| {
                let by_weight = weight(*b).total_cmp(&weight(*a));
                by_weight.then_with(|| tree.name(*a).cmp(tree.name(*b)))
            });
            let count = children.len();
            for (i, child) in children.into_iter().enumerate() {
                let mut path = path.clone();
                path.push(child);
                self.add(tree, weight, path, (i + 1, count), rows);
            }
        }
    }

    /// Handles a key; returns whether it has a meaning here. `rows` are the visible rows.
    ///
    /// Follows the ARIA practices for tree views; page up and down move between siblings.
    pub fn key(&mut self, tree: &Taxonomy, rows: &[Row], key: &str) -> bool {
        let index = rows.iter().position(|row| row.path == self.focus);
        let index = index.unwrap_or(0);
        let Some(row) = rows.get(index) else {
            return false;
        };
        let next = match key {
            "ArrowDown" => rows.get(index + 1).map(|r| r.path.clone()),
            "ArrowUp" => index.checked_sub(1).map(|above| rows[above].path.clone()),
            "Home" => rows.first().map(|r| r.path.clone()),
            "End" => rows.last().map(|r| r.path.clone()),
            "PageDown" => next_sibling(row, rows[index + 1..].iter()),
            "PageUp" => next_sibling(row, rows[..index].iter().rev()),
            "ArrowRight" => self.expand_or_enter(row, rows.get(index + 1)),
            "ArrowLeft" => self.collapse_or_leave(row),
            "*" => {
                self.expand_siblings(tree, row);
                None
            }
            typed if typed.chars().count() == 1 && typed != " " => {
                let after = rows[index + 1..].iter().chain(&rows[..=index]);
                let found = first_that_begins(tree, after, typed);
                if found.is_none() {
                    return false;
                }
                found
            }
            _ => return false,
        };
        if let Some(next) = next {
            self.focus = next;
        }
        true
    }

    /// Expands a collapsed row, or returns the path of the row below an expanded one, which is its
    /// first child.
    fn expand_or_enter(&mut self, row: &Row, below: Option<&Row>) -> Option<RowPath> {
        match row.open {
            Some(false) => {
                self.open.insert(row.path.clone());
                None
            }
            Some(true) => below.map(|r| r.path.clone()),
            None => None,
        }
    }

    /// Collapses an expanded row, or returns the path of another row's parent.
    fn collapse_or_leave(&mut self, row: &Row) -> Option<RowPath> {
        let depth = row.path.len();
        match row.open {
            Some(true) => {
                self.open.remove(&row.path);
                None
            }
            _ if depth > 1 => Some(row.path[..depth - 1].to_vec()),
            _ => None,
        }
    }

    /// Expands a row and all its siblings.
    fn expand_siblings(&mut self, tree: &Taxonomy, row: &Row) {
        let parent = &row.path[..row.path.len().saturating_sub(1)];
        let siblings = parent.last().map_or(&[][..], |ix| tree.children(*ix));
        for child in siblings {
            self.open.insert([parent, &[*child]].concat());
        }
    }
}

/// Returns the path of the nearest sibling of a row among `rows`, which begin next to it and lead
/// away from it.
fn next_sibling<'a>(row: &Row, rows: impl Iterator<Item = &'a Row>) -> Option<RowPath> {
    let depth = row.path.len();
    let mut near = rows.take_while(|r| r.path.len() >= depth);
    near.find(|r| r.path.len() == depth).map(|r| r.path.clone())
}

/// Returns the path of the first row whose name begins with a letter, in either case.
fn first_that_begins<'a>(
    tree: &Taxonomy,
    mut rows: impl Iterator<Item = &'a Row>,
    letter: &str,
) -> Option<RowPath> {
    let letter = letter.to_lowercase();
    let begins = |r: &&Row| tree.name(r.node()).to_lowercase().starts_with(&letter);
    rows.find(begins).map(|r| r.path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        e\tentity\t\t0\n\
        a\tanimal\te\t0\n\
        p\tpet\te\t0\n\
        w\twolf\ta\t1\n\
        d\tdog\ta|p\t1\n\
        g\tgoldfish\ta|p\t1\n";

    fn tree() -> Taxonomy {
        Taxonomy::from_tsv(TREE).unwrap()
    }

    fn render(tree: &Taxonomy, outline: &Outline) -> String {
        let rows = outline.rows(tree, |_| 0.0);
        let line = |row: &Row| {
            let mark = if row.path == outline.focus() { "*" } else { "" };
            format!(
                "{}{}{mark}",
                ".".repeat(row.path.len() - 1),
                tree.name(row.node())
            )
        };
        rows.iter().map(line).collect::<Vec<_>>().join(" ")
    }

    fn press(tree: &Taxonomy, outline: &mut Outline, keys: &[&str]) -> String {
        for key in keys {
            let rows = outline.rows(tree, |_| 0.0);
            assert!(outline.key(tree, &rows, key), "{key}");
        }
        render(tree, outline)
    }

    #[test]
    fn arrow_keys_move_expand_and_collapse() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        assert_eq!(render(&tree, &outline), "entity* .animal .pet");
        let rendered = press(
            &tree,
            &mut outline,
            &["ArrowDown", "ArrowRight", "ArrowRight"],
        );
        assert_eq!(rendered, "entity .animal ..dog* ..goldfish ..wolf .pet");
        let rendered = press(&tree, &mut outline, &["End", "Home", "PageDown"]);
        assert_eq!(rendered, "entity* .animal ..dog ..goldfish ..wolf .pet");
        let rendered = press(&tree, &mut outline, &["ArrowDown", "PageDown"]);
        assert_eq!(rendered, "entity .animal ..dog ..goldfish ..wolf .pet*");
        let rendered = press(&tree, &mut outline, &["PageUp", "ArrowLeft", "ArrowLeft"]);
        assert_eq!(rendered, "entity* .animal .pet");
    }

    #[test]
    fn typing_a_letter_goes_to_the_next_row_that_begins_with_it() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        let rendered = press(&tree, &mut outline, &["*", "p", "ArrowRight", "d", "d"]);
        assert_eq!(rendered, "entity .animal .pet ..dog* ..goldfish");
        let rows = outline.rows(&tree, |_| 0.0);
        assert!(!outline.key(&tree, &rows, "x") && !outline.key(&tree, &rows, "Tab"));
    }

    #[test]
    fn an_asterisk_expands_all_siblings() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        let rendered = press(&tree, &mut outline, &["ArrowDown", "*"]);
        assert_eq!(
            rendered,
            "entity .animal* ..dog ..goldfish ..wolf .pet ..dog ..goldfish"
        );
    }

    #[test]
    fn revealing_expands_the_path_and_heavy_siblings_come_first() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        let at = |id: &str| tree.find(id).unwrap();
        outline.show_only(&tree.path_to(at("w")), 1);
        assert_eq!(
            render(&tree, &outline),
            "entity .animal* ..dog ..goldfish ..wolf .pet"
        );
        let wolf = at("w");
        let rows = outline.rows(&tree, |ix| f32::from(u8::from(ix == wolf)));
        let names: Vec<&str> = rows.iter().map(|r| tree.name(r.node())).collect();
        assert_eq!(
            names,
            ["entity", "animal", "wolf", "dog", "goldfish", "pet"]
        );
        assert_eq!(
            (rows[2].position, rows[2].siblings, rows[2].open),
            (1, 3, None)
        );
        assert_eq!(rows[2].key(), "0-1-3");
    }
}
