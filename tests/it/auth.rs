//! Tests that the server carries out no request without a valid credential.

use crate::request::Request;
use crate::server::{TOKEN, TestServer, until};
use crate::wire::Wire;

/// Returns every route of the server, as a method and a path that exists. The routes come from the
/// OpenAPI document, and from a list of routes that are not in this document.
fn routes(server: &TestServer) -> Vec<(String, String)> {
    let document = server.owner(Request::get("/api/openapi.json")).json();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let path = path
            .replace("/states/{name}", "/states/initial")
            .replace("{name}", "main")
            .replace("{id}", "initial")
            .replace("{task_id}", "task")
            .replace("{version}", "1");
        for method in methods.as_object().unwrap().keys() {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    routes.retain(|(_, path)| path != "/health");
    routes.extend([
        ("GET".into(), "/".into()),
        ("GET".into(), "/n/main".into()),
        ("GET".into(), "/ws/main".into()),
        ("GET".into(), "/terminal".into()),
        ("GET".into(), "/terminals/1".into()),
        ("POST".into(), "/mcp".into()),
    ]);
    assert!(routes.len() > 15);
    routes
}

/// A function that makes a request from a method and a path. The function adds a certain
/// credential.
type Asking = Box<dyn Fn(&str, &str) -> Request>;

/// Returns invalid credentials, each as its name and a function that makes a request with it.
fn bad_credentials(server: &TestServer) -> Vec<(&'static str, Asking)> {
    let cookie = format!("ratoon_{}", server.address.port());
    let in_cookie = move |value: &str| {
        let cookie = format!("{cookie}={value}");
        Box::new(move |method: &str, path: &str| Request::new(method, path).header("cookie", &cookie))
    };
    let header = |name: &'static str, value: String| -> Asking {
        Box::new(move |method, path| Request::new(method, path).header(name, &value))
    };
    let query = |query: String| -> Asking {
        Box::new(move |method, path| Request::new(method, &format!("{path}?{query}")))
    };
    vec![
        ("nothing", Box::new(|method: &str, path: &str| Request::new(method, path))),
        ("a wrong token", query("token=wrong".into())),
        ("an empty token", query("token=".into())),
        ("the token's beginning", query(format!("token={}", &TOKEN[..TOKEN.len() - 1]))),
        ("more than the token", query(format!("token={TOKEN}x"))),
        ("the token twice", query(format!("token={TOKEN}&token={TOKEN}"))),
        ("another key", query(format!("access_token={TOKEN}"))),
        ("Basic", header("authorization", "Basic b3duZXI6b3duZXI=".into())),
        ("the token without Bearer", header("authorization", TOKEN.into())),
        ("a wrong Bearer", header("authorization", "Bearer wrong".into())),
        ("another header", header("x-token", TOKEN.into())),
        ("a proxy's word", header("x-forwarded-for", "127.0.0.1".into())),
        ("a proxy's user", header("tailscale-user-login", "owner".into())),
        ("a wrong cookie", in_cookie("wrong")),
        ("the token as cookie", in_cookie(TOKEN)),
        ("an empty cookie", in_cookie("")),
    ]
}

#[test]
fn no_route_does_anything_without_a_valid_credential() {
    let server = TestServer::fresh();
    for (method, path) in routes(&server) {
        for (what, with) in bad_credentials(&server) {
            let mut request = with(&method, &path);
            if method == "POST" {
                request = request.header("content-type", "application/json").body("{}");
            }
            let answer = server.send(request);
            assert!(matches!(answer.status, 401 | 429), "{method} {path} with {what}: {answer:?}");
            assert!(!answer.text().contains(TOKEN));
        }
    }
    assert_eq!(server.owner(Request::get("/states")).json()["states"], serde_json::json!(["initial"]));
    assert_eq!(server.owner(Request::get("/api/links")).json()["links"], serde_json::json!([]));
    assert_eq!(server.owner(Request::get("/api/notebooks")).json()["notebooks"], serde_json::json!(["main"]));
}

#[test]
fn only_requests_with_a_credential_learn_which_paths_exist() {
    let server = TestServer::fresh();
    for path in ["/nothing", "/states/none", "/n/none", "/api/x", "/ws/none", "/assets"] {
        assert_eq!(server.send(Request::get(path)).status, 401, "{path}");
        assert_eq!(server.owner(Request::get(path)).status, 404, "{path}");
    }
    let put = server.owner(Request::new("PUT", "/states"));
    assert_eq!((put.status, put.header("allow")), (405, Some("GET")));
    assert_eq!(server.send(Request::new("PUT", "/states")).status, 401);
    assert_eq!(server.send(Request::get("/health")).status, 200);
}

#[test]
fn odd_paths_lead_to_no_handler() {
    let server = TestServer::fresh();
    let paths = [
        "//states",
        "/%73tates",
        "/states;x",
        "/assets/../states",
        "/assets/x/../../states",
        "/states%00",
        "/states/",
        "/./states",
        "/health/../states",
        "/frame/v1/../../states",
        "/%2e%2e/states",
        "/health%2f..%2fstates",
        "/STATES",
        "/health/",
        "/frame/v1/x",
        "/assets//states",
        "/states%20",
        "/health?x=/../states&/",
    ];
    for path in paths {
        let answer = server.send(Request::get(path));
        let public = path.starts_with("/health?");
        assert_eq!(answer.status, if public { 200 } else { 401 }, "{path}: {answer:?}");
        assert!(!answer.text().contains("initial"), "{path}");
    }
}

#[test]
fn guesses_of_the_token_are_slowed_and_the_owner_is_not() {
    let server = TestServer::fresh();
    let mut wire = Wire::open(server.address);
    let wrong = Request::get("/states").bearer("wrong").bytes(&server.host());
    let slowed = (0..1000)
        .map(|_| wire.ask(&wrong))
        .find(|answer| answer.status != 401)
        .expect("wrong tokens are never slowed");
    assert_eq!((slowed.status, slowed.header("retry-after")), (429, Some("1")));
    assert_eq!(slowed.error_code(), "too_many_failures");
    assert_eq!(server.owner(Request::get("/states")).status, 200);
}

#[test]
fn the_token_is_accepted_in_every_documented_way() {
    let server = TestServer::fresh();
    assert_eq!(server.send(Request::get(&format!("/states?token={TOKEN}"))).status, 200);
    assert_eq!(server.send(Request::get("/states").bearer(TOKEN)).status, 200);
    assert_eq!(server.send(Request::new("POST", &format!("/reset?token={TOKEN}"))).status, 200);
    assert_eq!(server.send(Request::new("POST", "/reset").bearer(TOKEN)).status, 200);
}

#[test]
fn a_token_is_exchanged_for_a_session_that_can_be_ended() {
    let server = TestServer::fresh();
    let exchange = server.send(Request::get(&format!("/n/main?token={TOKEN}")).by_browser());
    assert_eq!(exchange.status, 200);
    assert!(!exchange.text().contains(TOKEN), "the page contains the token");
    let set = exchange.header("set-cookie").unwrap().to_owned();
    assert!(set.starts_with(&format!("ratoon_{}=", server.address.port())), "{set}");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains(TOKEN));
    let cookie = exchange.cookie();
    let with_cookie = |request: Request| server.send(request.header("cookie", &cookie));
    assert_eq!(with_cookie(Request::get("/n/main").by_browser()).status, 200);
    assert_eq!(with_cookie(Request::get("/states")).status, 200);
    // A wrong token is refused even if the request also has a valid cookie.
    assert_eq!(with_cookie(Request::get("/states?token=wrong")).status, 401);

    assert_eq!(with_cookie(Request::new("DELETE", "/api/session")).status, 204);
    assert_eq!(with_cookie(Request::get("/states")).status, 401);
}

#[test]
fn many_cookies_of_other_servers_do_no_harm() {
    let server = TestServer::fresh();
    let cookie = server.send(Request::get(&format!("/?token={TOKEN}"))).cookie();
    let name = cookie.split('=').next().unwrap();
    let pile = format!("{}{name}=shadow; {cookie}", "other=xxxxxxxxxxxxxxxxxxxxxxxx; ".repeat(1000));
    assert_eq!(server.send(Request::get("/states").header("cookie", &pile)).status, 200);
}

#[test]
fn the_token_is_printed_once_and_readable_nowhere_else() {
    let server = TestServer::start_with(&[]);
    assert!(server.greeting.contains(TOKEN), "the server prints the token");
    for path in ["/states?token=wrong", "/nothing", "/states/%00"] {
        server.send(Request::get(path));
        server.owner(Request::get(path));
    }
    server.send(
        Request::get(&format!("/states?token={TOKEN}x"))
            .header("referer", &format!("http://x/?token={TOKEN}")),
    );
    let proc = |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let children = || {
        let of = |pid: u32| {
            let text = String::from_utf8(proc(pid, &format!("task/{pid}/children"))).unwrap();
            text.split_ascii_whitespace().map(|p| p.parse().unwrap()).collect::<Vec<u32>>()
        };
        std::fs::read_dir(format!("/proc/{}/task", server.pid()))
            .unwrap()
            .flat_map(|task| {
                let task: u32 = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
                let text = proc(server.pid(), &format!("task/{task}/children"));
                String::from_utf8(text)
                    .unwrap()
                    .split_ascii_whitespace()
                    .map(|p| p.parse().unwrap())
                    .collect::<Vec<u32>>()
            })
            .flat_map(|child| [vec![child], of(child)].concat())
            .collect::<Vec<_>>()
    };
    until("a kernel process runs", || !children().is_empty());
    let secret = |text: &[u8]| text.windows(TOKEN.len()).any(|w| w == TOKEN.as_bytes());
    for pid in children().into_iter().chain([server.pid()]) {
        for file in ["cmdline", "environ"] {
            assert!(!secret(&proc(pid, file)), "{file} of {pid}");
        }
    }
    assert!(!secret(server.errors().as_bytes()), "{}", server.errors());
}

#[test]
fn a_browser_session_survives_restarts_until_it_is_ended_or_the_token_changes() {
    let mut server = TestServer::fresh();
    let sign_in = |server: &TestServer| server.send(Request::get(&format!("/?token={TOKEN}"))).cookie();
    let status = |server: &TestServer, cookie: &str| {
        server.send(Request::get("/states").header("cookie", cookie)).status
    };
    let (kept, ended) = (sign_in(&server), sign_in(&server));
    let made = server.owner(Request::post("/api/links", r#"{"scope":"view"}"#)).json();
    let by_link = server.send(Request::get(&format!("/?token={}", made["token"].as_str().unwrap()))).cookie();
    assert_eq!(server.send(Request::new("DELETE", "/api/session").header("cookie", &ended)).status, 204);
    server.restart();
    assert_eq!((status(&server, &kept), status(&server, &ended), status(&server, &by_link)), (200, 401, 200));
    // The session keeps its rights and gets no further rights.
    let wish = || Request::post("/api/links", r#"{"scope":"view"}"#);
    assert_eq!(server.send(wish().header("cookie", &kept)).status, 201);
    assert_eq!(server.send(wish().header("cookie", &by_link)).status, 403);
    let link = format!("/api/links/{}", made["id"].as_str().unwrap());
    assert_eq!(server.owner(Request::new("DELETE", &link)).status, 204);
    server.restart();
    assert_eq!((status(&server, &kept), status(&server, &by_link)), (200, 401));
    server.kill();
    server.change_token("another-token-of-the-owner");
    assert!(server.start_again(&[]), "{}", server.errors());
    assert_eq!(status(&server, &kept), 401);
}

#[test]
fn a_browser_session_is_valid_only_on_a_server_whose_start_notebook_stores_it() {
    let mut server = TestServer::fresh();
    let sign_in = |server: &TestServer| server.send(Request::get(&format!("/?token={TOKEN}"))).cookie();
    let status = |server: &TestServer, cookie: &str| {
        server.send(Request::get("/api/notebooks").header("cookie", cookie)).status
    };
    let of_main = sign_in(&server);
    server.restart_with("other");
    assert_eq!(status(&server, &of_main), 401);
    let of_other = sign_in(&server);
    // Opening a notebook does not make its old browser sessions valid again.
    assert_eq!(server.owner(Request::get("/api/notebooks/main")).status, 200);
    assert_eq!((status(&server, &of_main), status(&server, &of_other)), (401, 200));

    server.restart_with("main");
    assert_eq!((status(&server, &of_main), status(&server, &of_other)), (200, 401));
    assert_eq!(server.send(Request::new("DELETE", "/api/session").header("cookie", &of_main)).status, 204);
    server.restart_with("other");
    assert_eq!((status(&server, &of_main), status(&server, &of_other)), (401, 200));
    assert_eq!(server.send(Request::new("DELETE", "/api/session").header("cookie", &of_other)).status, 204);
    for start in ["main", "other"] {
        server.restart_with(start);
        assert_eq!((status(&server, &of_main), status(&server, &of_other)), (401, 401), "{start}");
    }
}
