//! Compares lists of named values: those of all ranks, which must have the same data, configuration, program
//! and weights, and the configurations of a run before and after it was resumed.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// A named value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is, for example the key of a setting.
    pub name: String,
    /// Its value on this rank.
    pub value: String,
}

impl Fact {
    /// Creates a fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// A fact that differs between two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the fact.
    pub name: String,
    /// Its value in the first list, or `not set`.
    pub first: String,
    /// Its value in the second list, or `not set`.
    pub second: String,
}

/// Returns the facts that differ between two lists, in the order of the lists.
pub fn differences(first: &[Fact], second: &[Fact]) -> Vec<Difference> {
    let mut seen = HashSet::new();
    let names = first.iter().chain(second).map(|fact| &fact.name);
    let names = names.filter(|name| seen.insert(*name));
    let value = |facts: &[Fact], name: &String| {
        let fact = facts.iter().find(|fact| &fact.name == name);
        fact.map_or_else(|| "not set".to_owned(), |fact| fact.value.clone())
    };
    let all = names.map(|name| Difference {
        name: name.clone(),
        first: value(first, name),
        second: value(second, name),
    });
    all.filter(|fact| fact.first != fact.second).collect()
}

/// Compares the facts of all ranks with those of rank 0; returns a line for each difference, which
/// names the rank and both values.
pub fn compare(ranks: &[Vec<Fact>]) -> Vec<String> {
    let Some((root, others)) = ranks.split_first() else {
        return Vec::new();
    };
    let lines = (1..).zip(others).flat_map(|(rank, facts)| {
        let found = differences(root, facts).into_iter();
        found.map(move |d| {
            let (name, root, here) = (d.name, d.first, d.second);
            format!("{name}: {root} on rank 0, {here} on rank {rank}")
        })
    });
    lines.collect()
}

/// Returns the ranks whose value is not the most frequent one. Where several values are equally
/// frequent, that of the lowest rank counts as the right one.
pub fn different_from_most(values: &[u32]) -> Vec<usize> {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for value in values {
        *counts.entry(*value).or_default() += 1;
    }
    let most = counts.values().max().copied().unwrap_or_default();
    let Some(usual) = values.iter().find(|value| counts[value] == most) else {
        return Vec::new();
    };
    let differs = |(rank, value): (usize, &u32)| (value != usual).then_some(rank);
    values.iter().enumerate().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_rank_and_both_values() {
        let facts = |seed: &str, data: &str| vec![Fact::new("seed", seed), Fact::new("data", data)];
        let ranks = [facts("1", "a"), facts("1", "a"), facts("2", "a")];
        assert_eq!(compare(&ranks), ["seed: 1 on rank 0, 2 on rank 2"]);
        assert!(compare(&ranks[..2]).is_empty());
        let fewer = [facts("1", "a"), vec![Fact::new("seed", "1")]];
        assert_eq!(compare(&fewer), ["data: a on rank 0, not set on rank 1"]);
    }

    #[test]
    fn the_rank_that_differs_from_most_is_named() {
        assert!(different_from_most(&[7, 7, 7]).is_empty());
        assert_eq!(different_from_most(&[5, 7, 7]), [0]);
        assert_eq!(different_from_most(&[5, 7]), [1]);
        assert!(different_from_most(&[]).is_empty());
    }
}
