//! Weights of layers, taken from named tensors and packed.

use std::collections::BTreeMap;

use espalier_kernels::{ByteDepthwise, ByteWeights, PackedWeights, RowNorm};

use crate::error::{CoreError, Result};
use crate::model::Arithmetic;
use crate::weights::{StoredTensor, StoredTensors, StoredValues, q8};

/// Matrices with more weights than this stay integers in memory if they are stored as integers, and
/// are unpacked for every product. In `f32` a large encoder would take four times the memory of its
/// file; small layers are faster if they are unpacked once.
const MOST_UNPACKED: usize = 1 << 19;

/// Maps of fewer inputs multiply floats if their output is floats: rounding the inputs and scaling the
/// sums take as long as is gained.
const LEAST_ROUNDED: usize = 80;

/// Named tensors, each of which is taken once, so that its memory is free as soon as it is packed.
pub(super) struct KernelWeights {
    tensors: BTreeMap<String, StoredTensor>,
    /// Numbers that the layers multiply which take the weights.
    pub(super) arithmetic: Arithmetic,
}

impl KernelWeights {
    pub(super) fn new(stored: StoredTensors, arithmetic: Arithmetic) -> Self {
        Self {
            tensors: stored.tensors,
            arithmetic,
        }
    }

    /// Checks that every tensor was taken.
    ///
    /// # Errors
    /// [`CoreError::TensorNames`] listing the others.
    pub(super) fn finish(&self) -> Result<()> {
        if self.tensors.is_empty() {
            return Ok(());
        }
        Err(CoreError::TensorNames {
            missing: Vec::new(),
            unknown: self.tensors.keys().cloned().collect(),
        })
    }

    /// Takes a tensor as it is stored, in this shape. Dimensions of size 1 may be omitted in files.
    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Result<StoredTensor> {
        let tensor = self.tensors.remove(name);
        let tensor = tensor.ok_or_else(|| CoreError::TensorNames {
            missing: vec![name.to_owned()],
            unknown: Vec::new(),
        })?;
        let long = |shape: &[usize]| -> Vec<usize> {
            shape.iter().copied().filter(|size| *size != 1).collect()
        };
        if long(shape) != long(&tensor.shape) {
            return Err(CoreError::TensorShape {
                tensor: name.to_owned(),
                expected: shape.to_vec(),
                found: tensor.shape,
            });
        }
        Ok(StoredTensor {
            shape: shape.to_vec(),
            ..tensor
        })
    }

    /// Takes a tensor in `f32`.
    pub(super) fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        Ok(self.take(name, shape)?.into_f32().data)
    }

    /// Takes the weight of a map to `bias.len()` outputs and packs it. `place(output, input)` is
    /// the position of a weight in the tensor.
    pub(super) fn packed(
        &mut self,
        name: &str,
        shape: &[usize],
        bias: &[f32],
        place: impl Fn(usize, usize) -> usize,
    ) -> Result<PackedWeights> {
        let inputs = shape.iter().skip(1).product();
        let values = self.take(name, shape)?.values;
        if self.arithmetic == Arithmetic::Int8 && inputs >= LEAST_ROUNDED {
            return Ok(byte_weights(values, inputs, bias, place).into());
        }
        Ok(match values {
            StoredValues::F32(values) => {
                PackedWeights::new(inputs, bias, |output, input| values[place(output, input)])
            }
            StoredValues::Int8 { values, scales } if values.len() > MOST_UNPACKED => {
                let value = |output, input| values[place(output, input)];
                PackedWeights::of_integers(inputs, bias, &scales, value)
            }
            StoredValues::Int8 { values, scales } => {
                PackedWeights::new(inputs, bias, |output, input| {
                    f32::from(values[place(output, input)]) * scales[output]
                })
            }
        })
    }

    /// Takes a linear layer `name` with its bias and packs its integers.
    pub(super) fn byte_linear(
        &mut self,
        name: &LinearName,
        inputs: usize,
        outputs: usize,
    ) -> Result<ByteWeights> {
        let bias = self.bias(name, outputs)?;
        let values = self.take(&name.weight, &[outputs, inputs])?.values;
        Ok(byte_weights(values, inputs, &bias, |output, input| {
            output * inputs + input
        }))
    }

    /// Takes a depthwise convolution with its bias and packs its integers. Weights that are stored as
    /// floats are rounded to 16 bits.
    pub(super) fn byte_depthwise(
        &mut self,
        name: &LinearName,
        channels: usize,
        [kernel, stride]: [usize; 2],
    ) -> Result<ByteDepthwise> {
        let bias = self.bias(name, channels)?;
        let shape = [channels, 1, kernel, kernel];
        let (integers, scales) = match self.take(&name.weight, &shape)?.values {
            StoredValues::Int8 { values, scales } => {
                (values.into_iter().map(i16::from).collect(), scales)
            }
            StoredValues::F32(values) => {
                q8::wide_integers_of(&values, kernel * kernel, ByteDepthwise::MOST)
            }
        };
        let weight = |c: usize, y: usize, x: usize| integers[(c * kernel + y) * kernel + x];
        Ok(ByteDepthwise::new(kernel, stride, &bias, &scales, weight))
    }

    /// Takes a layer and its bias in `f32`; the first number of its shape is that of the outputs.
    pub(super) fn with_bias(
        &mut self,
        name: &LinearName,
        shape: &[usize],
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let bias = self.bias(name, shape[0])?;
        Ok((self.floats(&name.weight, shape)?, bias))
    }

    /// Takes the bias of a layer.
    fn bias(&mut self, name: &LinearName, outputs: usize) -> Result<Vec<f32>> {
        match &name.bias {
            Some(bias) => self.floats(bias, &[outputs]),
            None => Ok(vec![0.0; outputs]),
        }
    }

    /// Takes a linear layer `name` with its bias and packs it.
    pub(super) fn linear(
        &mut self,
        name: &LinearName,
        inputs: usize,
        outputs: usize,
    ) -> Result<PackedWeights> {
        let bias = self.bias(name, outputs)?;
        self.packed(&name.weight, &[outputs, inputs], &bias, |output, input| {
            output * inputs + input
        })
    }

    /// Takes a layer norm.
    pub(super) fn row_norm(&mut self, name: &str, width: usize, eps: f64) -> Result<RowNorm> {
        let gamma = self.floats(&format!("{name}.weight"), &[width])?;
        let beta = self.floats(&format!("{name}.bias"), &[width])?;
        Ok(RowNorm::new(gamma, beta, eps as f32))
    }
}

/// Packs integers; `place(output, input)` is the position of a weight.
fn byte_weights(
    values: StoredValues,
    inputs: usize,
    bias: &[f32],
    place: impl Fn(usize, usize) -> usize,
) -> ByteWeights {
    let (integers, scales) = match values {
        StoredValues::Int8 { values, scales } => (values, scales),
        // A model that was opened for training has the floats of a bundle's integers.
        StoredValues::F32(values) => {
            let rows = values.chunks(inputs.max(1)).map(q8::integers_of);
            let (integers, scales): (Vec<_>, Vec<_>) = rows.unzip();
            (integers.concat(), scales)
        }
    };
    ByteWeights::new(inputs, bias, &scales, |output, input| {
        integers[place(output, input)]
    })
}

/// Names of the tensors of a layer.
pub(super) struct LinearName {
    pub weight: String,
    pub bias: Option<String>,
}
