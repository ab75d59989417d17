//! Share links: tokens of their own, for less than everything, that can be taken back.

use super::Scope;
use super::secret::Fingerprint;
use serde::Serialize;
use std::time::Instant;
use utoipa::ToSchema;

/// A share link as the owner sees it. Its token was shown once, when it was made, and is not kept.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Link {
    /// Names it, to take it back. Not a secret.
    pub id: String,
    /// What it is good for: `view` or `run`.
    pub scope: Scope,
    /// The notebook that it opens, and the only one.
    pub notebook: String,
    /// The owner's note on who has it.
    pub label: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// When it ends, in milliseconds since the Unix epoch; none: when it is taken back.
    pub expires_at: Option<u64>,
    /// When it was last used, in milliseconds since the Unix epoch.
    pub last_used: Option<u64>,
}

/// What is kept of a link.
#[derive(Debug)]
pub(super) struct KeptLink {
    pub(super) shown: Link,
    pub(super) token: Fingerprint,
    /// The end on the clock that nobody can set; `expires_at` is only for people.
    pub(super) ends: Option<Instant>,
}

impl KeptLink {
    pub(super) fn has_ended(&self, now: Instant) -> bool {
        self.ends.is_some_and(|end| end <= now)
    }
}
