//! Tests of share links: making and revoking them, and the requests that they allow.

use crate::cells::Room;
use crate::request::Request;
use crate::server::{TestServer, until};
use crate::wire::Wire;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn link(server: &TestServer, wish: &str) -> (String, String) {
    let answer = server.owner(Request::post("/api/links", wish));
    assert_eq!(answer.status, 201, "{answer:?}");
    let link = answer.json();
    (link["id"].as_str().unwrap().into(), link["token"].as_str().unwrap().into())
}

#[test]
fn a_link_can_be_created_listed_used_and_revoked() {
    let server = TestServer::fresh();
    let made = server.owner(Request::post("/api/links", r#"{"scope":"view","label":"for Ada"}"#)).json();
    let token = made["token"].as_str().unwrap();
    assert_eq!(made["path"], format!("/n/main?token={token}"));
    assert_eq!(
        (&made["scope"], &made["notebook"], &made["expires_at"]),
        (&json!("view"), &json!("main"), &Value::Null)
    );

    let listed = || server.owner(Request::get("/api/links")).json()["links"].clone();
    assert_eq!((&listed()[0]["label"], &listed()[0]["last_used"]), (&json!("for Ada"), &Value::Null));
    assert!(!listed().to_string().contains(token), "the list does not contain the token");
    assert_eq!(server.send(Request::get("/states").bearer(token)).status, 200);
    assert!(listed()[0]["last_used"].as_u64() >= listed()[0]["created_at"].as_u64());

    let delete = Request::new("DELETE", &format!("/api/links/{}", made["id"].as_str().unwrap()));
    assert_eq!(server.owner(delete.clone()).status, 204);
    assert_eq!(server.owner(delete).status, 404);
    assert_eq!(listed(), json!([]));
    assert_eq!(server.send(Request::get("/states").bearer(token)).status, 401);
}

#[test]
fn a_link_allows_only_what_its_scope_says() {
    let server = TestServer::fresh();
    let (_, view) = link(&server, r#"{"scope":"view"}"#);
    let (_, run) = link(&server, r#"{"scope":"run"}"#);
    let command = |command: &str| Request::post("/api/notebooks/main/commands", command);
    // Each row has a request, whether a view link allows it, and whether a run link allows it.
    for (request, by_view, by_run) in [
        (Request::get("/"), true, true),
        (Request::get("/n/main"), true, true),
        (Wire::handshake("/ws/main"), true, true),
        (Request::get("/states"), true, true),
        (Request::get("/states/none"), true, true),
        (Request::get("/api/notebooks"), true, true),
        (Request::get("/api/notebooks/main"), true, true),
        (Request::get("/api/notebooks/main/states/none/variables"), true, true),
        (Request::get("/api/openapi.json"), true, true),
        (Request::get("/api/states"), true, true),
        (Request::get("/api/states/none/checkpoint"), true, true),
        (Request::post("/api/states/none/checkpoint", "{}"), false, true),
        (Request::post("/api/states/none/replay", "{}"), false, true),
        (Request::post("/api/states/none/pin", r#"{"pinned":true}"#), false, true),
        (Request::post("/api/states/none/label", r#"{"label":"x"}"#), false, true),
        (Request::post("/api/states/none/clear_namespace", "{}"), false, true),
        (Request::post("/api/trust", "{}"), false, false),
        (Request::get("/api/notebooks/main/states/none/document"), true, true),
        (command(r#"{"do":"evaluate","state":"none","expressions":["1"]}"#), false, true),
        (command(r#"{"do":"table","state":"none","view":{"expression":"df","limit":1}}"#), false, true),
        (Request::post("/api/notebooks/import?name=x", "{}"), false, false),
        (Request::post("/api/notebooks/main/rename", r#"{"to":"x"}"#), false, false),
        (Request::post("/api/notebooks/main/duplicate", r#"{"to":"x"}"#), false, false),
        (Request::new("DELETE", "/api/notebooks/main"), false, false),
        (Request::get("/api/notebooks/main/states/none/export"), false, true),
        (Request::post("/api/notebooks/main/import", "{}"), false, false),
        (Request::get("/api/tasks/none/checkpoints"), true, true),
        (Request::get("/api/tasks/none/checkpoints/latest"), true, true),
        (Request::get("/api/tasks/none/checkpoints/1"), true, true),
        (Request::post("/api/tasks/none/checkpoints", "{}"), false, true),
        (Request::post("/api/tasks/none/checkpoints/1/restore", "{}"), false, true),
        (Request::post("/execute", r#"{"exec_id":"a","state_name":"none"}"#), false, true),
        (Request::post("/interrupt", r#"{"exec_id":"none"}"#), false, true),
        (Request::new("DELETE", "/states/none"), false, false),
        (Request::new("POST", "/reset"), false, false),
        (Request::post("/api/notebooks", r#"{"name":"x"}"#), false, false),
        (Request::get("/api/links"), false, false),
        (Request::post("/api/links", r#"{"scope":"view"}"#), false, false),
        (Request::new("DELETE", "/api/links/link-1"), false, false),
        (command(r#"{"do":"look_at_variables","state":"none"}"#), true, true),
        (command(r#"{"do":"run","exec_id":"b","code":"","on":{"state":"none"}}"#), false, true),
        (command(r#"{"do":"interrupt","exec_id":"none"}"#), false, true),
        (command(r#"{"do":"answer_input","exec_id":"none","text":""}"#), false, true),
        (
            command(
                r#"{"do":"widget","state":"none","exec_id":"none","message":{"method":"update","model":"m","state":{}}}"#,
            ),
            false,
            true,
        ),
        (
            command(r#"{"do":"put_draft","draft":{"id":"d","on":"none","kind":"code","source":""}}"#),
            false,
            true,
        ),
        (command(r#"{"do":"delete_draft","draft":"none"}"#), false, true),
        (command(r#"{"do":"put_prose","state":"none","prose":[]}"#), false, true),
        (command(r#"{"do":"label","state":"none","label":"x"}"#), false, true),
        (command(r#"{"do":"pin","state":"none","pinned":true}"#), false, true),
        (command(r#"{"do":"checkpoint","state":"none"}"#), false, true),
        (command(r#"{"do":"replay","state":"none"}"#), false, true),
        (command(r#"{"do":"save_task","task_id":"t"}"#), false, true),
        (command(r#"{"do":"trust"}"#), false, false),
        (command(r#"{"do":"delete_state","state":"none"}"#), false, false),
        (command(r#"{"do":"drop_attempt","exec_id":"none"}"#), false, false),
        (command(r#"{"do":"reset"}"#), false, false),
    ] {
        for (token, may) in [(&view, by_view), (&run, by_run)] {
            let status = server.send(request.clone().bearer(token)).status;
            assert_eq!(status != 403, may, "{request:?}: {status}");
            assert!(status != 401 && status < 500, "{request:?}: {status}");
        }
    }
}

#[test]
fn the_scope_is_checked_for_each_message_of_a_socket() {
    let server = TestServer::fresh();
    let (_, view) = link(&server, r#"{"scope":"view"}"#);
    let (_, run) = link(&server, r#"{"scope":"run"}"#);
    let mut socket = Wire::socket(&server, &view);
    assert_eq!(socket.hear_until(|_| true)["you"], json!({"scope": "view", "start": true}));
    for command in [
        r#""do":"run","exec_id":"a","code":"1","on":{"state":"initial"}"#,
        r#""do":"interrupt","exec_id":"a""#,
        r#""do":"label","state":"initial","label":"mine""#,
        r#""do":"reset""#,
    ] {
        assert_eq!(socket.command(1, command)["code"], "forbidden", "{command}");
    }
    let mut socket = Wire::socket(&server, &run);
    assert_eq!(socket.command(1, r#""do":"interrupt","exec_id":"a""#)["kind"], "interrupted");
    assert_eq!(socket.command(2, r#""do":"reset""#)["code"], "forbidden");
    assert_eq!(socket.command(3, r#""do":"delete_state","state":"initial""#)["code"], "forbidden");
}

#[test]
fn a_link_opens_one_notebook_only() {
    let server = TestServer::fresh();
    assert_eq!(server.owner(Request::post("/api/notebooks", r#"{"name":"other"}"#)).status, 200);
    let (_, token) = link(&server, r#"{"scope":"run","notebook":"other"}"#);
    let status = |request: Request| server.send(request.bearer(&token)).status;
    assert_eq!(status(Request::get("/api/notebooks/other")), 200);
    assert_eq!(status(Wire::handshake("/ws/other")), 101);
    for request in [
        Request::get("/api/notebooks/main"),
        Request::get("/n/main"),
        Request::get("/states"),
        Request::post("/execute", r#"{"exec_id":"a","state_name":"initial"}"#),
        Wire::handshake("/ws/main"),
        // The answer must not reveal whether the other notebook exists.
        Request::get("/n/none"),
    ] {
        assert_eq!(status(request.clone()), 403, "{request:?}");
    }
    let names = server.send(Request::get("/api/notebooks").bearer(&token)).json();
    assert_eq!(names["notebooks"], json!(["other"]));
    assert_eq!(server.owner(Request::post("/api/links", r#"{"scope":"run","notebook":"none"}"#)).status, 404);
}

#[test]
fn revoking_a_link_disconnects_its_users() {
    let server = TestServer::fresh();
    let (id, token) = link(&server, r#"{"scope":"view"}"#);
    let cookie = server.send(Request::get(&format!("/n/main?token={token}"))).cookie();
    let mut by_token = Wire::socket(&server, &token);
    let mut by_cookie = Wire::open(server.address);
    let handshake = Wire::handshake("/ws/main").header("cookie", &cookie);
    assert_eq!(by_cookie.ask(&handshake.bytes(&server.host())).status, 101);

    let taken_back = Instant::now();
    assert_eq!(server.owner(Request::new("DELETE", &format!("/api/links/{id}"))).status, 204);
    assert_eq!((by_token.closing(), by_cookie.closing()), (Some(4401), Some(4401)));
    assert!(taken_back.elapsed() < Duration::from_secs(5));
    assert_eq!(server.send(Request::get("/states").header("cookie", &cookie)).status, 401);
}

#[test]
fn a_link_expires() {
    let server = TestServer::fresh();
    let (_, token) = link(&server, r#"{"scope":"view","expires_in":2}"#);
    let mut socket = Wire::socket(&server, &token);
    assert_eq!(socket.closing(), Some(4401));
    until("the link is refused", || server.send(Request::get("/states").bearer(&token)).status == 401);
    assert_eq!(server.owner(Request::get("/api/links")).json()["links"], json!([]));
}

#[test]
fn links_survive_a_restart() {
    let room = Room::new();
    let (kept, ends, gone) = {
        let mut server = TestServer::in_dir(room.path());
        let kept = link(&server, r#"{"scope":"run","label":"for Ada"}"#);
        let ends = link(&server, r#"{"scope":"view","expires_in":1}"#);
        let gone = link(&server, r#"{"scope":"view"}"#);
        assert_eq!(server.owner(Request::new("DELETE", &format!("/api/links/{}", gone.0))).status, 204);
        server.signal(Signal::SIGKILL);
        server.wait();
        (kept, ends, gone)
    };
    std::thread::sleep(Duration::from_millis(1100));
    for _ in 0..2 {
        let mut server = TestServer::in_dir(room.path());
        let listed = server.owner(Request::get("/api/links")).json()["links"].clone();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        assert_eq!((&listed[0]["id"], &listed[0]["label"]), (&json!(kept.0), &json!("for Ada")));
        let status = |token: &str| server.send(Request::get("/states").bearer(token)).status;
        assert_eq!((status(&kept.1), status(&ends.1), status(&gone.1)), (200, 401, 401));
        // This link expires before the next start, so the list then has one link again.
        link(&server, r#"{"scope":"view","expires_in":1}"#);
        std::thread::sleep(Duration::from_millis(1100));
        server.signal(Signal::SIGKILL);
        server.wait();
    }
    // No file contains the token.
    let mut pending = vec![room.path().to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(kept.1.len()).any(|w| w == kept.1.as_bytes()), "{path:?}");
        }
    }
}

#[test]
fn links_of_a_closed_notebook_open_it() {
    let room = Room::new();
    let token = {
        let mut server = TestServer::in_dir(room.path());
        assert_eq!(server.owner(Request::post("/api/notebooks", r#"{"name":"other"}"#)).status, 200);
        let token = link(&server, r#"{"scope":"view","notebook":"other"}"#).1;
        server.signal(Signal::SIGTERM);
        server.wait();
        token
    };
    std::fs::create_dir(room.file("not a notebook's name?.ratoon")).unwrap();
    let server = TestServer::in_dir(room.path());
    let by_link = |request: Request| server.send(request.bearer(&token));
    assert_eq!(by_link(Request::get("/api/notebooks")).json()["notebooks"], json!(["other"]));
    assert_eq!(by_link(Request::get("/n/other")).status, 200);
    assert_eq!(by_link(Wire::handshake("/ws/other")).status, 101);
    assert_eq!(by_link(Request::get("/api/notebooks/other")).status, 200);
    assert_eq!(by_link(Request::get("/api/notebooks/main")).status, 403);
    let all = server.owner(Request::get("/api/notebooks")).json();
    assert_eq!(all["notebooks"], json!(["main", "other"]));
    // A copy contains the same links. These links do not open the copy.
    drop(server);
    copy(&room.file("other.ratoon"), &room.file("copy.ratoon"));
    let server = TestServer::in_dir(room.path());
    assert_eq!(server.owner(Request::get("/api/notebooks/copy")).status, 200);
    let status = |name: &str| by(&server, Request::get(&format!("/api/notebooks/{name}")), &token);
    assert_eq!((status("copy"), status("other")), (403, 200));
}

fn by(server: &TestServer, request: Request, token: &str) -> u16 {
    server.send(request.bearer(token)).status
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_request_for_an_unknown_notebook_does_not_create_it() {
    let server = TestServer::fresh();
    let room = server.room();
    for path in ["/n/none", "/api/notebooks/none", "/ws/none"] {
        assert_eq!(server.owner(Wire::handshake(path)).status, 404, "{path}");
    }
    assert!(!room.file("none.ratoon").exists());
    assert_eq!(server.owner(Request::post("/api/notebooks", r#"{"name":"../none"}"#)).status, 400);
}

#[test]
fn a_link_opened_in_the_owners_browser_keeps_the_owners_rights() {
    let server = TestServer::fresh();
    server.owner(Request::post("/api/notebooks", r#"{"name":"other"}"#));
    let (id, view) = link(&server, r#"{"scope":"view"}"#);
    let (_, run) = link(&server, r#"{"scope":"run","notebook":"other"}"#);
    let open = |(name, token): (&str, &str), jar: &[String], site: Option<&str>| {
        let request = Request::get(&format!("/n/{name}?token={token}")).by_browser();
        let request = site.into_iter().fold(request, |r, site| {
            r.header("sec-fetch-site", site)
                .header("sec-fetch-mode", "navigate")
                .header("sec-fetch-dest", "document")
        });
        // If another site opens the page, the browser sends no cookie. It still stores the cookie
        // of the answer.
        let jar = if site.is_none() { jar.join("; ") } else { String::new() };
        let request = if jar.is_empty() { request } else { request.header("cookie", &jar) };
        server.send(request).cookie()
    };
    let name = |cookie: &str| cookie.split('=').next().unwrap().to_owned();
    let status =
        |jar: &[String], request: Request| server.send(request.header("cookie", &jar.join("; "))).status;
    let wish = || Request::post("/api/links", r#"{"scope":"view"}"#);
    let mut jar = vec![open(("main", crate::server::TOKEN), &[], None)];
    for site in [None, Some("cross-site"), Some("same-site")] {
        for link in [("main", view.as_str()), ("other", run.as_str())] {
            let cookie = open(link, &jar, site);
            jar.retain(|own| name(own) != name(&cookie));
            jar.push(cookie);
        }
        assert_eq!(jar.len(), 3, "{jar:?}");
        assert_eq!(status(&jar, wish()), 201, "the owner is still the owner: {site:?}");
    }
    // Without the owner's cookie, each link opens only its own notebook, with its own scope.
    let links: Vec<String> = jar[1..].to_vec();
    let run_in = |name: &str| {
        Request::post(&format!("/api/notebooks/{name}/commands"), r#"{"do":"interrupt","exec_id":"none"}"#)
    };
    assert_eq!(status(&links, Request::get("/api/notebooks/main")), 200);
    assert_eq!((status(&links, run_in("main")), status(&links, run_in("other"))), (403, 200));
    assert_eq!(status(&links, wish()), 403);
    // A browser that has opened a link gets the owner's rights when it opens the owner's URL.
    let mut guest = vec![links[0].clone()];
    guest.push(open(("main", crate::server::TOKEN), &guest, None));
    assert_eq!(status(&guest, wish()), 201);
    // Signing out ends the browser's sessions. Revoking a link ends its sessions in all browsers.
    assert_eq!(server.owner(Request::new("DELETE", &format!("/api/links/{id}"))).status, 204);
    assert_eq!(status(&jar, Request::new("DELETE", "/api/session")), 204);
    for cookie in &jar {
        assert_eq!(status(std::slice::from_ref(cookie), Request::get("/states")), 401);
    }
}

#[test]
fn an_expired_link_stays_expired_when_the_clock_is_set_back() {
    let config = Room::new();
    let home = format!("XDG_CONFIG_HOME={}", config.path().display());
    let under = ["env", home.as_str()];
    let (mut server, has_begun) = TestServer::start_under(&under);
    assert!(has_begun, "{}", server.errors());
    let made = server.owner(Request::post("/api/links", r#"{"scope":"view","expires_in":3600}"#)).json();
    let (token, ends) = (made["token"].as_str().unwrap().to_owned(), made["expires_at"].as_u64().unwrap());
    let states = |server: &TestServer| server.send(Request::get("/states").bearer(&token)).status;
    let file = config.path().join("ratoon/latest-time");
    let seen: u64 = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    assert!(ends - 3_600_000 <= seen && seen < ends, "the latest time is stored: {seen} {ends}");
    assert_eq!(states(&server), 200);
    // In the second case, the stored time is later than the link's expiry. This happens if the
    // clock is set back after the time was stored.
    for (latest, status) in [(ends - 1_000_000, 200), (ends + 1, 401)] {
        server.kill();
        std::fs::write(&file, latest.to_string()).unwrap();
        assert!(server.start_again(&under), "{}", server.errors());
        assert_eq!(states(&server), status);
        let fresh = server.owner(Request::post("/api/links", r#"{"scope":"view","expires_in":60}"#)).json();
        let fresh = fresh["token"].as_str().unwrap().to_owned();
        assert_eq!(server.send(Request::get("/states").bearer(&fresh)).status, 200, "a new link is valid");
    }
}

#[test]
fn a_guest_who_signs_in_again_and_again_signs_nobody_out() {
    let server = TestServer::fresh();
    let link = server.owner(Request::post("/api/links", r#"{"scope":"view"}"#)).json();
    let address = format!("/n/main?token={}", link["token"].as_str().unwrap());
    let first = server.send(Request::get(&address).by_browser()).cookie();
    let answers: Vec<_> = (0..100).map(|_| server.send(Request::get(&address).by_browser())).collect();
    let (begun, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 200);
    // A slow machine needs more than 10 s for these requests.
    assert!((19..40).contains(&begun.len()), "{}", begun.len());
    for answer in refused {
        assert_eq!(answer.status, 503);
        assert!(answer.text().contains("too many sign-ins by this link"), "{}", answer.text());
    }
    assert_eq!(server.send(Request::get("/states").header("cookie", &first)).status, 200);
    // By its token, the link is not limited.
    let by_token = Request::get("/states").bearer(link["token"].as_str().unwrap());
    assert_eq!(server.send(by_token).status, 200);
}
