//! Reads the body of a request: JSON of a known shape, or a file that arrives in chunks. Limits the
//! size of the body and the time for receiving it.

use super::json;
use crate::problem::{Kind, Problem};
use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// How long a JSON body may take to arrive. actix has no such limit, and an incomplete body uses
/// memory while the server waits.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a file may take to arrive. An hour is enough for a gigabyte over a slow connection.
const FILE_TIMEOUT: Duration = Duration::from_secs(3600);

/// How long the sender of a body may pause. Normal clients send the whole body without pauses.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5);

type BodyFuture<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

/// The maximum length of the route's body, in bytes. The guard puts this value into the request.
#[derive(Clone, Copy)]
pub(crate) struct BodyLimit(pub(crate) usize);

/// A body that must be a JSON object, deserialised to `T`.
pub(crate) struct Json<T>(pub(crate) T);

/// An optional JSON body. A missing body is treated as `{}`.
pub(crate) struct MaybeJson<T>(pub(crate) T);

/// An optional body that must be JSON. Its content is ignored.
pub(crate) struct NoBody;

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Problem;
    type Future = BodyFuture<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = read(limit(request), payload.take());
        Box::pin(async move { object(&body.await?).map(Self) })
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for MaybeJson<T> {
    type Error = Problem;
    type Future = BodyFuture<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = read(limit(request), payload.take());
        Box::pin(async move {
            let body = body.await?;
            object(if body.is_empty() { b"{}" } else { &body }).map(Self)
        })
    }
}

impl FromRequest for NoBody {
    type Error = Problem;
    type Future = BodyFuture<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = read(limit(request), payload.take());
        Box::pin(async move {
            let body = body.await?;
            if !body.is_empty() {
                json::parse::<serde_json::Value>(&body).map_err(malformed)?;
            }
            Ok(Self)
        })
    }
}

fn limit(request: &HttpRequest) -> usize {
    request.extensions().get::<BodyLimit>().map_or(0, |limit| limit.0)
}

async fn read(limit: usize, payload: Payload) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    let chunks = chunks(limit, payload, async |chunk| {
        body.extend_from_slice(&chunk);
        Ok(())
    });
    tokio::time::timeout(BODY_TIMEOUT, chunks).await.map_err(|_| too_slow())??;
    Ok(body.freeze())
}

/// Calls `take` with each chunk of a body that is a file.
pub(crate) async fn each_chunk(
    request: &HttpRequest,
    payload: Payload,
    take: impl AsyncFnMut(Bytes) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let chunks = chunks(limit(request), payload, take);
    tokio::time::timeout(FILE_TIMEOUT, chunks).await.map_err(|_| too_slow())?
}

async fn chunks(
    limit: usize,
    mut payload: Payload,
    mut take: impl AsyncFnMut(Bytes) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut length = 0;
    while let Some(chunk) =
        tokio::time::timeout(PAUSE_TIMEOUT, payload.next()).await.map_err(|_| too_slow())?
    {
        let chunk = chunk.map_err(broken)?;
        length += chunk.len();
        if length > limit {
            return Err(body_too_long(limit));
        }
        take(chunk).await?;
    }
    Ok(())
}

/// Parses a JSON object. Refuses a list, because serde would accept its items as the values of the
/// fields.
fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if body.trim_ascii_start().starts_with(b"[") {
        let how = "/api/openapi.json lists the fields of the body";
        return Err(Problem::bad_request("read the body", "it is a JSON list, not an object", how));
    }
    json::parse(body).map_err(malformed)
}

fn malformed(error: serde_json::Error) -> Problem {
    Problem::bad_request("read the body", error.to_string(), "/api/openapi.json lists the fields of the body")
}

fn broken(error: PayloadError) -> Problem {
    let why = match error {
        PayloadError::Incomplete(_) => "it ended early, or its chunks are malformed",
        PayloadError::EncodingCorrupted => "its chunks are malformed",
        _ => "it did not arrive completely",
    };
    Problem::bad_request("read the body", why, "send the whole body again")
}

fn too_slow() -> Problem {
    Problem::new(Kind::TooSlow, "read the body", "it did not arrive in time", "send it without pauses")
}

/// The error for a body that exceeds its limit.
pub(crate) fn body_too_long(limit: usize) -> Problem {
    Problem::new(
        Kind::TooLarge,
        "read the body",
        format!("it is longer than {limit} bytes"),
        "send less, or let the code read the data from a file",
    )
}
