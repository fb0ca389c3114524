//! The taxonomy as an outline: expanded rows, focus and keyboard navigation.
//!
//! As in WordNet, a concept may have several parents and thus several rows. A row is therefore
//! identified by its path from the root.

use std::collections::BTreeSet;

use espalier_core::taxonomy::{NodeIx, Taxonomy};

/// The path from the root to a row, both included.
pub type Way = Vec<NodeIx>;

/// A visible row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The path to it.
    pub way: Way,
    /// Whether it is expanded; `None` for a node without children.
    pub open: Option<bool>,
    /// Position among its siblings, from 1.
    pub place: usize,
    /// Number of siblings, including itself.
    pub siblings: usize,
}

impl Row {
    /// Returns the node of the row.
    #[must_use]
    pub fn node(&self) -> NodeIx {
        self.way.last().copied().unwrap_or(NodeIx(0))
    }

    /// Returns a key of the row that is stable for a given taxonomy.
    #[must_use]
    pub fn key(&self) -> String {
        key_of(&self.way)
    }
}

/// Returns the key of the row at the end of a path.
#[must_use]
pub fn key_of(way: &[NodeIx]) -> String {
    let steps: Vec<String> = way.iter().map(|ix| ix.0.to_string()).collect();
    steps.join("-")
}

/// Expanded rows and the focus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    open: BTreeSet<Way>,
    focus: Way,
}

impl Outline {
    /// Creates an outline with the root expanded.
    #[must_use]
    pub fn new(tree: &Taxonomy) -> Self {
        let root = vec![tree.root()];
        Self {
            open: BTreeSet::from([root.clone()]),
            focus: root,
        }
    }

    /// Returns the path of the row that has the focus.
    #[must_use]
    pub fn focus(&self) -> &[NodeIx] {
        &self.focus
    }

    /// Moves the focus to a row.
    pub fn set_focus(&mut self, way: Way) {
        self.focus = way;
    }

    /// Collapses or expands a row.
    pub fn toggle(&mut self, way: &[NodeIx]) {
        if !self.open.remove(way) {
            self.open.insert(way.to_vec());
        }
    }

    /// Expands all ancestors of a row and moves the focus to it.
    pub fn reveal(&mut self, way: Way) {
        for end in 1..way.len() {
            self.open.insert(way[..end].to_vec());
        }
        self.focus = way;
    }

    /// Collapses everything, expands one path and moves the focus to its row at index `focus`.
    pub fn show_only(&mut self, way: &[NodeIx], focus: usize) {
        self.open.clear();
        self.reveal(way.to_vec());
        self.focus = way[..(focus + 1).min(way.len())].to_vec();
    }

    /// Returns all visible rows, top to bottom; siblings by descending `weight`, then by name.
    #[must_use]
    pub fn rows(&self, tree: &Taxonomy, weight: impl Fn(NodeIx) -> f32) -> Vec<Row> {
        let mut rows = Vec::new();
        self.add(tree, &weight, vec![tree.root()], (1, 1), &mut rows);
        rows
    }

    fn add(
        &self,
        tree: &Taxonomy,
        weight: &impl Fn(NodeIx) -> f32,
        way: Way,
        (place, siblings): (usize, usize),
        rows: &mut Vec<Row>,
    ) {
        let node = way.last().copied().unwrap_or(tree.root());
        let mut children = tree.children(node).to_vec();
        let open = (!children.is_empty()).then(|| self.open.contains(&way));
        rows.push(Row {
            way: way.clone(),
            open,
            place,
            siblings,
        });
        if open == Some(true) {
            children.sort_by(|a, b| {
                let by_weight = weight(*b).total_cmp(&weight(*a));
                by_weight.then_with(|| tree.name(*a).cmp(tree.name(*b)))
            });
            let count = children.len();
            for (at, child) in children.into_iter().enumerate() {
                let mut way = way.clone();
                way.push(child);
                self.add(tree, weight, way, (at + 1, count), rows);
            }
        }
    }

    /// Handles a key; returns whether it has a meaning here. `rows` are the visible rows.
    ///
    /// Follows the ARIA practices for tree views; page up and down move between siblings.
    pub fn key(&mut self, tree: &Taxonomy, rows: &[Row], key: &str) -> bool {
        let at = rows.iter().position(|row| row.way == self.focus);
        let at = at.unwrap_or(0);
        let Some(row) = rows.get(at) else {
            return false;
        };
        let next = match key {
            "ArrowDown" => rows.get(at + 1).map(|r| r.way.clone()),
            "ArrowUp" => at.checked_sub(1).map(|at| rows[at].way.clone()),
            "Home" => rows.first().map(|r| r.way.clone()),
            "End" => rows.last().map(|r| r.way.clone()),
            "PageDown" => next_sibling(row, rows[at + 1..].iter()),
            "PageUp" => next_sibling(row, rows[..at].iter().rev()),
            "ArrowRight" => self.expand_or_enter(row, rows.get(at + 1)),
            "ArrowLeft" => self.collapse_or_leave(row),
            "*" => {
                self.expand_siblings(tree, row);
                None
            }
            typed if typed.chars().count() == 1 && typed != " " => {
                let after = rows[at + 1..].iter().chain(&rows[..=at]);
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
    fn expand_or_enter(&mut self, row: &Row, below: Option<&Row>) -> Option<Way> {
        match row.open {
            Some(false) => {
                self.open.insert(row.way.clone());
                None
            }
            Some(true) => below.map(|r| r.way.clone()),
            None => None,
        }
    }

    /// Collapses an expanded row, or returns the path of another row's parent.
    fn collapse_or_leave(&mut self, row: &Row) -> Option<Way> {
        let depth = row.way.len();
        match row.open {
            Some(true) => {
                self.open.remove(&row.way);
                None
            }
            _ if depth > 1 => Some(row.way[..depth - 1].to_vec()),
            _ => None,
        }
    }

    /// Expands a row and all its siblings.
    fn expand_siblings(&mut self, tree: &Taxonomy, row: &Row) {
        let parent = &row.way[..row.way.len().saturating_sub(1)];
        let siblings = parent.last().map_or(&[][..], |ix| tree.children(*ix));
        for child in siblings {
            self.open.insert([parent, &[*child]].concat());
        }
    }
}

/// Returns the path of the nearest sibling of a row among `rows`, which begin beside it and lead
/// away from it.
fn next_sibling<'a>(row: &Row, rows: impl Iterator<Item = &'a Row>) -> Option<Way> {
    let depth = row.way.len();
    let mut near = rows.take_while(|r| r.way.len() >= depth);
    near.find(|r| r.way.len() == depth).map(|r| r.way.clone())
}

/// Returns the path of the first row whose name begins with a letter, in either case.
fn first_that_begins<'a>(
    tree: &Taxonomy,
    mut rows: impl Iterator<Item = &'a Row>,
    letter: &str,
) -> Option<Way> {
    let letter = letter.to_lowercase();
    let begins = |r: &&Row| tree.name(r.node()).to_lowercase().starts_with(&letter);
    rows.find(begins).map(|r| r.way.clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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

    fn seen(tree: &Taxonomy, outline: &Outline) -> String {
        let rows = outline.rows(tree, |_| 0.0);
        let line = |row: &Row| {
            let mark = if row.way == outline.focus() { "*" } else { "" };
            format!(
                "{}{}{mark}",
                ".".repeat(row.way.len() - 1),
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
        seen(tree, outline)
    }

    #[test]
    fn arrows_walk_unfold_and_fold() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        assert_eq!(seen(&tree, &outline), "entity* .animal .pet");
        let said = press(
            &tree,
            &mut outline,
            &["ArrowDown", "ArrowRight", "ArrowRight"],
        );
        assert_eq!(said, "entity .animal ..dog* ..goldfish ..wolf .pet");
        let said = press(&tree, &mut outline, &["End", "Home", "PageDown"]);
        assert_eq!(said, "entity* .animal ..dog ..goldfish ..wolf .pet");
        let said = press(&tree, &mut outline, &["ArrowDown", "PageDown"]);
        assert_eq!(said, "entity .animal ..dog ..goldfish ..wolf .pet*");
        let said = press(&tree, &mut outline, &["PageUp", "ArrowLeft", "ArrowLeft"]);
        assert_eq!(said, "entity* .animal .pet");
    }

    #[test]
    fn typing_a_letter_goes_to_the_next_row_that_begins_with_it() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        let said = press(&tree, &mut outline, &["*", "p", "ArrowRight", "d", "d"]);
        assert_eq!(said, "entity .animal .pet ..dog* ..goldfish");
        let rows = outline.rows(&tree, |_| 0.0);
        assert!(!outline.key(&tree, &rows, "x") && !outline.key(&tree, &rows, "Tab"));
    }

    #[test]
    fn a_star_unfolds_all_siblings() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        let said = press(&tree, &mut outline, &["ArrowDown", "*"]);
        assert_eq!(
            said,
            "entity .animal* ..dog ..goldfish ..wolf .pet ..dog ..goldfish"
        );
    }

    #[test]
    fn revealing_unfolds_the_way_and_heavy_siblings_come_first() {
        let (tree, mut outline) = (tree(), Outline::new(&tree()));
        let at = |id: &str| tree.find(id).unwrap();
        outline.show_only(&tree.path_to(at("w")), 1);
        assert_eq!(
            seen(&tree, &outline),
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
            (rows[2].place, rows[2].siblings, rows[2].open),
            (1, 3, None)
        );
        assert_eq!(rows[2].key(), "0-1-3");
    }
}
