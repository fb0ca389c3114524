//! Memory of this process: allocator settings for large blocks, and peak usage.

/// Makes the allocator keep freed memory instead of returning it to the system.
///
/// A training step allocates and frees the same tensors again and again. By default glibc requests
/// each large block from the system and returns it, and so does the heap of every thread: every step
/// causes page faults. `examples/throughput/main.rs` measures a step with this setting and, with
/// `--give-back`, without it. On systems without glibc this does nothing.
pub fn keep_freed_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(unsafe_code, reason = "the only way to set the allocator's parameters")]
        // SAFETY: mallopt takes two integers and has no requirement on them.
        unsafe {
            // No block comes directly from the system, and all threads share one heap, which alone is
            // never given back.
            libc::mallopt(libc::M_MMAP_MAX, 0);
            libc::mallopt(libc::M_ARENA_MAX, 1);
            libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        }
    }
}

/// Bytes per mebibyte.
pub const MIB: f64 = 1_048_576.0;

/// Returns the peak resident memory of this process so far, in bytes; `None` if the system does not
/// report it.
pub fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
