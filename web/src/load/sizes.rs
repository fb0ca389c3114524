//! Download sizes.

use super::progress::{EngineSizes, Sizes};
use crate::messages::protocol::Backend;

/// Sizes of both engines and of the model; 0 where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DownloadSizes {
    /// The CPU engine.
    pub cpu: EngineSizes,
    /// The WebGPU engine.
    pub gpu: EngineSizes,
    /// Bytes of the model's files.
    pub model: u64,
    /// Bytes of the model's text encoder, which is fetched only when a visitor types.
    pub text: u64,
}

impl DownloadSizes {
    /// Returns the sizes that have to be fetched before `backend` can answer.
    #[must_use]
    pub const fn for_backend(self, backend: Backend) -> Sizes {
        let engine = match backend {
            Backend::Cpu => self.cpu,
            Backend::WebGpu => self.gpu,
        };
        Sizes {
            engine,
            model: self.model,
        }
    }
}
