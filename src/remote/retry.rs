//! Tries a request again while the store is overloaded or does not answer.

use super::outcome::Outcome;
use std::time::Duration;

/// Number of attempts.
const ATTEMPTS: u32 = 4;
/// The pause before the second attempt. Each later pause is twice as long. A random part of up to a
/// half is added, so that many clients do not return at the same time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Performs work up to `ATTEMPTS` times, as long as its failures are transient.
pub(super) fn with_retries<T>(work: impl Fn() -> Outcome<T>) -> Outcome<T> {
    retrying(work, std::thread::sleep)
}

fn retrying<T>(work: impl Fn() -> Outcome<T>, sleep: impl Fn(Duration)) -> Outcome<T> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        match work() {
            Err(failure) if failure.is_transient => sleep(pause.mul_f64(1.0 + fastrand::f64() / 2.0)),
            other => return other,
        }
        pause *= 2;
    }
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::outcome::Failure;
    use std::cell::RefCell;

    fn attempts(failing: usize, failure: fn() -> Failure) -> (bool, usize, Vec<Duration>) {
        let (count, pauses) = (RefCell::new(0), RefCell::new(Vec::new()));
        let work = || {
            *count.borrow_mut() += 1;
            if *count.borrow() > failing { Ok(()) } else { Err(failure()) }
        };
        let is_ok = retrying(work, |pause| pauses.borrow_mut().push(pause)).is_ok();
        (is_ok, count.into_inner(), pauses.into_inner())
    }

    #[test]
    fn only_transient_failures_are_tried_again_with_growing_pauses() {
        let transient = || Failure::transient("busy");
        assert_eq!(attempts(0, transient), (true, 1, Vec::new()));
        let (is_ok, count, pauses) = attempts(2, transient);
        assert_eq!((is_ok, count), (true, 3));
        assert!(pauses[0] >= FIRST_PAUSE && pauses[1] >= FIRST_PAUSE * 2, "{pauses:?}");
        let (is_ok, count, pauses) = attempts(9, transient);
        assert_eq!((is_ok, count, pauses.len()), (false, 4, 3));
        assert_eq!(attempts(9, || Failure::refused("no", "")), (false, 1, Vec::new()));
    }
}
