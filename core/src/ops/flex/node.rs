//! An operation over slices as a node of Burn's graph.

use std::sync::atomic::{AtomicBool, Ordering};

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::retro_forward::RetroForward;
use burn::backend::autodiff::checkpoint::state::BackwardStates;
use burn::backend::autodiff::checkpoint::strategy::{
    BalancedCheckpointing, CheckpointStrategy, NoCheckpointing,
};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Autodiff, AutodiffBackend, BackendTensor, DispatchAutodiffContext, DispatchKindConversion,
    DispatchTensor, DispatchTensorKind, Flex, TensorMetadata,
};
use burn::tensor::{DType, GradientCheckpointingStrategy, Tensor};

use super::array::{Array, Packed, View};

/// Whether the own operations are used.
static IN_USE: AtomicBool = AtomicBool::new(true);

/// Chooses whether the own operations are used, in the whole process; they are at the start. Tests
/// compare both.
pub fn use_own(own: bool) {
    IN_USE.store(own, Ordering::Relaxed);
}

/// An operation with `N` inputs and one output.
pub trait Operation<const N: usize>: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Whether gradient checkpointing computes the output again instead of keeping it.
    const IS_CHEAP: bool;

    /// Computes the output.
    fn forward(&self, inputs: [View<'_>; N]) -> Array;

    /// Computes the output, and the operation for the backward pass, which may keep values for it.
    fn forward_in_graph(&self, inputs: [View<'_>; N]) -> (Array, Self) {
        (self.forward(inputs), self.clone())
    }

    /// Computes the gradients of the wanted inputs from that of the output.
    fn backward(
        &self,
        inputs: [View<'_>; N],
        grad: View<'_>,
        wanted: [bool; N],
    ) -> [Option<Array>; N];
}

/// Applies an operation; `None` if an input [is not our own](is_own).
pub fn apply<O: Operation<N>, const N: usize, const D: usize>(
    operation: &O,
    inputs: [DispatchTensor; N],
) -> Option<Tensor<D>> {
    if !inputs.iter().all(is_own) {
        return None;
    }
    let contexts = inputs.iter().map(|input| input.autodiff);
    // Two graphs with different strategies are an error that Burn reports.
    let mut graphs = contexts.filter_map(|context| match context {
        DispatchAutodiffContext::Disabled => None,
        DispatchAutodiffContext::Enabled(strategy) => Some(strategy),
    });
    let output = match graphs.next() {
        None => plain(operation, inputs),
        Some(first) if graphs.any(|other| other != first) => None,
        Some(GradientCheckpointingStrategy::Disabled) => {
            tracked::<NoCheckpointing, O, N>(operation, inputs)
        }
        Some(GradientCheckpointingStrategy::Balanced) => {
            tracked::<BalancedCheckpointing, O, N>(operation, inputs)
        }
    };
    output.map(Tensor::from_dispatch)
}

/// Returns whether the own operations take a tensor: one of 32 bits on the CPU backend, with or without a
/// graph, while they are in use.
pub fn is_own(tensor: &DispatchTensor) -> bool {
    let is_flex = match &tensor.kind {
        DispatchTensorKind::Flex(tensor) => matches!(tensor, BackendTensor::Float(_)),
        DispatchTensorKind::Autodiff(inner) => {
            matches!(
                **inner,
                DispatchTensorKind::Flex(BackendTensor::Autodiff(_))
            )
        }
        #[allow(unreachable_patterns)]
        _ => false,
    };
    IN_USE.load(Ordering::Relaxed) && is_flex && tensor.dtype() == DType::F32
}

/// Returns the values of a tensor; `None` if it [is not our own](is_own).
pub fn packed(tensor: &DispatchTensor) -> Option<Packed> {
    if !is_own(tensor) {
        return None;
    }
    let kind = match &tensor.kind {
        DispatchTensorKind::Autodiff(inner) => &**inner,
        kind => kind,
    };
    let tensor = match kind {
        DispatchTensorKind::Flex(BackendTensor::Float(tensor)) => tensor.clone(),
        DispatchTensorKind::Flex(BackendTensor::Autodiff(tensor)) => tensor.primitive().clone(),
        _ => return None,
    };
    Some(Packed::new(tensor))
}

/// Takes the tensor of a backend out of a tensor of any backend.
fn taken<B>(tensor: DispatchTensor) -> Option<FloatTensor<B>>
where
    B: burn::backend::Backend,
    DispatchTensor: DispatchKindConversion<B>,
{
    match DispatchTensor::try_into_backend(tensor) {
        Ok(BackendTensor::Float(tensor)) => Some(tensor),
        _ => None,
    }
}

/// Turns all items of an array; `None` if one of them has no result.
fn all<T, R, const N: usize>(items: [T; N], of: impl Fn(T) -> Option<R>) -> Option<[R; N]> {
    let found: Option<Vec<R>> = items.into_iter().map(of).collect();
    found?.try_into().ok()
}

fn computed<O: Operation<N>, const N: usize>(operation: &O, inputs: [FlexTensor; N]) -> FlexTensor {
    let inputs = inputs.map(Packed::new);
    operation
        .forward(inputs.each_ref().map(Packed::view))
        .into_tensor()
}

/// Applies an operation without a graph.
fn plain<O: Operation<N>, const N: usize>(
    operation: &O,
    inputs: [DispatchTensor; N],
) -> Option<DispatchTensor> {
    let output = computed(operation, all(inputs, taken::<Flex>)?);
    let output = BackendTensor::<Flex>::Float(output);
    Some(<DispatchTensor as DispatchKindConversion<Flex>>::from_backend(output))
}

/// Applies an operation whose output is a node of the graph; inputs without a graph are constants.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the type of these tensors has no public path"
)]
fn tracked<C, O, const N: usize>(
    operation: &O,
    inputs: [DispatchTensor; N],
) -> Option<DispatchTensor>
where
    C: CheckpointStrategy,
    O: Operation<N>,
    DispatchTensor: DispatchKindConversion<Autodiff<Flex, C>>,
{
    let inputs = all(inputs, |input| match input.autodiff {
        DispatchAutodiffContext::Disabled => {
            taken::<Flex>(input).map(<Autodiff<Flex, C> as AutodiffBackend>::from_inner)
        }
        DispatchAutodiffContext::Enabled(_) => taken::<Autodiff<Flex, C>>(input),
    })?;
    let values = inputs.each_ref().map(|x| x.primitive().clone());
    let values = values.map(Packed::new);
    let (output, for_backward) = operation.forward_in_graph(values.each_ref().map(Packed::view));
    let output = output.into_tensor();
    let prepared = Node(for_backward).prepare::<C>(inputs.each_ref().map(|x| x.node()));
    let prepared = if O::IS_CHEAP {
        let again = Again {
            operation: operation.clone(),
            inputs: inputs.each_ref().map(|x| x.id()),
        };
        prepared
            .memory_bound()
            .retro_forward(again)
            .parents(&inputs)
    } else {
        prepared.compute_bound()
    };
    let output = match prepared.stateful() {
        OpsKind::Tracked(mut prepared) => {
            let state = inputs.each_ref().map(|x| prepared.checkpoint(x));
            prepared.finish(state, output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    let output = BackendTensor::<Autodiff<Flex, C>>::Float(output);
    Some(<DispatchTensor as DispatchKindConversion<
        Autodiff<Flex, C>,
    >>::from_backend(output))
}

/// The backward pass of an operation; its state names the inputs.
#[derive(Clone, Debug)]
struct Node<O>(O);

impl<O: Operation<N>, const N: usize> Backward<Flex, N> for Node<O> {
    type State = [NodeId; N];

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        grads: &mut Gradients,
        checkpointer: &mut Checkpointer,
    ) {
        let inputs = ops
            .state
            .map(|id| checkpointer.retrieve_node_output::<FlexTensor>(id));
        let inputs = inputs.map(Packed::new);
        let grad = Packed::new(grads.consume::<Flex>(&ops.node));
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let views = inputs.each_ref().map(Packed::view);
        let found = self.0.backward(views, grad.view(), wanted);
        for (parent, found) in ops.parents.into_iter().zip(found) {
            if let Some((parent, found)) = parent.zip(found) {
                grads.register::<Flex>(parent.id, found.into_tensor());
            }
        }
    }
}

/// The forward pass once more, for gradient checkpointing.
#[derive(Debug)]
struct Again<O, const N: usize> {
    operation: O,
    inputs: [NodeId; N],
}

impl<O: Operation<N>, const N: usize> RetroForward for Again<O, N> {
    fn forward(&self, states: &mut BackwardStates, out_node: NodeId) {
        let inputs = self
            .inputs
            .each_ref()
            .map(|id| states.get_state::<FlexTensor>(id));
        let output = computed(&self.operation, inputs);
        states.save(out_node, output);
    }
}
