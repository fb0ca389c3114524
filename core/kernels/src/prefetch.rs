//! Asks the processor for values before they are needed.

/// Starts to load values into the second-level cache, without waiting for them: in the first one they
/// would replace those that are in use. Does nothing where stable Rust has no such instruction.
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes a pointer")
)]
#[inline(always)]
pub fn prefetch(values: &[f32]) {
    /// Values of a cache line of 64 bytes.
    #[cfg(target_arch = "x86_64")]
    const LINE: usize = 16;
    #[cfg(target_arch = "x86_64")]
    for line in values.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction changes no value and is ignored for an address that cannot be
        // read; every processor of this architecture has it.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
