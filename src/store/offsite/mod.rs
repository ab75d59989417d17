//! Copies of notebooks in a store off this machine: pushing, pulling, and who may push. See
//! docs/machines.md; docs/format.md has the keys and formats.
//!
//! A copy has everything that a copy on this machine has (`notebook_dir`): the rows of the database
//! without share links, browser sessions and tasks, the blobs, and the attachments. All of it is
//! blobs in the store, and a *version* is the object that names them. The version is written last.
//!
//! Only the holder of a notebook's *lease* pushes it. Each lease has a number, its *epoch*, which
//! begins the keys of the versions that its holder writes. The version with the highest epoch is
//! the newest, so whatever a former holder still writes is never the newest. No decision compares
//! the clocks of two machines: ages are measured by the store's own clock.

mod collect;
mod copy;
mod lease;
mod pieces;
mod pull;
mod push;
mod record;
mod version;

pub use collect::{Collected, collect};
pub use lease::Holder;
pub use pull::{Pulled, pull, versions};
pub use push::{Begun, Claim, Closed, Pushed, Pusher};

use crate::remote::{RemoteStore, key_part};
use std::time::Duration;

/// Blobs that no version names are removed when they are this old. A push uploads an unnamed blob
/// again if it is half as old, so a blob that a push relies on is never removed meanwhile.
const UNNAMED_BLOB_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// Number of blobs that are moved at the same time.
const PARALLEL: usize = 6;

/// Objects that exist while `collect` removes blobs. A push does not finish meanwhile.
const COLLECTING: &str = "gc/";
/// After this time, `collect` has ended without removing its object.
const COLLECTING_TIMEOUT: Duration = Duration::from_secs(3600);

/// The place of one notebook in a store.
#[derive(Clone, Debug)]
struct Place {
    store: RemoteStore,
    /// The notebook's name in the store.
    name: String,
}

impl Place {
    fn versions(&self) -> String {
        format!("notebooks/{}/versions/", key_part(&self.name))
    }

    fn leases(&self) -> String {
        format!("notebooks/{}/lease/", key_part(&self.name))
    }
}

/// A time in milliseconds since the Unix epoch, as text in UTC.
fn time_in_words(ms: f64) -> String {
    let second = jiff::Timestamp::from_second((ms / 1000.0) as i64);
    second.unwrap_or_default().strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Parses the number at the beginning of a key's last part.
fn number(text: &str) -> Option<u64> {
    let is_number = text.len() == NUMBER_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Digits of a number in a key. Keys then sort as their numbers do.
const NUMBER_DIGITS: usize = 12;

/// A number as it is in keys.
fn digits(number: u64) -> String {
    format!("{number:0NUMBER_DIGITS$}")
}
