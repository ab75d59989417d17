//! The one place where a refusal becomes a status and a body: `{"error": {"code", "what", "why", "how"}}`.

use super::guard::headers::{Kind, harden};
use crate::notebook::Refused;
use crate::threads::Lost;
use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use std::fmt;
use utoipa::ToSchema;

/// A request that was not carried out.
#[derive(Debug)]
pub(crate) struct HttpError {
    status: StatusCode,
    /// Seconds after which it is worth to try again.
    retry_after: Option<u32>,
    /// Boxed: most requests succeed, and their results should be small.
    problem: Box<Problem>,
}

/// What was wished, why it cannot be, and what to do about it. Programs branch on `code`; people read the rest.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// A stable word.
    pub code: &'static str,
    /// What was wished.
    pub what: String,
    /// Why it cannot be.
    pub why: String,
    /// What to do about it.
    pub how: String,
}

/// The body of every answer that is not a success.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    pub error: Problem,
}

impl HttpError {
    /// Makes one from a status and the four parts.
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        how: impl Into<String>,
    ) -> Self {
        let problem = Box::new(Problem { code, what: what.into(), why: why.into(), how: how.into() });
        Self { status, retry_after: None, problem }
    }

    /// A request whose content cannot be used.
    pub(crate) fn bad_request(
        what: impl Into<String>,
        why: impl Into<String>,
        how: impl Into<String>,
    ) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", what, why, how)
    }

    /// Something that is not there.
    pub(crate) fn not_found(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", what, why, "see /api/openapi.json and GET /states")
    }

    /// A fault of ours. It says nothing about the inside.
    pub(crate) fn internal(why: &'static str) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "answer",
            why,
            "try again; report it if it stays",
        )
    }

    /// Adds when to try again.
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The status it is answered with.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// What it says.
    pub(crate) fn problem(&self) -> &Problem {
        &self.problem
    }
}

/// The status that fits a refused command.
pub(crate) fn status_of(refused: &Refused) -> StatusCode {
    match refused.code {
        "not_found" => StatusCode::NOT_FOUND,
        "conflict" => StatusCode::CONFLICT,
        "lost" => StatusCode::GONE,
        "bad_request" => StatusCode::BAD_REQUEST,
        "forbidden" => StatusCode::FORBIDDEN,
        "too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "timeout" => StatusCode::GATEWAY_TIMEOUT,
        "disk" => StatusCode::INSUFFICIENT_STORAGE,
        // The server is well, but this cannot be had now: too much is going on, or a process is gone.
        "busy" | "kernel" | "closed" => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Lost> for HttpError {
    fn from(_: Lost) -> Self {
        Self::internal("a part of the server failed")
    }
}

impl From<Refused> for HttpError {
    fn from(refused: Refused) -> Self {
        let status = status_of(&refused);
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        let Refused { code, what, why, how } = refused;
        Self { status, retry_after, problem: Box::new(Problem { code, what, why, how }) }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem.what, self.problem.why)
    }
}

impl ResponseError for HttpError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        if let Some(seconds) = self.retry_after {
            response.insert_header((RETRY_AFTER, seconds.to_string()));
        }
        let mut response = response.json(ErrorBody { error: (*self.problem).clone() });
        // An error that nobody caught passes no middleware on its way out.
        harden(response.headers_mut(), Kind::Data);
        response
    }
}
