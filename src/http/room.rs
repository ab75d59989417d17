//! How many connections there are, and what is still answered when there are many: what ends things.

use super::error::HttpError;
use actix_web::http::StatusCode;
use nix::sys::resource::{Resource, getrlimit};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Connections at a time. One notebook page needs one; this is room for thousands of clients.
const MAX_CONNECTIONS: usize = 4096;

/// Connections beyond them on which an interrupt, a look at the list and a question after our health still pass.
const RESERVED: usize = 64;

/// Counts connections.
#[derive(Clone, Debug)]
pub(super) struct Room {
    open: Arc<AtomicUsize>,
    limit: usize,
}

/// One connection, as long as it is kept.
pub(super) struct Taken(Arc<AtomicUsize>);

impl Room {
    /// A share of the descriptors that this process may have is for connections; the rest is for the kernels.
    pub(super) fn new() -> Self {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
        let limit = usize::try_from(descriptors / 3).unwrap_or(usize::MAX).min(MAX_CONNECTIONS);
        Self { open: Arc::default(), limit }
    }

    /// How many connections each of some workers may have, with those that are reserved.
    pub(super) fn of_each(&self, workers: usize) -> usize {
        (self.limit + RESERVED.min(self.limit / 2)).div_ceil(workers)
    }

    /// A connection came.
    pub(super) fn take(&self) -> Taken {
        self.open.fetch_add(1, Ordering::Relaxed);
        Taken(self.open.clone())
    }

    /// Whether another request may be taken up.
    ///
    /// # Errors
    /// 503 when there are too many connections.
    pub(super) fn check(&self) -> Result<(), HttpError> {
        if self.open.load(Ordering::Relaxed) <= self.limit {
            return Ok(());
        }
        let why = format!("there are more than {} connections", self.limit);
        let how = "close some; interrupt, reset, delete and list still work";
        Err(HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "answer", why, how).retry_after(1))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
