//! Counts the requests that the server refuses, and logs the counts. A log of each would let anyone
//! who reaches the port fill the disk.

use actix_web::http::StatusCode;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two lines in the log.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// How many requests were refused since the last line in the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    /// By the status of the answer.
    by_status: BTreeMap<u16, u64>,
    logged: Option<Instant>,
}

impl Refusals {
    /// Counts an answer if it is a refusal. Logs the first one at once.
    pub(super) fn count(&self, status: StatusCode) {
        if !status.is_client_error() && !status.is_server_error() {
            return;
        }
        let mut counts = self.lock();
        *counts.by_status.entry(status.as_u16()).or_default() += 1;
        if counts.logged.is_none_or(|logged| logged.elapsed() >= LOG_EVERY) {
            counts.log();
        }
    }

    /// Logs the counts that are left, again and again.
    pub(super) async fn log_regularly(self) {
        loop {
            tokio::time::sleep(LOG_EVERY).await;
            let mut counts = self.lock();
            if !counts.by_status.is_empty() {
                counts.log();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn log(&mut self) {
        self.logged = Some(Instant::now());
        let by_status = std::mem::take(&mut self.by_status);
        tracing::info!(?by_status, "requests were refused");
    }
}
