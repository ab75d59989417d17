//! Share links: revocable tokens that give access to one notebook, either to view it or to run
//! cells. `keys` looks up the link of a request's token.

use super::access::{Access, Now};
use super::secret::SecretHash;
use super::throttle::{Bucket, Rate};
use crate::notebook::KeptLink;
use crate::session::Scope;
use serde::Serialize;
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// Sign-ins by one link. Each is written to disk.
pub(super) const SIGN_INS: Rate = Rate { per_second: 0.1, at_once: 20.0 };

/// A share link without its token, as the list of links shows it. The server sends the token only
/// once, in the answer to the request that makes the link.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Link {
    /// The link's id, with which the owner can revoke it. Not a secret.
    pub id: String,
    /// `view` or `run`.
    pub scope: Scope,
    /// The only notebook that the link opens.
    pub notebook: String,
    /// The owner's note, for example who has the link.
    pub label: Option<String>,
    /// When the link was made, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// When the link expires, in milliseconds since the Unix epoch; null if never.
    pub expires_at: Option<u64>,
    /// When the link was last used, in milliseconds since the Unix epoch; null if never.
    pub last_used: Option<u64>,
}

/// A link in memory: the fields that the owner sees, and the hash of the link's token.
#[derive(Clone, Debug)]
pub(crate) struct HeldLink {
    pub(super) shown: Link,
    pub(super) token: SecretHash,
    /// When the link expires, on the monotonic clock; `None` if never. Checks use this time instead
    /// of `Link::expires_at`.
    pub(super) ends: Option<Instant>,
    /// The sign-ins by the link.
    pub(super) sign_ins: Bucket,
}

impl HeldLink {
    /// The fields that the owner sees.
    pub(crate) fn shown(&self) -> &Link {
        &self.shown
    }

    /// Whether this token opens the link: the token matches, and the link has not expired.
    pub(super) fn is_opened_by(&self, token: &SecretHash, now: Instant) -> bool {
        self.token.is(token) && !self.has_ended(now)
    }

    pub(super) fn has_ended(&self, now: Instant) -> bool {
        self.ends.is_some_and(|end| end <= now)
    }

    pub(super) fn access(&self, session: Option<SecretHash>) -> Access {
        Access {
            scope: self.shown.scope,
            notebook: Some(self.shown.notebook.clone()),
            link: Some(self.shown.id.clone()),
            session,
        }
    }

    /// The stored form of the link.
    pub(crate) fn to_kept(&self) -> KeptLink {
        KeptLink {
            id: self.shown.id.clone(),
            notebook: self.shown.notebook.clone(),
            token_sha256: self.token.to_string(),
            scope: self.shown.scope.word().to_owned(),
            label: self.shown.label.clone(),
            // Milliseconds are exact in a float for some 285,000 years.
            created_at: self.shown.created_at as f64,
            expires_at: self.shown.expires_at.map(|at| at as f64),
        }
    }

    /// Reads a stored link. Returns `None` if the link has expired, opens another notebook, or is
    /// malformed.
    pub(super) fn from_kept(notebook: &str, kept: &KeptLink, now: Now) -> Option<Self> {
        let scope = [Scope::View, Scope::Run].into_iter().find(|s| s.word() == kept.scope)?;
        let expires_at = kept.expires_at.map(|at| at as u64);
        let left = expires_at.map(|at| at.saturating_sub(now.wall_ms));
        if left == Some(0) || kept.notebook != notebook {
            return None;
        }
        let ends = left.map(|ms| now.at.checked_add(Duration::from_millis(ms)));
        let shown = Link {
            id: kept.id.clone(),
            scope,
            notebook: notebook.to_owned(),
            label: kept.label.clone(),
            created_at: kept.created_at as u64,
            expires_at,
            last_used: None,
        };
        let token = SecretHash::from_hex(&kept.token_sha256)?;
        Some(Self { shown, token, ends: ends.flatten(), sign_ins: Bucket::new(SIGN_INS, now.at) })
    }
}

/// The parameters of a new share link.
#[derive(Debug)]
pub(crate) struct NewLink {
    /// `view` or `run`.
    pub(crate) scope: Scope,
    /// The only notebook that the link opens.
    pub(crate) notebook: String,
    /// The owner's note.
    pub(crate) label: Option<String>,
    /// How long the link is valid; `None` if it is valid until it is revoked.
    pub(crate) lasts: Option<Duration>,
}
