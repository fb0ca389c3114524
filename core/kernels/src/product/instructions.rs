//! Products of bytes by the instructions that the processor has.

use super::byte_weights::Quads;
use super::panel::PANEL;

/// Work that is compiled for each instruction set.
pub(super) trait Work {
    /// Returns whether all weights lie within [`NARROW`](super::byte_weights::NARROW).
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "only AVX2 has instructions for narrow weights")
    )]
    fn is_narrow(&self) -> bool;

    /// Does the work.
    fn run<D: Dots>(self, dots: D);
}

/// Products of four inputs and four weights, added to 32-bit sums of several columns.
pub(super) trait Dots: Copy {
    /// Sums of [`COLUMNS`](Self::COLUMNS) columns of one row.
    type Sums: Copy;
    /// Columns of a tile; a divisor of [`PANEL`].
    const COLUMNS: usize;
    /// Most rows of a tile, 2, 4 or 8: its sums stay in the registers.
    const ROWS: usize;

    /// Returns sums of zero.
    fn zero(self) -> Self::Sums;

    /// Adds the products of four inputs with the weights of the columns from `first` on.
    fn add(self, sums: Self::Sums, inputs: [u8; 4], weights: &Quads, first: usize) -> Self::Sums;

    /// Returns the sums, followed by zeros.
    fn finish(self, sums: Self::Sums) -> [i32; PANEL];
}

/// An instruction set that the processor has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instructions(Set);

#[derive(Clone, Copy, Debug)]
enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_feature = "simd128")]
    Simd128,
    #[cfg(any(test, not(target_feature = "simd128")))]
    Portable,
}

impl Instructions {
    /// Returns all, the fastest first; there is at least one.
    pub(super) fn available() -> impl Iterator<Item = Self> {
        let sets = [
            #[cfg(target_arch = "x86_64")]
            x86::has_avx512_vnni().then_some(Set::Avx512Vnni),
            #[cfg(target_arch = "x86_64")]
            x86::has_avx_vnni().then_some(Set::AvxVnni),
            #[cfg(target_arch = "x86_64")]
            x86::has_avx2().then_some(Set::Avx2),
            #[cfg(target_feature = "simd128")]
            Some(Set::Simd128),
            #[cfg(any(test, not(target_feature = "simd128")))]
            Some(Set::Portable),
        ];
        sets.into_iter().flatten().map(Self)
    }

    /// Does the work.
    #[cfg_attr(
        target_arch = "x86_64",
        expect(
            unsafe_code,
            reason = "calls functions for instructions that not all have"
        )
    )]
    #[inline(always)]
    pub(super) fn run(self, work: impl Work) {
        match self.0 {
            // SAFETY: the processor has these instructions, else there would be no `self`.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vnni => unsafe { x86::with_avx512_vnni(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::AvxVnni => unsafe { x86::with_avx_vnni(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 if work.is_narrow() => unsafe { x86::with_avx2_narrow(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { x86::with_avx2(work) },
            #[cfg(target_feature = "simd128")]
            Set::Simd128 => work.run(wasm::Simd128),
            #[cfg(any(test, not(target_feature = "simd128")))]
            Set::Portable => work.run(Portable),
        }
    }
}

/// Plain code, which compilers vectorise where they can.
#[cfg(any(test, not(target_feature = "simd128")))]
#[derive(Clone, Copy)]
struct Portable;

#[cfg(any(test, not(target_feature = "simd128")))]
impl Dots for Portable {
    type Sums = [i32; 8];
    const COLUMNS: usize = 8;
    const ROWS: usize = 2;

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; 8]
    }

    #[inline(always)]
    fn add(self, mut sums: [i32; 8], inputs: [u8; 4], weights: &Quads, first: usize) -> [i32; 8] {
        for (sum, weights) in sums.iter_mut().zip(&weights.0[first..first + 8]) {
            for (input, weight) in inputs.iter().zip(weights) {
                *sum += i32::from(*input) * i32::from(*weight);
            }
        }
        sums
    }

    #[inline(always)]
    fn finish(self, sums: [i32; 8]) -> [i32; PANEL] {
        let mut all = [0; PANEL];
        all[..8].copy_from_slice(&sums);
        all
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "instructions that not every processor has, and their loads"
)]
mod x86 {
    use std::arch::is_x86_feature_detected as has;
    use std::arch::x86_64::*;

    use super::{Dots, PANEL, Quads, Work};

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

    /// One instruction for 64 products; made only by [`with_avx512_vnni`].
    #[derive(Clone, Copy)]
    struct Avx512Vnni(());

    impl Dots for Avx512Vnni {
        type Sums = [__m512i; 2];
        const COLUMNS: usize = PANEL;
        const ROWS: usize = 8;

        #[inline(always)]
        fn zero(self) -> Self::Sums {
            // SAFETY: the processor has AVX-512, else there would be no `self`.
            unsafe { [_mm512_setzero_si512(); 2] }
        }

        #[inline(always)]
        fn add(self, sums: Self::Sums, inputs: [u8; 4], weights: &Quads, _: usize) -> Self::Sums {
            let weights = weights.0.as_ptr().cast::<__m512i>();
            // SAFETY: as above; the row of a panel holds two vectors and begins at a cache line.
            unsafe {
                let inputs = _mm512_set1_epi32(i32::from_ne_bytes(inputs));
                [
                    _mm512_dpbusd_epi32(sums[0], inputs, _mm512_load_si512(weights)),
                    _mm512_dpbusd_epi32(sums[1], inputs, _mm512_load_si512(weights.add(1))),
                ]
            }
        }

        #[inline(always)]
        fn finish(self, sums: Self::Sums) -> [i32; PANEL] {
            // SAFETY: both types have 128 bytes of integers.
            unsafe { std::mem::transmute(sums) }
        }
    }

    /// 256-bit vectors; made only by [`with_avx_vnni`] and [`with_avx2_narrow`].
    #[derive(Clone, Copy)]
    struct Bytes<const VNNI: bool>(());

    impl<const VNNI: bool> Bytes<VNNI> {
        /// Adds the products of four inputs with the weights of eight columns.
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
        type Sums = [__m256i; 2];
        const COLUMNS: usize = PANEL / 2;
        const ROWS: usize = 4;

        #[inline(always)]
        fn zero(self) -> Self::Sums {
            // SAFETY: as above.
            unsafe { [_mm256_setzero_si256(); 2] }
        }

        #[inline(always)]
        fn add(self, sums: Self::Sums, inputs: [u8; 4], row: &Quads, first: usize) -> Self::Sums {
            let weights = row.0[first..][..Self::COLUMNS].as_ptr().cast::<__m256i>();
            // SAFETY: as above; the columns fill two vectors.
            unsafe {
                let inputs = _mm256_set1_epi32(i32::from_ne_bytes(inputs));
                [
                    self.dot(sums[0], inputs, _mm256_loadu_si256(weights)),
                    self.dot(sums[1], inputs, _mm256_loadu_si256(weights.add(1))),
                ]
            }
        }

        #[inline(always)]
        fn finish(self, sums: Self::Sums) -> [i32; PANEL] {
            // SAFETY: both types have 64 bytes of integers.
            let first: [i32; PANEL / 2] = unsafe { std::mem::transmute(sums) };
            let mut all = [0; PANEL];
            all[..PANEL / 2].copy_from_slice(&first);
            all
        }
    }

    /// Bytes that are widened to 16 bits; made only by [`with_avx2`].
    #[derive(Clone, Copy)]
    struct Widened(());

    impl Dots for Widened {
        /// Sums of the first and of the last two inputs of four columns each.
        type Sums = [__m256i; 2];
        const COLUMNS: usize = 8;
        const ROWS: usize = 4;

        #[inline(always)]
        fn zero(self) -> Self::Sums {
            // SAFETY: the processor has AVX2, else there would be no `self`.
            unsafe { [_mm256_setzero_si256(); 2] }
        }

        #[inline(always)]
        fn add(self, sums: Self::Sums, inputs: [u8; 4], row: &Quads, first: usize) -> Self::Sums {
            let weights = row.0[first..][..Self::COLUMNS].as_ptr().cast::<__m128i>();
            // SAFETY: as above; the columns fill two vectors of half the size.
            unsafe {
                let inputs = _mm_set1_epi32(i32::from_ne_bytes(inputs));
                let inputs = _mm256_cvtepu8_epi16(inputs);
                let dot = |sums, weights| {
                    let weights = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights));
                    _mm256_add_epi32(sums, _mm256_madd_epi16(inputs, weights))
                };
                [dot(sums[0], weights), dot(sums[1], weights.add(1))]
            }
        }

        #[inline(always)]
        fn finish(self, sums: Self::Sums) -> [i32; PANEL] {
            // SAFETY: both types have 64 bytes of integers.
            let pairs: [[i32; 2]; 8] = unsafe { std::mem::transmute(sums) };
            let mut all = [0; PANEL];
            for (sum, [first, last]) in all.iter_mut().zip(pairs) {
                *sum = first + last;
            }
            all
        }
    }
}

#[cfg(target_feature = "simd128")]
mod wasm {
    use std::arch::wasm32::*;

    use super::{Dots, PANEL, Quads};

    /// Products of 16-bit integers, with which the page is compiled.
    #[derive(Clone, Copy)]
    pub(super) struct Simd128;

    /// Returns four columns of weights, `[column, input]`.
    #[expect(unsafe_code, reason = "the instruction takes a pointer")]
    #[inline(always)]
    fn four(weights: &Quads, first: usize) -> v128 {
        let weights = &weights.0[first..][..4];
        // SAFETY: they are 16 bytes.
        unsafe { v128_load(weights.as_ptr().cast()) }
    }

    impl Dots for Simd128 {
        /// Sums of the first and the last two inputs of two columns each.
        type Sums = [v128; 4];
        const COLUMNS: usize = 8;
        /// Engines spill the registers of more rows.
        const ROWS: usize = 2;

        #[inline(always)]
        fn zero(self) -> Self::Sums {
            [i32x4_splat(0); 4]
        }

        #[inline(always)]
        fn add(
            self,
            sums: Self::Sums,
            inputs: [u8; 4],
            weights: &Quads,
            first: usize,
        ) -> Self::Sums {
            let inputs = u16x8_extend_low_u8x16(i32x4_splat(i32::from_ne_bytes(inputs)));
            let (low, high) = (four(weights, first), four(weights, first + 4));
            let dot = |sum, weights| i32x4_add(sum, i32x4_dot_i16x8(inputs, weights));
            [
                dot(sums[0], i16x8_extend_low_i8x16(low)),
                dot(sums[1], i16x8_extend_high_i8x16(low)),
                dot(sums[2], i16x8_extend_low_i8x16(high)),
                dot(sums[3], i16x8_extend_high_i8x16(high)),
            ]
        }

        #[inline(always)]
        fn finish(self, sums: Self::Sums) -> [i32; PANEL] {
            let mut all = [0; PANEL];
            for (pair, sum) in sums.into_iter().enumerate() {
                all[2 * pair] = i32x4_extract_lane::<0>(sum) + i32x4_extract_lane::<1>(sum);
                all[2 * pair + 1] = i32x4_extract_lane::<2>(sum) + i32x4_extract_lane::<3>(sum);
            }
            all
        }
    }
}
