//! How far the evidence supports each rung of a ladder: what a reader may take as known, what is a
//! guess, and what is too unlikely to show. Page, widget and walk use the same rule, so that no two
//! of them disagree.

use super::result::{Rung, TaxonomyResult};

/// Smallest probability at which a guess is worth reading.
pub const MIN_GUESS: f64 = 0.25;

/// How far the evidence supports a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The evidence supports it.
    Known,
    /// More specific than the evidence supports, but likely enough to mention.
    Guess,
    /// Less likely than [`MIN_GUESS`], or about a node that is not on the path.
    Unlikely,
}

/// Returns the standing of each rung. A rung without a node is a detail of the one before it and
/// has the same standing.
#[must_use]
pub fn standings(ladder: &[Rung], taxonomy: &TaxonomyResult) -> Vec<Standing> {
    let path = &taxonomy.path;
    let index_of = |id: &str| path.iter().position(|step| step.id == id);
    let stop = index_of(&taxonomy.stop);
    let mut standing = Standing::Known;
    let rungs = ladder.iter().map(|rung| {
        if let Some(node) = rung.node.as_deref() {
            standing = match index_of(node) {
                Some(node) if stop.is_some_and(|stop| node <= stop) => Standing::Known,
                Some(node) if path[node].p >= MIN_GUESS => Standing::Guess,
                _ => Standing::Unlikely,
            };
        }
        standing
    });
    rungs.collect()
}

/// Returns the rungs that are likely enough to show.
#[must_use]
pub fn shown_rungs<'a>(ladder: &'a [Rung], taxonomy: &TaxonomyResult) -> Vec<&'a Rung> {
    let rungs = ladder.iter().zip(standings(ladder, taxonomy));
    let shown = rungs.filter(|(_, standing)| *standing != Standing::Unlikely);
    shown.map(|(rung, _)| rung).collect()
}

#[cfg(test)]
mod tests {
    use super::super::result::PathStep;
    use super::*;

    fn rung(text: &str, node: Option<&str>) -> Rung {
        Rung {
            text: text.into(),
            radius: 0.0,
            similarity: 0.0,
            p: None,
            node: node.map(str::to_owned),
        }
    }

    fn taxonomy(stop: &str) -> TaxonomyResult {
        let steps = [("e", 1.0), ("a", 0.9), ("b", 0.6), ("t", 0.2)];
        let steps = steps.map(|(id, p)| PathStep {
            id: id.into(),
            name: id.into(),
            p,
        });
        TaxonomyResult {
            path: steps.to_vec(),
            stop: stop.into(),
        }
    }

    #[test]
    fn rungs_below_the_stop_are_guesses_until_they_are_too_unlikely() {
        let ladder = [
            rung("an animal", Some("a")),
            rung("an animal on a wall", None),
            rung("a bird", Some("b")),
            rung("a thrush", Some("t")),
            rung("a thrush on a wall", None),
            rung("a hunting dog", Some("d")),
        ];
        use Standing::{Guess, Known, Unlikely};
        let [early, late] = ["a", "t"].map(|stop| standings(&ladder, &taxonomy(stop)));
        assert_eq!(early, [Known, Known, Guess, Unlikely, Unlikely, Unlikely]);
        assert_eq!(late, [Known, Known, Known, Known, Known, Unlikely]);
        let shown = shown_rungs(&ladder, &taxonomy("a"));
        assert_eq!(shown.len(), 3);
        assert_eq!(shown[2].text, "a bird");
    }
}
