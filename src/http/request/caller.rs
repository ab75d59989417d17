//! The sender of a request and the route it took, as extractors. The guard puts both into the
//! request.

use crate::http::auth::Access;
use crate::http::route::MatchedRoute;
use crate::problem::{Kind, Problem};
use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use std::future::{Ready, ready};

/// The sender of a request that passed the guard.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// None on public routes only.
    pub(crate) access: Option<Access>,
    /// Whether the token stood in the URL.
    pub(crate) token_in_url: bool,
}

impl Caller {
    /// What the caller may do.
    ///
    /// # Errors
    /// 401 on a public route, which asks for no credential.
    pub(crate) fn access(&self) -> Result<&Access, Problem> {
        self.access.as_ref().ok_or_else(unauthorized)
    }
}

/// The request shows no valid credential.
pub(crate) fn unauthorized() -> Problem {
    Problem::new(
        Kind::Unauthorized,
        "let the request in",
        "it shows no valid token or session",
        "open the address that was printed at start, or send `Authorization: Bearer TOKEN`",
    )
}

impl FromRequest for Caller {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(request.extensions().get::<Self>().cloned().ok_or_else(unauthorized))
    }
}

impl FromRequest for MatchedRoute {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(request.extensions().get::<Self>().cloned().ok_or_else(unauthorized))
    }
}
