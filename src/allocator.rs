//! Makes the server's allocator return freed memory to the system.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The pauses before each attempt to return freed small blocks. The first suffices after short
/// work; the others are for long work, such as rewriting a whole notebook on a busy machine.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(30)];

/// Whether a task that returns small blocks is scheduled.
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Blocks of at least this many bytes are mapped separately, and returned when they are freed.
const LARGE: i32 = 256 * 1024;

/// Makes the allocator return freed outputs and messages to the system. By default glibc raises
/// the threshold for large blocks to the size of the largest freed one (mallopt(3),
/// `M_MMAP_THRESHOLD`), and keeps up to 32 MiB of freed memory per thread.
pub(crate) fn give_large_blocks_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a parameter of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns freed small blocks to the system after each of `PAUSES`. By default glibc returns only
/// the end of a heap, so one block in use keeps all memory before it. Must be called inside a
/// tokio runtime.
pub(crate) fn give_small_blocks_back_soon() {
    if IS_DUE.swap(true, Ordering::Relaxed) {
        return;
    }
    tokio::spawn(async {
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            IS_DUE.store(false, Ordering::Relaxed);
            #[cfg(target_env = "gnu")]
            // SAFETY: malloc_trim(3) is thread-safe.
            unsafe {
                libc::malloc_trim(0);
            }
        }
    });
}
