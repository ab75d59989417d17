//! The limits of a process that reads what comes from elsewhere: values that nobody has vouched for
//! while they are loaded, and a look at what was made of them.
//!
//! A few bytes can stand for any amount of work: memory is asked for that no byte of the file pays
//! for, and hashes of what is shared are computed for ever. Both happen inside of C, where no check
//! of ours is reached; so the operating system counts. RLIMIT_DATA makes the next allocation fail,
//! which Python tells as `MemoryError`; RLIMIT_CPU ends the process by SIGXCPU, which the server
//! tells.

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::resource::{UsageWho, getrusage};
use std::time::Duration;

/// What values may take although their file is small: a few large numbers packed well are no
/// attack.
const BASE_BYTES: u64 = 256 << 20;
/// What each byte of their files may become. An empty list takes one byte, and 64 in memory.
const BYTES_PER_BYTE: u64 = 64;
/// How long the smallest may take, in seconds of a core.
const BASE_SECONDS: u64 = 5;
/// How much of their files pays for another second: half of what a slow machine reads.
const BYTES_PER_SECOND: u64 = 1 << 20;
/// However large their files are.
const MAX_SECONDS: u64 = 300;
/// What a look at variables may take beside what is there: its texts are short, but what they are
/// cut from may not be.
const LISTING_BYTES: u64 = 1 << 30;

/// Limits that are in force. They end with this.
#[derive(Debug)]
pub(super) struct Bounds {
    /// How much memory may be made in all.
    pub(super) bytes: u64,
    seconds: u64,
    /// What the process held, and had computed, when the limits were set; what it did while they
    /// were lifted is added.
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

impl Bounds {
    /// Limits the loading of values that take so many bytes on disk, to `max_bytes` at most.
    pub(super) fn for_loading(stored_bytes: u64, max_bytes: u64) -> Self {
        let bytes = BASE_BYTES.saturating_add(stored_bytes.saturating_mul(BYTES_PER_BYTE)).min(max_bytes);
        let seconds = (BASE_SECONDS + stored_bytes / BYTES_PER_SECOND).min(MAX_SECONDS);
        let before = [Resource::RLIMIT_DATA, Resource::RLIMIT_CPU].map(|which| {
            let (soft, hard) =
                getrlimit(which).unwrap_or((nix::libc::RLIM_INFINITY, nix::libc::RLIM_INFINITY));
            (which, soft, hard)
        });
        let bounds = Self { bytes, seconds, start: Used::now(), lifted: None, before };
        bounds.set();
        bounds
    }

    fn set(&self) {
        // One second more: the count of whole seconds began within one.
        let limits = [self.start.bytes.saturating_add(self.bytes), self.start.seconds + self.seconds + 1];
        for ((which, soft, hard), limit) in self.before.into_iter().zip(limits) {
            let _ = setrlimit(which, limit.min(soft).min(hard), hard);
        }
    }

    /// No limits while libraries are imported: what they reserve and compute is theirs.
    pub(super) fn lift(&mut self) {
        self.put_back();
        self.lifted = Some(Used::now());
    }

    /// The limits again, as if nothing had happened since they were lifted.
    pub(super) fn limit_again(&mut self) {
        if let Some(lifted) = self.lifted.take() {
            let now = Used::now();
            self.start.bytes += now.bytes.saturating_sub(lifted.bytes);
            self.start.seconds += now.seconds.saturating_sub(lifted.seconds);
            self.set();
        }
    }

    fn put_back(&self) {
        for (which, soft, hard) in self.before {
            let _ = setrlimit(which, soft, hard);
        }
    }
}

impl Drop for Bounds {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// Limits what a look at variables may take, for the rest of this process.
pub(super) fn limit_listing() {
    let limit = Used::now().bytes.saturating_add(LISTING_BYTES);
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_DATA) {
        let _ = setrlimit(Resource::RLIMIT_DATA, limit.min(soft), limit.min(hard));
    }
}
