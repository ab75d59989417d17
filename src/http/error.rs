//! Converts a problem to an HTTP answer: a status, and the body `{"error": {"code", "what", "why",
//! "how"}}`.

use super::headers::{Content, harden};
use crate::blocking_pool::Lost;
use crate::problem::{Kind, Problem};
use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use utoipa::ToSchema;

/// What a handler returns.
pub(crate) type HttpResult = Result<HttpResponse, Problem>;

/// The body of every answer that is not a success.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What went wrong.
    pub error: Problem,
}

/// The HTTP status of each kind of problem.
fn status_of(kind: Kind) -> StatusCode {
    match kind {
        Kind::BadRequest => StatusCode::BAD_REQUEST,
        Kind::Unauthorized => StatusCode::UNAUTHORIZED,
        Kind::Forbidden | Kind::ForeignOrigin | Kind::NoCors => StatusCode::FORBIDDEN,
        Kind::NotFound | Kind::CheckpointError => StatusCode::NOT_FOUND,
        Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Kind::TooSlow => StatusCode::REQUEST_TIMEOUT,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Lost => StatusCode::GONE,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Kind::Misdirected => StatusCode::MISDIRECTED_REQUEST,
        Kind::TooManyFailures => StatusCode::TOO_MANY_REQUESTS,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Kind::Busy | Kind::Kernel | Kind::Closed => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        Kind::Disk => StatusCode::INSUFFICIENT_STORAGE,
        Kind::Store => StatusCode::BAD_GATEWAY,
    }
}

/// The header `Retry-After` of a status: seconds after which a client may try again.
fn retry_after(status: StatusCode) -> Option<&'static str> {
    matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS).then_some("1")
}

impl From<Lost> for Problem {
    fn from(_: Lost) -> Self {
        Self::internal("a part of the server failed")
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        status_of(self.kind)
    }

    fn error_response(&self) -> HttpResponse {
        let status = self.status_code();
        let mut response = HttpResponse::build(status);
        if let Some(seconds) = retry_after(status) {
            response.insert_header((RETRY_AFTER, seconds));
        }
        let mut response = response.json(ErrorBody { error: self.clone() });
        // Errors of extractors do not pass through the guard, which hardens all other answers.
        harden(response.headers_mut(), Content::Data);
        response
    }
}
