//! Instructions of x86-64.

use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::*;

use super::dots::{Dots, Work, bytes_in_memory};
use super::widened::{Pairs, Widened};
use crate::panel::PANEL;
use crate::quads::{QUAD, Quads};
use crate::scratch::{Scratch, kept};

/// Returns whether [`with_avx512_vnni`] may be called.
pub(super) fn has_avx512_vnni() -> bool {
    has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512vnni")
}

/// Returns whether [`with_avx2`] may be called.
pub(super) fn has_avx2() -> bool {
    has!("avx2")
}

/// Does the work where AVX-512 with VNNI is available.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn with_avx512_vnni(work: impl Work) {
    work.run(Avx512Vnni(()));
}

/// Returns whether [`with_avx_vnni`] may be called.
pub(super) fn has_avx_vnni() -> bool {
    has!("avx2") && has!("avxvnni")
}

/// Does the work where AVX2 with VNNI is available.
#[target_feature(enable = "avx2,avxvnni")]
pub(super) fn with_avx_vnni(work: impl Work) {
    work.run(AvxVnni(()));
}

/// Does the work where AVX2 is available.
#[target_feature(enable = "avx2")]
pub(super) fn with_avx2(work: impl Work) {
    work.run(Widened(Avx2(())));
}

/// Puts the bytes of four rows side by side; their length is a multiple of 16.
///
/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn interleave([a, b, c, d]: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
    let length = quads.len();
    assert!(length.is_multiple_of(16) && [a, b, c, d].iter().all(|row| row.len() == length));
    let target = quads.as_mut_ptr().cast::<__m128i>();
    for from in (0..length / 32 * 32).step_by(32) {
        // SAFETY: each row has 32 bytes from here on, and the target four times as many.
        unsafe {
            let a = _mm256_loadu_si256(a.as_ptr().add(from).cast());
            let b = _mm256_loadu_si256(b.as_ptr().add(from).cast());
            let c = _mm256_loadu_si256(c.as_ptr().add(from).cast());
            let d = _mm256_loadu_si256(d.as_ptr().add(from).cast());
            let (ab, cd) = (_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d));
            let (first, second) = (_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd));
            let (ab, cd) = (_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d));
            let (third, fourth) = (_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd));
            let target = target.add(from / 4);
            // Both halves of a vector were interleaved alike.
            for (place, vector) in [first, second, third, fourth].into_iter().enumerate() {
                _mm_storeu_si128(target.add(place), _mm256_castsi256_si128(vector));
                _mm_storeu_si128(target.add(place + 4), _mm256_extracti128_si256::<1>(vector));
            }
        }
    }
    for channel in length / 32 * 32..length {
        quads[channel] = [a[channel], b[channel], c[channel], d[channel]];
    }
}

/// One instruction for 64 products; made only by [`with_avx512_vnni`].
#[derive(Clone, Copy)]
struct Avx512Vnni(());

impl Avx512Vnni {
    /// Returns the same four inputs for every column.
    #[inline(always)]
    fn same(self, inputs: [u8; QUAD]) -> [__m512i; 2] {
        // SAFETY: the processor has these instructions, else there would be no `self`.
        unsafe { [_mm512_set1_epi32(i32::from_ne_bytes(inputs)); 2] }
    }
}

impl Dots for Avx512Vnni {
    bytes_in_memory!();
    type Inputs = [__m512i; 2];
    type Weights = [__m512i; 2];
    type Sums = [__m512i; 2];
    type Columns = [i32; PANEL];
    const COLUMNS: usize = PANEL;
    const ROWS: usize = 8;

    #[inline(always)]
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        // SAFETY: the processor has AVX-512 and so AVX2, else there would be no `self`.
        unsafe { interleave(rows, quads) }
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        // SAFETY: as above.
        unsafe { [_mm512_setzero_si512(); 2] }
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, _: usize) -> Self::Inputs {
        let inputs = inputs.0.as_ptr().cast::<__m512i>();
        // SAFETY: as above; a panel has two vectors and begins at a cache line.
        unsafe { [_mm512_load_si512(inputs), _mm512_load_si512(inputs.add(1))] }
    }

    #[inline(always)]
    fn weights(self, weights: &Quads<i8>, _: usize) -> Self::Weights {
        let weights = weights.0.as_ptr().cast::<__m512i>();
        // SAFETY: as above.
        unsafe {
            [
                _mm512_load_si512(weights),
                _mm512_load_si512(weights.add(1)),
            ]
        }
    }

    #[inline(always)]
    fn add(self, sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums {
        // SAFETY: as above.
        unsafe {
            [
                _mm512_dpbusd_epi32(sums[0], inputs[0], weights[0]),
                _mm512_dpbusd_epi32(sums[1], inputs[1], weights[1]),
            ]
        }
    }

    #[inline(always)]
    fn times_256(self, sums: Self::Sums) -> Self::Sums {
        // SAFETY: as above.
        unsafe {
            [
                _mm512_slli_epi32::<8>(sums[0]),
                _mm512_slli_epi32::<8>(sums[1]),
            ]
        }
    }

    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> Self::Columns {
        // SAFETY: both types have 128 bytes of integers.
        unsafe { std::mem::transmute(sums) }
    }
}

/// One instruction for 32 products; made only by [`with_avx_vnni`].
#[derive(Clone, Copy)]
struct AvxVnni(());

impl AvxVnni {
    /// Returns the same four inputs for every column.
    #[inline(always)]
    fn same(self, inputs: [u8; QUAD]) -> [__m256i; 2] {
        // SAFETY: the processor has these instructions, else there would be no `self`.
        unsafe { [_mm256_set1_epi32(i32::from_ne_bytes(inputs)); 2] }
    }
}

impl Dots for AvxVnni {
    bytes_in_memory!();
    type Inputs = [__m256i; 2];
    type Weights = [__m256i; 2];
    type Sums = [__m256i; 2];
    type Columns = [i32; PANEL / 2];
    const COLUMNS: usize = PANEL / 2;
    const ROWS: usize = 4;

    #[inline(always)]
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        // SAFETY: the processor has AVX2, else there would be no `self`.
        unsafe { interleave(rows, quads) }
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        // SAFETY: as above.
        unsafe { [_mm256_setzero_si256(); 2] }
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs {
        let inputs = inputs.0[first..][..Self::COLUMNS]
            .as_ptr()
            .cast::<__m256i>();
        // SAFETY: as above; the columns fill two vectors.
        unsafe {
            [
                _mm256_loadu_si256(inputs),
                _mm256_loadu_si256(inputs.add(1)),
            ]
        }
    }

    #[inline(always)]
    fn weights(self, weights: &Quads<i8>, first: usize) -> Self::Weights {
        let weights = weights.0[first..][..Self::COLUMNS]
            .as_ptr()
            .cast::<__m256i>();
        // SAFETY: as above; the columns fill two vectors.
        unsafe {
            [
                _mm256_loadu_si256(weights),
                _mm256_loadu_si256(weights.add(1)),
            ]
        }
    }

    #[inline(always)]
    fn add(self, sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums {
        // SAFETY: as above.
        unsafe {
            [
                _mm256_dpbusd_avx_epi32(sums[0], inputs[0], weights[0]),
                _mm256_dpbusd_avx_epi32(sums[1], inputs[1], weights[1]),
            ]
        }
    }

    #[inline(always)]
    fn times_256(self, sums: Self::Sums) -> Self::Sums {
        // SAFETY: as above.
        unsafe {
            [
                _mm256_slli_epi32::<8>(sums[0]),
                _mm256_slli_epi32::<8>(sums[1]),
            ]
        }
    }

    #[inline(always)]
    fn finish(self, sums: Self::Sums) -> Self::Columns {
        // SAFETY: both types have 64 bytes of integers.
        unsafe { std::mem::transmute(sums) }
    }
}

/// 256-bit vectors of 16-bit integers; made only by [`with_avx2`].
#[derive(Clone, Copy)]
struct Avx2(());

/// Four vectors in memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Row([[i32; 8]; 4]);

kept!(Row);

impl Pairs for Avx2 {
    type Vector = __m256i;
    type Row = Row;
    type Columns = [i32; PANEL / 2];
    const COLUMNS: usize = PANEL / 2;
    const ROWS: usize = 6;
    const PIXELS: usize = 4;

    #[inline(always)]
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        // SAFETY: the processor has AVX2, else there would be no `self`.
        unsafe { interleave(rows, quads) }
    }

    #[inline(always)]
    fn zero(self) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn load<T>(self, quads: &[[T; QUAD]]) -> __m256i {
        assert!(size_of_val(quads) == size_of::<__m256i>());
        // SAFETY: as above; they are 32 bytes.
        unsafe { _mm256_loadu_si256(quads.as_ptr().cast()) }
    }

    #[inline(always)]
    fn same(self, pair: u32) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_set1_epi32(pair.cast_signed()) }
    }

    #[inline(always)]
    fn unsigned(self, bytes: __m256i) -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe {
            let first = _mm256_and_si256(bytes, _mm256_set1_epi16(0xff));
            [first, _mm256_srli_epi16::<8>(bytes)]
        }
    }

    #[inline(always)]
    fn signed(self, bytes: __m256i) -> [__m256i; 2] {
        // SAFETY: as above.
        unsafe {
            let first = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(bytes));
            [first, _mm256_srai_epi16::<8>(bytes)]
        }
    }

    #[inline(always)]
    fn joined(self, low: __m256i, high: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_add_epi16(low, _mm256_slli_epi16::<8>(high)) }
    }

    #[inline(always)]
    fn add(self, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { _mm256_add_epi32(sums, _mm256_madd_epi16(a, b)) }
    }

    #[inline(always)]
    fn row(self, vectors: [[__m256i; 2]; 2]) -> Row {
        // SAFETY: both types have 128 bytes of integers.
        unsafe { std::mem::transmute(vectors) }
    }

    #[inline(always)]
    fn vectors(self, row: &Row) -> [[__m256i; 2]; 2] {
        // SAFETY: as above.
        unsafe { std::mem::transmute(*row) }
    }

    #[inline(always)]
    fn columns(self, sums: [__m256i; 2]) -> Self::Columns {
        // SAFETY: both types have 64 bytes of integers.
        unsafe { std::mem::transmute(sums) }
    }
}
