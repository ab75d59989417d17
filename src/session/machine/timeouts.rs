//! How long processes may take.

use std::time::Duration;

/// How long a forked process may take to report that it is ready. A fork takes milliseconds; with
/// tens of gigabytes in small pages, it takes a second.
pub(super) const READY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a head may take to begin its cell. Longer than `READY_TIMEOUT`, because the head first
/// waits until its state is frozen.
pub(super) const BEGIN_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a process may take to report that it is ready if Python itself has to start first,
/// which is slow with a cold disk cache.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a process may take to load a checkpoint. Loading may read gigabytes from a slow disk
/// and import libraries.
pub(super) const LOAD_TIMEOUT: Duration = Duration::from_secs(600);
