//! Limits the rate of 401 answers to wrong credentials, over all callers together. Above the limit
//! a wrong credential gets a 429.
//!
//! Valid credentials are never counted or slowed, so guessing cannot lock the owner out.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Average number of 401 answers per second.
const PER_SECOND: f64 = 20.0;

/// Number of 401 answers in a burst. A program that polls with an old token should get 401, not
/// 429.
const AT_ONCE: f64 = 200.0;

/// A token bucket: it refills over time, and each wrong credential takes one token out.
#[derive(Debug)]
pub(crate) struct Throttle {
    bucket: Mutex<(f64, Instant)>,
}

impl Throttle {
    /// A throttle with a full bucket.
    pub(crate) fn new(now: Instant) -> Self {
        Self { bucket: Mutex::new((AT_ONCE, now)) }
    }

    /// Counts a wrong credential. Returns false if the bucket is empty.
    pub(crate) fn admits_failure(&self, now: Instant) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = *bucket;
        let left = (left + now.saturating_duration_since(since).as_secs_f64() * PER_SECOND).min(AT_ONCE);
        let admitted = left >= 1.0;
        *bucket = (if admitted { left - 1.0 } else { left }, now);
        admitted
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
