//! Initial projection for an image encoder that comes with a classifier.
//!
//! The directions in which the rows of the classifier differ separate the classes. The projection
//! is therefore initialised with an orthonormal basis of the subspace that keeps most of these
//! differences: the leading right singular vectors of the centred rows (Eckart and Young 1936, "The
//! Approximation of One Matrix by Another of Lower Rank"), computed by orthogonal iteration (Golub
//! and Van Loan, "Matrix Computations", section 8.2.4).

use burn::tensor::{Device, Tensor, TensorData};
use espalier_core::weights::HostTensor;

/// Number of iterations. Each one shrinks the components outside the subspace by a ratio of squared
/// singular values. Directions that are still mixed after this many are almost equally important.
const ITERATIONS: usize = 24;

/// Returns an orthonormal basis of the `d_embed` leading directions of a classifier's rows; `None`
/// if `d_embed` is 0, or larger than the feature width or the number of rows, or if `weight` is not
/// a matrix.
///
/// # Shapes
/// `weight [classes, d_model] -> [d_embed, d_model]`
///
/// # Errors
/// If the device fails.
pub fn leading_directions(
    weight: &HostTensor,
    d_embed: usize,
    device: &Device,
) -> anyhow::Result<Option<HostTensor>> {
    let [classes, d_model] = *weight.shape.as_slice() else {
        return Ok(None);
    };
    if d_embed == 0 || d_embed > d_model || d_embed > classes {
        return Ok(None);
    }
    let rows = TensorData::new(weight.data.clone(), [classes, d_model]);
    let rows = Tensor::<2>::from_data(rows, device);
    let rows = rows.clone() - rows.mean_dim(0);
    // Any start that is not orthogonal to the subspace works; use rows of the classifier.
    let start: Vec<f32> = weight.data[..d_embed * d_model].to_vec();
    let mut basis = orthonormal(start, d_model);
    for _ in 0..ITERATIONS {
        let data = TensorData::new(basis, [d_embed, d_model]);
        let basis_rows = Tensor::<2>::from_data(data, device);
        let next = basis_rows
            .matmul(rows.clone().transpose())
            .matmul(rows.clone());
        basis = orthonormal(numbers(next)?, d_model);
    }
    Ok(Some(HostTensor {
        shape: vec![d_embed, d_model],
        data: basis,
    }))
}

fn numbers(tensor: Tensor<2>) -> anyhow::Result<Vec<f32>> {
    let data = tensor.into_data().convert::<f32>().try_into_vec();
    data.map_err(|e| anyhow::anyhow!("reading numbers back from the device failed: {e:?}"))
}

/// Orthonormalises rows of `width` numbers in order (modified Gram-Schmidt, applied twice for
/// precision); a row that depends linearly on earlier rows becomes 0.
fn orthonormal(rows: Vec<f32>, width: usize) -> Vec<f32> {
    let mut done: Vec<Vec<f64>> = Vec::with_capacity(rows.len() / width.max(1));
    for row in rows.chunks_exact(width) {
        let mut row: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
        let length = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>().sqrt();
        let before = length(&row);
        for other in done.iter().chain(&done) {
            let along: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            row.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
        }
        let after = length(&row);
        let factor = if after > 1e-9 * before {
            1.0 / after
        } else {
            0.0
        };
        row.iter_mut().for_each(|v| *v *= factor);
        done.push(row);
    }
    done.concat().into_iter().map(|v| v as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directions_in_which_rows_differ_most_are_found() {
        // Rows differ by 3 along the third axis, by 2 along the first, and little along the second.
        let data = vec![
            2.0, 0.1, 5.0, 7.0, //
            -2.0, 0.0, 5.0, 7.0, //
            0.0, 0.1, 8.0, 7.0, //
            0.0, 0.0, 2.0, 7.0,
        ];
        let weight = HostTensor {
            shape: vec![4, 4],
            data,
        };
        let found = leading_directions(&weight, 2, &Device::flex())
            .unwrap()
            .unwrap();
        assert_eq!(found.shape, [2, 4]);
        let row = |i: usize| &found.data[i * 4..][..4];
        // The fourth axis, equal in all rows, is not among the directions; nor is the weak second.
        for (axis, share) in [(0, 1.0), (1, 0.0), (2, 1.0), (3, 0.0)] {
            let along: f32 = row(0)[axis].powi(2) + row(1)[axis].powi(2);
            assert!((along - share).abs() < 1e-2, "{axis}: {along}");
        }
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        assert!((dot(row(0), row(0)) - 1.0).abs() < 1e-5 && dot(row(0), row(1)).abs() < 1e-5);
        assert!(
            leading_directions(&weight, 5, &Device::flex())
                .unwrap()
                .is_none()
        );
    }
}
