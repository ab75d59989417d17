//! Browser sessions: a browser exchanges a token for a session, and stores the session's id in a
//! cookie.

use super::secret::SecretHash;
use std::time::{Duration, Instant};

/// How long a browser session is valid. A week spares users daily sign-ins, and limits the use of a
/// leaked cookie.
pub(crate) const SESSION_LASTS: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Debug)]
pub(super) struct BrowserSession {
    pub(super) id: SecretHash,
    pub(super) link: Option<String>,
    pub(super) ends: Instant,
    /// When a request last had this cookie; after a restart of the server, the start.
    pub(super) used: Instant,
}
