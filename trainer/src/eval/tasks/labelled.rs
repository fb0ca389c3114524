//! Labelled pictures, the classes they are told apart by, and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::{NodeIx, Taxonomy};

use crate::data::{Ledger, open};
use crate::eval::embedder::Embedded;
use crate::eval::options::Choice;
use crate::eval::search::{Ranked, top_k};
use crate::eval::task::{Confusion, Context};
use crate::eval::{Points, prompts};
use crate::exit::usage;

/// What labelled pictures must be.
pub const NEEDS: &str = "class folders of pictures, shards with synsets, CIFAR's binary files or \
    iNaturalist's val.json; --taxonomy for labels that are nodes of one, --class-names for others";

/// The classes to choose from.
pub struct Classes {
    /// Labels, ascending.
    pub labels: Vec<String>,
    /// Their names.
    pub names: Vec<String>,
    /// Their nodes, where they come from a taxonomy.
    pub nodes: Vec<Option<NodeIx>>,
}

/// Pictures with their answers.
pub struct Answers {
    /// All pictures.
    pub pictures: Rc<Embedded>,
    /// Classes to choose from.
    pub classes: Classes,
    /// Places of the pictures that are judged.
    pub judged: Vec<usize>,
    /// The class of each judged picture.
    pub truth: Vec<usize>,
    /// The best classes of each.
    pub ranked: Ranked,
    /// Pictures left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What is there and what is odd.
    pub ledger: Ledger,
    /// Prompt set.
    pub prompts: String,
}

/// Names from a file: `label<TAB>name` a line, or names alone for the sorted labels.
fn named(path: &Path, present: &BTreeSet<String>) -> anyhow::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| usage(format!("--class-names {}: {e}", path.display())))?;
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let pairs: Vec<(&str, &str)> = lines.iter().filter_map(|l| l.split_once('\t')).collect();
    if pairs.len() == lines.len() && !pairs.is_empty() {
        let trimmed = pairs
            .iter()
            .map(|(l, n)| (l.trim().to_owned(), n.trim().to_owned()));
        let found: BTreeMap<String, String> = trimmed.collect();
        if found.len() < pairs.len() {
            return Err(usage(format!(
                "--class-names {}: {} labels are given twice",
                path.display(),
                pairs.len() - found.len()
            )));
        }
        return Ok(found);
    }
    if !pairs.is_empty() || lines.len() != present.len() {
        return Err(usage(format!(
            "--class-names {}: expected a line `label<TAB>name` a class, or a name for each of the {} \
             labels of the pictures; found {} lines, {} of them with a tab",
            path.display(),
            present.len(),
            lines.len(),
            pairs.len()
        )));
    }
    let names = lines.iter().map(|l| l.trim().to_owned());
    Ok(present.iter().cloned().zip(names).collect())
}

/// Whether the names of a taxonomy are its ids, as those of an edge list are.
fn nameless(taxonomy: &Taxonomy, nodes: &[NodeIx]) -> bool {
    let same = |ix: &NodeIx| taxonomy.node(*ix).id == taxonomy.name(*ix);
    !nodes.is_empty() && nodes.iter().all(same)
}

/// The classes of pictures with these labels.
fn classes(
    cx: &Context<'_>,
    taxonomy: &Taxonomy,
    present: &BTreeSet<String>,
) -> anyhow::Result<Classes> {
    if let Some(path) = &cx.options.class_names {
        let (labels, names): (Vec<_>, Vec<_>) = named(path, present)?.into_iter().unzip();
        let nodes = labels.iter().map(|l| taxonomy.find(l)).collect();
        return Ok(Classes {
            labels,
            names,
            nodes,
        });
    }
    let known = present.iter().any(|label| taxonomy.find(label).is_some());
    if cx.options.taxonomy.is_none() && !known {
        // Labels that are names themselves, such as those of class folders.
        let name = |l: &String| l.rsplit('/').next().unwrap_or(l).replace('_', " ");
        return Ok(Classes {
            names: present.iter().map(name).collect(),
            nodes: vec![None; present.len()],
            labels: present.iter().cloned().collect(),
        });
    }
    let labels: BTreeSet<String> = match cx.options.classes {
        Choice::Present => present
            .iter()
            .filter(|l| taxonomy.find(l).is_some())
            .cloned()
            .collect(),
        Choice::All => {
            let all = taxonomy.labelled().iter();
            all.map(|ix| taxonomy.node(*ix).id.clone()).collect()
        }
    };
    let nodes: Vec<NodeIx> = labels.iter().filter_map(|l| taxonomy.find(l)).collect();
    if nameless(taxonomy, &nodes) {
        return Err(usage(
            "--taxonomy: its nodes have ids and no names, so there is nothing to prompt with; give \
             the names by --class-names FILE with a line `id<TAB>name` a class",
        ));
    }
    Ok(Classes {
        names: nodes
            .iter()
            .map(|ix| taxonomy.name(*ix).to_owned())
            .collect(),
        labels: labels.into_iter().collect(),
        nodes: nodes.into_iter().map(Some).collect(),
    })
}

/// Embed the pictures of the data and rank the classes for each (METHODS 6.1).
///
/// # Errors
/// Bad data, also where not one picture has a class; a failing device.
pub fn answers(cx: &Context<'_>) -> anyhow::Result<(Answers, Taxonomy)> {
    let model = cx.model()?;
    let taxonomy = open::taxonomy(cx.options.taxonomy.as_deref(), cx.data)?;
    let data = open::labelled(cx.data)?;
    let records = data.records();
    let pictures = model.dataset(data, cx.data, cx.resize(ResizeMode::CentreCrop))?;
    let about = &pictures.about;
    let present: BTreeSet<String> = about.labels.iter().flatten().cloned().collect();
    let classes = classes(cx, &taxonomy, &present)?;

    let (mut judged, mut truth) = (Vec::new(), Vec::new());
    let (mut unlabelled, mut unknown) = (0, 0);
    for (at, label) in about.labels.iter().enumerate() {
        match label.as_ref().map(|l| classes.labels.binary_search(l)) {
            None => unlabelled += 1,
            Some(Err(_)) => unknown += 1,
            Some(Ok(class)) => {
                judged.push(at);
                truth.push(class);
            }
        }
    }
    if judged.is_empty() {
        return Err(usage(format!(
            "--data: expected pictures with a label of the taxonomy or of --class-names; found \
             {unlabelled} without a label, {unknown} with an unknown one, and {} broken",
            about.counts.broken()
        )));
    }
    let set = prompts::resolve(&cx.options.prompts, cx.dataset);
    let points = model.classes(&classes.names, set)?;
    let queries = pictures.points.select(&judged);
    let ranked = top_k(model.space()?, &queries, &points, 5);
    let broken = about.counts.broken();
    let mut ledger = Ledger {
        expected: records,
        found: judged.len() as u64,
        missing: about.broken(),
        ..Ledger::default()
    };
    notes(&mut ledger, &classes, &truth, &ranked, &points);
    Ok((
        Answers {
            left_out: BTreeMap::from([
                ("without a label".to_owned(), unlabelled),
                ("label not in the taxonomy".to_owned(), unknown),
                ("broken".to_owned(), broken),
            ]),
            prompts: set.to_owned(),
            pictures,
            classes,
            judged,
            truth,
            ranked,
            ledger,
        },
        taxonomy,
    ))
}

/// What is odd about classes and answers.
fn notes(
    ledger: &mut Ledger,
    classes: &Classes,
    truth: &[usize],
    ranked: &Ranked,
    points: &Points,
) {
    let seen: BTreeSet<usize> = truth.iter().copied().collect();
    let never: Vec<usize> = (0..classes.labels.len())
        .filter(|c| !seen.contains(c))
        .collect();
    if let Some(first) = never.first() {
        let count = never.len() as u64;
        ledger.note("class that no picture has", count, &classes.labels[*first]);
    }
    if classes.labels.len() == 1 {
        ledger.note(
            "one class alone, every answer is right",
            1,
            &classes.labels[0],
        );
    }
    let mut names = BTreeMap::new();
    for (label, name) in classes.labels.iter().zip(&classes.names) {
        if names.insert(name, label).is_some() {
            ledger.note("class with the name of another", 1, label);
        }
    }
    let tied = |i: usize| ranked.scores(i).first() == ranked.scores(i).get(1);
    let ties = (0..ranked.len())
        .filter(|i| points.len() > 1 && tied(*i))
        .count();
    ledger.note(
        "picture whose two best classes score the same",
        ties as u64,
        "",
    );
}

impl Answers {
    /// The ranked classes of each judged picture.
    #[must_use]
    pub fn answers(&self) -> Vec<Vec<usize>> {
        crate::eval::zero_shot::answers(&self.ranked)
    }

    /// Wrong answers that are frequent, at most `most`, those with the highest common ancestor
    /// first.
    #[must_use]
    pub fn confusions(&self, taxonomy: &Taxonomy, most: usize) -> Vec<Confusion> {
        let mut pairs: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (i, truth) in self.truth.iter().enumerate() {
            if let Some(answer) = self.ranked.items(i).first().map(|c| *c as usize)
                && answer != *truth
            {
                pairs
                    .entry((*truth, answer))
                    .or_default()
                    .push(self.judged[i]);
            }
        }
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by_key(|(_, at)| std::cmp::Reverse(at.len()));
        pairs.truncate(most);
        let mut found: Vec<Confusion> = pairs
            .into_iter()
            .map(|((truth, answer), at)| {
                let nodes = (self.classes.nodes[truth], self.classes.nodes[answer]);
                let above = match nodes {
                    (Some(t), Some(a)) => nearest(taxonomy, t, a),
                    _ => None,
                };
                let keys = at
                    .iter()
                    .take(4)
                    .map(|at| self.pictures.about.keys[*at].clone());
                Confusion {
                    truth: self.classes.names[truth].clone(),
                    answer: self.classes.names[answer].clone(),
                    ancestor: above.map_or_else(String::new, |ix| taxonomy.name(ix).to_owned()),
                    depth: above.map_or(0, |ix| taxonomy.depth(ix)),
                    count: at.len(),
                    examples: keys.collect(),
                }
            })
            .collect();
        found.sort_by_key(|c| c.depth);
        found
    }
}

/// The deepest node above (or equal to) both.
fn nearest(taxonomy: &Taxonomy, a: NodeIx, b: NodeIx) -> Option<NodeIx> {
    let up = |ix: NodeIx| -> BTreeSet<NodeIx> {
        taxonomy.ancestors(ix).iter().copied().chain([ix]).collect()
    };
    let (a, b) = (up(a), up(b));
    a.intersection(&b)
        .copied()
        .max_by_key(|ix| taxonomy.depth(*ix))
}
