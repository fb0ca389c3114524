//! Models with what is known of the runs that trained them.

use std::path::Path;

use burn::tensor::Device;
use espalier_checkpoints::model_file::{self, Model, ModelCard};
use espalier_core::bundle::Caution;
use espalier_io::output::note;

use crate::fit::source::{self, run_config};
use crate::fit::summary;

/// Opens a bundle or a checkpoint. A checkpoint gets the taxonomy that its run was trained with, where the
/// configuration names one, and the cautions that the run's metrics give.
///
/// # Errors
/// As [`model_file::open`].
pub fn open(path: &Path, device: &Device) -> anyhow::Result<Model> {
    let mut model = model_file::open(path, device)?;
    let config = run_config(&model.card).filter(|config| config.dataset.taxonomy.is_some());
    if let Some(config) = config.filter(|_| model.taxonomy.is_none()) {
        match source::taxonomy(&config) {
            Ok(taxonomy) => model.taxonomy = Some(taxonomy),
            Err(error) => note(format_args!("the run's taxonomy is not used: {error:#}")),
        }
    }
    if warning_at_chance(&model.card, &model.file).is_some() {
        model.cautions.push(Caution::AtChance);
    }
    Ok(model)
}

/// Warns if the contrast of a run ended at the value of an untrained model or above. `path` is the run's folder, or a
/// checkpoint in it.
pub fn warning_at_chance(card: &ModelCard, path: &Path) -> Option<String> {
    let config = run_config(card)?;
    let method = config.train.method.build(&config.loss);
    let level = method.chance_level(config.samples_of_step())?;
    summary::at_chance(path, level)
}

/// Prints reasons to doubt the answers of a model.
pub fn tell(cautions: &[Caution]) {
    for caution in cautions {
        note(format_args!("caution: {}", caution.sentence()));
    }
}
