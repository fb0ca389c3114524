//! Splits work between threads; in a browser everything runs in one.

/// Minimum number of multiplications per piece: handing a smaller piece to a thread costs more than
/// it gains.
#[cfg(not(target_arch = "wasm32"))]
const MIN_PRODUCTS: usize = 1 << 18;

/// How long a thread waits actively for a part of the work.
#[cfg(not(target_arch = "wasm32"))]
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(1);

/// Splits `output`, rows of `width` values, into pieces of whole tiles of `tile` rows, and calls
/// `work` with the number of rows before each piece and the piece. `products` is the number of
/// multiplications of all the work.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn for_pieces<T: Send>(
    output: &mut [T],
    width: usize,
    tile: usize,
    products: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    use rayon::prelude::*;

    let pieces = pieces(products);
    if pieces == 1 {
        return work(0, output);
    }
    let rows = output.len().div_ceil(width.max(1));
    let rows = rows.div_ceil(pieces).next_multiple_of(tile.max(1)).max(1);
    let are_busy = pieces >= threads();
    let pieces = output.par_chunks_mut(rows * width.max(1)).enumerate();
    pieces.for_each(|(index, piece)| alone_if(are_busy, || work(index * rows, piece)));
}

/// Does work. If all threads are busy, it is not split further.
#[cfg(not(target_arch = "wasm32"))]
fn alone_if<R>(are_busy: bool, work: impl FnOnce() -> R) -> R {
    /// Restores the flag, also after a panic.
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            IS_ALONE.set(self.0);
        }
    }

    let before = IS_ALONE.get();
    let _restore = Restore(before);
    IS_ALONE.set(are_busy || before);
    work()
}

/// Returns the number of pieces that work is split into: at most one for each thread. With more, the
/// parts of an image change between threads from layer to layer, and their values between caches.
#[cfg(not(target_arch = "wasm32"))]
fn pieces(products: usize) -> usize {
    (products / MIN_PRODUCTS).clamp(1, threads())
}

/// Splits the columns of `output`, rows of `width` values, into pieces of whole tiles of `tile`
/// columns, and calls `work` with the number of columns before each piece and its part of each row.
/// `products` is the number of multiplications of all the work.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn for_columns<T: Send>(
    output: &mut [T],
    width: usize,
    tile: usize,
    products: usize,
    work: impl Fn(usize, Vec<&mut [T]>) + Send + Sync,
) {
    use rayon::prelude::*;

    let (width, tile, count) = (width.max(1), tile.max(1), pieces(products));
    let columns = width.div_ceil(count).next_multiple_of(tile);
    let mut pieces: Vec<Vec<&mut [T]>> = Vec::new();
    pieces.resize_with(width.div_ceil(columns), Vec::new);
    for row in output.chunks_exact_mut(width) {
        for (piece, part) in pieces.iter_mut().zip(row.chunks_mut(columns)) {
            piece.push(part);
        }
    }
    let are_busy = count >= threads();
    let pieces = pieces.into_par_iter().enumerate();
    pieces.for_each(|(index, piece)| alone_if(are_busy, || work(index * columns, piece)));
}

/// Calls `work` with the whole output.
#[cfg(target_arch = "wasm32")]
pub(crate) fn for_pieces<T>(
    output: &mut [T],
    _width: usize,
    _tile: usize,
    _products: usize,
    work: impl Fn(usize, &mut [T]),
) {
    work(0, output);
}

/// Calls `work` with the whole rows.
#[cfg(target_arch = "wasm32")]
pub(crate) fn for_columns<T>(
    output: &mut [T],
    width: usize,
    _tile: usize,
    _products: usize,
    work: impl Fn(usize, Vec<&mut [T]>),
) {
    work(0, output.chunks_exact_mut(width.max(1)).collect());
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// Whether all threads have other work, so that this one does not share its own.
    static IS_ALONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Returns the number of threads that share the work of the caller.
#[cfg(not(target_arch = "wasm32"))]
#[must_use]
pub fn threads() -> usize {
    if IS_ALONE.get() {
        1
    } else {
        rayon::current_num_threads()
    }
}

/// Returns the number of threads.
#[cfg(target_arch = "wasm32")]
#[must_use]
pub const fn threads() -> usize {
    1
}

/// Does work that is split many times. Meanwhile the other threads wait actively for their parts:
/// waking a thread that sleeps takes longer than many a part. A thread that finds no part for
/// a millisecond gives up: it may have taken up the waiting inside a part that another caller waits
/// for, and both would wait forever.
#[cfg(not(target_arch = "wasm32"))]
pub fn with_awake_threads<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    /// Ends the waiting, also after a panic.
    struct End<'a>(&'a AtomicBool);

    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }

    let is_done = AtomicBool::new(false);
    rayon::scope(|scope| {
        for _ in 1..threads() {
            scope.spawn(|_| {
                let mut last = Instant::now();
                while !is_done.load(Ordering::Acquire) && last.elapsed() < PATIENCE {
                    if rayon::yield_now() == Some(rayon::Yield::Executed) {
                        last = Instant::now();
                    } else {
                        std::hint::spin_loop();
                    }
                }
            });
        }
        let _end = End(&is_done);
        work()
    })
}

/// Does the work.
#[cfg(target_arch = "wasm32")]
pub fn with_awake_threads<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Applies a function to all items, in their order. If there are as many items as threads, each
/// thread computes its items alone.
#[cfg(not(target_arch = "wasm32"))]
pub fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;

    let are_busy = items.len() >= threads();
    let apply = |item| alone_if(are_busy, || f(item));
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
    fn columns_are_whole_tiles_and_cover_every_value_once() {
        for (width, products) in [(1, 0), (100, 1 << 30), (64, 1 << 18), (65, 1 << 30)] {
            let mut output = vec![0.0; 3 * width];
            for_columns(&mut output, width, 32, products, |first, rows| {
                assert_eq!(first % 32, 0);
                for (row, part) in rows.into_iter().enumerate() {
                    for (i, value) in part.iter_mut().enumerate() {
                        *value += (row * width + first + i) as f32 + 1.0;
                    }
                }
            });
            let expected: Vec<f32> = (1..=3 * width).map(|i| i as f32).collect();
            assert_eq!(output, expected, "{width} columns, {products} products");
        }
    }

    #[test]
    fn awake_threads_share_the_work_and_end_with_it() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        let pool = pool.expect("threads start");
        let sum = pool.install(|| with_awake_threads(|| map(&[1, 2, 3, 4], |i| i * i)));
        assert_eq!(sum, [1, 4, 9, 16]);
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.install(|| with_awake_threads(|| panic!("the work fails")))
        }));
        assert!(failed.is_err());
        assert_eq!(pool.install(|| map(&[1], |i| i + 1)), [2]);
    }

    #[test]
    fn callers_that_share_a_pool_do_not_wait_for_each_other_forever() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        let pool = pool.expect("threads start");
        let work = || {
            let mut output = vec![0.0; 64];
            for_pieces(&mut output, 1, 1, 1 << 30, |_, piece| {
                for_pieces(piece, 1, 1, 1 << 30, |_, piece| piece.fill(1.0));
            });
            output.iter().sum::<f32>()
        };
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        assert_eq!(pool.install(|| with_awake_threads(work)), 64.0);
                    }
                });
            }
        });
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
