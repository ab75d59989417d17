//! Checks where a request comes from: `Host`, `Origin` and `Sec-Fetch-Site`, each compared exactly.
//!
//! `Host` stops DNS rebinding. `Origin` and `Sec-Fetch-Site` stop pages of other sites and of other
//! ports of this machine, because browsers may add our cookie to requests of such pages. Forwarding
//! headers are ignored.

use crate::problem::{Kind, Problem};
use actix_web::dev::RequestHead;
use actix_web::http::header::{HOST, HeaderMap, HeaderName, ORIGIN};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The hosts and ports by which clients may address this server.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// `host:port`, lower case.
    accepted: Vec<String>,
    /// The accepted hosts that the owner named. A proxy may serve these hosts over https.
    proxied: Vec<String>,
}

impl Hosts {
    /// Accepts the loopback names with the bound port, the bound address, and the hosts that the
    /// owner named.
    pub(crate) fn new(bound: std::net::SocketAddr, named: &[String]) -> Self {
        let port = bound.port();
        let mut accepted: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].iter().map(|host| format!("{host}:{port}")).collect();
        if !bound.ip().is_unspecified() {
            accepted.push(bound.to_string());
        }
        if port == 80 {
            let bare: Vec<String> =
                accepted.iter().filter_map(|a| a.strip_suffix(":80")).map(str::to_owned).collect();
            accepted.extend(bare);
        }
        let proxied: Vec<String> = named.iter().map(|n| n.to_ascii_lowercase()).collect();
        accepted.extend(proxied.iter().cloned());
        Self { accepted, proxied }
    }

    /// Returns the host that the request addresses, if it is one of ours.
    pub(crate) fn check(&self, head: &RequestHead) -> Result<String, Problem> {
        let host = one(&head.headers, &HOST).ok().flatten().map(str::to_ascii_lowercase);
        let host = host.filter(|h| self.accepted.contains(h)).ok_or_else(misdirected)?;
        // The request line `GET http://other/ HTTP/1.1` also contains a host.
        if head.uri.authority().is_some_and(|a| !a.as_str().eq_ignore_ascii_case(&host)) {
            return Err(misdirected());
        }
        Ok(host)
    }

    /// Refuses an `Origin` other than the host that the request addresses.
    pub(crate) fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<(), Problem> {
        let own = |origin: &str| {
            let http = origin.strip_prefix("http://") == Some(host);
            let https =
                origin.strip_prefix("https://") == Some(host) && self.proxied.iter().any(|p| p == host);
            http || https
        };
        match one(headers, &ORIGIN) {
            Ok(None) => Ok(()),
            Ok(Some(origin)) if own(origin) => Ok(()),
            _ => Err(foreign("its Origin header names another server")),
        }
    }
}

/// Refuses a request that a browser sends for another site's page. Allows one exception: a link
/// that opens one of our pages (`is_page`).
pub(crate) fn check_fetch_site(headers: &HeaderMap, is_page: bool) -> Result<(), Problem> {
    match one(headers, &SEC_FETCH_SITE) {
        Ok(None | Some("same-origin" | "none")) => Ok(()),
        Ok(Some("same-site" | "cross-site")) if is_page && is_visit(headers) => Ok(()),
        _ => Err(foreign("the browser reports that a page of another site sent it")),
    }
}

/// Whether another site opens the page. In this case the browser withholds our cookie.
pub(crate) fn comes_from_elsewhere(headers: &HeaderMap) -> bool {
    matches!(one(headers, &SEC_FETCH_SITE), Ok(Some("same-site" | "cross-site")))
}

fn is_visit(headers: &HeaderMap) -> bool {
    one(headers, &SEC_FETCH_MODE) == Ok(Some("navigate"))
        && one(headers, &SEC_FETCH_DEST) == Ok(Some("document"))
}

/// The value of a header. Fails if the header occurs more than once or is not printable ASCII.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut values = headers.get_all(name);
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        _ => Err(()),
    }
}

fn misdirected() -> Problem {
    Problem::new(
        Kind::Misdirected,
        "accept the request",
        "its Host header names another server",
        "use the address that was printed at start, or start the server with --reachable-as HOST:PORT",
    )
}

fn foreign(why: &str) -> Problem {
    Problem::new(
        Kind::ForeignOrigin,
        "accept the request",
        why,
        "send it from this server's own page, or from a program without browser headers",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn hosts() -> Hosts {
        Hosts::new("127.0.0.1:8080".parse().unwrap(), &["Nb.Example:443".into()])
    }

    fn host_passes(host: &str) -> bool {
        let request = TestRequest::default().insert_header((HOST, host)).to_http_request();
        hosts().check(request.head()).is_ok()
    }

    #[test]
    fn exactly_our_names_are_accepted() {
        for good in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:8080", "nb.example:443"] {
            assert!(host_passes(good), "{good}");
        }
        for bad in [
            "",
            "localhost",
            "127.0.0.1",
            "localhost:80",
            "localhost:8081",
            "localhost:08080",
            "localhost.:8080",
            "127.0.0.2:8080",
            "127.1:8080",
            "0.0.0.0:8080",
            "2130706433:8080",
            "0x7f000001:8080",
            "127.0.0.1.evil.test:8080",
            "localhost:8080.evil.test",
            "evil.test:8080",
            "127.evil.test:8080",
            "user@localhost:8080",
            "localhost:8080 ",
            "[::]:8080",
            "[0:0:0:0:0:0:0:1]:8080",
            "::1:8080",
            "xn--lcalhost-n4a:8080",
        ] {
            assert!(!host_passes(bad), "{bad}");
        }
    }

    #[test]
    fn a_host_said_twice_is_refused() {
        let twice =
            TestRequest::default().append_header((HOST, "localhost:8080")).append_header((HOST, "evil"));
        assert!(hosts().check(twice.to_http_request().head()).is_err());
        assert!(hosts().check(TestRequest::default().to_http_request().head()).is_err());
    }

    fn origin_passes(origin: &str) -> bool {
        let request = TestRequest::default().insert_header((ORIGIN, origin)).to_http_request();
        hosts().check_origin(request.headers(), "localhost:8080").is_ok()
    }

    #[test]
    fn exactly_our_origin_is_accepted() {
        assert!(origin_passes("http://localhost:8080"));
        for bad in [
            "null",
            "",
            "https://localhost:8080",
            "http://localhost",
            "http://localhost:80",
            "http://localhost:8080/",
            "http://LOCALHOST:8080",
            "http://127.0.0.1:8080",
            "http://localhost:8080.evil.test",
            "http://evil.test:8080",
            "http://localhost:8080@evil.test",
            "http://user@localhost:8080",
            "file://",
            "chrome-extension://localhost:8080",
            "http://localhost:8080 http://evil.test",
        ] {
            assert!(!origin_passes(bad), "{bad}");
        }
    }

    #[test]
    fn behind_a_proxy_the_scheme_may_be_https() {
        let request =
            TestRequest::default().insert_header((ORIGIN, "https://nb.example:443")).to_http_request();
        assert!(hosts().check_origin(request.headers(), "nb.example:443").is_ok());
        assert!(hosts().check_origin(request.headers(), "localhost:8080").is_err());
    }

    #[test]
    fn another_site_may_open_a_page_and_nothing_else() {
        let passes = |site: &str, mode: &str, dest: &str, is_page| {
            let request = TestRequest::default()
                .insert_header((SEC_FETCH_SITE, site))
                .insert_header((SEC_FETCH_MODE, mode))
                .insert_header((SEC_FETCH_DEST, dest))
                .to_http_request();
            check_fetch_site(request.headers(), is_page).is_ok()
        };
        for site in ["same-origin", "none"] {
            assert!(passes(site, "cors", "empty", false));
        }
        for site in ["same-site", "cross-site"] {
            assert!(passes(site, "navigate", "document", true));
            assert!(!passes(site, "navigate", "document", false));
            assert!(!passes(site, "navigate", "iframe", true));
            assert!(!passes(site, "no-cors", "script", true));
        }
        assert!(!passes("SAME-ORIGIN", "cors", "empty", false));
        assert!(!passes("", "navigate", "document", true));
    }
}
