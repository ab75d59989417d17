//! What a valid credential allows, and the clocks by which credentials end.

use super::scope::Scope;
use super::secret::Fingerprint;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What stands in the name of a link's cookie between the owner's and the link's id.
pub(crate) const LINK_COOKIE: &str = "_";

/// The moment of a request, on both clocks: durations are measured on the one that cannot be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// The monotonic clock.
    pub(crate) at: Instant,
    /// Milliseconds since the Unix epoch, for people.
    pub(crate) wall_ms: u64,
}

impl Now {
    /// Reads both clocks.
    pub(crate) fn read() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { at: Instant::now(), wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX) }
    }

    /// The same moment, on a clock that is not set back behind what it has shown: `latest_ms` at
    /// the moment `since`.
    pub(super) fn not_before(self, latest_ms: u64, since: Instant) -> Self {
        let gone = self.at.saturating_duration_since(since);
        let least = latest_ms.saturating_add(u64::try_from(gone.as_millis()).unwrap_or(u64::MAX));
        Self { wall_ms: self.wall_ms.max(least), ..self }
    }

    pub(super) fn after(self, wait: Duration) -> Self {
        let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self { at: self.at + wait, wall_ms: self.wall_ms.saturating_add(ms) }
    }
}

/// What a valid credential gives.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// What its holder may do.
    pub(crate) scope: Scope,
    /// The only notebook that it is good for; none: all.
    pub(crate) notebook: Option<String>,
    /// The id of the share link that gave it.
    pub(super) link: Option<String>,
    /// The browser session that gave it.
    pub(super) session: Option<Fingerprint>,
}

impl Access {
    /// The name of the cookie of a browser session with it, from the owner's. Each link has one of
    /// its own: so a link that is opened in a browser takes no place of the owner's or another
    /// link's session there.
    pub(crate) fn cookie(&self, owners: &str) -> String {
        self.link.as_ref().map_or_else(|| owners.to_owned(), |link| format!("{owners}{LINK_COOKIE}{link}"))
    }

    /// Whether it is good for a notebook.
    pub(crate) fn opens(&self, notebook: &str) -> bool {
        self.notebook.as_deref().is_none_or(|own| own == notebook)
    }
}
