//! Splits work between threads; in a browser everything runs in one.

/// Minimum number of multiplications per piece: handing a smaller piece to a thread costs more than
/// it gains.
#[cfg(not(target_arch = "wasm32"))]
const MIN_PRODUCTS: usize = 1 << 18;
/// Pieces per thread, so that a thread that is done early finds more.
#[cfg(not(target_arch = "wasm32"))]
const PIECES_PER_THREAD: usize = 2;

/// Splits `output`, rows of `width` values, into pieces of whole tiles of `tile` rows, and calls
/// `work` with the number of rows before each piece and the piece. `products` is the number of
/// multiplications of all the work.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn for_pieces(
    output: &mut [f32],
    width: usize,
    tile: usize,
    products: usize,
    work: impl Fn(usize, &mut [f32]) + Send + Sync,
) {
    use rayon::prelude::*;

    let most = match threads() {
        1 => 1,
        threads => PIECES_PER_THREAD * threads,
    };
    let pieces = (products / MIN_PRODUCTS).clamp(1, most);
    if pieces == 1 {
        return work(0, output);
    }
    let rows = output.len().div_ceil(width.max(1));
    let rows = rows.div_ceil(pieces).next_multiple_of(tile.max(1)).max(1);
    let pieces = output.par_chunks_mut(rows * width.max(1)).enumerate();
    pieces.for_each(|(index, piece)| work(index * rows, piece));
}

/// Calls `work` with the whole output.
#[cfg(target_arch = "wasm32")]
pub(crate) fn for_pieces(
    output: &mut [f32],
    _width: usize,
    _tile: usize,
    _products: usize,
    work: impl Fn(usize, &mut [f32]),
) {
    work(0, output);
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// Whether all threads have other work, so that this one does not share its own.
    static IS_ALONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Returns the number of threads that share the work of the caller.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn threads() -> usize {
    if IS_ALONE.get() {
        1
    } else {
        rayon::current_num_threads()
    }
}

/// Returns the number of threads.
#[cfg(target_arch = "wasm32")]
pub(crate) const fn threads() -> usize {
    1
}

/// Applies a function to all items, in their order. If there are as many items as threads, each
/// thread computes its items alone.
#[cfg(not(target_arch = "wasm32"))]
pub fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;

    /// Restores the flag, also after a panic.
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            IS_ALONE.set(self.0);
        }
    }

    let alone = items.len() >= threads();
    let apply = |item| {
        let before = IS_ALONE.get();
        let _restore = Restore(before);
        IS_ALONE.set(alone || before);
        f(item)
    };
    items.par_iter().map(apply).collect()
}

/// Applies a function to all items, in their order.
#[cfg(target_arch = "wasm32")]
pub fn map<T, R>(items: &[T], f: impl Fn(&T) -> R) -> Vec<R> {
    items.iter().map(f).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_tiles_and_cover_every_row_once() {
        for rows in [0, 1, 5, 6, 7, 100] {
            for products in [0, 1 << 18, 1 << 30] {
                let mut output = vec![0.0; rows * 3];
                for_pieces(&mut output, 3, 6, products, |first, piece| {
                    assert_eq!(first % 6, 0);
                    for (i, value) in piece.iter_mut().enumerate() {
                        *value += (first * 3 + i) as f32 + 1.0;
                    }
                });
                let expected: Vec<f32> = (1..=rows * 3).map(|i| i as f32).collect();
                assert_eq!(output, expected, "{rows} rows, {products} products");
            }
        }
    }

    #[test]
    fn many_items_are_computed_by_one_thread_each() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let of_items = |count: usize| {
            let items = vec![(); count];
            map(&items, |()| threads())
        };
        let found = pool.map(|pool| pool.install(|| [of_items(1), of_items(2), vec![threads()]]));
        assert_eq!(found.ok(), Some([vec![2], vec![1; 2], vec![2]]));
    }

    #[test]
    fn items_keep_their_order() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(map(&items, |i| i + 1), (1..=100).collect::<Vec<_>>());
    }
}
