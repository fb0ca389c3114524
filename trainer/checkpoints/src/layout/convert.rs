//! Converts the numbers of tensors between published files and ours, in both directions.

use espalier_core::weights::{HostTensor, Tensors};

use super::tensor_mapping::{TensorMapping, Transform};

/// Returns the transpose of `data`, which is `[rows, cols]`.
fn transposed(data: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    let at = |i: usize| data[(i % rows) * cols + i / rows];
    (0..data.len()).map(at).collect()
}

fn numel(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Builds one of our tensors from the numbers of the file's tensors, in the order of
/// [`TensorMapping::theirs`].
///
/// # Errors
/// Names a tensor whose number of elements does not match its shape.
pub fn import_tensor(mapping: &TensorMapping, parts: Vec<Vec<f32>>) -> Result<HostTensor, String> {
    let expected = numel(&mapping.their_shape);
    for (name, part) in mapping.theirs.iter().zip(&parts) {
        if part.len() != expected {
            return Err(format!(
                "`{name}`: expected {expected} numbers, found {}",
                part.len()
            ));
        }
    }
    let mut parts = parts;
    let mut data = if parts.len() == 1 {
        parts.remove(0)
    } else {
        parts.concat()
    };
    if mapping.how == Transform::Transposed {
        data = transposed(&data, mapping.their_shape[0], mapping.their_shape[1]);
    }
    Ok(HostTensor {
        shape: mapping.shape.clone(),
        data,
    })
}

/// Builds the tensors of a published file from ours.
///
/// # Errors
/// Names the first of our tensors that is missing or whose size differs from the table.
pub fn export_tensors(
    mappings: &[TensorMapping],
    ours: &Tensors,
) -> Result<Vec<(String, HostTensor)>, String> {
    let mut out = Vec::new();
    for mapping in mappings {
        let tensor = ours.tensors.get(&mapping.ours);
        let tensor = tensor.ok_or_else(|| format!("the checkpoint has no `{}`", mapping.ours))?;
        if tensor.data.len() != numel(&mapping.shape) {
            return Err(format!(
                "`{}`: expected shape {:?}, found {:?}",
                mapping.ours, mapping.shape, tensor.shape
            ));
        }
        let data = match mapping.how {
            Transform::Stacked => tensor.data.clone(),
            Transform::Transposed => transposed(&tensor.data, mapping.shape[0], mapping.shape[1]),
        };
        let each = numel(&mapping.their_shape);
        for (i, name) in mapping.theirs.iter().enumerate() {
            let part = HostTensor {
                shape: mapping.their_shape.clone(),
                data: data[i * each..(i + 1) * each].to_vec(),
            };
            out.push((name.clone(), part));
        }
    }
    Ok(out)
}
