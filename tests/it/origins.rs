//! Tests that the server answers its own page and programs, and refuses other sites, other ports
//! and rebound names.

use crate::request::Request;
use crate::server::{TOKEN, TestServer};
use crate::wire::Wire;

#[test]
fn a_foreign_host_is_refused_on_every_path_first() {
    let server = TestServer::start();
    let port = server.address.port();
    let bad = [
        "".into(),
        "localhost".into(),
        "127.0.0.1".into(),
        format!("evil.test:{port}"),
        format!("127.evil.test:{port}"),
        format!("127.0.0.1.evil.test:{port}"),
        format!("localhost:{port}.evil.test"),
        format!("localhost.:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::]:{port}"),
        format!("127.1:{port}"),
        format!("2130706433:{port}"),
        format!("localhost:{}", port ^ 1),
        format!("x@localhost:{port}"),
    ];
    for host in &bad {
        for request in [
            Request::get("/"),
            Request::get("/states").bearer(TOKEN),
            Request::get("/health"),
            Request::get("/frame/v1"),
            Request::post("/reset", "{}").bearer(TOKEN),
            Wire::handshake("/ws/main").bearer(TOKEN),
            Request::get(&format!("/n/main?token={TOKEN}")).by_browser(),
        ] {
            let answer = server.send(request.clone().header("host", host));
            assert!(matches!(answer.status, 421 | 400), "{request:?} to {host:?}: {answer:?}");
            assert!(answer.header("set-cookie").is_none());
        }
    }
    for host in [format!("localhost:{port}"), format!("LocalHost:{port}"), format!("[::1]:{port}")] {
        assert_eq!(server.send(Request::get("/health").header("host", &host)).status, 200, "{host}");
    }
}

#[test]
fn a_person_at_an_unknown_address_reads_what_to_do() {
    let server = TestServer::start();
    for (host, shown) in [("localhost:9000", "localhost:9000"), ("<b>", "&#60;b&#62;")] {
        let answer = server.send(Request::get("/n/main").by_browser().header("host", host));
        assert_eq!(answer.status, 421, "{answer:?}");
        let page = answer.text();
        assert!(page.contains(&format!("ratoon --reachable-as {shown}")), "{page}");
        for file in ["src=", "href="] {
            assert!(!page.contains(file), "a file of this server would be refused: {page}");
        }
    }
}

#[test]
fn the_host_must_occur_once_and_match_the_request_line() {
    let server = TestServer::start();
    let host = server.host();
    let raw = |text: String| Wire::open(server.address).ask(text.as_bytes()).status;
    let twice = format!("GET /health HTTP/1.1\r\nhost: {host}\r\nhost: evil.test\r\n\r\n");
    assert!(matches!(raw(twice), 400 | 421));
    assert!(matches!(raw("GET /health HTTP/1.1\r\n\r\n".into()), 400 | 421));
    let absolute =
        |authority: &str| format!("GET http://{authority}/health HTTP/1.1\r\nhost: {host}\r\n\r\n");
    assert_eq!(raw(absolute("evil.test")), 421);
    assert_eq!(raw(absolute(&format!("x@{host}"))), 421);
    assert_eq!(raw(absolute(&host)), 200);
    let forwarded = Request::get("/health").header("host", "evil.test").header("x-forwarded-host", &host);
    assert_eq!(server.send(forwarded).status, 421);
}

#[test]
fn another_origin_is_refused_even_with_the_token() {
    let server = TestServer::start();
    let port = server.address.port();
    let own = format!("http://127.0.0.1:{port}");
    let requests = || {
        [
            Request::get(&format!("/states?token={TOKEN}")),
            Request::get("/api/notebooks/main").bearer(TOKEN),
            Request::post("/reset", "{}").bearer(TOKEN),
            Request::new("DELETE", "/states/none").bearer(TOKEN),
            Wire::handshake("/ws/main").bearer(TOKEN),
        ]
    };
    for origin in [
        "null".into(),
        "http://evil.test".into(),
        format!("http://evil.test:{port}"),
        format!("http://localhost:{port}"),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", port ^ 1),
        format!("http://127.0.0.1:{port}.evil.test"),
        format!("http://127.0.0.1:{port}/"),
        "http://127.0.0.1".into(),
        format!("http://127.0.0.1:{port} http://evil.test"),
        "file://".into(),
    ] {
        for request in requests() {
            let answer = server.send(request.clone().header("origin", &origin));
            assert_eq!(answer.status, 403, "{request:?} from {origin}: {answer:?}");
            assert_eq!(answer.error_code(), "foreign_origin");
        }
    }
    for (request, status) in requests().into_iter().zip([200, 200, 200, 404, 101]) {
        assert_eq!(server.send(request.clone().header("origin", &own)).status, status, "{request:?}");
    }
}

#[test]
fn another_site_may_open_a_page_and_nothing_else() {
    let server = TestServer::start();
    let from = |request: Request, site: &str, mode: &str, dest: &str| {
        let request = request.header("sec-fetch-site", site).header("sec-fetch-mode", mode);
        server.send(request.header("sec-fetch-dest", dest))
    };
    for site in ["cross-site", "same-site"] {
        for (mode, dest) in
            [("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe"), ("websocket", "websocket")]
        {
            for path in ["/states", "/n/main", "/health", "/frame/v1", "/api/openapi.json"] {
                assert_eq!(
                    from(Request::get(path).bearer(TOKEN), site, mode, dest).status,
                    403,
                    "{path} {site} {mode}"
                );
            }
        }
        assert_eq!(from(Request::get("/states").bearer(TOKEN), site, "navigate", "document").status, 403);
        let page = from(Request::get("/n/main").bearer(TOKEN).by_browser(), site, "navigate", "document");
        assert_eq!(page.status, 200);
        let handshake = Wire::handshake("/ws/main").bearer(TOKEN);
        assert_eq!(from(handshake, site, "websocket", "websocket").status, 403);
    }
    assert_eq!(from(Request::get("/states").bearer(TOKEN), "same-origin", "cors", "empty").status, 200);
    assert_eq!(from(Request::get("/states").bearer(TOKEN), "none", "navigate", "document").status, 200);
}

#[test]
fn no_preflight_of_another_origin_is_allowed() {
    let server = TestServer::start();
    for path in ["/states", "/execute", "/nothing", "/health"] {
        let preflight = Request::new("OPTIONS", path)
            .header("access-control-request-method", "POST")
            .header("access-control-request-private-network", "true");
        for request in [
            preflight.clone(),
            preflight.clone().bearer(TOKEN),
            preflight.header("origin", "http://evil.test"),
        ] {
            let answer = server.send(request);
            assert_eq!(answer.status, 403, "{path}");
            assert!(
                answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")),
                "{answer:?}"
            );
        }
    }
}

#[test]
fn a_form_on_another_page_has_no_effect() {
    let server = TestServer::start();
    let cookie = server.send(Request::get(&format!("/?token={TOKEN}"))).cookie();
    let post = |content_type: Option<&str>, body: &str| {
        let request = Request::new("POST", "/interrupt").header("cookie", &cookie).body(body);
        server.send(content_type.into_iter().fold(request, |r, t| r.header("content-type", t))).status
    };
    let body = r#"{"exec_id":"x"}"#;
    for bad in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("multipart/form-data; boundary=x"),
        Some("text/plain; application/json"),
        Some("application/jsonp"),
        Some("application/json; charset=latin1"),
        Some("application/json, text/plain"),
    ] {
        assert_eq!(post(bad, body), 415, "{bad:?}");
    }
    for good in ["application/json", "Application/JSON; charset=UTF-8"] {
        assert_eq!(post(Some(good), body), 200, "{good}");
    }
    let empty = Request::new("POST", "/reset");
    assert_eq!(server.send(empty.clone().header("cookie", &cookie)).status, 415, "a form without fields");
    assert_eq!(server.send(empty.clone().bearer(TOKEN)).status, 200);
    let overridden = Request::get("/states/initial").header("x-http-method-override", "DELETE");
    assert_ne!(server.send(overridden.bearer(TOKEN)).status, 204);
    assert_eq!(server.owner(Request::get("/states")).json()["states"][0], "initial");
}
