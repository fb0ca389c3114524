//! Copies of the values at a stride.

/// Fills the target with the first of each `stride` values.
#[inline(always)]
pub(super) fn take_every(values: &[f32], stride: usize, target: &mut [f32]) {
    let count = target.len();
    match stride {
        1 => target.copy_from_slice(&values[..count]),
        // The compiler finds vector instructions for whole pairs.
        2 => {
            let (pairs, rest) = values.as_chunks::<2>();
            for (target, pair) in target.iter_mut().zip(pairs) {
                *target = pair[0];
            }
            if let (Some(last), [value]) = (target.get_mut(pairs.len()), rest) {
                *last = *value;
            }
        }
        _ => {
            for (target, value) in target.iter_mut().zip(values.iter().step_by(stride)) {
                *target = *value;
            }
        }
    }
}

/// Puts `sources` alternately into the target: the first values of all, then the second ones. No source is shorter than
/// the next, nor longer by more than one value.
#[inline(always)]
pub(super) fn put_alternately<'a>(
    target: &mut [f32],
    sources: impl ExactSizeIterator<Item = &'a [f32]> + Clone,
) {
    let stride = sources.len();
    let mut pair = sources.clone();
    match (stride, pair.next(), pair.next()) {
        (1, Some(source), _) => target[..source.len()].copy_from_slice(source),
        // The compiler finds vector instructions for whole pairs.
        (2, Some(first), Some(second)) => {
            let (pairs, _) = target.as_chunks_mut::<2>();
            for ((pair, first), second) in pairs.iter_mut().zip(first).zip(second) {
                *pair = [*first, *second];
            }
            if let Some(last) = first.get(second.len()) {
                target[2 * second.len()] = *last;
            }
        }
        _ => {
            for (i, source) in sources.enumerate() {
                for (target, value) in target.iter_mut().skip(i).step_by(stride).zip(source) {
                    *target = *value;
                }
            }
        }
    }
}
