//! The ladder of a photo and its path in the taxonomy.

use espalier_core::caption::{PathStep, Rung, TaxonomyResult};
use serde::Serialize;

/// Data of the figure.
#[derive(Clone, Debug, Serialize)]
pub struct Ladder {
    /// Model.
    pub model: String,
    /// The photo's file.
    pub photo: String,
    /// Distance of the photo to the root.
    pub radius: f64,
    /// From general to specific.
    pub rungs: Vec<Rung>,
    /// Place in the taxonomy.
    pub taxonomy: TaxonomyResult,
}

impl Ladder {
    /// Returns the part of the path that is drawn: of neighbours with equal probability in percent
    /// only the last, unless the path stops there.
    pub fn informative_path(&self) -> Vec<&PathStep> {
        let path = &self.taxonomy.path;
        let percent = |s: &PathStep| (100.0 * s.p).round();
        let shown = |(i, step): &(usize, &PathStep)| {
            let next = path.get(i + 1);
            step.id == self.taxonomy.stop || next.is_none_or(|n| percent(n) < percent(step))
        };
        let shown = path.iter().enumerate().filter(shown);
        shown.map(|(_, step)| step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equally_certain_steps_the_last_is_drawn_and_always_the_stop() {
        let step = |id: &str, p: f64| PathStep {
            id: id.into(),
            name: id.into(),
            p,
        };
        let ladder = Ladder {
            model: "m".into(),
            photo: "p.jpg".into(),
            radius: 1.0,
            rungs: Vec::new(),
            taxonomy: TaxonomyResult {
                path: [("a", 1.0), ("b", 1.0), ("c", 0.8), ("d", 0.799), ("e", 0.1)]
                    .map(|(id, p)| step(id, p))
                    .to_vec(),
                stop: "c".into(),
            },
        };
        let shown = ladder.informative_path().into_iter();
        let shown: Vec<&str> = shown.map(|step| step.id.as_str()).collect();
        assert_eq!(shown, ["b", "c", "d", "e"]);
    }
}
