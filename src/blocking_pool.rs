//! A fixed pool of threads for work that waits for the disk or for other processes. All threads
//! are started when the server starts.
//!
//! A cell can use up the user's limit of processes and threads (`ulimit -u`). The server could
//! then start no thread on demand; tokio's own pool panics in that case.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Number of threads. Imports and exports use at most four (`http/app_state`); all other work is
/// short.
const COUNT: usize = 8;

type Work = Box<dyn FnOnce() + Send>;

/// A handle to the pool, cheap to clone. The threads end when the last clone is dropped. The queue
/// stays short, because each request and each run has at most one task in it.
#[derive(Clone, Debug)]
pub struct BlockingPool {
    queue: Sender<Work>,
}

/// The work panicked, so there is no answer.
#[derive(Debug, thiserror::Error)]
#[error("a part of the server failed")]
pub struct Lost;

impl BlockingPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// The error of the operating system, if it cannot start a thread.
    pub fn start() -> io::Result<Self> {
        let (queue, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..COUNT {
            let waiting = Arc::clone(&waiting);
            let name = format!("disk {number}");
            std::thread::Builder::new().name(name).spawn(move || work(&waiting))?;
        }
        Ok(Self { queue })
    }

    /// Runs work on one of the threads.
    pub fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        // Sending cannot fail: the threads run as long as a sender exists.
        let _ = self.queue.send(Box::new(work));
    }

    /// Runs work on one of the threads and waits for its result. Dropping the future does not stop
    /// the work.
    ///
    /// # Errors
    /// `Lost` when the work panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Lost> {
        let (done, result) = oneshot::channel();
        // Fails if the caller has dropped its future.
        self.spawn(move || drop(done.send(work())));
        result.await.map_err(|_| Lost)
    }
}

fn work(waiting: &Mutex<Receiver<Work>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(work) = next else { return };
        // stderr shows the panic. Only the caller of this work gets no result.
        let _ = catch_unwind(AssertUnwindSafe(work));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_is_lost_and_costs_no_thread() {
        let threads = BlockingPool::start().unwrap();
        for n in 0..3 * COUNT {
            assert!(threads.run(move || assert!(n > 1000, "as it should")).await.is_err());
        }
        assert_eq!(threads.run(|| 7).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn as_many_pieces_of_work_are_done_at_once_as_there_are_threads() {
        let threads = BlockingPool::start().unwrap();
        let all_there = Arc::new(std::sync::Barrier::new(COUNT));
        let at_once = (0..COUNT).map(|_| {
            let all_there = Arc::clone(&all_there);
            threads.run(move || all_there.wait().is_leader())
        });
        assert!(futures_util::future::join_all(at_once).await.iter().all(Result::is_ok));
    }
}
