//! Tests of pages, of the page's files, and of their security headers.

use crate::request::{Answer, Request};
use crate::server::{TOKEN, TestServer};

fn check_common(what: &str, answer: &Answer) {
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{what}");
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{what}");
    assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"), "{what}");
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{what}");
    assert!(
        answer.header("content-security-policy").is_some_and(|csp| csp.contains("frame-ancestors")),
        "{what}"
    );
    assert!(answer.header("server").is_none() && answer.header("x-powered-by").is_none(), "{what}");
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{what}");
}

#[test]
fn every_answer_has_the_security_headers() {
    let server = TestServer::start();
    for (what, answer) in [
        ("a page", server.owner(Request::get("/n/main").by_browser())),
        ("the sign-in page", server.send(Request::get("/n/main").by_browser())),
        ("the exchange page", server.send(Request::get(&format!("/?token={TOKEN}")).by_browser())),
        ("data", server.owner(Request::get("/states"))),
        ("401", server.send(Request::get("/states"))),
        ("404", server.owner(Request::get("/nothing"))),
        ("405", server.owner(Request::new("PUT", "/states"))),
        ("415", server.owner(Request::new("POST", "/execute").body("x"))),
        ("400", server.owner(Request::post("/execute", "x"))),
        ("403", server.send(Request::new("OPTIONS", "/states"))),
        ("421", server.send(Request::get("/states").header("host", "evil.test"))),
        ("no notebook", server.owner(Request::get("/n/none").by_browser())),
    ] {
        check_common(what, &answer);
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
    }
}

#[test]
fn the_page_may_load_nothing_but_its_own_files() {
    let server = TestServer::start();
    let page = server.owner(Request::get("/n/main").by_browser());
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let csp = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(csp.split("; ").any(|own| own == rule), "{rule} in {csp}");
    }
    assert!(!csp.contains("unsafe"));
}

#[test]
fn the_output_frame_has_an_origin_of_its_own() {
    let server = TestServer::start();
    let frame = server.send(Request::get("/frame/v1"));
    assert_eq!((frame.status, frame.header("content-type")), (200, Some("text/html; charset=utf-8")));
    check_common("the frame", &frame);
    assert_eq!(
        frame.header("content-security-policy"),
        Some(
            "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob: \
            data:; \
             style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; \
             worker-src blob:; \
             connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors \
             'self'"
        )
    );
}

#[test]
fn files_have_addresses_by_content_and_are_cached_for_ever() {
    let server = TestServer::start();
    let page = server.owner(Request::get(&format!("/?token={TOKEN}"))).status;
    assert_eq!(page, 401, "a request with two tokens is refused");
    let page = server.send(Request::get(&format!("/?token={TOKEN}"))).text();
    let script = page.split('"').find(|part| part.ends_with("/strip-token.js")).unwrap().to_owned();
    let file = server.send(Request::get(&script));
    assert_eq!((file.status, file.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
    check_common("a file", &file);
    let prefix = script.trim_end_matches("strip-token.js");
    // The program contains texts only compressed. Without brotli, a client gets them unpacked.
    let vendored = format!("{prefix}vendor/preact.js");
    let plain = server.owner(Request::get(&vendored));
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
    assert_eq!(plain.text(), include_str!("../../web/vendor/preact.js"));
    let packed = server.owner(Request::get(&vendored).header("accept-encoding", "gzip, br"));
    assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("br")));
    assert!(packed.body.len() < plain.body.len() / 2);
    for none in [
        "nothing.js",
        "frame.html",
        "preact.js",
        "vendor/preact.js.br",
        "cell/cell.js",
        "",
        "../Cargo.toml",
        "..%2fCargo.toml",
        "%2e%2e/Cargo.toml",
        ".",
        "strip-token.js/",
    ] {
        let answer = server.owner(Request::get(&format!("{prefix}{none}")));
        assert_eq!(answer.status, 404, "{none}");
    }
    assert_eq!(server.owner(Request::get("/assets/0123456789abcdef/strip-token.js")).status, 404);
    for odd in ["bytes=0-1", "bytes=5-1", "bytes=-", "bytes=99999999999999999999-", "x"] {
        assert_eq!(server.send(Request::get(&script).header("range", odd)).status, 200, "{odd}");
    }
}

#[test]
fn browsers_get_a_page_and_programs_get_json() {
    let server = TestServer::start();
    let person = server.send(Request::get("/n/main").by_browser());
    assert_eq!((person.status, person.header("content-type")), (401, Some("text/html; charset=utf-8")));
    let program = server.send(Request::get("/n/main"));
    assert_eq!((program.status, program.error_code().as_str()), (401, "unauthorized"));
}

/// A browser sends no `SameSite=Strict` cookie when the user clicks a link on another site. The
/// answer is a page that requests the same address from our origin.
#[test]
fn a_link_on_another_site_is_requested_again_from_our_own_page() {
    let server = TestServer::start();
    let visit = |site: &str| {
        let request = Request::get("/n/main").by_browser().header("sec-fetch-site", site);
        server.send(request.header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document"))
    };
    let from_elsewhere = visit("cross-site");
    assert_eq!(from_elsewhere.status, 401);
    assert!(
        from_elsewhere.text().contains("strip-token.js") && from_elsewhere.header("set-cookie").is_none()
    );
    let from_here = visit("same-origin");
    assert_eq!(from_here.status, 401);
    assert!(!from_here.text().contains("strip-token.js"), "the page would load itself for ever");
}

#[test]
fn get_and_head_requests_have_no_effect() {
    let server = TestServer::start();
    for path in ["/n/other", "/api/notebooks/other", "/ws/other"] {
        assert_eq!(server.owner(Request::get(path)).status, 404, "{path}");
    }
    assert_eq!(server.owner(Request::get("/api/notebooks")).json()["notebooks"], serde_json::json!(["main"]));
    for path in ["/", "/n/main", "/states", "/health"] {
        let head = server.owner(Request::new("HEAD", path));
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
    }
    // No query parameter redirects to another site.
    for query in ["next=//evil.test", "url=http://evil.test", "server=http://evil.test"] {
        let page = server.owner(Request::get(&format!("/n/main?{query}")).by_browser());
        assert_eq!(page.status, 200);
        assert!(page.header("location").is_none() && !page.text().contains("evil.test"));
    }
}

#[test]
fn a_notebooks_name_in_the_page_is_text() {
    let server = TestServer::start_with(&["my notes"]);
    assert!(server.greeting.contains("/n/my%20notes?token="), "{}", server.greeting);
    assert_eq!(server.owner(Request::get("/n/my%20notes").by_browser()).status, 200);
    let bad = server.owner(Request::post("/api/notebooks", r#"{"name":"<img src=x>"}"#));
    assert_eq!((bad.status, bad.error_code().as_str()), (400, "bad_request"));
}

#[test]
fn plotting_libraries_are_served_from_the_environment_as_text() {
    let server = TestServer::start();
    let missing = server.owner(Request::get("/api/libraries/nothing-like-it"));
    assert_eq!((missing.status, missing.body.len()), (204, 0));
    assert_eq!(server.send(Request::get("/api/libraries/plotly")).status, 401);
    let found = server.owner(Request::get("/api/libraries/plotly"));
    if found.status == 204 {
        return; // this Python has no plotly
    }
    assert_eq!((found.status, found.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert!(
        found.header("content-security-policy").unwrap().contains("sandbox"),
        "no script of the answer runs in our origin"
    );
    assert!(found.text().contains("Plotly"));
}
