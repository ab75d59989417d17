//! The sender of a request: the credential in the request, and the access that it gives.

use super::url::query_values;
use crate::http::auth::{Access, LINK_COOKIE};
use crate::problem::{Kind, Problem};
use actix_web::dev::{Payload, RequestHead};
use actix_web::http::header::{AUTHORIZATION, COOKIE, HeaderMap};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use std::future::{Ready, ready};

/// Maximum number of share links' cookies that are tried for a request. So a browser can have this
/// many links open at the same time.
const MAX_LINK_COOKIES_TRIED: usize = 64;

/// Maximum number of cookies with the owner's cookie name that are tried for a request. Another
/// server on this machine can set cookies of the same name, so the first one may not be ours.
const MAX_COOKIES_TRIED: usize = 4;

/// The sender of a request that passed the guard.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The rights of the caller; `None` only on public routes.
    pub(crate) access: Option<Access>,
    /// Whether the token is in the URL.
    pub(crate) token_in_url: bool,
}

impl Caller {
    /// The rights of the caller.
    ///
    /// # Errors
    /// 401 on a public route, which needs no credential.
    pub(crate) fn access(&self) -> Result<&Access, Problem> {
        self.access.as_ref().ok_or_else(unauthorized)
    }
}

/// The error for a request without a valid credential.
pub(crate) fn unauthorized() -> Problem {
    Problem::new(
        Kind::Unauthorized,
        "authenticate the request",
        "it has no valid token or session",
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

/// The credential in a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Credential {
    /// The request has no credential.
    Missing,
    /// A token. The cookies of the request are ignored, because a browser adds cookies to every
    /// request.
    Token {
        /// The token.
        token: String,
        /// Whether it is in the URL.
        in_url: bool,
    },
    /// Names and values of the cookies of browser sessions.
    Cookies(Vec<(String, String)>),
    /// The request has several tokens, or a token that cannot be decoded.
    Unclear,
}

impl Credential {
    /// Reads the credential of a request. `cookie` is the name of the owner's session cookie.
    pub(crate) fn of(head: &RequestHead, cookie: &str) -> Self {
        let in_url: Vec<Option<String>> = query_values(head.uri.query().unwrap_or_default(), "token");
        let in_header: Vec<Option<String>> =
            head.headers.get_all(AUTHORIZATION).map(|v| v.to_str().ok().and_then(bearer)).collect();
        match (in_url.as_slice(), in_header.as_slice()) {
            ([], []) => Self::from_cookies(&head.headers, cookie),
            ([Some(token)], []) => Self::Token { token: token.clone(), in_url: true },
            ([], [Some(token)]) => Self::Token { token: token.clone(), in_url: false },
            _ => Self::Unclear,
        }
    }

    fn from_cookies(headers: &HeaderMap, name: &str) -> Self {
        let pairs = || {
            let headers = headers.get_all(COOKIE).filter_map(|header| header.to_str().ok());
            headers.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='))
        };
        let is_links = |own: &str| own.strip_prefix(name).is_some_and(|rest| rest.starts_with(LINK_COOKIE));
        let owners = pairs().filter(|(own, _)| *own == name).take(MAX_COOKIES_TRIED);
        let links = pairs().filter(|(own, _)| is_links(own)).take(MAX_LINK_COOKIES_TRIED);
        let cookies: Vec<_> = owners.chain(links).map(|(own, id)| (own.to_owned(), id.to_owned())).collect();
        if cookies.is_empty() { Self::Missing } else { Self::Cookies(cookies) }
    }
}

/// The names and values of a request's session cookies.
pub(crate) fn session_cookies(request: &HttpRequest, cookie: &str) -> Vec<(String, String)> {
    match Credential::of(request.head(), cookie) {
        Credential::Cookies(all) => all,
        Credential::Missing | Credential::Token { .. } | Credential::Unclear => Vec::new(),
    }
}

fn bearer(value: &str) -> Option<String> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn credential(uri: &str, headers: &[(&'static str, &str)]) -> Credential {
        let request = headers.iter().fold(TestRequest::with_uri(uri), |r, h| r.append_header((h.0, h.1)));
        Credential::of(request.to_http_request().head(), "ratoon_8080")
    }

    fn token(token: &str, in_url: bool) -> Credential {
        Credential::Token { token: token.into(), in_url }
    }

    #[test]
    fn a_token_stands_in_the_query_or_in_the_authorization_header() {
        assert_eq!(credential("/states?token=abc", &[]), token("abc", true));
        assert_eq!(credential("/states?x=1&tok%65n=a%2Bb+c", &[]), token("a+b c", true));
        assert_eq!(credential("/states", &[("authorization", "Bearer abc")]), token("abc", false));
        assert_eq!(credential("/states", &[("authorization", "bearer abc")]), token("abc", false));
        assert_eq!(credential("/states?token=", &[]), token("", true));
    }

    #[test]
    fn two_tokens_or_an_unreadable_one_are_unclear() {
        let unclear = [
            credential("/?token=a&token=a", &[]),
            credential("/?token=a", &[("authorization", "Bearer a")]),
            credential("/?token=%ff", &[]),
            credential("/?token=%4", &[]),
            credential("/", &[("authorization", "Basic dGVzdDE6MjM=")]),
            credential("/", &[("authorization", "Bearer")]),
            credential("/", &[("authorization", "Bearer a"), ("authorization", "Bearer a")]),
        ];
        for one in unclear {
            assert_eq!(one, Credential::Unclear);
        }
    }

    #[test]
    fn other_keys_are_not_the_token() {
        for uri in ["/", "/?tokens=a", "/?Token=a", "/?token[]=a", "/?x=token=a", "/#token=a"] {
            assert_eq!(credential(uri, &[]), Credential::Missing, "{uri}");
        }
    }

    #[test]
    fn our_cookies_are_found_among_thousands() {
        let pile = format!("{}ratoon_80=no; ratoon_8080=yes; ratoon_80800=no", "junk=x; ".repeat(3000));
        let cookies = |pairs: &[(&str, &str)]| {
            Credential::Cookies(
                pairs.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned())).collect(),
            )
        };
        assert_eq!(credential("/", &[("cookie", &pile)]), cookies(&[("ratoon_8080", "yes")]));
        assert_eq!(
            credential("/", &[("cookie", "ratoon_8080=a"), ("cookie", "ratoon_8080=b")]),
            cookies(&[("ratoon_8080", "a"), ("ratoon_8080", "b")])
        );
        // The owner's cookies come first, even if the browser has many links open.
        let links = (0..100).map(|n| format!("ratoon_8080_link-{n}=x; ")).collect::<String>();
        let Credential::Cookies(all) = credential("/", &[("cookie", &format!("{links}ratoon_8080=own"))])
        else {
            panic!("there are cookies")
        };
        assert_eq!((all[0].1.as_str(), all.len()), ("own", 1 + MAX_LINK_COOKIES_TRIED));
        assert_eq!(credential("/?token=t", &[("cookie", "ratoon_8080=a")]), token("t", true));
    }
}
