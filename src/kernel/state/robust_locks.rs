//! Finds locks between processes that the main thread holds.
//!
//! A database like LMDB locks a mutex in shared memory while a transaction writes. In a branch the
//! transaction would go on without the lock, beside the process that holds it, and both would
//! write. Such mutexes are robust: Linux unlocks them when their thread ends. For this purpose
//! glibc lists those that a thread holds (`get_robust_list(2)`). The list of a forked child is
//! empty.

#![allow(unsafe_code)]

use super::threads;
use std::sync::OnceLock;

/// The address of the list's head. It is in glibc's `struct pthread` of the main thread, which has
/// the same address in all forks.
static HEAD: OnceLock<Option<u64>> = OnceLock::new();

/// The thread that asks, for `get_robust_list`.
const THIS_THREAD: i32 = 0;

/// A sentence about locks between processes that this thread holds.
pub(super) fn warning() -> Option<String> {
    let head = (*HEAD.get_or_init(|| threads::robust_list(THIS_THREAD)))?;
    // SAFETY: glibc has given Linux this address of a `struct robust_list_head`, whose first field
    // is the address of the first lock, or of itself if there is none.
    let first = unsafe {
        std::ptr::read_volatile(std::ptr::with_exposed_provenance::<u64>(usize::try_from(head).ok()?))
    };
    (first != head).then(|| {
        "a lock between processes is held, as by a transaction that writes to lmdb; the next cell may\
         \x20continue the transaction, and branches come from the checkpoint"
            .to_owned()
    })
}
