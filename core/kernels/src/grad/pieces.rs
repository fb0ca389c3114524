//! Splits work between threads in pieces whose size does not depend on the number of threads.

use rayon::prelude::*;

/// Minimum number of values per piece: handing a smaller piece to a thread costs more than it gains.
pub(super) const MIN_VALUES: usize = 1 << 14;

/// Returns the number of rows of `width` values in a piece, at least 1.
pub(super) fn rows_of_a_piece(width: usize) -> usize {
    MIN_VALUES.div_ceil(width.max(1))
}

/// Calls `work` with the index of each piece of `size` values of `output` and the piece.
pub(super) fn for_each(
    output: &mut [f32],
    size: usize,
    work: impl Fn(usize, &mut [f32]) + Send + Sync,
) {
    let size = size.max(1);
    if output.len() <= size || rayon::current_num_threads() == 1 {
        for (index, piece) in output.chunks_mut(size).enumerate() {
            work(index, piece);
        }
        return;
    }
    let pieces = output.par_chunks_mut(size).enumerate();
    pieces.for_each(|(index, piece)| work(index, piece));
}

/// Calls `work` with the index of each piece of `size` values of `output`, the piece and a value of
/// its own, then returns these values in the order of the pieces.
pub(super) fn map<R: Send>(
    output: &mut [f32],
    size: usize,
    work: impl Fn(usize, &mut [f32]) -> R + Send + Sync,
) -> Vec<R> {
    let size = size.max(1);
    if output.len() <= size || rayon::current_num_threads() == 1 {
        let pieces = output.chunks_mut(size).enumerate();
        return pieces.map(|(index, piece)| work(index, piece)).collect();
    }
    let pieces = output.par_chunks_mut(size).enumerate();
    pieces.map(|(index, piece)| work(index, piece)).collect()
}

/// Adds up vectors of equal length, in their order; `len` zeros if there are none.
pub(super) fn sum(parts: Vec<Vec<f32>>, len: usize) -> Vec<f32> {
    let mut parts = parts.into_iter();
    let mut sum = parts.next().unwrap_or_else(|| vec![0.0; len]);
    for part in parts {
        for (total, value) in sum.iter_mut().zip(part) {
            *total += value;
        }
    }
    sum
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
