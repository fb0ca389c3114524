//! PHyCLIP: HyCoCLIP in a product of Lorentz factors.

use anyhow::bail;
use burn::tensor::Tensor;
use espalier_core::geometry::lorentz;
use espalier_core::geometry::product::{pairwise_dist, split};
use espalier_core::loss::{self, HycoclipPoints, HycoclipWeights, LossTerms};
use espalier_core::model::{Lift, LiftKind};

use super::definition::{Method, StepContext};
use crate::config::PhyclipOptions;

pub(super) struct Phyclip(pub(super) PhyclipOptions);

impl Method for Phyclip {
    fn lift(&self, d_embed: usize) -> LiftKind {
        LiftKind::Product {
            factors: match self.0.factors {
                0 => d_embed / 8,
                n => n,
            },
            join: self.0.join,
        }
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let Lift::Product(lift) = &step.model.lift else {
            bail!("expected a model with a product space, found another space")
        };
        let c = lift.curvs.factors();
        let [factors, ..] = c.dims();
        let points = step.hycoclip_points()?;
        let captions = points.text.clone();
        let image_points = Tensor::cat(vec![points.image.clone(), points.box_image.clone()], 0);
        let points = HycoclipPoints {
            image: split(points.image, factors),
            text: split(points.text, factors),
            box_image: split(points.box_image, factors),
            box_text: split(points.box_text, factors),
        };
        let weights = HycoclipWeights {
            eta_inter: self.0.eta_inter,
            eta_intra: self.0.eta_intra,
            entail: self.0.entail * step.entail_ramp,
            form: self.0.angles.formula(),
        };
        let join = self.0.join;
        let terms = loss::phyclip(&points, c.clone(), step.contrast(), join, weights);
        let similarity =
            |x, y| pairwise_dist(split(x, factors), split(y, factors), c.clone(), join).neg();
        let radius = |x| {
            let factor_radii = lorentz::dist0(split(x, factors), c.clone());
            factor_radii.sum_dim(0).squeeze_dim(0)
        };
        let terms = step.with_labels(terms, image_points, similarity);
        let terms = step.with_nouns(terms, similarity, Some(&radius));
        Ok(step.with_radii(terms, captions, radius))
    }
}
