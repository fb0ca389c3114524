//! Weights: safetensors files with floating-point and quantised tensors.

use espalier_core::weights::{StoredTensors, StoredValues, Tensors};

/// Largest level when the tensors are quantised again: that of `q6`.
const Q6: i8 = 31;

/// Reads a file of tensors, writes it with and without quantisation, and reads that.
///
/// # Panics
/// If a tensor has another number of elements than its shape, or if a written file cannot be read.
pub fn run(input: &[u8]) {
    let Ok(stored) = StoredTensors::read(input) else {
        return;
    };
    for (name, tensor) in &stored.tensors {
        let found = match &tensor.values {
            StoredValues::F32(values) => values.len(),
            StoredValues::Int8 { values, .. } => values.len(),
        };
        let expected: usize = tensor.shape.iter().product();
        assert_eq!(found, expected, "{name}");
        let floats = tensor.clone().into_f32();
        assert_eq!(floats.data.len(), expected, "{name}");
    }
    let tensors = Tensors::from(stored);
    let plain = tensors.write(|_, _| None);
    let plain = plain.unwrap_or_else(|e| panic!("written in f32: {e}"));
    let again = Tensors::read(&plain).unwrap_or_else(|e| panic!("read in f32: {e}"));
    assert_eq!(again.tensors.len(), tensors.tensors.len());
    let quantised = tensors.write(|_, _| Some(Q6));
    let quantised = quantised.unwrap_or_else(|e| panic!("written as integers: {e}"));
    let again = Tensors::read(&quantised).unwrap_or_else(|e| panic!("read as integers: {e}"));
    assert_eq!(again.tensors.len(), tensors.tensors.len());
}
