//! Instructions of x86-64.

use std::arch::is_x86_feature_detected as has;
use std::arch::x86_64::*;

use super::dots::{Dots, Work};
use crate::panel::PANEL;
use crate::quads::{QUAD, Quads};

/// Returns whether [`with_avx512_vnni`] may be called.
pub(super) fn has_avx512_vnni() -> bool {
    has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512vnni")
}

/// Returns whether [`with_avx2`] and [`with_avx2_narrow`] may be called.
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
    work.run(Bytes::<true>(()));
}

/// Does the work where AVX2 is available, with narrow weights.
#[target_feature(enable = "avx2")]
pub(super) fn with_avx2_narrow(work: impl Work) {
    work.run(Bytes::<false>(()));
}

/// Does the work where AVX2 is available.
#[target_feature(enable = "avx2")]
pub(super) fn with_avx2(work: impl Work) {
    work.run(Widened(()));
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

impl Dots for Avx512Vnni {
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
    fn same(self, inputs: [u8; QUAD]) -> Self::Inputs {
        // SAFETY: as above.
        unsafe { [_mm512_set1_epi32(i32::from_ne_bytes(inputs)); 2] }
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

/// 256-bit vectors; made only by [`with_avx_vnni`] and [`with_avx2_narrow`].
#[derive(Clone, Copy)]
struct Bytes<const VNNI: bool>(());

impl<const VNNI: bool> Bytes<VNNI> {
    /// Adds the products of the inputs with the weights of eight columns.
    #[inline(always)]
    fn dot(self, sums: __m256i, inputs: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: the processor has these instructions, else there would be no `self`.
        unsafe {
            if VNNI {
                return _mm256_dpbusd_avx_epi32(sums, inputs, weights);
            }
            // Pairs of products of narrow weights fit into 16 bits.
            let pairs = _mm256_maddubs_epi16(inputs, weights);
            _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }
}

impl<const VNNI: bool> Dots for Bytes<VNNI> {
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
    fn same(self, inputs: [u8; QUAD]) -> Self::Inputs {
        // SAFETY: as above.
        unsafe { [_mm256_set1_epi32(i32::from_ne_bytes(inputs)); 2] }
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
        [
            self.dot(sums[0], inputs[0], weights[0]),
            self.dot(sums[1], inputs[1], weights[1]),
        ]
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

/// Bytes that are widened to 16 bits; made only by [`with_avx2`].
#[derive(Clone, Copy)]
struct Widened(());

/// Vectors of 16 integers each, or of the sums of their pairs.
type Wide = [__m256i; 4];

// Arrays are written out: closures are not always compiled for the instructions of their caller.
impl Dots for Widened {
    type Inputs = Wide;
    type Weights = Wide;
    /// Sums of the first and of the last two inputs of four columns each.
    type Sums = Wide;
    type Columns = [i32; PANEL / 2];
    const COLUMNS: usize = PANEL / 2;
    const ROWS: usize = 2;
    const PASSES: usize = 1;

    #[inline(always)]
    fn interleave(self, rows: [&[u8]; QUAD], quads: &mut [[u8; QUAD]]) {
        // SAFETY: the processor has AVX2, else there would be no `self`.
        unsafe { interleave(rows, quads) }
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        // SAFETY: the processor has AVX2, else there would be no `self`.
        unsafe { [_mm256_setzero_si256(); 4] }
    }

    #[inline(always)]
    fn same(self, inputs: [u8; QUAD]) -> Self::Inputs {
        // SAFETY: as above.
        unsafe {
            let inputs = _mm_set1_epi32(i32::from_ne_bytes(inputs));
            [_mm256_cvtepu8_epi16(inputs); 4]
        }
    }

    #[inline(always)]
    fn each(self, inputs: &Quads<u8>, first: usize) -> Self::Inputs {
        let inputs = inputs.0[first..][..Self::COLUMNS].as_ptr();
        let inputs = inputs.cast::<__m128i>();
        // SAFETY: as above; the columns fill four vectors of half the size.
        unsafe {
            [
                _mm256_cvtepu8_epi16(_mm_loadu_si128(inputs)),
                _mm256_cvtepu8_epi16(_mm_loadu_si128(inputs.add(1))),
                _mm256_cvtepu8_epi16(_mm_loadu_si128(inputs.add(2))),
                _mm256_cvtepu8_epi16(_mm_loadu_si128(inputs.add(3))),
            ]
        }
    }

    #[inline(always)]
    fn weights(self, weights: &Quads<i8>, first: usize) -> Self::Weights {
        let weights = weights.0[first..][..Self::COLUMNS].as_ptr();
        let weights = weights.cast::<__m128i>();
        // SAFETY: as above; the columns fill four vectors of half the size.
        unsafe {
            [
                _mm256_cvtepi8_epi16(_mm_loadu_si128(weights)),
                _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(1))),
                _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(2))),
                _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(3))),
            ]
        }
    }

    #[inline(always)]
    fn of_pass(self, _: usize, [low, high]: [&Quads<i8>; 2], first: usize) -> Self::Weights {
        let (low, high) = (self.weights(low, first), self.weights(high, first));
        // SAFETY: as above.
        unsafe {
            [
                _mm256_add_epi16(low[0], _mm256_slli_epi16::<8>(high[0])),
                _mm256_add_epi16(low[1], _mm256_slli_epi16::<8>(high[1])),
                _mm256_add_epi16(low[2], _mm256_slli_epi16::<8>(high[2])),
                _mm256_add_epi16(low[3], _mm256_slli_epi16::<8>(high[3])),
            ]
        }
    }

    #[inline(always)]
    fn add(self, sums: Self::Sums, inputs: Self::Inputs, weights: Self::Weights) -> Self::Sums {
        // SAFETY: as above.
        unsafe {
            [
                _mm256_add_epi32(sums[0], _mm256_madd_epi16(inputs[0], weights[0])),
                _mm256_add_epi32(sums[1], _mm256_madd_epi16(inputs[1], weights[1])),
                _mm256_add_epi32(sums[2], _mm256_madd_epi16(inputs[2], weights[2])),
                _mm256_add_epi32(sums[3], _mm256_madd_epi16(inputs[3], weights[3])),
            ]
        }
    }

    #[inline(always)]
    fn finish(self, [a, b, c, d]: Self::Sums) -> Self::Columns {
        // SAFETY: as above; both types have 64 bytes of integers.
        unsafe {
            // Each sum of two vectors has the halves of both in turn.
            let (first, last) = (_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
            std::mem::transmute([
                _mm256_permute4x64_epi64::<0b11_01_10_00>(first),
                _mm256_permute4x64_epi64::<0b11_01_10_00>(last),
            ])
        }
    }
}
