//! Why something was not done: the one shape of every error that reaches a user or a client.

use schemars::JsonSchema;
use serde::Serialize;

/// What was to be done, why it cannot be done, and what to do about it. Programs branch on `kind`;
/// people read the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error, JsonSchema)]
#[error("{what}: {why}")]
pub struct Problem {
    /// On the wire it is called `code`.
    #[serde(rename = "code")]
    pub kind: Kind,
    /// What was to be done, with the name or id it concerns.
    pub what: String,
    /// Why it cannot be done.
    pub why: String,
    /// What to do about it.
    pub how: String,
}

/// What sort of problem it is. `http/error` gives each kind its HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request makes no sense.
    BadRequest,
    /// The request shows no valid credential.
    Unauthorized,
    /// The credential does not allow it.
    Forbidden,
    /// The request comes from another site's page.
    ForeignOrigin,
    /// A browser asks whether another site's page may use this server.
    NoCors,
    /// What the request names does not exist.
    NotFound,
    /// A task has no such checkpoint. The word is snapshot-kernel's.
    CheckpointError,
    /// The path exists, but not with this method.
    MethodNotAllowed,
    /// The request body took too long to arrive.
    TooSlow,
    /// It contradicts what exists.
    Conflict,
    /// The state is neither in memory nor on disk; a replay can restore it.
    Lost,
    /// A part of the request exceeds its limit.
    TooLarge,
    /// The request body has a content type or an encoding that the route does not take.
    UnsupportedMediaType,
    /// The Host header names another server.
    Misdirected,
    /// Too many wrong tokens were sent lately.
    TooManyFailures,
    /// A fault of Ratoon itself.
    Internal,
    /// Too much is going on at the moment.
    Busy,
    /// A Python process failed, or could not be started.
    Kernel,
    /// The notebook has been closed.
    Closed,
    /// There was no answer in time.
    Timeout,
    /// The disk does not take what is to be written.
    Disk,
}

impl Problem {
    /// Makes one from its four parts.
    pub fn new(kind: Kind, what: impl Into<String>, why: impl Into<String>, how: impl Into<String>) -> Self {
        Self { kind, what: what.into(), why: why.into(), how: how.into() }
    }

    /// The request makes no sense.
    pub fn bad_request(what: impl Into<String>, why: impl Into<String>, how: impl Into<String>) -> Self {
        Self::new(Kind::BadRequest, what, why, how)
    }

    /// Something that a path or a query names does not exist.
    pub fn not_found(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, what, why, "see /api/openapi.json and GET /states")
    }

    /// A fault of Ratoon itself. `why` must say nothing about its inside.
    pub fn internal(why: &'static str) -> Self {
        Self::new(Kind::Internal, "answer", why, "try again; report it if it stays")
    }
}
