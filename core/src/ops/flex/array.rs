//! Row-major values with their shape, in and out of tensors of the CPU backend.

use burn::backend::flex::FlexTensor;
use burn::tensor::TensorData;

/// Values that an operation returns.
pub struct Array {
    /// Shape.
    pub shape: Vec<usize>,
    /// Values, row major.
    pub values: Vec<f32>,
}

impl Array {
    /// Puts values into a shape.
    pub fn new(values: Vec<f32>, shape: &[usize]) -> Self {
        Self {
            shape: shape.to_vec(),
            values,
        }
    }

    /// Turns the values into a tensor, without a copy.
    pub fn into_tensor(self) -> FlexTensor {
        FlexTensor::from_data(TensorData::new(self.values, self.shape))
    }
}

/// Puts the wanted gradients into their shapes.
pub fn wanted_of<const N: usize>(
    grads: [Vec<f32>; N],
    shapes: [&[usize]; N],
    wanted: [bool; N],
) -> [Option<Array>; N] {
    let mut shapes = shapes.into_iter().zip(wanted);
    grads.map(|values| match shapes.next() {
        Some((shape, true)) => Some(Array::new(values, shape)),
        _ => None,
    })
}

/// Values that an operation reads.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Shape.
    pub shape: &'a [usize],
    /// Values, row major.
    pub values: &'a [f32],
}

impl View<'_> {
    /// Returns the length of the last axis.
    pub fn last(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Returns the product of all other axes.
    pub fn rows(&self) -> usize {
        let axes = self.shape.len().saturating_sub(1);
        self.shape[..axes].iter().product()
    }
}

/// A tensor whose values lie in order.
pub struct Packed(FlexTensor);

impl Packed {
    /// Copies the values only where they do not lie in order.
    pub fn new(tensor: FlexTensor) -> Self {
        match tensor.as_slice::<f32>() {
            Some(_) => Self(tensor),
            None => Self(tensor.to_contiguous()),
        }
    }

    /// Borrows the values.
    pub fn view(&self) -> View<'_> {
        View {
            shape: self.0.layout().shape().as_slice(),
            // `new` put them in order, and the type was checked before the operation.
            values: self.0.as_slice().unwrap_or_default(),
        }
    }
}
