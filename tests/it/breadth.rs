//! How much the tests try, also those of `src`. `tests/run nightly` tries everything. Other runs
//! try examples of what has many similar cases, and skip the tests that are marked
//! `#[ignore = "nightly: …"]`.

/// Whether to try everything.
pub(crate) fn in_full() -> bool {
    std::env::var_os("RATOON_TEST_ALL").is_some()
}

/// All of these, or every `step`-th if not everything is tried.
#[allow(dead_code, reason = "the tests of `src` do not need it")]
pub(crate) fn examples<T>(all: &[T], step: usize) -> impl Iterator<Item = &T> + Clone {
    all.iter().step_by(if in_full() { 1 } else { step })
}
