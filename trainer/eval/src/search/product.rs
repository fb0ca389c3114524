//! A block of dot products.

/// Every dot product of two blocks of rows: `out[i n + j] = <a_i, b_j>`.
///
/// Runs on the calling thread; callers distribute blocks over threads.
///
/// # Shapes
/// `a` `[m, width]`, `b` `[n, width]`, `out` `[m, n]`, all row major.
///
/// # Panics
/// When the lengths are inconsistent.
pub fn dots(a: &[f32], b: &[f32], width: usize, out: &mut [f32]) {
    assert!(width > 0, "rows have at least one coordinate");
    let (m, n) = (a.len() / width, b.len() / width);
    assert_eq!(a.len(), m * width, "complete rows in the left block");
    assert_eq!(b.len(), n * width, "complete rows in the right block");
    assert_eq!(out.len(), m * n, "one product per pair of rows");
    #[expect(unsafe_code, reason = "the matrix product takes pointers and strides")]
    // SAFETY: the lengths were checked: with unit column strides and these row strides, row
    // i < m of `a`, row j < n of `b` and element (i, j) of `out` lie inside their slices; `out` is
    // borrowed exclusively, so it overlaps neither.
    unsafe {
        gemm::gemm(
            m,
            n,
            width,
            out.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.as_ptr(),
            1,
            width as isize,
            b.as_ptr(),
            width as isize,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_product() {
        let (m, n, width) = (37, 53, 129);
        let wave = |seed: f32, count: usize| -> Vec<f32> {
            (0..count).map(|i| (seed + i as f32 * 0.37).sin()).collect()
        };
        let (a, b) = (wave(0.1, m * width), wave(0.7, n * width));
        let mut out = vec![9.0; m * n];
        dots(&a, &b, width, &mut out);
        for (i, x) in a.chunks(width).enumerate() {
            for (j, y) in b.chunks(width).enumerate() {
                let plain: f64 = x.iter().zip(y).map(|(p, q)| f64::from(p * q)).sum();
                assert!((f64::from(out[i * n + j]) - plain).abs() < 1e-4, "{i} {j}");
            }
        }
    }
}
