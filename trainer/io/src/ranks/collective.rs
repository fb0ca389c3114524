//! What ranks exchange: an interface to one transport, or to none.

use std::time::Duration;

/// Exchange between the ranks of a run.
///
/// All ranks call the same methods in the same order. A method returns when every rank has called
/// it, so none of them returns an error: where a rank does not come within the
/// [time limit](Self::set_time_limit), the implementation says which one and ends the process.
pub trait Collective {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes, at least 1.
    fn world(&self) -> usize;

    /// Sets how long a rank waits for the others; without a limit until this is called.
    fn set_time_limit(&self, limit: Duration);

    /// Concatenates the values of all ranks in the order of ranks; rank `r` gives `counts[r]` values.
    fn all_gather(&self, own: &[f32], counts: &[usize]) -> Vec<f32>;

    /// Returns the bytes of all ranks in the order of ranks; they may differ in length.
    fn all_gather_bytes(&self, own: &[u8]) -> Vec<Vec<u8>>;

    /// Replaces values by their sums over all ranks. Sums are computed in the order of ranks, so
    /// the result does not depend on timing and has the same bits on every rank. All ranks give the
    /// same number of values.
    fn all_reduce_sum(&self, values: &mut [f32]);

    /// Returns the bytes of rank 0; the argument of other ranks is not used.
    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        let own = if self.rank() == 0 { bytes } else { Vec::new() };
        self.all_gather_bytes(&own)
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    /// Waits for all ranks without a time limit, for work of unknown length that one of them does.
    fn barrier(&self);

    /// Ends all ranks with this exit code.
    fn abort(&self, code: u8) -> !;

    /// Returns whether this rank writes the files of the run.
    fn is_root(&self) -> bool {
        self.rank() == 0
    }

    /// Returns whether any rank sets the flag.
    fn any(&self, flag: bool) -> bool {
        self.all_gather_bytes(&[u8::from(flag)])
            .iter()
            .any(|bytes| bytes != &[0])
    }
}

/// Returns the first row and the number of rows of part `index` when `rows` are split into `parts`
/// parts; the sizes differ by at most one.
///
/// The parts of a part are parts of the whole: part `i` of `n` is split into the parts `i m` to
/// `i m + m - 1` of `n m`.
pub fn share(rows: usize, index: usize, parts: usize) -> (usize, usize) {
    let from = rows * index / parts;
    (from, rows * (index + 1) / parts - from)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_consecutive_cover_all_rows_and_nest() {
        assert_eq!([0, 1, 2].map(|i| share(8, i, 3)), [(0, 2), (2, 3), (5, 3)]);
        for rows in 0..20 {
            for parts in 1..6 {
                let mut next = 0;
                for index in 0..parts {
                    let (from, count) = share(rows, index, parts);
                    assert_eq!(from, next);
                    assert!(count == rows / parts || count == rows.div_ceil(parts));
                    next = from + count;
                    let (first, _) = share(rows, 3 * index, 3 * parts);
                    let (last, after) = share(rows, 3 * index + 2, 3 * parts);
                    assert_eq!((first, last + after), (from, next));
                }
                assert_eq!(next, rows);
            }
        }
    }
}
