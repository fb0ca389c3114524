//! The model that a run starts from: random weights, those of another model, or its own.

use std::path::PathBuf;

use burn::module::Module;
use burn::tensor::Device;
use espalier_checkpoints::model_file::{self, ModelCard, Origin};
use espalier_checkpoints::{classifier_file, first_weights};
use espalier_core::model::{Arithmetic, DualConfig, DualEncoder, TextEncoder};
use espalier_core::nn::Norms;
use espalier_core::weights::load;
use espalier_io::disk::run_folder::MODEL;
use espalier_io::exit::usage;

use super::optimise::with_stable_ids;
use super::plan::Run;

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
        let frozen = match method.needs_frozen_text() {
            true => Some(self.load_or_init(architecture, init, &self.device)?.0.text),
            false => None,
        };
        // Not the average, which a checkpoint may have too.
        let resume = self.resume.as_ref().map(|folder| folder.join(MODEL));
        let from = resume.as_ref().or(init);
        let (model, loaded_card) = self.load_or_init(architecture, from, &device)?;
        if let Some(loaded_card) = loaded_card {
            if self.resume.is_some() {
                card.step = loaded_card.step;
            }
            // Its preprocessing and licence still apply; its measured root does not.
            let origin = loaded_card.origin;
            card.origin = origin.map(|origin| Origin {
                root: None,
                ..origin
            });
        }
        let mut model = with_stable_ids(model);
        let trainable = self.trainable();
        if !trainable.image {
            model.image.visual = model.image.visual.no_grad();
        }
        if !trainable.projection {
            model.image.visual_proj = model.image.visual_proj.no_grad();
        }
        if !trainable.text {
            model.text = model.text.no_grad();
        } else if !trainable.text_layers {
            model.text.textual = model.text.textual.no_grad();
        }
        if !trainable.scale {
            model.logit_scale = model.logit_scale.no_grad();
        }
        Ok((model, frozen))
    }

    /// Rejects batch-statistics norms with several accumulation steps. A batch is then computed
    /// twice, first without a graph. Such norms would use the statistics of another part, and the
    /// gradients would be wrong.
    fn check_norms(&self, architecture: &DualConfig) -> anyhow::Result<()> {
        let inverted = architecture.vision.inverted.as_ref();
        let batch_norms = inverted.is_some_and(|config| config.norms == Norms::Batch);
        let passes = self.config.train.accum_freq;
        if batch_norms && passes > 1 && self.trainable().image {
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
    fn load_or_init(
        &self,
        architecture: &DualConfig,
        from: Option<&PathBuf>,
        device: &Device,
    ) -> anyhow::Result<(DualEncoder, Option<ModelCard>)> {
        let new_model = || -> anyhow::Result<DualEncoder> {
            let weights = first_weights(architecture, self.config.train.seed)?;
            Ok(load(architecture.init(device), weights)?)
        };
        let Some(path) = from else {
            return Ok((new_model()?, None));
        };
        let mut loaded = model_file::open(path, device)?;
        // A bundle may multiply integers, training never does.
        loaded.card.config.vision.arithmetic = Arithmetic::Float32;
        if loaded.card.config == *architecture {
            return Ok((loaded.encoder, Some(loaded.card)));
        }
        let same_encoders = loaded.card.config.clone().with_lift(architecture.lift);
        if same_encoders.with_equal_image_radii(architecture.equal_image_radii) != *architecture {
            return Err(usage(format!(
                "{}: expected the architecture {:?}, found {:?}",
                path.display(),
                architecture,
                loaded.card.config
            )));
        }
        // Another method: keeps the encoders and starts with a new embedding space.
        let mut model = new_model()?;
        model.image = loaded.encoder.image;
        model.text = loaded.encoder.text;
        Ok((model, Some(loaded.card)))
    }
}
