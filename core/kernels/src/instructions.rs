//! Products of bytes by the instructions that the processor has.

mod dots;
#[cfg(any(test, not(target_feature = "simd128")))]
mod portable;
#[cfg(target_feature = "simd128")]
mod wasm;
#[cfg(any(target_arch = "x86_64", target_feature = "simd128"))]
mod widened;
#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "instructions that not every processor has, and their loads"
)]
mod x86;

pub(crate) use self::dots::{Dots, Work};
#[cfg(target_feature = "simd128")]
pub(crate) use self::wasm::{load, store};

/// An instruction set that the processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions(Set);

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
    pub(crate) fn available() -> impl Iterator<Item = Self> {
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
    pub(crate) fn run(self, work: impl Work) {
        match self.0 {
            // SAFETY: the processor has these instructions, else there would be no `self`.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vnni => unsafe { x86::with_avx512_vnni(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::AvxVnni => unsafe { x86::with_avx_vnni(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { x86::with_avx2(work) },
            #[cfg(target_feature = "simd128")]
            Set::Simd128 => work.run(widened::Widened(wasm::Simd128)),
            #[cfg(any(test, not(target_feature = "simd128")))]
            Set::Portable => work.run(portable::Portable),
        }
    }
}
