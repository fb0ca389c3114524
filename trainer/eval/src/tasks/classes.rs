//! The classes to choose from for labelled images: from a file of names, a taxonomy, or the labels
//! themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use espalier_core::taxonomy::{NodeIx, Taxonomy, is_synset};
use espalier_io::disk::read;
use espalier_io::exit::usage;

use crate::embed::names;
use crate::options::Choice;
use crate::task::Context;

/// The classes to choose from.
pub struct Classes {
    /// Labels, ascending.
    pub labels: Vec<String>,
    /// Their names.
    pub names: Vec<String>,
    /// Their nodes, if they come from a taxonomy.
    pub nodes: Vec<Option<NodeIx>>,
}

/// Reads names from a file: `label<TAB>name` per line, or names alone for the sorted labels.
fn read_names(path: &Path, present: &BTreeSet<String>) -> anyhow::Result<BTreeMap<String, String>> {
    let text =
        read::text(path).map_err(|e| usage(format!("--class-names {}: {e}", path.display())))?;
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let pairs: Vec<(&str, &str)> = lines.iter().filter_map(|l| l.split_once('\t')).collect();
    if pairs.len() == lines.len() && !pairs.is_empty() {
        let trimmed = pairs
            .iter()
            .map(|(l, n)| (l.trim().to_owned(), n.trim().to_owned()));
        let found: BTreeMap<String, String> = trimmed.collect();
        if found.len() < pairs.len() {
            return Err(usage(format!(
                "--class-names {}: {} labels are listed twice",
                path.display(),
                pairs.len() - found.len()
            )));
        }
        return Ok(found);
    }
    if !pairs.is_empty() || lines.len() != present.len() {
        return Err(usage(format!(
            "--class-names {}: expected one line `label<TAB>name` per class, or a name for each of the {} \
             labels of the images, found {} lines, {} of them with a tab",
            path.display(),
            present.len(),
            lines.len(),
            pairs.len()
        )));
    }
    let names = lines.iter().map(|l| l.trim().to_owned());
    Ok(present.iter().cloned().zip(names).collect())
}

/// Returns whether the names of a taxonomy equal its ids, as in an edge list. Some nodes of any taxonomy
/// may have their name as their id, such as the folders of a user's own photos.
fn has_only_ids(taxonomy: &Taxonomy) -> bool {
    let nodes = taxonomy.nodes();
    !nodes.is_empty() && nodes.iter().all(|node| node.id == node.names[0])
}

/// Returns the classes to choose from for images with these labels.
///
/// # Errors
/// Bad usage for a file of names that does not match, or a taxonomy without names.
pub fn classes(
    cx: &Context<'_, '_>,
    taxonomy: &Taxonomy,
    present: &BTreeSet<String>,
) -> anyhow::Result<Classes> {
    if let Some(path) = &cx.options.class_names {
        let (labels, names): (Vec<_>, Vec<_>) = read_names(path, present)?.into_iter().unzip();
        let nodes = labels.iter().map(|l| taxonomy.find(l)).collect();
        return Ok(Classes {
            labels,
            names,
            nodes,
        });
    }
    let is_known = |label: &String| taxonomy.find(label).is_some();
    let from_flag = cx.options.taxonomy.is_some();
    let all = cx.options.classes == Choice::All && (from_flag || present.iter().any(is_known));
    if !from_flag && !all {
        return by_node_or_name(cx, taxonomy, present);
    }
    let labels: BTreeSet<String> = match cx.options.classes {
        Choice::Present => {
            let known = present.iter().filter(|label| is_known(label));
            known.cloned().collect()
        }
        Choice::All => {
            let all = taxonomy.labelled().iter();
            all.map(|ix| taxonomy.node(*ix).id.clone()).collect()
        }
    };
    let nodes: Vec<NodeIx> = labels.iter().filter_map(|l| taxonomy.find(l)).collect();
    if has_only_ids(taxonomy) {
        return Err(usage(
            "--taxonomy: its nodes have ids but no names, so there is no text for the prompts; give \
             the names with --class-names FILE, one line `id<TAB>name` per class",
        ));
    }
    Ok(Classes {
        names: names(taxonomy, &nodes),
        labels: labels.into_iter().collect(),
        nodes: nodes.into_iter().map(Some).collect(),
    })
}

/// Returns the labels of the images as classes: each by the node that it is, or else by its own name, as those of
/// class folders.
fn by_node_or_name(
    cx: &Context<'_, '_>,
    taxonomy: &Taxonomy,
    present: &BTreeSet<String>,
) -> anyhow::Result<Classes> {
    if cx.options.classes == Choice::All && cx.dataset.is_none() {
        let example = present.iter().next().map_or("", String::as_str);
        return Err(usage(format!(
            "--classes all: expected images with labels of the taxonomy, found none, for example `{example}`; name \
             their taxonomy with --taxonomy, or leave the flag out to choose among the labels of the images"
        )));
    }
    let mut classes = Classes {
        labels: Vec::new(),
        names: Vec::new(),
        nodes: Vec::new(),
    };
    let mut ids = 0;
    for label in present {
        let node = taxonomy.find(label);
        // A synset of another taxonomy has no name here.
        if node.is_none() && is_synset(label) {
            ids += 1;
            continue;
        }
        let own_name = || label.rsplit('/').next().unwrap_or(label).replace('_', " ");
        classes.labels.push(label.clone());
        classes
            .names
            .push(node.map_or_else(own_name, |ix| taxonomy.name(ix).to_owned()));
        classes.nodes.push(node);
    }
    if classes.labels.is_empty() && ids > 0 {
        return Err(usage(format!(
            "--data: the labels of the images are ids, such as `{}`, which the taxonomy does not have; name theirs \
             with --taxonomy (for example imagenet), or their names with --class-names",
            present.iter().next().map_or("", String::as_str)
        )));
    }
    Ok(classes)
}
