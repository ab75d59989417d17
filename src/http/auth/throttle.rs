//! Limits how many wrong credentials per second get a 401, over all callers. Others get a 429.
//!
//! Valid credentials are never counted or slowed, so guessing cannot lock the owner out.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many wrong credentials per second get a 401, on average.
const PER_SECOND: f64 = 20.0;

/// How many wrong credentials in a row get a 401. A program that polls with an old token should get
/// 401, not 429.
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
