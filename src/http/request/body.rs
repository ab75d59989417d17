//! Bodies: JSON, bounded in size, in time and in depth, and read strictly; and files.

use super::strict_json;
use crate::http::route::MatchedRoute;
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

/// How long a body may take in all. actix has no limit of its own here, and a slow sender holds
/// memory.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a file may take in all: a gigabyte over a slow line.
const FILE_TIMEOUT: Duration = Duration::from_secs(3600);

/// How long a sender may pause. A program that means it has the body at hand.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5);

type Reading<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

/// A body that must be JSON of this shape.
pub(crate) struct Json<T>(pub(crate) T);

/// A body that may be left out, which means what `{}` means.
pub(crate) struct MaybeJson<T>(pub(crate) T);

/// A body that may be left out; if it is there it must be JSON, and is not looked at.
pub(crate) struct NoBody;

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Problem;
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = read(limit(request), payload.take());
        Box::pin(async move { object(&body.await?).map(Self) })
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for MaybeJson<T> {
    type Error = Problem;
    type Future = Reading<Self>;

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
    type Future = Reading<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = read(limit(request), payload.take());
        Box::pin(async move {
            let body = body.await?;
            if !body.is_empty() {
                strict_json::parse::<serde_json::Value>(&body).map_err(malformed)?;
            }
            Ok(Self)
        })
    }
}

fn limit(request: &HttpRequest) -> usize {
    request.extensions().get::<MatchedRoute>().map_or(0, |found| found.route.body.limit())
}

async fn read(limit: usize, payload: Payload) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    let all = chunks(limit, payload, async |chunk| {
        body.extend_from_slice(&chunk);
        Ok(())
    });
    tokio::time::timeout(BODY_TIMEOUT, all).await.map_err(|_| too_slow())??;
    Ok(body.freeze())
}

/// Takes a body that is a file, chunk by chunk.
pub(crate) async fn each_chunk(
    request: &HttpRequest,
    payload: Payload,
    take: impl AsyncFnMut(Bytes) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let all = chunks(limit(request), payload, take);
    tokio::time::timeout(FILE_TIMEOUT, all).await.map_err(|_| too_slow())?
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
            return Err(too_large(limit));
        }
        take(chunk).await?;
    }
    Ok(())
}

/// Reads a JSON object. Without this, a list of the fields' values would be taken for one, too.
fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    if body.trim_ascii_start().starts_with(b"[") {
        let how = "see /api/openapi.json for what belongs in it";
        return Err(Problem::bad_request("read the body", "it is a list, and no object", how));
    }
    strict_json::parse(body).map_err(malformed)
}

fn malformed(error: serde_json::Error) -> Problem {
    Problem::bad_request("read the body", error.to_string(), "see /api/openapi.json for what belongs in it")
}

fn broken(error: PayloadError) -> Problem {
    let why = match error {
        PayloadError::Incomplete(_) => "it ended before its length was reached",
        PayloadError::EncodingCorrupted => "its chunks are broken",
        _ => "it did not arrive whole",
    };
    Problem::bad_request("read the body", why, "send it again, whole")
}

fn too_slow() -> Problem {
    Problem::new(Kind::TooSlow, "read the body", "it did not come in time", "send it in one go")
}

/// A body beyond its limit.
pub(crate) fn too_large(limit: usize) -> Problem {
    Problem::new(
        Kind::TooLarge,
        "read the body",
        format!("it is longer than {limit} bytes"),
        "send less at once, or have the code read the data from a file",
    )
}
