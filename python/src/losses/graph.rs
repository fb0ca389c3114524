//! The inputs of a loss as leaves of a graph, and the values and gradients of the loss.

use std::collections::BTreeMap;

use burn::tensor::{Device, Gradients, Tensor, TensorData};
use espalier_core::loss::{LossTerms, Relations};
use espalier_trainer::device::Backend;
use pyo3::prelude::*;

use crate::arrays::{Array, of_data};
use crate::errors::detached;

/// Total, terms and gradients of a loss.
pub(super) type Loss<'py> = PyResult<(
    f64,
    BTreeMap<&'static str, f64>,
    BTreeMap<&'static str, Bound<'py, PyAny>>,
)>;

/// Returns the gradient of one input; `None` if the loss does not depend on it.
type Gradient = Box<dyn Fn(&Gradients) -> Option<TensorData>>;

/// A device, and the inputs by which gradients are wanted.
pub(super) struct Graph {
    device: Device,
    wanted: bool,
    leaves: Vec<(&'static str, Vec<usize>, Gradient)>,
}

impl Graph {
    fn new(wanted: bool) -> anyhow::Result<Self> {
        let device = Backend::Flex.device()?;
        Ok(Self {
            device: if wanted { device.autodiff() } else { device },
            wanted,
            leaves: Vec::new(),
        })
    }

    /// Returns an input by which the gradient is reported under `name`.
    pub(super) fn leaf<const D: usize>(&mut self, name: &'static str, array: Array) -> Tensor<D> {
        let shape = array.shape.clone();
        let tensor: Tensor<D> = array.tensor(&self.device);
        if !self.wanted {
            return tensor;
        }
        let tensor = tensor.require_grad();
        let leaf = tensor.clone();
        let gradient = move |all: &Gradients| leaf.grad(all).map(Tensor::into_data);
        self.leaves.push((name, shape, Box::new(gradient)));
        tensor
    }

    /// Returns the curvature of one Lorentz space, `[1, 1]`.
    pub(super) fn curvature(&mut self, c: Array) -> Tensor<2> {
        self.leaf::<1>("c", c).reshape([1, 1])
    }

    /// Returns an input without a gradient.
    pub(super) fn constant<const D: usize>(&self, array: Array) -> Tensor<D> {
        array.tensor(&self.device)
    }

    /// Returns relations from matrices of 0 and 1.
    pub(super) fn relations(&self, pairs: Array, entails: Array) -> Relations {
        let mask = |array: Array| self.constant::<2>(array).greater_scalar(0.5);
        Relations {
            pairs: mask(pairs),
            entails: mask(entails),
        }
    }

    /// Computes the values and the gradients.
    fn finish(self, loss: LossTerms) -> Values {
        let number = |t: Tensor<1>| t.into_scalar::<f64>();
        let gradients = self.wanted.then(|| loss.total.backward());
        let leaves = self.leaves.into_iter().filter_map(|(name, shape, of)| {
            let data = gradients.as_ref().and_then(&of)?;
            Some((name, shape, data))
        });
        let gradients = leaves.collect();
        let named = loss.named.into_iter();
        let total = if self.wanted {
            loss.total.inner()
        } else {
            loss.total
        };
        Values {
            total: number(total),
            terms: named.map(|(name, term)| (name, number(term))).collect(),
            gradients,
        }
    }
}

/// A loss on the host.
struct Values {
    total: f64,
    terms: BTreeMap<&'static str, f64>,
    gradients: Vec<(&'static str, Vec<usize>, TensorData)>,
}

/// Computes a loss without Python's lock.
///
/// # Errors
/// The exception of a failed computation.
pub(super) fn computed<'py>(
    py: Python<'py>,
    gradients: bool,
    loss: impl FnOnce(&mut Graph) -> LossTerms + Send,
) -> Loss<'py> {
    let values = detached(py, || {
        let mut graph = Graph::new(gradients)?;
        let terms = loss(&mut graph);
        Ok(graph.finish(terms))
    })?;
    let mut arrays = BTreeMap::new();
    for (name, shape, data) in values.gradients {
        arrays.insert(name, of_data(py, data, &shape)?);
    }
    Ok((values.total, values.terms, arrays))
}
