//! How the server's allocator treats large blocks.

#![allow(unsafe_code)]

/// Blocks from this size on are had from the system and given back when they are freed, in bytes.
const LARGE: i32 = 256 * 1024;

/// Lets freed outputs and messages go back to the system. By itself glibc raises the size from which it does so to that of
/// the largest block that was freed (mallopt(3), `M_MMAP_THRESHOLD`), and keeps up to 32 MiB of holes for each thread.
pub(crate) fn give_large_blocks_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number in the allocator, which is there from the beginning.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}
