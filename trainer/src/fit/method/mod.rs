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
    #[must_use]
    pub fn build(self, options: &LossConfig) -> Box<dyn Method> {
        let options = options.clone();
        match self {
            Self::Clip => Box::new(clip::Clip { options }),
            Self::Meru => Box::new(meru::Meru { options }),
            Self::Hycoclip => Box::new(hycoclip::Hycoclip { options }),
            Self::Phyclip => Box::new(phyclip::Phyclip { options }),
            Self::Re => Box::new(radial::Radial {
                options,
                cones: false,
            }),
            Self::Ec => Box::new(radial::Radial {
                options,
                cones: true,
            }),
            Self::Rcme => Box::new(rcme::Rcme { options }),
            Self::Atmg => Box::new(atmg::Atmg { options }),
            Self::Parts => Box::new(parts::Parts { options }),
        }
    }
}
