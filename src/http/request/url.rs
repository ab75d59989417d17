//! Reads the parameters in a request's URL: segments of the path, and values in the query.

use crate::http::percent::percent_decoded;
use crate::problem::Problem;
use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use std::future::{Ready, ready};

/// The decoded segments of the path that match `{}` and `{..}` in the route table. The guard puts
/// this value into the request.
#[derive(Clone)]
pub(crate) struct PathParams(pub(crate) Vec<String>);

impl PathParams {
    /// The segment that matches the `{}` with this index.
    pub(crate) fn get(&self, index: usize) -> &str {
        self.0.get(index).map(String::as_str).unwrap_or_default()
    }
}

impl FromRequest for PathParams {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let missing = || Problem::internal("the request did not pass through the guard");
        ready(request.extensions().get::<Self>().cloned().ok_or_else(missing))
    }
}

/// Returns all values of a key in a query, decoded. A value that cannot be decoded is `None`.
pub(crate) fn query_values(query: &str, key: &str) -> Vec<Option<String>> {
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(|(name, _)| form_decoded(name).as_deref() == Some(key))
        .map(|(_, value)| form_decoded(value))
        .collect()
}

/// Returns the first value of a key in a request's query, decoded.
pub(crate) fn query_value(request: &HttpRequest, key: &str) -> Option<String> {
    query_values(request.query_string(), key).into_iter().next().flatten()
}

fn form_decoded(text: &str) -> Option<String> {
    percent_decoded(&text.replace('+', " "))
}
