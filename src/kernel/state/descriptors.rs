//! Keeps our own descriptors at high numbers, which user code does not use, and holds some
//! descriptors in reserve.

use std::os::fd::{AsFd, IntoRawFd, OwnedFd, RawFd};

/// The lowest number of our descriptors. User code may expect 3, 4 and 5 to be free, or close them.
const FIRST_OWN_DESCRIPTOR: i32 = 200;
/// Enough for a fork: an order carries up to seven, and the child opens a few more briefly.
const SPARE_DESCRIPTORS: usize = 16;

/// The descriptors of this process from 3 on, in order. The list may contain the descriptor of the
/// directory that was read, which is closed already.
pub(super) fn list() -> Vec<RawFd> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<RawFd> = numbers.filter(|number| *number > 2).collect();
    numbers.sort_unstable();
    numbers
}

/// Copies a descriptor to a high number, or to any number from 3 on if a cell has set a limit below
/// that.
pub(super) fn raise(low: impl AsFd) -> std::io::Result<OwnedFd> {
    use nix::fcntl::{FcntlArg, fcntl};
    use std::os::fd::FromRawFd;
    let low = low.as_fd();
    let number = fcntl(low, FcntlArg::F_DUPFD_CLOEXEC(FIRST_OWN_DESCRIPTOR))
        .or_else(|_| fcntl(low, FcntlArg::F_DUPFD_CLOEXEC(3)))?;
    // SAFETY: fcntl has just made it; nobody else owns it.
    #[allow(unsafe_code)]
    let high = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(high)
}

/// Descriptors that are reserved while a cell runs, so that the cell cannot use up all descriptors:
/// freezing and branching need some. There are fewer of them if the limit is low.
///
/// They are plain numbers: user code may have closed them, and closing an `OwnedFd` twice would
/// abort.
pub(super) struct Spare(Vec<RawFd>);

impl Spare {
    pub(super) fn take() -> Self {
        let Ok(null) = std::fs::File::open("/dev/null") else { return Self(Vec::new()) };
        let all = (0..SPARE_DESCRIPTORS).map_while(|_| raise(&null).ok());
        Self(all.map(IntoRawFd::into_raw_fd).collect())
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        for number in &self.0 {
            let _ = nix::unistd::close(*number);
        }
    }
}
