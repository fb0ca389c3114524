//! Feed-forward layers as a node.

use std::sync::Arc;

use burn::nn;
use burn::tensor::Tensor;
use espalier_kernels::Gelu;
use espalier_kernels::grad::feed_forward as loops;

use super::array::{Array, View, wanted_of};
use super::node::{Operation, apply};

/// Two linear layers with GELU between them. The inputs are the rows, the weight and bias of the first layer, and the
/// weight and bias of the second one.
#[derive(Clone, Debug)]
struct FeedForward {
    gelu: Gelu,
    /// Hidden rows before GELU, for the backward pass; empty without a graph.
    kept: Arc<Vec<f32>>,
}

impl FeedForward {
    fn sizes(&self, x: View<'_>, first: View<'_>) -> loops::FeedForward {
        loops::FeedForward {
            rows: x.rows(),
            width: x.last(),
            hidden: first.last(),
            gelu: self.gelu,
        }
    }
}

fn layers<'a>([_, first, b, second, c]: [View<'a>; 5]) -> loops::Layers<'a> {
    loops::Layers {
        weights: [first.values, second.values],
        biases: [b.values, c.values],
    }
}

impl Operation<5> for FeedForward {
    const IS_CHEAP: bool = false;

    fn forward(&self, inputs: [View<'_>; 5]) -> Array {
        let [x, first, ..] = inputs;
        let (output, _) = self
            .sizes(x, first)
            .forward(x.values, layers(inputs), false);
        Array::new(output, x.shape)
    }

    fn forward_in_graph(&self, inputs: [View<'_>; 5]) -> (Array, Self) {
        let [x, first, ..] = inputs;
        let (output, kept) = self.sizes(x, first).forward(x.values, layers(inputs), true);
        let kept = Arc::new(kept);
        let gelu = self.gelu;
        (Array::new(output, x.shape), Self { gelu, kept })
    }

    fn backward(
        &self,
        inputs: [View<'_>; 5],
        grad: View<'_>,
        wanted: [bool; 5],
    ) -> [Option<Array>; 5] {
        let [x, first, ..] = inputs;
        let of = loops::Wanted {
            x: wanted[0],
            weights: [wanted[1], wanted[3]],
            biases: [wanted[2], wanted[4]],
        };
        let values = [x.values, &self.kept, grad.values];
        let sizes = self.sizes(x, first);
        let grads = sizes.backward(values, layers(inputs), of);
        let ([w, v], [b, c]) = (grads.weights, grads.biases);
        let shapes = inputs.map(|input| input.shape);
        wanted_of([grads.x, w, b, v, c], shapes, wanted)
    }
}

/// See [`feed_forward`](crate::ops::feed_forward); `None` also for layers without a bias, and for those
/// whose output has another width than their input.
pub fn feed_forward<const D: usize>(
    [first, second]: [&nn::Linear; 2],
    gelu: Gelu,
    x: &Tensor<D>,
) -> Option<Tensor<D>> {
    let (b, c) = first.bias.as_ref().zip(second.bias.as_ref())?;
    let (first, second) = (first.weight.val(), second.weight.val());
    let [width, hidden] = first.dims();
    if second.dims() != [hidden, width] || x.dims().last() != Some(&width) {
        return None;
    }
    let node = FeedForward {
        gelu,
        kept: Arc::default(),
    };
    let inputs = [
        x.clone().into_dispatch(),
        first.into_dispatch(),
        b.val().into_dispatch(),
        second.into_dispatch(),
        c.val().into_dispatch(),
    ];
    apply(&node, inputs)
}
