//! Data that every training method can be trained on, chosen by what the method needs, so that a new
//! method is trained by the tests as soon as it has a name.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use espalier_trainer::config::{MethodName, Needs, TrainConfig};

/// A kind of dataset, and its file, one of those that [`write_chains`](crate::ranks::write_chains)
/// writes, if it has one.
#[derive(Clone, Copy, Debug)]
pub struct TrainingData {
    /// The value of `--dataset`.
    pub dataset: &'static str,
    /// The name of the file for `--data`.
    pub file: Option<&'static str>,
}

/// Images with captions, boxes and lineages, without a file.
pub const SYNTHETIC: TrainingData = TrainingData {
    dataset: "synthetic",
    file: None,
};

/// Chains of captions without images.
pub const CHAINS: TrainingData = TrainingData {
    dataset: "hierarcaps",
    file: Some("chains.csv"),
};

/// Lineages of labels without images.
pub const LINEAGES: TrainingData = TrainingData {
    dataset: "taxonomy",
    file: Some("ranks.tsv"),
};

impl TrainingData {
    /// Returns the path of the file in the folder of the chains.
    pub fn path(self, folder: &Path) -> Option<PathBuf> {
        self.file.map(|name| folder.join(name))
    }
}

/// Returns all methods, each with every kind of data that it is trained on.
pub fn every_method() -> Vec<(MethodName, TrainingData)> {
    let all = MethodName::value_variants().iter();
    all.flat_map(|&method| data_for(method).iter().map(move |&data| (method, data)))
        .collect()
}

/// Returns data that hold what a method needs in a sample.
fn data_for(method: MethodName) -> &'static [TrainingData] {
    let defaults = TrainConfig::resolve(None, Default::default(), &[]).unwrap();
    match method.needs(&defaults.loss) {
        Needs::Captions | Needs::Boxes | Needs::Parts => &[SYNTHETIC],
        // A method that trains the image encoder needs images beside its chains.
        Needs::Chains if method.trainable().image => &[SYNTHETIC],
        Needs::Chains => &[CHAINS, LINEAGES],
    }
}
