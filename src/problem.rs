//! `Problem`: the one shape of every error that reaches a user or a client.

use schemars::JsonSchema;
use serde::Serialize;

/// Maximum length of `Problem::what`, in characters. It may repeat what a client sent.
const MAX_WHAT_CHARS: usize = 500;

/// An error for a user or a client: the action that failed, the reason and a remedy. Programs
/// branch on `kind`; people read the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error, JsonSchema)]
#[error("{what}: {why}")]
pub struct Problem {
    /// The kind. JSON calls this field `code`.
    #[serde(rename = "code")]
    pub kind: Kind,
    /// The action that failed, as a verb with its object: `find state "x"`.
    pub what: String,
    /// The reason.
    pub why: String,
    /// The remedy, as an instruction.
    pub how: String,
}

/// The kind of a problem. `http/error` gives each kind its HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request is invalid.
    BadRequest,
    /// The credential does not allow the request.
    Forbidden,
    /// The request names something that does not exist.
    NotFound,
    /// The request conflicts with the current situation: a name is taken, or cells are running.
    Conflict,
    /// The state is neither in memory nor on disk; a replay can restore it.
    Lost,
    /// A part of the request exceeds its limit.
    TooLarge,
    /// A fault of Ratoon itself.
    Internal,
    /// A limit on concurrent work is reached. A later retry can succeed.
    Busy,
    /// A Python process failed, or could not be started.
    Kernel,
    /// The notebook has been closed.
    Closed,
    /// The notebook or a process did not answer in time.
    Timeout,
    /// Writing to the disk failed.
    Disk,
    /// A store off this machine does not answer, refuses, or has lost or altered content.
    Store,

    // Only requests over HTTP have these problems, so only `http` names them (tests/it/tidy.rs).
    /// The request has no valid credential.
    Unauthorized,
    /// The request comes from another site's page.
    ForeignOrigin,
    /// A browser asks whether another site's page may use this server.
    NoCors,
    /// The task has no such checkpoint. snapshot-kernel uses this code.
    CheckpointError,
    /// The path exists, but does not support this method.
    MethodNotAllowed,
    /// The request body took too long to arrive.
    TooSlow,
    /// The request body has a content type or an encoding that the route does not accept.
    UnsupportedMediaType,
    /// The Host header names another server.
    Misdirected,
    /// Too many wrong tokens were sent in the last seconds.
    TooManyFailures,
}

impl Problem {
    /// A problem of this kind, with its action, reason and remedy.
    pub fn new(kind: Kind, what: impl Into<String>, why: impl Into<String>, how: impl Into<String>) -> Self {
        let mut what = what.into();
        if let Some((end, _)) = what.char_indices().nth(MAX_WHAT_CHARS) {
            what.truncate(end);
            what.push('…');
        }
        Self { kind, what, why: why.into(), how: how.into() }
    }

    /// What a command prints when it fails.
    pub(crate) fn for_terminal(&self) -> String {
        let Self { what, why, how, .. } = self;
        format!("ratoon cannot {what}: {why}\n  {how}")
    }

    /// The whole problem as one sentence.
    pub(crate) fn in_one_sentence(&self) -> String {
        let Self { what, why, how, .. } = self;
        format!("cannot {what}: {why}; {how}")
    }

    /// As `in_one_sentence`, for those who read it far from where they can act.
    pub(crate) fn with_way_out(&self) -> String {
        let Self { what, why, how, .. } = self;
        format!("cannot {what}: {why}. Way out: {how}")
    }

    /// The request is invalid.
    pub fn bad_request(what: impl Into<String>, why: impl Into<String>, how: impl Into<String>) -> Self {
        Self::new(Kind::BadRequest, what, why, how)
    }

    /// A path or a query names something that does not exist.
    pub fn not_found(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, what, why, "see /api/openapi.json and GET /states")
    }

    /// A fault of Ratoon itself. `why` must not reveal internals.
    pub fn internal(why: &'static str) -> Self {
        Self::new(Kind::Internal, "answer", why, "try again; report the problem if it persists")
    }
}
