//! Training methods: the batch contents, trained parts, embedding space and loss of each.
//!
//! To add a method, add one file here, one name in [`MethodName`] and one line in
//! [`MethodName::build`].

mod atmg;
mod clip;
mod context;
mod definition;
mod hycoclip;
mod meru;
mod parts;
mod phyclip;
mod radial;
mod rcme;

pub use self::definition::{Method, StepContext};
use crate::config::{LossConfig, MethodName};

impl MethodName {
    /// Creates the method of this name with its options.
    pub fn build(self, loss: &LossConfig) -> Box<dyn Method> {
        match self {
            Self::Clip => Box::new(clip::Clip(loss.clip.clone())),
            Self::Meru => Box::new(meru::Meru(loss.meru.clone())),
            Self::Hycoclip => Box::new(hycoclip::Hycoclip(loss.hycoclip.clone())),
            Self::Phyclip => Box::new(phyclip::Phyclip(loss.phyclip.clone())),
            Self::Re => Box::new(radial::Radial::with_angles(&loss.re)),
            Self::Ec => Box::new(radial::Radial::with_cones(&loss.ec)),
            Self::Rcme => Box::new(rcme::Rcme(loss.rcme.clone())),
            Self::Atmg => Box::new(atmg::Atmg(loss.atmg.clone())),
            Self::Parts => Box::new(parts::Parts(loss.parts.clone())),
        }
    }
}
