//! Serves the page's files, which are embedded in the program. Entry scripts and styles are served
//! as bundles.
//!
//! The path prefix contains a hash of all files. So browsers may cache the files forever, and never
//! mix files of two versions. Only files in the embedded table can be requested. The build has
//! compressed these files.

use super::bundle;
use crate::http::base_url::BaseUrl;
use crate::http::request::PathParams;
use crate::problem::Problem;
use actix_web::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, VARY,
};
use actix_web::{HttpRequest, HttpResponse};
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

#[derive(RustEmbed)]
#[folder = "web/"]
struct Web;

/// `/assets/HASH`, with a hash of the names and contents of all files.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let mut names: Vec<_> = Web::iter().collect();
    names.sort_unstable();
    let mut all = Sha256::new();
    for name in names {
        all.update(name.as_bytes());
        all.update([0]);
        all.update(Web::get(&name).map(|file| file.metadata.sha256_hash()).unwrap_or_default());
    }
    for file in JOINED.values() {
        all.update(file.hash);
    }
    let hash: String = all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("/assets/{hash}")
});

/// The address of the page's files, without a slash at its end.
pub(super) fn assets_url(base: &BaseUrl) -> String {
    base.join(&PREFIX)
}

/// Files compressed with brotli, by the SHA-256 of the original. A debug build reads the originals
/// from disk. A file that was changed after the build is not in this table.
static PACKED: LazyLock<HashMap<[u8; 32], &'static [u8]>> = LazyLock::new(|| {
    let table: &[([u8; 32], &[u8])] = &include!(concat!(env!("OUT_DIR"), "/packed.rs"));
    table.iter().copied().collect()
});

/// The bundles by path. Empty if a module cannot be parsed, for example while somebody edits the
/// module in a debug build. Browsers then load each module separately.
static JOINED: LazyLock<BTreeMap<String, Joined>> = LazyLock::new(|| {
    let files = bundle::all(&text_of).unwrap_or_default().into_iter();
    files.map(|(path, text)| (path, Joined { hash: Sha256::digest(&text).into(), text })).collect()
});

struct Joined {
    hash: [u8; 32],
    text: String,
}

/// The third-party modules that the notebook's page needs when it loads, as paths below `web/`. The
/// `<head>` of the page preloads these modules.
pub(super) static NEEDED: LazyLock<Vec<String>> =
    LazyLock::new(|| bundle::script("notebook.js", &text_of).map(|one| one.vendored).unwrap_or_default());

fn text_of(path: &str) -> Option<String> {
    String::from_utf8(Web::get(path)?.data.into_owned()).ok()
}

/// `GET /assets/{hash}/{path}`.
pub(crate) async fn asset(request: HttpRequest, path: PathParams) -> Result<HttpResponse, Problem> {
    let missing = || Problem::not_found("find the file", "this version of Ratoon has no such file");
    let [hash, path] = path.0.as_slice() else { return Err(missing()) };
    if PREFIX.strip_prefix("/assets/") != Some(hash) {
        return Err(missing());
    }
    let (hash, plain) = match JOINED.get(path) {
        Some(joined) => (joined.hash, Cow::Borrowed(joined.text.as_bytes())),
        None => Web::get(path).map(|file| (file.metadata.sha256_hash(), file.data)).ok_or_else(missing)?,
    };
    let content_type = content_type(path).ok_or_else(missing)?;
    let mut response = HttpResponse::Ok();
    response
        .insert_header((CONTENT_TYPE, content_type))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .insert_header((VARY, ACCEPT_ENCODING.as_str()));
    Ok(match PACKED.get(&hash) {
        Some(packed) if takes("br", request.headers()) => {
            response.insert_header((CONTENT_ENCODING, "br")).body(*packed)
        }
        _ => response.body(plain.into_owned()),
    })
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
pub(crate) async fn frame() -> Result<HttpResponse, Problem> {
    let file =
        Web::get("frame.html").ok_or_else(|| Problem::internal("the output frame is not in this build"))?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/html; charset=utf-8"))
        .body(file.data.into_owned()))
}

/// The content type for a file's extension; `None` if such files must not be served. HTML documents
/// have separate routes and headers, so they are not served here.
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
    fn what_a_page_begins_with_is_joined() {
        let files = bundle::all(&text_of).expect("every form of import and export is understood");
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "early.js",
                "home.js",
                "home/home.css",
                "notebook-later.js",
                "notebook.js",
                "signin.js",
                "strip-token.js",
                "style/base.css",
                "style/later.css",
                "style/notebook.css",
                "style/plain.css",
            ]
        );
        assert_eq!(*NEEDED, ["vendor/codemirror.js", "vendor/preact.js"]);
        assert!(files["notebook.js"].contains("// cell/cell.js\n"));
        assert!(files["notebook-later.js"].contains("// commands/palette.js\n"));
        assert!(!files["style/notebook.css"].contains("@import"));
    }
}
