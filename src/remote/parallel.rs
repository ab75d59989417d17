//! Works on many objects of a store at once: a request waits mostly for the network.

use crate::problem::Problem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Works on all items, on up to this number of threads. Begins none after a failure. Returns the
/// first failure, because it explains the others.
pub(crate) fn for_each_in_parallel<T: Sync>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<(), Problem> + Sync,
) -> Result<(), Problem> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Problem>> = Mutex::new(None);
    let serve = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(problem) = work(item) {
                next.store(items.len(), Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
            }
        }
    };
    let has_panicked = thread::scope(|scope| {
        // If the system refuses a thread, this one does all the work.
        let others: Vec<_> = (1..threads.min(items.len()))
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, serve).ok())
            .collect();
        serve();
        others.into_iter().map(thread::ScopedJoinHandle::join).filter(Result::is_err).count() > 0
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(problem) => Err(problem),
        None if has_panicked => Err(Problem::internal("a part of the server failed")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_in_parallel_is_complete_and_stops_at_a_failure() {
        let done = AtomicUsize::new(0);
        let items: Vec<usize> = (0..100).collect();
        let count = |_: &usize| {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        assert_eq!(for_each_in_parallel(&items, 4, count), Ok(()));
        assert_eq!(done.into_inner(), 100);
        let fails_at_three = |item: &usize| if *item == 3 { Err(Problem::internal("no")) } else { Ok(()) };
        let failed = for_each_in_parallel(&items, 4, fails_at_three);
        assert!(failed.is_err());
    }
}
