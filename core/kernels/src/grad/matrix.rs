//! Products of matrices that lie in slices, possibly transposed or with gaps between their rows.

/// Minimum number of multiplications for which a product is worth several threads.
const THREADED: usize = 1 << 23;

/// Sums of a row that run side by side.
const SUMS: usize = 16;

/// A matrix in a slice.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Creates a matrix of `rows` rows of `columns` values; rows start `stride` values apart.
    pub fn new(values: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        Self {
            values,
            rows,
            columns,
            row_stride: stride,
            column_stride: 1,
        }
    }

    /// Returns the transposed matrix.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Returns whether all elements lie inside the slice.
    fn fits(&self) -> bool {
        let last = |count: usize, stride: usize| (count - 1) * stride;
        self.rows == 0
            || self.columns == 0
            || last(self.rows, self.row_stride) + last(self.columns, self.column_stride)
                < self.values.len()
    }
}

/// Where the result of a product goes.
pub(super) struct Target<'a> {
    values: &'a mut [f32],
    stride: usize,
    /// Whether a product is added to the values that the output has before.
    adds: bool,
}

impl<'a> Target<'a> {
    /// Overwrites rows that start `stride` values apart.
    pub fn overwrite(values: &'a mut [f32], stride: usize) -> Self {
        Self {
            values,
            stride,
            adds: false,
        }
    }

    /// Adds to rows that start `stride` values apart.
    pub fn add(values: &'a mut [f32], stride: usize) -> Self {
        Self {
            values,
            stride,
            adds: true,
        }
    }
}

/// Who computes a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// The calling thread.
    One,
    /// All threads of the current pool, if the product is large enough.
    All,
}

/// Computes `scale a b` into the rows of a target, which have `b`'s number of columns.
///
/// # Panics
/// If the sizes do not match or a matrix does not fit into its slice.
pub(super) fn product(
    a: Matrix<'_>,
    b: Matrix<'_>,
    scale: f32,
    target: Target<'_>,
    threads: Threads,
) {
    let Target {
        values: output,
        stride,
        adds,
    } = target;
    let (m, n, k) = (a.rows, b.columns, a.columns);
    assert_eq!(k, b.rows, "the inner sizes are equal");
    assert!(a.fits() && b.fits(), "the factors lie inside their slices");
    if m == 0 || n == 0 {
        return;
    }
    assert!(n <= stride, "rows of the output do not overlap");
    assert!((m - 1) * stride + n <= output.len(), "the output fits");
    let parallelism = match threads {
        Threads::All if m * n * k >= THREADED => gemm::Parallelism::Rayon(0),
        _ => gemm::Parallelism::None,
    };
    #[expect(unsafe_code, reason = "the matrix product takes pointers and strides")]
    // SAFETY: it was checked that the last element of each factor, and so every element, lies
    // inside its slice; the same holds for the output, whose rows do not overlap. The output is
    // borrowed exclusively, so it overlaps neither factor, and all of it is initialised.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            output.as_mut_ptr(),
            1,
            stride as isize,
            adds,
            a.values.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.values.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            1.0,
            scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Adds the sum of each row of `width` values to `sums`, in several sums that run side by side.
pub(super) fn add_row_sums(rows: &[f32], width: usize, sums: &mut [f32]) {
    for (total, row) in sums.iter_mut().zip(rows.chunks_exact(width.max(1))) {
        let (groups, rest) = row.as_chunks::<SUMS>();
        let mut sums = [0.0; SUMS];
        for group in groups {
            for (sum, value) in sums.iter_mut().zip(group) {
                *sum += value;
            }
        }
        *total += sums.iter().chain(rest).sum::<f32>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::value;

    #[test]
    fn products_are_those_of_plain_loops() {
        for (m, n, k) in [(1, 1, 1), (3, 5, 7), (17, 33, 20), (2, 3, 0), (0, 2, 3)] {
            let (gap_a, gap_b, stride) = (k + 2, k + 1, n + 3);
            let a: Vec<f32> = (0..m * gap_a).map(value).collect();
            let b: Vec<f32> = (0..n * gap_b).map(|i| value(i + 31)).collect();
            for adds in [false, true] {
                let mut found = vec![0.5; m * stride];
                let left = Matrix::new(&a, m, k, gap_a);
                let right = Matrix::new(&b, n, k, gap_b).transposed();
                let target = match adds {
                    false => Target::overwrite(&mut found, stride),
                    true => Target::add(&mut found, stride),
                };
                product(left, right, 2.0, target, Threads::All);
                for (row, i) in found.chunks(stride).zip(0..m) {
                    for (j, found) in row.iter().enumerate() {
                        let dot = |p: usize| f64::from(a[i * gap_a + p] * b[j * gap_b + p]);
                        let start = if adds { 0.5 } else { 0.0 };
                        let expected = match j < n {
                            true => start + 2.0 * (0..k).map(dot).sum::<f64>(),
                            false => 0.5,
                        };
                        assert!((f64::from(*found) - expected).abs() < 1e-4, "{m} {n} {k}");
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "inside their slices")]
    fn a_matrix_that_is_too_large_is_refused() {
        let a = Matrix::new(&[1.0; 5], 2, 3, 3);
        let mut output = [0.0; 4];
        product(
            a,
            a.transposed(),
            1.0,
            Target::overwrite(&mut output, 2),
            Threads::One,
        );
    }
}
