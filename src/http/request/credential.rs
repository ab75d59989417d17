//! The credential that a request carries: a token in the query or in `Authorization`, or session
//! cookies.

use super::query::query_values;
use crate::http::auth::LINK_COOKIE;
use actix_web::HttpRequest;
use actix_web::dev::RequestHead;
use actix_web::http::header::{AUTHORIZATION, COOKIE, HeaderMap};

/// Cookies of share links that are tried: a browser may have as many links open at once.
const MAX_LINK_COOKIES_TRIED: usize = 16;

/// How many cookies of our name are tried. Another server on this machine can set cookies that
/// shadow ours; ours is then still among them.
const MAX_COOKIES_TRIED: usize = 4;

/// What was shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing at all.
    Nothing,
    /// A token, said on purpose. It alone decides, whatever cookie comes with it.
    Token {
        /// The token.
        token: String,
        /// Whether it stood in the URL.
        in_url: bool,
    },
    /// Session ids from the cookies that a browser adds by itself, with the cookies' names.
    Cookies(Vec<(String, String)>),
    /// Something that cannot be a credential of ours, or two of them.
    Unclear,
}

impl Shown {
    /// Reads what a request shows. `cookie` is the name of our session cookie.
    pub(crate) fn by(head: &RequestHead, cookie: &str) -> Self {
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
        let shown: Vec<_> = owners.chain(links).map(|(own, id)| (own.to_owned(), id.to_owned())).collect();
        if shown.is_empty() { Self::Nothing } else { Self::Cookies(shown) }
    }
}

/// The session cookies that a request shows: their names, and the session ids in them.
pub(crate) fn session_cookies(request: &HttpRequest, cookie: &str) -> Vec<(String, String)> {
    match Shown::by(request.head(), cookie) {
        Shown::Cookies(all) => all,
        Shown::Nothing | Shown::Token { .. } | Shown::Unclear => Vec::new(),
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

    fn shown(uri: &str, headers: &[(&'static str, &str)]) -> Shown {
        let request = headers.iter().fold(TestRequest::with_uri(uri), |r, h| r.append_header((h.0, h.1)));
        Shown::by(request.to_http_request().head(), "ratoon_8080")
    }

    fn token(token: &str, in_url: bool) -> Shown {
        Shown::Token { token: token.into(), in_url }
    }

    #[test]
    fn a_token_may_be_said_in_two_ways() {
        assert_eq!(shown("/states?token=abc", &[]), token("abc", true));
        assert_eq!(shown("/states?x=1&tok%65n=a%2Bb+c", &[]), token("a+b c", true));
        assert_eq!(shown("/states", &[("authorization", "Bearer abc")]), token("abc", false));
        assert_eq!(shown("/states", &[("authorization", "bearer abc")]), token("abc", false));
        assert_eq!(shown("/states?token=", &[]), token("", true));
    }

    #[test]
    fn what_is_said_twice_or_otherwise_is_unclear() {
        let unclear = [
            shown("/?token=a&token=a", &[]),
            shown("/?token=a", &[("authorization", "Bearer a")]),
            shown("/?token=%ff", &[]),
            shown("/?token=%4", &[]),
            shown("/", &[("authorization", "Basic dGVzdDE6MjM=")]),
            shown("/", &[("authorization", "Bearer")]),
            shown("/", &[("authorization", "Bearer a"), ("authorization", "Bearer a")]),
        ];
        for one in unclear {
            assert_eq!(one, Shown::Unclear);
        }
    }

    #[test]
    fn other_keys_are_not_the_token() {
        for uri in ["/", "/?tokens=a", "/?Token=a", "/?token[]=a", "/?x=token=a", "/#token=a"] {
            assert_eq!(shown(uri, &[]), Shown::Nothing, "{uri}");
        }
    }

    #[test]
    fn cookies_of_our_name_are_found_in_a_pile() {
        let pile = format!("{}ratoon_80=no; ratoon_8080=yes; ratoon_80800=no", "junk=x; ".repeat(3000));
        let cookies = |pairs: &[(&str, &str)]| {
            Shown::Cookies(pairs.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned())).collect())
        };
        assert_eq!(shown("/", &[("cookie", &pile)]), cookies(&[("ratoon_8080", "yes")]));
        assert_eq!(
            shown("/", &[("cookie", "ratoon_8080=a"), ("cookie", "ratoon_8080=b")]),
            cookies(&[("ratoon_8080", "a"), ("ratoon_8080", "b")])
        );
        // The owner's come first, however many links a browser has open.
        let links = (0..40).map(|n| format!("ratoon_8080_link-{n}=x; ")).collect::<String>();
        let Shown::Cookies(all) = shown("/", &[("cookie", &format!("{links}ratoon_8080=own"))]) else {
            panic!("there are cookies")
        };
        assert_eq!((all[0].1.as_str(), all.len()), ("own", 1 + MAX_LINK_COOKIES_TRIED));
        assert_eq!(shown("/?token=t", &[("cookie", "ratoon_8080=a")]), token("t", true));
    }
}
