//! The dial from general to specific: ends the same answer at a higher or lower step, without another
//! run of the encoder. Its levels are the rungs of the ladder where detectors tell what a photo shows,
//! and otherwise the steps of the path in the tree.

use espalier_core::caption::{CaptionResult, PathStep, TaxonomyResult};
use espalier_core::taxonomy::Taxonomy;

/// The levels that the dial can be set to, of a path or of a ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dial {
    /// Indices in the path or ladder, general to specific; at least one unless it is empty.
    levels: Vec<usize>,
    is_of_ladder: bool,
    /// Index in `levels` where the evidence stops; `None` if it stops above all of them.
    evidence: Option<usize>,
}

impl Dial {
    /// Creates the dial of the rungs of a result; none where detectors tell nothing of the photo.
    pub fn of_ladder(result: &CaptionResult) -> Option<Self> {
        let said = result.said?.min(result.ladder.len());
        (said > 0 && !result.shows.is_empty()).then(|| Self {
            levels: (0..result.ladder.len()).collect(),
            is_of_ladder: true,
            evidence: Some(said - 1),
        })
    }

    /// Creates the dial of a result from the steps that a person would name. Without the taxonomy,
    /// these are all steps except the root.
    pub fn of(taxonomy: &TaxonomyResult, tree: Option<&Taxonomy>) -> Self {
        let path = &taxonomy.path;
        let mut levels: Vec<usize> = (1..path.len())
            .filter(|index| is_shown(&path[*index], tree))
            .collect();
        // Of successive steps with the same labels below them, keeps only the most specific.
        if let Some(tree) = tree {
            let labels_below = |index: &usize| {
                let node = tree.find(&path[*index].id);
                node.map_or(0, |ix| tree.labelled_below(ix).len())
            };
            let all = levels.clone();
            let mut next = all.iter().skip(1);
            levels.retain(|index| {
                (next.next()).is_none_or(|after| labels_below(after) != labels_below(index))
            });
        }
        if levels.is_empty() && !path.is_empty() {
            levels.push(path.len() - 1);
        }
        let stop = path.iter().position(|step| step.id == taxonomy.stop);
        let evidence = stop.and_then(|stop| levels.iter().rposition(|index| *index <= stop));
        Self {
            levels,
            is_of_ladder: false,
            evidence,
        }
    }

    /// Returns whether the levels are rungs of the ladder.
    pub fn is_of_ladder(&self) -> bool {
        self.is_of_ladder
    }

    /// Returns the number of levels.
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// Returns whether there are no levels.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Returns the level where the evidence stops; `None` if it stops above all of them.
    pub fn evidence(&self) -> Option<usize> {
        self.evidence
    }

    /// Returns the index of a level in the path or ladder.
    pub fn path_index(&self, level: usize) -> Option<usize> {
        self.levels.get(level).copied()
    }

    /// Returns the path indices from the most general level to this one.
    pub fn path_indices(&self, level: Option<usize>) -> &[usize] {
        let end = level.map_or(0, |level| (level + 1).min(self.levels.len()));
        &self.levels[..end]
    }

    /// Returns, for each rung, whether a dial at `level` shows it: rungs that are not more specific
    /// than the level. A rung that names no node of the path follows the rung before it.
    pub fn shows(&self, result: &CaptionResult, level: usize) -> Vec<bool> {
        if self.is_of_ladder {
            return (0..result.ladder.len()).map(|rung| rung <= level).collect();
        }
        let path = &result.taxonomy.path;
        let last = level + 1 >= self.levels.len();
        let limit = self.path_index(level).unwrap_or(usize::MAX);
        let mut within = true;
        let rungs = result.ladder.iter().map(|rung| {
            let id = rung.node.as_deref();
            let index = id.and_then(|id| path.iter().position(|step| step.id == id));
            within &= last || index.is_none_or(|index| index <= limit);
            within
        });
        rungs.collect()
    }
}

fn is_shown(step: &PathStep, tree: Option<&Taxonomy>) -> bool {
    let Some(tree) = tree else { return true };
    tree.find(&step.id).is_none_or(|ix| tree.is_nameable(ix))
}

#[cfg(test)]
mod tests {
    use espalier_core::statements::Role;

    use super::*;
    use crate::sample;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        e\tentity\t\t0\n\
        o\tobject\te\t0\n\
        a\tanimal\to\t0\n\
        f\tfauna of the air\ta\t0\n\
        b\tbird\tf\t0\n\
        t\tthrush\tb\t1\n\
        w\twren\tb\t1\n\
        c\tcat\ta\t1\n\
        x\ttable\to\t1\n\
        y\tchair\to\t1\n";

    fn taxonomy(stop: &str) -> TaxonomyResult {
        let steps = [
            ("e", 1.0),
            ("o", 1.0),
            ("a", 0.9),
            ("f", 0.7),
            ("b", 0.7),
            ("t", 0.3),
        ];
        TaxonomyResult {
            path: sample::steps(&steps),
            stop: stop.into(),
        }
    }

    fn dial(stop: &str) -> Dial {
        Dial::of(&taxonomy(stop), Some(&Taxonomy::from_tsv(TREE).unwrap()))
    }

    #[test]
    fn broad_steps_and_steps_that_add_nothing_are_no_levels() {
        let dial = dial("b");
        // entity and object cover all labels; the fauna of the air covers only the birds.
        assert_eq!(dial.levels, [2, 4, 5]);
        assert_eq!(dial.evidence(), Some(1));
        assert_eq!(dial.path_indices(dial.evidence()), [2, 4]);
    }

    #[test]
    fn evidence_above_every_level_is_no_level() {
        assert_eq!(dial("o").evidence(), None);
        assert_eq!(dial("o").path_indices(None), [0_usize; 0]);
        // A stop at a skipped step counts as a stop above the next level.
        assert_eq!(dial("f").evidence(), Some(0));
    }

    #[test]
    fn without_the_taxonomy_every_step_below_the_root_is_a_level() {
        assert_eq!(Dial::of(&taxonomy("a"), None).levels, [1, 2, 3, 4, 5]);
        let empty = TaxonomyResult {
            path: Vec::new(),
            stop: String::new(),
        };
        assert!(Dial::of(&empty, None).is_empty());
    }

    #[test]
    fn where_detectors_tell_what_a_photo_shows_the_levels_are_the_rungs() {
        let texts = ["people", "people eating", "people eating pizza"];
        let rungs = texts.map(|text| sample::rung(text, None)).to_vec();
        let mut result = sample::result(rungs, taxonomy("b"));
        assert_eq!(Dial::of_ladder(&result), None);
        result.said = Some(2);
        assert_eq!(Dial::of_ladder(&result), None);
        result.shows = vec![sample::shown("people", 0.9, Role::Subject)];
        let dial = Dial::of_ladder(&result).unwrap();
        assert_eq!((dial.len(), dial.evidence()), (3, Some(1)));
        assert_eq!(dial.shows(&result, 0), [true, false, false]);
        result.said = Some(0);
        assert_eq!(Dial::of_ladder(&result), None);
    }

    #[test]
    fn a_lower_dial_shows_fewer_rungs_and_the_last_level_shows_all() {
        let result = sample::result(
            vec![
                sample::rung("an animal", Some("a")),
                sample::rung("a bird", Some("b")),
                sample::rung("a bird on a wall", None),
                sample::rung("a thrush", Some("t")),
                sample::rung("a thrush on a wall", None),
            ],
            taxonomy("b"),
        );
        let dial = dial("b");
        assert_eq!(dial.shows(&result, 0), [true, false, false, false, false]);
        assert_eq!(dial.shows(&result, 1), [true, true, true, false, false]);
        assert_eq!(dial.shows(&result, 2), [true; 5]);
    }
}
