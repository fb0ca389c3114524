//! How the allocator of this process treats large blocks.

/// Keep freed memory instead of giving it back to the system.
///
/// A training step allocates and frees the same tensors again and again. By default glibc asks the
/// system for each large one and returns it, so that every step faults its pages in anew; kept, the
/// step of `vit_t8_64` is a quarter faster (`docs/bench.md`). Elsewhere nothing happens.
pub fn keep_freed_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// Larger blocks still come from the system directly, in bytes.
        const DIRECT: libc::c_int = 32 << 20;
        #[expect(unsafe_code, reason = "the only way to set the allocator's parameters")]
        // SAFETY: mallopt takes two integers and has no requirement on them.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, DIRECT);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        }
    }
}
