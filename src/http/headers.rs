//! The security headers of all answers.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};

/// The policy for our pages. A page loads only our own files, contains no inline scripts or styles,
/// and embeds only the output frame. No other page may embed our pages.
const PAGE_CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; \
    frame-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'";

/// The policy for the page of a terminal. xterm.js sets colours by styles that it writes into the
/// page. The page contains nothing but the terminal, as text.
const TERMINAL_CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self'; font-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'";

/// The policy for the output frame. Scripts in the frame run in an opaque origin and have no
/// network access. `sandbox` also applies when a user opens the frame in a tab.
const FRAME_CSP: &str = "sandbox allow-scripts; default-src 'none'; \
    script-src 'unsafe-inline' 'unsafe-eval' blob: data:; style-src 'unsafe-inline'; \
    img-src data: blob:; font-src data:; media-src data: blob:; worker-src blob:; connect-src 'none'; \
    frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// The policy for our own files. A worker uses the policy of its script file.
const ASSET_CSP: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The policy for data. A browser that displays the data runs no scripts and loads nothing.
const DATA_CSP: &str =
    "default-src 'none'; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The kind of an answer, which decides its content security policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A page of ours.
    Page,
    /// The page of a terminal.
    Terminal,
    /// The frame in which outputs run.
    Frame,
    /// A file of ours, which never changes under its URL.
    Asset,
    /// JSON, and every other answer.
    Data,
}

/// Sets the security headers.
pub(crate) fn harden(headers: &mut HeaderMap, content: Content) {
    let csp = match content {
        Content::Page => PAGE_CSP,
        Content::Terminal => TERMINAL_CSP,
        Content::Frame => FRAME_CSP,
        Content::Asset => ASSET_CSP,
        Content::Data => DATA_CSP,
    };
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, csp),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let lasting = content == Content::Asset && headers.contains_key(CACHE_CONTROL);
    if !lasting {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
