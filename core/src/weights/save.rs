//! Conversion of a model to named tensors.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;

use super::host::HostTensor;
use super::names::{Layout, public_name};
use super::tensors::Tensors;
use crate::error::{CoreError, Result};

struct Collector {
    tensors: Tensors,
    path: Vec<String>,
    owners: Vec<String>,
    error: Option<CoreError>,
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.push(name.to_owned());
        self.owners.push(container.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
        self.owners.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let owner = self.owners.iter().rev().find(|o| o.starts_with("Struct:"));
        let owner = owner.map_or("", String::as_str);
        let (name, layout) = public_name(&self.path.join("."), owner);
        let tensor = match layout {
            Layout::Same => param.val().inner(),
            Layout::Transposed => param.val().inner().transpose(),
        };
        let scalar = owner == "Struct:LogScalar" && tensor.dims() == [1; D];
        let shape = if scalar {
            Vec::new()
        } else {
            tensor.dims().to_vec()
        };
        match tensor.into_data().convert::<f32>().try_into_vec::<f32>() {
            Ok(data) => {
                self.tensors
                    .tensors
                    .insert(name, HostTensor { shape, data });
            }
            Err(e) => {
                let reason = format!("cannot be read from the device: {e:?}");
                self.error.get_or_insert(CoreError::Tensor {
                    tensor: name,
                    reason,
                });
            }
        }
    }
}

/// Returns all parameters of a model by their public names, in `f32`. It reads from the device
/// synchronously, which a browser's GPU does not support.
///
/// # Errors
/// [`CoreError::Tensor`] when the device does not return a tensor.
pub fn collect<M: Module>(module: &M) -> Result<Tensors> {
    let mut collector = Collector {
        tensors: Tensors::default(),
        path: Vec::new(),
        owners: Vec::new(),
        error: None,
    };
    module.visit(&mut collector);
    match collector.error {
        Some(error) => Err(error),
        None => Ok(collector.tensors),
    }
}

/// Returns a safetensors file of all parameters in `f32`, with the given metadata.
///
/// # Errors
/// As [`collect`].
pub fn write<M: Module>(
    module: &M,
    metadata: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<u8>> {
    let mut tensors = collect(module)?;
    tensors.metadata = metadata.into_iter().collect();
    tensors.write(|_, _| None)
}
