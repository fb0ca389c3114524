//! The model that a run starts from: random weights, those of another model, or its own.

use std::path::PathBuf;

use burn::module::Module;
use burn::tensor::Device;
use espalier_core::model::{DualConfig, DualEncoder, TextEncoder};
use espalier_core::nn::Norms;

use super::optimise::with_stable_ids;
use super::plan::Run;
use crate::classifier_file;
use crate::exit::usage;
use crate::model_file::{self, ModelCard, Origin};

impl Run {
    /// Builds the model to start from, and a frozen copy of the initial text encoder where the
    /// method needs it.
    pub(super) fn build(
        &self,
        architecture: &DualConfig,
        card: &mut ModelCard,
    ) -> anyhow::Result<(DualEncoder, Option<TextEncoder>)> {
        let device = self.device.clone().autodiff();
        self.check_norms(architecture)?;
        let method = self.method();
        let init = self.config.model.init.as_ref();
        let frozen = if method.needs_frozen_text() {
            Some(self.start(architecture, init, &self.device)?.0.text)
        } else {
            None
        };
        let from = self.resume.as_ref().or(init);
        let (model, started) = self.start(architecture, from, &device)?;
        if let Some(started) = started {
            if self.resume.is_some() {
                card.step = started.step;
            }
            // Its preprocessing and terms still apply; a root measured earlier does not.
            let origin = started.origin;
            card.origin = origin.map(|origin| Origin {
                root: None,
                ..origin
            });
        }
        let mut model = with_stable_ids(model);
        let trains = self.trains();
        if !trains.image {
            model.image.visual = model.image.visual.no_grad();
        }
        if !trains.projection {
            model.image.visual_proj = model.image.visual_proj.no_grad();
        }
        if !trains.text {
            model.text = model.text.no_grad();
        }
        if !trains.scale {
            model.logit_scale = model.logit_scale.no_grad();
        }
        Ok((model, frozen))
    }

    /// Rejects batch-statistics norms with several accumulation steps. A batch is then computed
    /// twice, first without a graph. Such norms would use the statistics of another part, and the
    /// gradients would be wrong.
    fn check_norms(&self, architecture: &DualConfig) -> anyhow::Result<()> {
        let inverted = architecture.vision.inverted.as_ref();
        let by_batch = inverted.is_some_and(|config| config.norms == Norms::Batch);
        let passes = self.config.train.accum_freq;
        if by_batch && passes > 1 && self.trains().image {
            return Err(usage(format!(
                "train.accum_freq: expected 1 where batch norms use the statistics of the batch, \
                 found {passes}; import the encoder with --frozen-norms, or lock it with \
                 --lock-image"
            )));
        }
        Ok(())
    }

    /// Reads the classifier file of the checkpoint that the run starts from. Every checkpoint of
    /// the run keeps a copy of it.
    pub(super) fn classifier(&self) -> anyhow::Result<Option<Vec<u8>>> {
        let from = self.resume.as_ref().or(self.config.model.init.as_ref());
        from.map_or(Ok(None), |path| classifier_file::bytes(path))
    }

    /// Builds a model of this architecture with the weights of a file, or with random ones; also
    /// returns the file's card.
    fn start(
        &self,
        architecture: &DualConfig,
        from: Option<&PathBuf>,
        device: &Device,
    ) -> anyhow::Result<(DualEncoder, Option<ModelCard>)> {
        device.seed(self.config.train.seed);
        let mut model = architecture.init(device);
        let Some(path) = from else {
            return Ok((model, None));
        };
        let start = model_file::open(path, device)?;
        if start.card.config == *architecture {
            return Ok((start.encoder, Some(start.card)));
        }
        if start.card.config.clone().with_lift(architecture.lift) != *architecture {
            return Err(usage(format!(
                "{}: its architecture is {:?}, wanted {:?}",
                path.display(),
                start.card.config,
                architecture
            )));
        }
        // Another method: keeps the encoders and starts with a new embedding space.
        model.image = start.encoder.image;
        model.text = start.encoder.text;
        Ok((model, Some(start.card)))
    }
}
