//! The memory of this process: how its allocator treats large blocks, how much it took at most.

/// Keep freed memory instead of giving it back to the system.
///
/// A training step allocates and frees the same tensors again and again. By default glibc asks the
/// system for each large one and returns it, so that every step faults its pages in anew.
/// `examples/throughput.rs` measures the step with it and, by `--give-back`, without. Elsewhere nothing
/// happens.
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

/// Bytes of a mebibyte.
pub const MIB: f64 = 1_048_576.0;

/// Largest resident memory of this process so far, in bytes, where the system says.
#[must_use]
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
