//! The files of the page, from a table in the binary.
//!
//! They stand under a prefix that names their content, so a browser may keep them for ever and a new version is never
//! mixed with an old one. Only files in the table are served; there is no directory to wander off from.

use super::error::HttpError;
use super::routes::Found;
use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

#[derive(RustEmbed)]
#[folder = "web/"]
struct Web;

/// `/assets/HASH`, where HASH stands for the names and contents of all files.
pub(crate) static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let mut names: Vec<_> = Web::iter().collect();
    names.sort_unstable();
    let mut all = Sha256::new();
    for name in names {
        all.update(name.as_bytes());
        all.update([0]);
        all.update(Web::get(&name).map(|file| file.metadata.sha256_hash()).unwrap_or_default());
    }
    let hash: String = all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("/assets/{hash}")
});

/// `GET /assets/{hash}/{path}`.
pub(crate) async fn asset(found: Found) -> Result<HttpResponse, HttpError> {
    let missing = || HttpError::not_found("find the file", "the page has no such file in this version");
    let [hash, path] = found.params.as_slice() else { return Err(missing()) };
    if PREFIX.strip_prefix("/assets/") != Some(hash) {
        return Err(missing());
    }
    let file = Web::get(path).ok_or_else(missing)?;
    let content_type = content_type(path).ok_or_else(missing)?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, content_type))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .body(file.data.into_owned()))
}

/// `GET /frame/v1`: the document in which an output's HTML and scripts live.
pub(crate) async fn frame() -> Result<HttpResponse, HttpError> {
    let file =
        Web::get("frame.html").ok_or_else(|| HttpError::internal("the output frame is not in this build"))?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .body(file.data.into_owned()))
}

/// The exact type by a file's ending; what the page does not need is not served. HTML is not: a document has its own
/// route and headers.
fn content_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}
