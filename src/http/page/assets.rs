//! Serves the page's files. The program embeds them as `build.rs` has prepared them: our scripts
//! and styles as bundles, and all texts compressed with brotli. A client that does not accept
//! brotli gets a text unpacked.
//!
//! The path prefix contains a hash of all files. So browsers may cache the files forever, and never
//! mix files of two versions. Only embedded files can be requested.

use crate::http::base_url::BaseUrl;
use crate::http::error::HttpResult;
use crate::http::request::PathParams;
use crate::problem::Problem;
use actix_web::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, VARY,
};
use actix_web::{HttpRequest, HttpResponse};
use brotli_decompressor::BrotliDecompress;
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The files by their paths. The path of a compressed file has `.br` at its end.
#[derive(RustEmbed)]
#[folder = "$OUT_DIR/page"]
struct Files;

/// `/assets/HASH`, with a hash of the names and contents of all files.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let mut names: Vec<_> = Files::iter().collect();
    names.sort_unstable();
    let mut all = Sha256::new();
    for name in names {
        all.update(name.as_bytes());
        all.update([0]);
        all.update(Files::get(&name).map(|file| file.metadata.sha256_hash()).unwrap_or_default());
    }
    let hash: String = all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("/assets/{hash}")
});

/// The address of the page's files, without a slash at its end.
pub(super) fn assets_url(base: &BaseUrl) -> String {
    base.join(&PREFIX)
}

/// The third-party modules that the notebook's page needs when it loads, as paths below `web/`. The
/// `<head>` of the page preloads these modules.
pub(super) fn preloaded() -> impl Iterator<Item = &'static str> {
    env!("RATOON_PRELOADED").split(' ')
}

/// `GET /assets/{hash}/{path}`.
pub(crate) async fn asset(request: HttpRequest, path: PathParams) -> HttpResult {
    let missing = || Problem::not_found("find the file", "this version of Ratoon has no such file");
    let [hash, path] = path.0.as_slice() else { return Err(missing()) };
    if PREFIX.strip_prefix("/assets/") != Some(hash) {
        return Err(missing());
    }
    let content_type = content_type(path).ok_or_else(missing)?;
    let mut response = HttpResponse::Ok();
    response
        .insert_header((CONTENT_TYPE, content_type))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((VARY, ACCEPT_ENCODING.as_str()));
    let Some(packed) = Files::get(&format!("{path}.br")) else {
        let file = Files::get(path).ok_or_else(missing)?;
        return Ok(response.body(file.data.into_owned()));
    };
    if takes("br", request.headers()) {
        return Ok(response.insert_header((CONTENT_ENCODING, "br")).body(packed.data.into_owned()));
    }
    Ok(response.body(unpacked(&packed.data)?))
}

fn unpacked(packed: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut plain = Vec::new();
    BrotliDecompress(&mut &packed[..], &mut plain)
        .map_err(|_| Problem::internal("a file of the page in the program is damaged"))?;
    Ok(plain)
}

/// Whether the client accepts a content coding. In the header, quality 0 means "not accepted".
pub(super) fn takes(coding: &str, headers: &HeaderMap) -> bool {
    let named = headers.get_all(ACCEPT_ENCODING).filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|one| {
        let (name, parameter) = one.split_once(';').unwrap_or((one, ""));
        let quality = parameter.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        name.trim().eq_ignore_ascii_case(coding) && quality.is_ok_and(|quality| quality > 0.0)
    })
}

/// `GET /frame/v1`: the document in which an output's HTML and scripts run.
pub(crate) async fn frame() -> HttpResult {
    let file =
        Files::get("frame.html").ok_or_else(|| Problem::internal("the output frame is not in this build"))?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .body(file.data.into_owned()))
}

/// The content type for a file's extension; `None` if such files must not be served. HTML documents
/// have separate routes and headers, so they are not served here.
fn content_type(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::HeaderValue;

    #[test]
    fn brotli_is_sent_to_whoever_asks_for_it() {
        for (value, expected) in [
            ("br", true),
            ("gzip, deflate, br, zstd", true),
            ("gzip;q=1.0, BR;q=0.5", true),
            ("br;q=0", false),
            ("br;q=0.0", false),
            ("br;q=x", false),
            ("gzip, brotli", false),
            ("*", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            assert!(!takes("br", &headers));
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(takes("br", &headers), expected, "{value:?}");
        }
    }

    #[test]
    fn the_modules_that_the_page_needs_are_embedded() {
        let modules: Vec<_> = preloaded().collect();
        assert_eq!(modules, ["vendor/codemirror.js", "vendor/preact.js"]);
        for module in modules {
            let packed = Files::get(&format!("{module}.br")).expect("it is embedded");
            let plain = std::fs::read(format!("web/{module}")).expect("it is in the repository");
            assert_eq!(unpacked(&packed.data).expect("it is compressed"), plain);
        }
    }
}
