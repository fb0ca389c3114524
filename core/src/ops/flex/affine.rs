//! Operations on an input and weights, with or without a bias, as nodes.

use burn::tensor::Tensor;

use super::array::{Array, View};
use super::node::{Operation, apply};

/// A linear map of an input, such as a layer or a convolution, to which a bias can be added.
pub trait Affine: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Computes the output.
    fn forward(&self, x: View<'_>, weight: View<'_>, bias: Option<&[f32]>) -> Array;

    /// Computes the wanted gradients, of the input, the weights and the bias, from that of the
    /// output.
    fn backward(
        &self,
        x: View<'_>,
        weight: View<'_>,
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3];
}

#[derive(Clone, Debug)]
struct Node<A>(A);

/// Without a bias.
impl<A: Affine> Operation<2> for Node<A> {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight]: [View<'_>; 2]) -> Array {
        self.0.forward(x, weight, None)
    }

    fn backward(
        &self,
        [x, weight]: [View<'_>; 2],
        grad: View<'_>,
        [of_x, of_weight]: [bool; 2],
    ) -> [Option<Array>; 2] {
        let wanted = [of_x, of_weight, false];
        let [of_x, of_weight, _] = self.0.backward(x, weight, grad, wanted);
        [of_x, of_weight]
    }
}

/// With a bias.
impl<A: Affine> Operation<3> for Node<A> {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> Array {
        self.0.forward(x, weight, Some(bias.values))
    }

    fn backward(
        &self,
        [x, weight, _]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        self.0.backward(x, weight, grad, wanted)
    }
}

/// Applies a map with or without a bias; `None` if a tensor is not one of 32 bits of the CPU backend.
pub fn apply_affine<A: Affine, const D: usize, const W: usize>(
    map: A,
    x: &Tensor<D>,
    weight: &Tensor<W>,
    bias: Option<&Tensor<1>>,
) -> Option<Tensor<D>> {
    let node = Node(map);
    let (x, weight) = (x.clone().into_dispatch(), weight.clone().into_dispatch());
    match bias {
        None => apply(&node, [x, weight]),
        Some(bias) => apply(&node, [x, weight, bias.clone().into_dispatch()]),
    }
}
