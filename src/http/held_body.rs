//! Bodies of answers that hold something until the whole body has been sent: a permit, for example.

use super::error::HttpResult;
use crate::problem::Problem;
use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use std::future::ready;
use std::io;
use std::task::Poll;

/// A body that consists of one text. Drops `held` when the whole text has been sent.
pub(super) fn sent_with<T: 'static>(text: Bytes, held: T) -> impl Stream<Item = Result<Bytes, io::Error>> {
    stream::once(ready(Ok(text))).chain(stream::poll_fn(move |_| {
        let _held = &held;
        Poll::Ready(None)
    }))
}

/// An answer in JSON. Drops `held` when all of it has been sent.
///
/// # Errors
/// When the value cannot be serialised.
pub(super) fn json_with<T: 'static>(status: StatusCode, value: &impl Serialize, held: T) -> HttpResult {
    let text = serde_json::to_vec(value).map_err(|_| Problem::internal("the answer is no JSON"))?;
    let mut response = HttpResponse::build(status);
    let response = response.insert_header((CONTENT_TYPE, "application/json"));
    Ok(response.body(SizedStream::new(text.len() as u64, sent_with(text.into(), held))))
}
