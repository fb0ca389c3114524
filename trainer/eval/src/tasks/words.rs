//! Whether typed words are placed correctly in the taxonomy: by the text encoder alone, and as on
//! the page, where a match of the words comes first.

use std::collections::BTreeMap;

use espalier_core::caption::{nearest_node, place_text};
use espalier_core::taxonomy::{NodeIx, Taxonomy, score};
use espalier_data::Coverage;
use espalier_data::benchmarks::typed_words::{self, EXPECTED, TypedWord};

use crate::embed::names;
use crate::prompts;
use crate::task::{Context, Task, TaskResult, named};

/// Places of typed words.
pub const TASK: Task = Task {
    name: "words",
    about: "typed words at, above or below their right node within one edge: placed, exact, ancestor",
    needs: EXPECTED,
    benchmarks: &[],
    run,
};

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    // The data is a TSV too, but never the taxonomy.
    let (taxonomy, source) = cx.taxonomy(&[])?;
    let words = typed_words::open(cx.path()?, &taxonomy)?;
    let model = cx.model()?;
    let space = model.space()?;
    let set = prompts::resolve(&cx.options.prompts, cx.dataset);
    let candidates = candidates(&taxonomy);
    let points = model.classes(&names(&taxonomy, &candidates), set)?;
    let mut nodes = vec![None; taxonomy.nodes().len()];
    for (ix, point) in candidates.iter().zip(points.rows()) {
        nodes[ix.index()] = Some(point.to_vec());
    }
    let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    let embedded = model.texts(&texts)?;
    let nearest = |text: &[f32]| nearest_node(space, text, &nodes).unwrap_or(taxonomy.root());
    let found: Vec<NodeIx> = embedded.rows().map(nearest).collect();
    let lexicon = &model.model.lexicon;
    let shown = |(point, text): (&[f32], &String)| {
        place_text(&taxonomy, space, lexicon, text, point, &nodes).node
    };
    let shown: Vec<NodeIx> = embedded.rows().zip(&texts).map(shown).collect();
    let mut metrics = metrics(&taxonomy, &words, &found);
    let with_names = self::metrics(&taxonomy, &words, &shown)["placed"];
    metrics.insert("placed_with_names".to_owned(), with_names);
    let mut coverage = Coverage::default();
    coverage.usable(words.len() as u64);
    Ok(TaskResult {
        n: words.len(),
        classes: candidates.len(),
        prompts: set.to_owned(),
        settings: named([("text", "as typed".into()), ("taxonomy", source.to_owned())]),
        coverage: Some(coverage),
        metrics,
        ..TaskResult::default()
    })
}

/// Returns the nodes that a text can be placed at: those with a name that people use.
fn candidates(taxonomy: &Taxonomy) -> Vec<NodeIx> {
    let all = (0..).map(NodeIx).take(taxonomy.nodes().len());
    all.filter(|ix| taxonomy.is_nameable(*ix)).collect()
}

/// Shares of texts, and mean edges, relative to the right node that is nearest to the found node:
/// - `exact`: it is the right node;
/// - `placed`: it is the right node or joined to it by one edge;
/// - `ancestor`: it is the right node or lies above it;
/// - `edges`: edges to the right node through a common ancestor.
fn metrics(taxonomy: &Taxonomy, words: &[TypedWord], found: &[NodeIx]) -> BTreeMap<String, f64> {
    let (mut exact, mut placed, mut ancestor, mut edges) = (0_u32, 0_u32, 0_u32, 0.0);
    for (word, &node) in words.iter().zip(found) {
        let right = word.nodes.iter();
        let distance = right.map(|right| score(taxonomy, node, *right).tie_ancestor);
        let distance = distance.fold(f64::INFINITY, f64::min);
        let is_above = |right: &NodeIx| node == *right || taxonomy.is_ancestor(node, *right);
        exact += u32::from(distance == 0.0);
        placed += u32::from(distance <= 1.0);
        ancestor += u32::from(word.nodes.iter().any(is_above));
        edges += distance;
    }
    let n = words.len().max(1) as f64;
    named([
        ("exact", f64::from(exact) / n),
        ("placed", f64::from(placed) / n),
        ("ancestor", f64::from(ancestor) / n),
        ("edges", edges / n),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        e\tentity\t\t0\n\
        a\tanimal\te\t0\n\
        d\tdog\ta\t0\n\
        p\tpug\td\t1\n\
        b\tbeagle\td\t1\n\
        t\ttable\te\t1\n";

    fn measured(pairs: &[(&str, &[&str])]) -> Vec<f64> {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let at = |id: &str| taxonomy.find(id).unwrap();
        let word = |ids: &[&str]| TypedWord {
            text: String::new(),
            nodes: ids.iter().map(|id| at(id)).collect(),
        };
        let words: Vec<TypedWord> = pairs.iter().map(|(_, right)| word(right)).collect();
        let found: Vec<NodeIx> = pairs.iter().map(|(id, _)| at(id)).collect();
        let metrics = metrics(&taxonomy, &words, &found);
        ["exact", "placed", "ancestor", "edges"]
            .map(|name| metrics[name])
            .to_vec()
    }

    #[test]
    fn one_edge_up_or_down_is_placed() {
        // The right node, its parent, its child.
        assert_eq!(measured(&[("d", &["d"])]), [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(measured(&[("a", &["d"])]), [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(measured(&[("p", &["d"])]), [0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn siblings_and_far_ancestors_are_not_placed() {
        assert_eq!(measured(&[("p", &["b"])]), [0.0, 0.0, 0.0, 2.0]);
        assert_eq!(measured(&[("a", &["b"])]), [0.0, 0.0, 1.0, 2.0]);
        assert_eq!(measured(&[("t", &["d"])]), [0.0, 0.0, 0.0, 3.0]);
    }

    #[test]
    fn any_right_node_counts_and_texts_are_averaged() {
        assert_eq!(measured(&[("p", &["t", "d"])]), [0.0, 1.0, 0.0, 1.0]);
        let both = measured(&[("d", &["d"]), ("t", &["p"])]);
        assert_eq!(both, [0.5, 0.5, 0.5, 2.0]);
    }

    #[test]
    fn texts_are_placed_at_nodes_that_people_name() {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let found = names(&taxonomy, &candidates(&taxonomy));
        // Two of three labels are animals and dogs: too many to be informative.
        assert_eq!(found, ["pug", "beagle", "table"]);
    }
}
