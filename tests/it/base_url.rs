//! Tests of `--base-url`: every address is below the base path, and nothing outside it is served.

use crate::request::Request;
use crate::server::{TOKEN, TestServer, output_of};
use crate::wire::Wire;
use serde_json::json;

const BASE: &str = "/user/ada@x/ratoon";

fn start() -> TestServer {
    TestServer::start_with(&["--base-url", "/user/ada@x/ratoon/"])
}

#[test]
fn every_address_is_below_the_base_path() {
    let server = start();
    let below = |path: &str| format!("{BASE}{path}");
    assert!(server.greeting.contains(&below("/n/main?token=")), "{}", server.greeting);

    let exchange = server.send(Request::get(&below(&format!("/n/main?token={TOKEN}"))).by_browser());
    assert_eq!(exchange.status, 200);
    let set = exchange.header("set-cookie").unwrap();
    assert!(set.contains(&format!("Path={BASE};")), "{set}");
    let cookie = exchange.cookie();
    let by_cookie = |request: Request| server.send(request.header("cookie", &cookie));
    let home = by_cookie(Request::get(&below("/")).by_browser()).text();
    assert!(home.contains(&format!("href=\"{BASE}/n/main\"")), "{home}");
    assert_eq!(by_cookie(Request::get(BASE).by_browser()).text(), home, "without a slash at the end");
    let page = by_cookie(Request::get(&below("/n/main")).by_browser()).text();
    assert!(page.contains(&format!("data-base=\"{BASE}\"")), "{page}");

    // All files that the pages name are there.
    let files: Vec<_> =
        [&home, &page, &exchange.text(), &server.send(Request::get(BASE).by_browser()).text()]
            .iter()
            .flat_map(|html| html.split('"').filter(|text| text.contains("/assets/")))
            .map(str::to_owned)
            .collect();
    assert!(files.len() > 12, "{files:?}");
    for file in files {
        assert!(file.starts_with(BASE), "{file}");
        assert_eq!(by_cookie(Request::get(&file)).status, 200, "{file}");
    }

    let link = server.owner(Request::post(&below("/api/links"), r#"{"scope":"view"}"#)).json();
    let path = link["path"].as_str().unwrap();
    assert!(path.starts_with(&below("/n/main?token=")), "{path}");
    assert_eq!(server.send(Request::get(path).by_browser()).status, 200);

    let document = server.owner(Request::get(&below("/api/openapi.json"))).json();
    assert_eq!(document["servers"], json!([{ "url": BASE }]));

    let signed_out = by_cookie(Request::new("DELETE", &below("/api/session")));
    assert!(signed_out.header("set-cookie").unwrap().contains(&format!("Path={BASE};")));
    assert_eq!(by_cookie(Request::get(&below("/states"))).status, 401);
}

#[test]
fn an_encoded_base_path_is_accepted_and_nothing_outside_it_is_served() {
    let server = start();
    let handshake = |path: &str| Wire::handshake(path).bearer(TOKEN);
    assert_eq!(server.send(Request::get("/user/ada%40x/ratoon/health")).status, 200);
    assert_eq!(server.send(handshake("/user/ada%40x/ratoon/ws/main")).status, 101);
    for outside in
        ["/health", "/", "/user/ada@x/health", "/user/ada@x/ratoonx/health", "//user/ada@x/ratoon/"]
    {
        assert_eq!(server.owner(Request::get(outside)).status, 404, "{outside}");
        assert_eq!(server.send(Request::get(outside)).status, 401, "{outside}");
    }
    assert_eq!(server.send(handshake("/ws/main")).status, 404);
}

#[test]
fn an_invalid_base_path_is_refused() {
    for value in ["https://example.org/x/", "/a/../b/", "//a", "/a?b", "/a b", "/a;b"] {
        let output = output_of(&["--base-url", value]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("give a path such as /ratoon/"), "{errors}");
    }
}
