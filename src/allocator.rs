//! How the server's allocator gives memory back to the system.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long small blocks that were freed wait for others: those of a moment, and those of what takes a while, as when a store
/// writes a whole notebook anew.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// Whether small blocks are about to be given back.
static IS_DUE: AtomicBool = AtomicBool::new(false);

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

/// Gives small blocks that were freed back to the system, a moment later: who frees them may not be done yet. By itself glibc
/// gives back only what is at the end of a heap, so one item that is kept would hold all that was before it. Must be called
/// inside a tokio runtime.
pub(crate) fn give_small_blocks_back_soon() {
    if IS_DUE.swap(true, Ordering::Relaxed) {
        return;
    }
    tokio::spawn(async {
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            IS_DUE.store(false, Ordering::Relaxed);
            #[cfg(target_env = "gnu")]
            // SAFETY: takes the allocator's own locks (malloc_trim(3)).
            unsafe {
                libc::malloc_trim(0);
            }
        }
    });
}
