//! How much there is to fetch.

use super::progress::Sizes;
use crate::messages::protocol::Backend;

/// Sizes of both engines and of the model, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of the CPU engine's wasm.
    pub cpu: u64,
    /// Bytes of the WebGPU engine's wasm.
    pub gpu: u64,
    /// Bytes of the model's files.
    pub model: u64,
    /// Bytes of its text tower, which is fetched only for what a visitor types.
    pub text: u64,
}

impl Plan {
    /// What has to arrive before `backend` can answer.
    #[must_use]
    pub const fn sizes(self, backend: Backend) -> Sizes {
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
