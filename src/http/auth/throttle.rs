//! Limits rates: of 401 answers to wrong credentials, over all callers together, and of sign-ins by
//! one share link.
//!
//! Valid credentials are never counted or slowed, so guessing cannot lock the owner out.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// 401 answers. A program that polls with an old token should get 401, not 429.
const FAILURES: Rate = Rate { per_second: 20.0, at_once: 200.0 };

/// A rate with bursts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    pub(super) per_second: f64,
    /// The size of a burst.
    pub(super) at_once: f64,
}

/// A token bucket: it refills over time, and each use takes one token out.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: Rate,
    left: f64,
    since: Instant,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(rate: Rate, now: Instant) -> Self {
        Self { rate, left: rate.at_once, since: now }
    }

    /// Takes one token out. Returns false if the bucket is empty.
    pub(super) fn admits(&mut self, now: Instant) -> bool {
        let refilled = now.saturating_duration_since(self.since).as_secs_f64() * self.rate.per_second;
        (self.left, self.since) = ((self.left + refilled).min(self.rate.at_once), now);
        let admitted = self.left >= 1.0;
        self.left -= if admitted { 1.0 } else { 0.0 };
        admitted
    }
}

/// Limits the rate of 401 answers. Above it, a wrong credential gets a 429.
#[derive(Debug)]
pub(crate) struct Throttle(Mutex<Bucket>);

impl Throttle {
    /// A throttle with a full bucket.
    pub(crate) fn new(now: Instant) -> Self {
        Self(Mutex::new(Bucket::new(FAILURES, now)))
    }

    /// Counts a wrong credential. Returns false if the bucket is empty.
    pub(crate) fn admits_failure(&self, now: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).admits(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_admitted_then_twenty_a_second() {
        let start = Instant::now();
        let throttle = Throttle::new(start);
        let admitted = |at: Instant| (0..1000).filter(|_| throttle.admits_failure(at)).count();
        assert_eq!(admitted(start), 200);
        assert_eq!(admitted(start + Duration::from_secs(1)), 20);
        assert_eq!(admitted(start + Duration::from_secs(3600)), 200);
    }
}
