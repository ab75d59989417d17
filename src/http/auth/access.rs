//! The access that a valid credential gives, and the clocks by which credentials expire.

use super::secret::SecretHash;
use crate::session::Scope;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Separates two parts of the cookie name of a link: the owner's cookie name and the link's id.
pub(crate) const LINK_COOKIE: &str = "_";

/// The time of a request, on two clocks. Durations use the monotonic clock, which users cannot set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// The monotonic clock.
    pub(crate) at: Instant,
    /// Milliseconds since the Unix epoch, to show and to store.
    pub(crate) wall_ms: u64,
}

impl Now {
    /// Reads both clocks.
    pub(crate) fn read() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { at: Instant::now(), wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Returns the same time with a wall clock of at least `latest_ms` plus the time since `since`.
    /// So the wall clock never runs backwards.
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

/// The rights that a valid credential gives.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The rights of the credential's holder.
    pub(crate) scope: Scope,
    /// The only notebook that the credential opens; `None` if it opens all notebooks.
    pub(crate) notebook: Option<String>,
    /// The id of the share link, if the credential was a link or a browser session that began with
    /// a link.
    pub(super) link: Option<String>,
    /// The browser session, if the credential was a session cookie.
    pub(super) session: Option<SecretHash>,
}

impl Access {
    /// The name of the cookie for a browser session with these rights. Each link has its own cookie
    /// name, so opening a link does not replace another session in the same browser.
    pub(crate) fn cookie(&self, owner_cookie: &str) -> String {
        let Some(link) = &self.link else { return owner_cookie.to_owned() };
        format!("{owner_cookie}{LINK_COOKIE}{link}")
    }

    /// A text that tells apart the owner and each share link.
    pub(crate) fn identity(&self) -> String {
        self.link.as_ref().map_or_else(|| self.scope.word().to_owned(), |link| format!("link {link}"))
    }

    /// A text that tells browsers apart, also those of one share link.
    pub(crate) fn browser(&self) -> String {
        self.session.map_or_else(|| self.identity(), |session| session.to_string())
    }

    /// Whether this access includes the notebook of this name.
    pub(crate) fn opens(&self, notebook: &str) -> bool {
        self.notebook.as_deref().is_none_or(|own| own == notebook)
    }
}
