//! What computes the features of a bundle's encoders.

#[cfg(feature = "burn")]
use burn::tensor::Device;

/// What computes features.
#[derive(Clone, Debug)]
pub enum Engine {
    /// The [`kernels`](crate::kernels) of this crate, on the CPU.
    Kernels,
    /// A device of Burn.
    #[cfg(feature = "burn")]
    Device(Device),
}
