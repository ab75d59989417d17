//! A browser session: the credential in a cookie, which a browser gets in exchange for a token.

use super::secret::SecretHash;
use std::time::{Duration, Instant};

/// How long a browser stays signed in without the token. A week outlasts any working day, and
/// bounds the use of a leaked cookie.
pub(crate) const SESSION_LASTS: Duration = Duration::from_secs(7 * 24 * 3600);

#[derive(Debug)]
pub(super) struct BrowserSession {
    pub(super) id: SecretHash,
    pub(super) link: Option<String>,
    pub(super) ends: Instant,
}
