//! Visual hierarchies: images and their parts, without texts.

use anyhow::bail;
use espalier_core::loss::{self, LossTerms};
use espalier_core::model::LiftKind;

use super::definition::{Method, StepContext};
use crate::config::{PartsOptions, PartsSpace};
use crate::fit::inputs::{ImageTensor, StepContent};
use crate::fit::rows::Rows;

pub(super) struct Parts(pub(super) PartsOptions);

impl Method for Parts {
    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Lorentz
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let StepContent::Scenes(scenes) = &step.inputs.content else {
            bail!("expected a batch with parts of images, found none")
        };
        let boxes = ImageTensor::Pixels(Rows::whole(scenes.boxes.clone()));
        let batch = step.inputs.images.rows();
        let features = step.features(vec![step.inputs.images.clone(), boxes]);
        let [rows, _] = features.dims();
        let scale = step.model.logit_scale.value();
        Ok(match self.0.space {
            PartsSpace::Lorentz => {
                let points = step.model.lift.image(features);
                let boxes = points.clone().narrow(0, batch, rows - batch);
                loss::parts(points, boxes, step.curvature()?, scale, &scenes.relations)
            }
            PartsSpace::Euclidean => {
                let boxes = features.clone().narrow(0, batch, rows - batch);
                loss::parts_euclidean(features, boxes, scale, &scenes.relations)
            }
        })
    }

    fn pairs_per_sample(&self) -> Option<usize> {
        None
    }
}
