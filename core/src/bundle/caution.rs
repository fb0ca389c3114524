//! Reasons to doubt the answers of a model, which its manifest states.

use serde::{Deserialize, Serialize};

use super::manifest::Manifest;

/// Key of the list in [`Manifest::provenance`].
const KEY: &str = "cautions";

/// A reason to doubt the answers of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caution {
    /// The model has random weights.
    Untrained,
    /// Its text encoder has random weights.
    UntrainedText,
    /// The contrast of its training ended at chance.
    AtChance,
    /// Its probabilities come from its own logit scale.
    NotCalibrated,
    /// Its probabilities were fitted to the photos that it was trained on.
    CalibratedOnTraining,
}

impl Caution {
    /// Returns the caution as a sentence for whoever reads an answer.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Untrained => "This model was never trained: its answers are random.",
            Self::UntrainedText => {
                "The text encoder of this model was never trained: its texts are random."
            }
            Self::AtChance => "Training ended at chance: this model cannot tell photos apart.",
            Self::NotCalibrated => "The probabilities of this model are not calibrated.",
            Self::CalibratedOnTraining => {
                "The probabilities of this model were fitted to its training photos and are too high."
            }
        }
    }
}

impl Manifest {
    /// Returns the reasons to doubt the answers of the model; those that this version does not know are
    /// left out.
    #[must_use]
    pub fn cautions(&self) -> Vec<Caution> {
        let list = self.provenance.get(KEY).and_then(|value| value.as_array());
        let known = list.into_iter().flatten();
        known
            .filter_map(|value| Caution::deserialize(value).ok())
            .collect()
    }

    /// Replaces the reasons to doubt the answers of the model.
    pub fn set_cautions(&mut self, mut cautions: Vec<Caution>) {
        cautions.sort_unstable();
        cautions.dedup();
        let list: Vec<_> = cautions
            .iter()
            .map(|caution| serde_json::json!(caution))
            .collect();
        match list.is_empty() {
            true => self.provenance.remove(KEY),
            false => self.provenance.insert(KEY.to_owned(), list.into()),
        };
    }
}
