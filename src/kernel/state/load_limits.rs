//! Limits memory and processor time while a process loads an untrusted checkpoint, and memory while
//! it lists variables.
//!
//! A few bytes of a file can demand any amount of memory and time. Both are spent inside C code,
//! where our own checks do not run, so the operating system enforces the limits. RLIMIT_DATA makes
//! an allocation fail, which Python raises as `MemoryError`. RLIMIT_CPU ends the process by
//! SIGXCPU, which the server reports.

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::resource::{UsageWho, getrusage};
use std::time::Duration;

/// Memory allowed for any checkpoint, however small: harmless values may also compress well.
const BASE_BYTES: u64 = 256 << 20;
/// Memory allowed for each byte of the checkpoint's files: an empty list takes 1 byte in a file and
/// 64 in memory.
const BYTES_PER_BYTE: u64 = 64;
/// Processor time allowed for any checkpoint, in seconds.
const BASE_SECONDS: u64 = 5;
/// How many bytes of the files allow one more second: half of what a slow machine reads in a
/// second.
const BYTES_PER_SECOND: u64 = 1 << 20;
/// Maximum processor time, in seconds, however large the files are.
const MAX_SECONDS: u64 = 300;
/// Memory allowed for listing variables. The listed texts are short, but may have been cut from
/// long ones.
const MAX_LISTING_BYTES: u64 = 1 << 30;

/// Limits that apply until this value is dropped.
#[derive(Debug)]
pub(super) struct LoadLimits {
    /// How much memory the values may take.
    pub(super) bytes: u64,
    seconds: u64,
    /// Usage when the limits were set, plus usage while they were lifted.
    start: Used,
    lifted: Option<Used>,
    before: [(Resource, rlim_t, rlim_t); 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    bytes: u64,
    seconds: u64,
}

impl Used {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let data = status.lines().find_map(|line| line.strip_prefix("VmData:"));
        let kib = data.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
        let time = getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |used| {
            let of = |time: nix::sys::time::TimeVal| u64::try_from(time.tv_sec()).unwrap_or_default();
            Duration::from_secs(of(used.user_time()) + of(used.system_time()))
        });
        Self { bytes: kib.unwrap_or_default() * 1024, seconds: time.as_secs() }
    }
}

impl LoadLimits {
    /// Limits for loading values that take `stored_bytes` on disk; they may take at most
    /// `max_bytes` of memory.
    pub(super) fn for_loading(stored_bytes: u64, max_bytes: u64) -> Self {
        let bytes = BASE_BYTES.saturating_add(stored_bytes.saturating_mul(BYTES_PER_BYTE)).min(max_bytes);
        let seconds = (BASE_SECONDS + stored_bytes / BYTES_PER_SECOND).min(MAX_SECONDS);
        let before = [Resource::RLIMIT_DATA, Resource::RLIMIT_CPU].map(|which| {
            let (soft, hard) =
                getrlimit(which).unwrap_or((nix::libc::RLIM_INFINITY, nix::libc::RLIM_INFINITY));
            (which, soft, hard)
        });
        let limits = Self { bytes, seconds, start: Used::now(), lifted: None, before };
        limits.set();
        limits
    }

    fn set(&self) {
        // One second more, because `start` was rounded down.
        let limits = [self.start.bytes.saturating_add(self.bytes), self.start.seconds + self.seconds + 1];
        for ((which, soft, hard), limit) in self.before.into_iter().zip(limits) {
            let _ = setrlimit(which, limit.min(soft).min(hard), hard);
        }
    }

    /// Lifts the limits while a library is imported.
    pub(super) fn lift(&mut self) {
        self.restore();
        self.lifted = Some(Used::now());
    }

    /// Sets the limits again, without counting what was used since they were lifted.
    pub(super) fn limit_again(&mut self) {
        if let Some(lifted) = self.lifted.take() {
            let now = Used::now();
            self.start.bytes += now.bytes.saturating_sub(lifted.bytes);
            self.start.seconds += now.seconds.saturating_sub(lifted.seconds);
            self.set();
        }
    }

    fn restore(&self) {
        for (which, soft, hard) in self.before {
            let _ = setrlimit(which, soft, hard);
        }
    }
}

impl Drop for LoadLimits {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Limits the memory for listing variables, for the rest of this process.
pub(super) fn limit_listing() {
    let limit = Used::now().bytes.saturating_add(MAX_LISTING_BYTES);
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_DATA) {
        let _ = setrlimit(Resource::RLIMIT_DATA, limit.min(soft), limit.min(hard));
    }
}
