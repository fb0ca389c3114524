//! Chains of texts along a taxonomy, with hard negatives by rank (notation 2.7).

use std::collections::BTreeMap;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_io::exit::usage;

use crate::RankText;
use crate::records::random::Random;

/// Texts from general to specific, each with a negative text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChain {
    /// `P_1 .. P_n`.
    pub positives: Vec<String>,
    /// Negatives, as many as positives; [`NegativeKind`] defines which positive each contradicts.
    pub negatives: Vec<String>,
}

/// Which positive the negative of a tier contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegativeKind {
    /// The positive of the same tier; the negative is still consistent with the tier above (RE).
    SameTier,
    /// The positive of the tier above: the negative lies below a sibling of that positive, as deep
    /// as the positive of its own tier (RCME).
    BelowSibling,
}

/// The chains of all labels of a taxonomy.
#[derive(Clone, Debug)]
pub struct Lineages {
    taxonomy: Taxonomy,
    chains: BTreeMap<NodeIx, Vec<NodeIx>>,
    text: RankText,
    kind: NegativeKind,
}

/// Limits of the number of tiers when none is configured: the length of the shortest path, clamped
/// to this range.
const TIERS: std::ops::RangeInclusive<usize> = 3..=7;

/// Returns the nodes on the path to a label that are not above every label (the root is above
/// every label).
fn nodes_below_common_ancestors(taxonomy: &Taxonomy, label: NodeIx) -> Vec<NodeIx> {
    let all = taxonomy.labelled().len();
    let mut nodes = taxonomy.path_to(label);
    nodes.retain(|ix| taxonomy.labelled_below(*ix).len() < all);
    nodes
}

/// Keeps the last of consecutive nodes that are above the same labels.
fn discriminating_nodes(taxonomy: &Taxonomy, path: &[NodeIx]) -> Vec<NodeIx> {
    let below = |ix: &NodeIx| taxonomy.labelled_below(*ix).len();
    let same = path.chunk_by(|above, next| below(next) >= below(above));
    same.filter_map(|nodes| nodes.last().copied()).collect()
}

/// Selects `count` of the nodes, evenly spaced, including the first and the last.
fn evenly_spaced(nodes: &[NodeIx], count: usize) -> Vec<NodeIx> {
    let last = nodes.len() - 1;
    (0..count)
        .map(|i| nodes[(i * last + (count - 1) / 2) / (count - 1)])
        .collect()
}

impl Lineages {
    /// Builds chains of `tiers` nodes for every label; 0 uses the length of the shortest path,
    /// clamped to 3 to 7.
    ///
    /// A chain skips nodes above all labels. Where enough nodes remain, it also skips nodes
    /// that are above exactly the same labels as the next node. Labels with a shorter path
    /// have no chain.
    ///
    /// # Errors
    /// Bad usage if `tiers` is below 2 or no label has a path that long.
    pub fn new(
        taxonomy: Taxonomy,
        tiers: usize,
        text: RankText,
        kind: NegativeKind,
    ) -> anyhow::Result<Self> {
        let paths: BTreeMap<NodeIx, Vec<NodeIx>> = taxonomy
            .labelled()
            .iter()
            .map(|ix| (*ix, nodes_below_common_ancestors(&taxonomy, *ix)))
            .collect();
        let shortest = paths.values().map(Vec::len).min().unwrap_or(0);
        let tiers = match tiers {
            0 => shortest.clamp(*TIERS.start(), *TIERS.end()),
            n => n,
        };
        if tiers < 2 {
            return Err(usage(format!(
                "dataset.tiers must be at least 2, found {tiers}"
            )));
        }
        let chains: BTreeMap<NodeIx, Vec<NodeIx>> = paths
            .into_iter()
            .filter_map(|(label, path)| {
                let discriminating = discriminating_nodes(&taxonomy, &path);
                let nodes = match discriminating.len() >= tiers {
                    true => discriminating,
                    false => path,
                };
                (nodes.len() >= tiers).then(|| (label, evenly_spaced(&nodes, tiers)))
            })
            .collect();
        if chains.is_empty() {
            return Err(usage(format!(
                "expected a label with {tiers} nodes that distinguish it from other labels, found \
                 none; the shortest path has {shortest} nodes; lower dataset.tiers"
            )));
        }
        Ok(Self {
            taxonomy,
            chains,
            text,
            kind,
        })
    }

    /// Returns the ids of the labels that have a chain.
    pub fn labels(&self) -> Vec<String> {
        let ids = self.chains.keys();
        ids.map(|ix| self.taxonomy.node(*ix).id.clone()).collect()
    }

    fn texts(&self, chain: &[NodeIx]) -> Vec<String> {
        let names: Vec<&str> = chain.iter().map(|ix| self.taxonomy.name(*ix)).collect();
        match self.text {
            RankText::Name => names.iter().map(|name| (*name).to_owned()).collect(),
            RankText::Joined => (1..=names.len()).map(|n| names[..n].join(" ")).collect(),
        }
    }

    /// Returns the texts of a label without negatives.
    pub fn positives(&self, id: &str) -> Option<Vec<String>> {
        let label = self.taxonomy.find(id)?;
        Some(self.texts(self.chains.get(&label)?))
    }

    /// Returns the texts of all nodes from the root to a label, without a root that the file does
    /// not have.
    pub fn full_path(&self, id: &str) -> Option<Vec<String>> {
        let path = self.taxonomy.path_to(self.taxonomy.find(id)?);
        let added = usize::from(self.taxonomy.root_is_added());
        Some(self.texts(&path[added..]))
    }

    /// Draws the chain of another label that branches off from `chain` at `tier`, or at a higher
    /// tier where the node has no sibling.
    fn draw_branch(&self, chain: &[NodeIx], tier: usize, random: &mut Random) -> Option<&[NodeIx]> {
        (0..=tier).rev().find_map(|depth| {
            let parent = match depth {
                0 => self.taxonomy.root(),
                _ => chain[depth - 1],
            };
            let excluded = self.taxonomy.labelled_below(chain[depth]);
            let labels = self.taxonomy.labelled_below(parent).iter();
            let others = labels.filter(|ix| !excluded.contains(ix));
            let others: Vec<_> = others.filter_map(|ix| self.chains.get(ix)).collect();
            let pick = random.below(u32::try_from(others.len()).unwrap_or(u32::MAX));
            others.get(pick as usize).copied().map(Vec::as_slice)
        })
    }

    /// Returns the chain of a label with newly drawn negatives; `None` for labels without a chain
    /// or without another label to contrast with.
    pub fn draw(&self, id: &str, random: &mut Random) -> Option<TextChain> {
        let label = self.taxonomy.find(id)?;
        let chain = self.chains.get(&label)?;
        let mut negatives = Vec::with_capacity(chain.len());
        for tier in 0..chain.len() {
            let branch_tier = match self.kind {
                NegativeKind::SameTier => tier,
                NegativeKind::BelowSibling => tier.saturating_sub(1),
            };
            let other = self.draw_branch(chain, branch_tier, random)?;
            negatives.push(self.texts(other).swap_remove(tier));
        }
        Some(TextChain {
            positives: self.texts(chain),
            negatives,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::random::Purpose;

    const TREE: &str = "kingdom\tphylum\tclass\n\
        Animalia\tChordata\tAves\n\
        Animalia\tChordata\tMammalia\n\
        Animalia\tMollusca\tBivalvia\n\
        Plantae\tBryophyta\tBryopsida\n";

    fn lineages(kind: NegativeKind) -> Lineages {
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        Lineages::new(taxonomy, 0, RankText::Joined, kind).unwrap()
    }

    fn chains(kind: NegativeKind, id: &str) -> Vec<TextChain> {
        let lineages = lineages(kind);
        (0..40)
            .map(|i| {
                let mut random = Random::new(0, Purpose::Sample, 0, i);
                lineages.draw(id, &mut random).unwrap()
            })
            .collect()
    }

    #[test]
    fn each_rank_appends_a_name() {
        let birds = lineages(NegativeKind::SameTier).positives("Animalia/Chordata/Aves");
        assert_eq!(
            birds.unwrap(),
            ["Animalia", "Animalia Chordata", "Animalia Chordata Aves"]
        );
    }

    #[test]
    fn a_full_path_begins_with_a_node_of_the_file() {
        let ranks = lineages(NegativeKind::SameTier);
        let path = ranks.full_path("Animalia/Mollusca").unwrap();
        assert_eq!(path, ["Animalia", "Animalia Mollusca"]);
    }

    #[test]
    fn a_negative_differs_from_its_tier_on_or_from_the_tier_above_on() {
        let same_tier = ["Animalia Mollusca", "Animalia Chordata Mammalia"];
        let below_sibling = ["Plantae Bryophyta", "Animalia Mollusca Bivalvia"];
        for (kind, negatives) in [
            (NegativeKind::SameTier, same_tier),
            (NegativeKind::BelowSibling, below_sibling),
        ] {
            for chain in chains(kind, "Animalia/Chordata/Aves") {
                assert_eq!(chain.negatives[0], "Plantae");
                assert_eq!(chain.negatives[1..], negatives);
            }
        }
    }

    #[test]
    fn without_a_sibling_the_rank_above_gives_the_negative() {
        for chain in chains(NegativeKind::SameTier, "Plantae/Bryophyta/Bryopsida") {
            assert!(chain.negatives[2].starts_with("Animalia "), "{chain:?}");
        }
    }

    #[test]
    fn one_lineage_and_more_tiers_than_any_path_has_are_rejected() {
        for (text, tiers) in [("kingdom\tphylum\tclass\nA\tB\tC\n", 3), (TREE, 9)] {
            let taxonomy = Taxonomy::from_tsv(text).unwrap();
            let opened = Lineages::new(taxonomy, tiers, RankText::Name, NegativeKind::SameTier);
            let error = opened.unwrap_err();
            assert!(error.is::<espalier_io::exit::Usage>());
            let message = error.to_string();
            assert!(message.contains(&format!("{tiers} nodes")), "{message}");
        }
    }

    #[test]
    fn nodes_above_all_labels_are_in_no_chain() {
        let text = TREE.replace("kingdom\tphylum\tclass", "phylum\tclass\torder");
        let first_column = ["kingdom"].into_iter().chain(std::iter::repeat("Life"));
        let lines = first_column.zip(text.lines());
        let lines = lines.map(|(first, line)| format!("{first}\t{line}\n"));
        let text: String = lines.collect();
        let taxonomy = Taxonomy::from_tsv(&text).unwrap();
        let kind = NegativeKind::SameTier;
        let lineages = Lineages::new(taxonomy, 0, RankText::Name, kind).unwrap();
        let id = "Life/Animalia/Chordata/Aves";
        assert_eq!(
            lineages.positives(id).unwrap(),
            ["Animalia", "Chordata", "Aves"]
        );
        let mut random = Random::new(0, Purpose::Sample, 0, 0);
        assert!(lineages.draw(id, &mut random).is_some());
    }

    #[test]
    fn every_label_of_wordnet_has_a_chain_with_negatives() {
        for kind in [NegativeKind::SameTier, NegativeKind::BelowSibling] {
            let taxonomy = Taxonomy::from_tsv(crate::formats::open::SHIPPED[0].1).unwrap();
            let lineages = Lineages::new(taxonomy, 0, RankText::Joined, kind).unwrap();
            for id in lineages.labels() {
                let mut random = Random::new(0, Purpose::Sample, 0, 0);
                let chain = lineages.draw(&id, &mut random).unwrap();
                assert!(chain.positives.len() >= 3);
                let mut negatives = chain.negatives[1..].iter();
                assert!(negatives.all(|n| !chain.positives.contains(n)), "{chain:?}");
            }
        }
    }
}
