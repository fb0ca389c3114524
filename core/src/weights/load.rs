//! Strict loading: every parameter must have a tensor, every tensor must be used, and every shape
//! must match.
//!
//! Weights may arrive in parts, as the page fetches them: [`Loading`] takes one set of tensors at a
//! time and frees it before the next.

use std::collections::{BTreeMap, BTreeSet};

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Tensor, TensorData};

use super::host::HostTensor;
use super::names::{Layout, public_name};
use super::tensors::Tensors;
use crate::error::{CoreError, Result};

#[derive(Default)]
struct Loader {
    /// Tensors that no parameter has taken yet, by their public names.
    tensors: BTreeMap<String, HostTensor>,
    path: Vec<String>,
    owners: Vec<String>,
    /// Names of all parameters of the module.
    expected: BTreeSet<String>,
    used: BTreeSet<String>,
    error: Option<CoreError>,
}

impl ModuleMapper for Loader {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.push(name.to_owned());
        self.owners.push(container.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
        self.owners.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let owner = self.owners.iter().rev().find(|o| o.starts_with("Struct:"));
        let (name, layout) = public_name(&self.path.join("."), owner.map_or("", String::as_str));
        self.expected.insert(name.clone());
        // Tensors are moved, not copied, so that a large encoder is in memory only once.
        let Some(stored) = self.tensors.remove(&name) else {
            return param;
        };
        self.used.insert(name.clone());
        let shape: [usize; D] = param.lazy_shape().dims();
        let mut expected = shape.to_vec();
        if layout == Layout::Transposed {
            expected.reverse();
        }
        // Scalars have rank 0 in files and rank 1 here; dimensions of size 1 may be omitted (pixel
        // means).
        let trim = |s: &[usize]| s.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
        if trim(&expected) != trim(&stored.shape) {
            self.error.get_or_insert(CoreError::TensorShape {
                tensor: name,
                expected,
                found: stored.shape,
            });
            return param;
        }
        let device = param.lazy_device();
        let data = TensorData::new(stored.data, expected);
        let learned = param.is_require_grad();
        param.map(|_| {
            let tensor = Tensor::<D>::from_data(data, &device.clone().inner());
            let tensor = match layout {
                Layout::Same => tensor,
                Layout::Transposed => tensor.transpose(),
            };
            let tensor = if device.is_autodiff() {
                tensor.autodiff()
            } else {
                tensor
            };
            tensor.set_require_grad(device.is_autodiff() && learned)
        })
    }
}

/// State of loading a module whose weights arrive in parts.
#[derive(Clone, Debug, Default)]
pub struct Loading {
    used: BTreeSet<String>,
    missing: BTreeSet<String>,
    unknown: Vec<String>,
}

impl Loading {
    /// Replaces the parameters of `module` whose public names are among `tensors`.
    ///
    /// # Errors
    /// [`CoreError::TensorShape`] for the first tensor of a wrong shape. Then the module is not
    /// returned.
    pub fn take<M: Module>(&mut self, module: M, tensors: Tensors) -> Result<M> {
        let mut loader = Loader {
            tensors: tensors.tensors,
            ..Loader::default()
        };
        let module = module.map(&mut loader);
        if let Some(error) = loader.error {
            return Err(error);
        }
        let (expected, mut used) = (loader.expected, loader.used);
        self.unknown.extend(self.used.intersection(&used).cloned());
        self.unknown.extend(loader.tensors.into_keys());
        self.used.append(&mut used);
        self.missing = &expected - &self.used;
        Ok(module)
    }

    /// Completes the loading.
    ///
    /// # Errors
    /// [`CoreError::TensorNames`] listing every parameter without a tensor, and every tensor that
    /// belongs to no parameter or occurred twice.
    pub fn finish(self) -> Result<()> {
        if self.missing.is_empty() && self.unknown.is_empty() {
            return Ok(());
        }
        Err(CoreError::TensorNames {
            missing: self.missing.into_iter().collect(),
            unknown: self.unknown,
        })
    }
}

/// Replaces every parameter of `module` by the tensor of its public name.
///
/// # Errors
/// [`CoreError::TensorNames`] listing every missing and unknown tensor, or
/// [`CoreError::TensorShape`] for the first tensor of a wrong shape. Then the module is not
/// returned, so a partly loaded model cannot be used.
pub fn load<M: Module>(module: M, tensors: Tensors) -> Result<M> {
    let mut loading = Loading::default();
    let module = loading.take(module, tensors)?;
    loading.finish()?;
    Ok(module)
}
