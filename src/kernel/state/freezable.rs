//! Checks, before a state is acknowledged, that its process can be forked. User code may have used
//! up descriptors or memory, or have taken away the rights that a fork needs.

use super::{capture, lifeline};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use std::io;

/// Freezing a state takes this many descriptors.
const NEEDED_DESCRIPTORS: usize = 11;
/// A branch needs this much memory to start: the first allocations of Python and IPython.
const NEEDED_BYTES: usize = 16 << 20;
const UNCHANGED: &str = "The previous state has not changed";

/// Repairs what can be repaired. Returns a sentence about each repair.
///
/// # Errors
/// The reason why the state cannot be kept, as a sentence.
pub(super) fn make_freezable() -> Result<Vec<String>, String> {
    let repairs = capture::repair_standard_descriptors().map_err(|error| describe(&error))?;
    check_descriptors().map_err(|error| describe(&error))?;
    check_memory()?;
    check_processor_time()?;
    lifeline::can_tie().map_err(|why| format!("the state could not be kept: {why}. {UNCHANGED}"))?;
    Ok(repairs)
}

/// Checks that enough descriptors are left. The caller has closed the spare ones
/// (`descriptors::Spare`).
fn check_descriptors() -> io::Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    let all: io::Result<Vec<_>> = (1..NEEDED_DESCRIPTORS).map(|_| null.try_clone()).collect();
    all.map(drop)
}

fn describe(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EMFILE) => {
            let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
            format!(
                "the cell left fewer than {NEEDED_DESCRIPTORS} file descriptors free within its limit of \
                 {limit} (RLIMIT_NOFILE), so its state could not be kept ({error}). {UNCHANGED}. Set \
                 a higher limit, or close files"
            )
        }
        Some(libc::EBADF) => format!(
            "the cell closed descriptor 1 or 2 and also the pipe that would restore it, so its state \
             could not be kept. {UNCHANGED}"
        ),
        _ => format!(
            "the state could not be kept: the cell's process cannot even open /dev/null any more \
             ({error}). {UNCHANGED}"
        ),
    }
}

/// Checks that a branch can allocate what it needs, if there is a memory limit.
fn check_memory() -> Result<(), String> {
    let limits = memory_limits();
    if limits.is_empty() || Vec::<u8>::new().try_reserve_exact(NEEDED_BYTES).is_ok() {
        return Ok(());
    }
    let needed = NEEDED_BYTES >> 20;
    Err(format!(
        "the cell left less than {needed} MiB free within the memory limit that it set ({}), so no branch \
         of its state could start. {UNCHANGED}. Set a higher limit, or limit runs with `--run-memory` \
         or `run_memory` instead",
        limits.join(", ")
    ))
}

/// Checks that a branch gets some processor time. Each fork starts counting at zero, so only a
/// limit of 0 leaves it none.
fn check_processor_time() -> Result<(), String> {
    match getrlimit(Resource::RLIMIT_CPU) {
        Ok((0, _)) => Err(format!(
            "the cell left its process no processor time (RLIMIT_CPU is 0), so no branch of its state \
             could start. {UNCHANGED}. Set a higher limit, or limit runs with `--timeout` or \
             `timeout` instead"
        )),
        _ => Ok(()),
    }
}

/// This process' memory limits, as text.
fn memory_limits() -> Vec<String> {
    let of = |(which, name): (Resource, &str)| match getrlimit(which) {
        Ok((soft, _)) if soft != libc::RLIM_INFINITY => Some(format!("{name} is {} MiB", soft >> 20)),
        _ => None,
    };
    [(Resource::RLIMIT_AS, "RLIMIT_AS"), (Resource::RLIMIT_DATA, "RLIMIT_DATA")]
        .into_iter()
        .filter_map(of)
        .collect()
}

/// Resource limits that user code set and that may explain a system error, phrased as the end of a
/// sentence. Empty if there are none.
pub(super) fn limits_behind(errno: Errno) -> String {
    let limits = match errno {
        Errno::ENOMEM => memory_limits(),
        Errno::EAGAIN => match getrlimit(Resource::RLIMIT_NPROC) {
            Ok((soft, hard)) if soft < hard => vec![format!("RLIMIT_NPROC is {soft}")],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    if limits.is_empty() {
        String::new()
    } else {
        format!(": a cell has set a limit ({})", limits.join(", "))
    }
}
