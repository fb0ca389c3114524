//! Instructions of WebAssembly.

use std::arch::wasm32::*;

use super::widened::Pairs;
use crate::quads::QUAD;
use crate::scratch::kept;

/// 128-bit vectors of 16-bit integers, with which the page is compiled.
#[derive(Clone, Copy)]
pub(super) struct Simd128;

/// Returns the 16 bytes of some values.
#[expect(unsafe_code, reason = "the instruction takes a pointer")]
#[inline(always)]
pub(crate) fn load<T>(values: &[T]) -> v128 {
    assert!(size_of_val(values) == size_of::<v128>());
    // SAFETY: they are 16 bytes.
    unsafe { v128_load(values.as_ptr().cast()) }
}

/// Stores the 16 bytes of some values.
#[expect(unsafe_code, reason = "the instruction takes a pointer")]
#[inline(always)]
pub(crate) fn store<T>(bytes: v128, values: &mut [T]) {
    assert!(size_of_val(values) == size_of::<v128>());
    // SAFETY: they are 16 bytes.
    unsafe { v128_store(values.as_mut_ptr().cast(), bytes) }
}

/// Four vectors in memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub(super) struct Row([[i32; 4]; 4]);

kept!(Row);

impl Pairs for Simd128 {
    type Vector = v128;
    type Row = Row;
    type Columns = [i32; 8];
    const COLUMNS: usize = 8;
    /// Tiles of few rows keep the code small.
    const ROWS: usize = 2;
    const PIXELS: usize = 2;

    #[inline(always)]
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        let lows =
            |a, b| i8x16_shuffle::<0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23>(a, b);
        let highs = |a, b| {
            i8x16_shuffle::<8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31>(a, b)
        };
        for (part, quads) in quads.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let [a, b, c, d] = rows.map(|row| load(&row[16 * part..][..16]));
            let pairs = [[lows(a, b), lows(c, d)], [highs(a, b), highs(c, d)]];
            let all = pairs.map(|[ab, cd]| {
                [
                    i16x8_shuffle::<0, 8, 1, 9, 2, 10, 3, 11>(ab, cd),
                    i16x8_shuffle::<4, 12, 5, 13, 6, 14, 7, 15>(ab, cd),
                ]
            });
            for (quads, bytes) in quads.chunks_exact_mut(4).zip(all.as_flattened()) {
                store(*bytes, quads);
            }
        }
    }

    #[inline(always)]
    fn zero(self) -> v128 {
        i32x4_splat(0)
    }

    #[inline(always)]
    fn load<T>(self, quads: &[[T; QUAD]]) -> v128 {
        load(quads)
    }

    #[inline(always)]
    fn same(self, pair: u32) -> v128 {
        u32x4_splat(pair)
    }

    #[inline(always)]
    fn unsigned(self, bytes: v128) -> [v128; 2] {
        [v128_and(bytes, i16x8_splat(0xff)), u16x8_shr(bytes, 8)]
    }

    #[inline(always)]
    fn signed(self, bytes: v128) -> [v128; 2] {
        [i16x8_shr(i16x8_shl(bytes, 8), 8), i16x8_shr(bytes, 8)]
    }

    #[inline(always)]
    fn joined(self, low: v128, high: v128) -> v128 {
        i16x8_add(low, i16x8_shl(high, 8))
    }

    #[inline(always)]
    fn add(self, sums: v128, a: v128, b: v128) -> v128 {
        i32x4_add(sums, i32x4_dot_i16x8(a, b))
    }

    #[inline(always)]
    fn row(self, vectors: [[v128; 2]; 2]) -> Row {
        let mut row = Row::default();
        for (values, vector) in row.0.iter_mut().zip(vectors.as_flattened()) {
            store(*vector, values);
        }
        row
    }

    #[inline(always)]
    fn vectors(self, row: &Row) -> [[v128; 2]; 2] {
        let [a, b, c, d] = &row.0;
        [[load(a), load(b)], [load(c), load(d)]]
    }

    #[inline(always)]
    fn columns(self, [low, high]: [v128; 2]) -> Self::Columns {
        let mut columns = [0; 8];
        let (first, last) = columns.split_at_mut(4);
        store(low, first);
        store(high, last);
        columns
    }
}
