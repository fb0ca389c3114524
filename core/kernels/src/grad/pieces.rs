//! Splits work between threads in pieces whose size does not depend on the number of threads.

use pulp::Arch;
use rayon::prelude::*;

/// Minimum number of values per piece: handing a smaller piece to a thread costs more than it gains.
pub(super) const MIN_VALUES: usize = 1 << 14;

/// Returns the number of rows of `width` values in a piece, at least 1.
pub(super) fn rows_of_a_piece(width: usize) -> usize {
    MIN_VALUES.div_ceil(width.max(1))
}

/// Initial values.
#[derive(Clone, Copy)]
pub(super) enum Start<'a> {
    /// So many zeros.
    Zeros(usize),
    /// Copies of these values.
    Copy(&'a [f32]),
}

/// Computes values in pieces of `size`: calls `work` with the index of each piece and the piece.
/// Returns the values and, in the order of the pieces, the results of `work`.
///
/// A piece gets its first values just before its turn, so that they are in the cache then: filling all of
/// them first would be another pass through memory.
pub(super) fn compute<R: Send>(
    start: Start<'_>,
    size: usize,
    work: impl Fn(usize, &mut [f32]) -> R + Send + Sync,
) -> (Vec<f32>, Vec<R>) {
    let size = size.max(1);
    let length = match start {
        Start::Zeros(length) => length,
        Start::Copy(values) => values.len(),
    };
    if length <= size || rayon::current_num_threads() == 1 {
        let mut all = Vec::with_capacity(length);
        let mut results = Vec::with_capacity(length.div_ceil(size));
        for (index, from) in (0..length).step_by(size).enumerate() {
            let to = length.min(from + size);
            match start {
                Start::Zeros(_) => all.resize(to, 0.0),
                Start::Copy(values) => all.extend_from_slice(&values[from..to]),
            }
            results.push(work(index, &mut all[from..]));
        }
        return (all, results);
    }
    let mut all = vec![0.0; length];
    let pieces = all.par_chunks_mut(size).enumerate();
    let results = pieces.map(|(index, piece)| {
        if let Start::Copy(values) = start {
            piece.copy_from_slice(&values[index * size..][..piece.len()]);
        }
        work(index, piece)
    });
    let results = results.collect();
    (all, results)
}

/// Adds up vectors of equal length, in their order; `len` zeros if there are none.
pub(super) fn sum(parts: Vec<Vec<f32>>, len: usize) -> Vec<f32> {
    let mut parts = parts.into_iter();
    let mut sum = parts.next().unwrap_or_else(|| vec![0.0; len]);
    for part in parts {
        add_rows(&part, len, &mut sum);
    }
    sum
}

/// Adds up rows that start `stride` values apart into `sum`, whose length is at most `stride`.
pub(super) fn add_rows(rows: &[f32], stride: usize, sum: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in rows.chunks_exact(stride.max(1)) {
                for (sum, value) in sum.iter_mut().zip(row) {
                    *sum += value;
                }
            }
        },
    );
}

/// Calls `work` with each piece of `size` values of `input`; returns the results in the order of
/// the pieces.
pub(super) fn map_shared<R: Send>(
    input: &[f32],
    size: usize,
    work: impl Fn(&[f32]) -> R + Send + Sync,
) -> Vec<R> {
    let size = size.max(1);
    if input.len() <= size || rayon::current_num_threads() == 1 {
        return input.chunks(size).map(work).collect();
    }
    input.par_chunks(size).map(work).collect()
}

/// Calls `work` with the index of each piece of `size` values of two slices of equal length and the
/// pieces; returns the results in the order of the pieces.
pub(super) fn map_pairs<R: Send>(
    a: &[f32],
    b: &[f32],
    size: usize,
    work: impl Fn(usize, &[f32], &[f32]) -> R + Send + Sync,
) -> Vec<R> {
    let size = size.max(1);
    if a.len() <= size || rayon::current_num_threads() == 1 {
        let pieces = a.chunks(size).zip(b.chunks(size)).enumerate();
        return pieces.map(|(index, (a, b))| work(index, a, b)).collect();
    }
    let pieces = a.par_chunks(size).zip(b.par_chunks(size)).enumerate();
    pieces.map(|(index, (a, b))| work(index, a, b)).collect()
}
