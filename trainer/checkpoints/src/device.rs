//! Selection of the compute device: the only file that checks which backends were compiled in.

use burn::tensor::Device;
use clap::ValueEnum;
use espalier_core::caption::Engine;
use espalier_io::exit::usage;
use serde::{Deserialize, Serialize};

/// A backend, as the user names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The fastest one in this build: cuda, else wgpu, else flex.
    #[default]
    Auto,
    /// CPU.
    Flex,
    /// GPU through Vulkan, Metal or DirectX.
    Wgpu,
    /// NVIDIA GPU.
    Cuda,
}

/// Returns the engine that computes the features of a bundle's encoders: on a CPU the kernels of
/// core, which are faster there than any backend; otherwise the device.
pub fn engine(device: &Device) -> Engine {
    #[cfg(feature = "flex")]
    if *device == Device::flex() {
        return Engine::Kernels;
    }
    Engine::Device(device.clone())
}

impl Backend {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Flex => "flex",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
        }
    }

    /// Returns whether the program was built with this backend.
    fn is_available(self) -> bool {
        match self {
            Self::Auto => true,
            Self::Flex => cfg!(feature = "flex"),
            Self::Wgpu => cfg!(feature = "wgpu"),
            Self::Cuda => cfg!(feature = "cuda"),
        }
    }

    /// Returns the backend that `auto` stands for; returns any other backend unchanged.
    pub fn resolve(self) -> Self {
        if self != Self::Auto {
            return self;
        }
        [Self::Cuda, Self::Wgpu]
            .into_iter()
            .find(|b| b.is_available())
            .unwrap_or(Self::Flex)
    }

    /// Returns the device, without autodiff.
    ///
    /// # Errors
    /// Bad usage if the program was built without the backend.
    pub fn device(self) -> anyhow::Result<Device> {
        self.numbered_device(None)
    }

    /// Returns the device of one of several processes on this machine, without autodiff: the GPU
    /// with this number. Without a number it is the default one.
    ///
    /// # Errors
    /// As [`device`](Self::device).
    pub fn numbered_device(self, number: Option<usize>) -> anyhow::Result<Device> {
        match (self.resolve(), number) {
            #[cfg(feature = "flex")]
            (Self::Flex, _) => Ok(Device::flex()),
            #[cfg(feature = "wgpu")]
            (Self::Wgpu, number) => Ok(Device::wgpu(number.map_or(
                burn::tensor::DeviceKind::DefaultDevice,
                burn::tensor::DeviceKind::DiscreteGpu,
            ))),
            #[cfg(feature = "cuda")]
            (Self::Cuda, number) => Ok(Device::cuda(number.unwrap_or(0))),
            #[allow(unreachable_patterns)]
            (other, _) => {
                let built: Vec<&str> = [Self::Flex, Self::Wgpu, Self::Cuda]
                    .into_iter()
                    .filter(|b| b.is_available())
                    .map(Self::name)
                    .collect();
                Err(usage(format!(
                    "--backend {name}: this program was built with {}; build it with \
                     `--features {name}`",
                    built.join(", "),
                    name = other.name()
                )))
            }
        }
    }
}
