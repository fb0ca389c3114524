//! Strict loading: every parameter is found, every tensor used, every shape right.

use std::collections::BTreeSet;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Tensor, TensorData};

use super::names::{Layout, public_name};
use super::tensors::Tensors;
use crate::error::{CoreError, Result};

struct Loader<'a> {
    tensors: &'a Tensors,
    path: Vec<String>,
    owners: Vec<String>,
    used: BTreeSet<String>,
    missing: Vec<String>,
    fault: Option<CoreError>,
}

impl ModuleMapper for Loader<'_> {
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
        let Some(stored) = self.tensors.tensors.get(&name) else {
            self.missing.push(name);
            return param;
        };
        self.used.insert(name.clone());
        let shape: [usize; D] = param.lazy_shape().dims();
        let mut expected = shape.to_vec();
        if layout == Layout::Transposed {
            expected.reverse();
        }
        // Scalars are rank 0 in files and rank 1 here; a leading 1 may be left out (pixel means).
        let trim = |s: &[usize]| s.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
        if trim(&expected) != trim(&stored.shape) {
            self.fault.get_or_insert(CoreError::TensorShape {
                tensor: name,
                expected,
                found: stored.shape.clone(),
            });
            return param;
        }
        let device = param.lazy_device();
        let data = TensorData::new(stored.data.clone(), expected);
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

/// Replace every parameter of `module` by the tensor of its public name.
///
/// Tensors that `ignore` accepts may be left over; all others must be used.
///
/// # Errors
/// [`CoreError::TensorNames`] listing every missing and unknown tensor, or
/// [`CoreError::TensorShape`] for the first of a wrong shape. The module is not returned then, so
/// a partly loaded model cannot be used.
pub fn load<M: Module>(module: M, tensors: &Tensors, ignore: impl Fn(&str) -> bool) -> Result<M> {
    let mut loader = Loader {
        tensors,
        path: Vec::new(),
        owners: Vec::new(),
        used: BTreeSet::new(),
        missing: Vec::new(),
        fault: None,
    };
    let module = module.map(&mut loader);
    let unknown: Vec<String> = tensors
        .tensors
        .keys()
        .filter(|name| !loader.used.contains(*name) && !ignore(name))
        .cloned()
        .collect();
    if !loader.missing.is_empty() || !unknown.is_empty() {
        return Err(CoreError::TensorNames {
            missing: loader.missing,
            unknown,
        });
    }
    match loader.fault {
        Some(fault) => Err(fault),
        None => Ok(module),
    }
}
