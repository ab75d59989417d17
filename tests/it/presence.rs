//! Tests with several visitors of one notebook: presence, drafts that two visitors change, and
//! deleted subtrees.

use crate::cells::Room;
use crate::request::Request;
use crate::server::{TOKEN, TestServer, until};
use crate::wire::Wire;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn people(message: &Value) -> Option<&Vec<Value>> {
    message["people"].as_array()
}

/// Waits until the notebook has `count` visitors, and returns them. For servers that no other test
/// has used: agents of others may still be there.
fn until_there_are(socket: &mut Wire, count: usize) -> Vec<Value> {
    let message = socket.hear_until(|m| people(m).is_some_and(|all| all.len() == count));
    people(&message).cloned().unwrap_or_default()
}

fn view_link(server: &TestServer) -> (String, String) {
    let link = server.owner(Request::post("/api/links", r#"{"scope":"view"}"#)).json();
    (link["id"].as_str().unwrap().to_owned(), link["token"].as_str().unwrap().to_owned())
}

#[test]
fn presence_is_sent_to_the_others_until_the_socket_closes() {
    let server = TestServer::fresh();
    let a = server.run("initial", "x = 1");
    let (mut ada, mut bob) = (Wire::socket(&server, TOKEN), Wire::socket(&server, TOKEN));
    let stands = ada.command(1, r#""do":"stand","state":"initial","name":"Ada""#);
    assert_eq!(stands["kind"], "standing");
    let seen = until_there_are(&mut bob, 1);
    assert_eq!(
        seen[0],
        json!({"id": stands["id"], "number": 0, "name": "Ada", "scope": "owner", "state": "initial"})
    );

    assert_eq!(bob.command(1, r#""do":"stand","state":"nowhere""#)["code"], "not_found");
    let own = bob.command(2, &format!(r#""do":"stand","state":"{}""#, a.state()));
    let seen = until_there_are(&mut ada, 2);
    assert_eq!(
        (&seen[1]["id"], &seen[1]["name"], &seen[1]["state"]),
        (&own["id"], &Value::Null, &json!(a.state()))
    );
    assert_eq!(
        bob.command(3, r#""do":"stand","state":"initial""#)["id"],
        own["id"],
        "one socket counts as one visitor"
    );

    // A client that joins later immediately gets the list of all visitors.
    let mut late = Wire::socket(&server, TOKEN);
    let snapshot = late.hear_until(|m| m["snapshot"].is_object());
    assert_eq!(snapshot["snapshot"]["people"].as_array().unwrap().len(), 2);

    drop(bob);
    assert_eq!(until_there_are(&mut ada, 1)[0]["name"], "Ada");
    let listed = server.owner(Request::get("/api/notebooks/main")).json();
    assert_eq!(listed["people"].as_array().unwrap().len(), 1);
}

#[test]
fn presence_needs_a_websocket_and_a_short_visible_name() {
    let server = TestServer::start();
    let wish = Request::post("/api/notebooks/main/commands", r#"{"do":"stand","state":"initial"}"#);
    let answer = server.owner(wish);
    assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("bad_request")));
    assert!(answer.json()["how"].as_str().unwrap().contains("WebSocket"));
    let mut socket = Wire::socket(&server, TOKEN);
    let long = format!(r#""do":"stand","state":"initial","name":"{}""#, "x".repeat(41));
    assert_eq!(socket.command(1, &long)["code"], "bad_request");
    let unseen = r#""do":"stand","state":"initial","name":"A\u202eda""#;
    assert_eq!(socket.command(2, unseen)["code"], "bad_request");
}

#[test]
fn a_viewer_is_present_until_the_link_is_revoked() {
    let server = TestServer::fresh();
    let (id, token) = view_link(&server);
    let (mut owner, mut viewer) = (Wire::socket(&server, TOKEN), Wire::socket(&server, &token));
    assert_eq!(viewer.command(1, r#""do":"stand","state":"initial","name":"Vi""#)["kind"], "standing");
    assert_eq!(until_there_are(&mut owner, 1)[0]["scope"], "view");
    let began = Instant::now();
    assert_eq!(server.owner(Request::new("DELETE", &format!("/api/links/{id}"))).status, 204);
    assert_eq!(viewer.closing(), Some(4401));
    until_there_are(&mut owner, 0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn presence_at_a_deleted_state_moves_to_its_parent() {
    let server = TestServer::fresh();
    let a = server.run("initial", "x = 1");
    let b = server.run(a.state(), "x = 2");
    let (mut ada, mut bob) = (Wire::socket(&server, TOKEN), Wire::socket(&server, TOKEN));
    ada.command(1, &format!(r#""do":"stand","state":"{}""#, b.state()));
    assert_eq!(until_there_are(&mut bob, 1)[0]["state"], b.state());
    bob.command(1, &format!(r#""do":"delete_state","state":"{}""#, b.state()));
    ada.hear_until(|m| people(m).is_some_and(|all| all[0]["state"] == a.state()));
    bob.command(2, r#""do":"reset""#);
    ada.hear_until(|m| people(m).is_some_and(|all| all[0]["state"] == "initial"));
}

/// Changes the text of the draft `d`, and returns the reply.
fn put(socket: &mut Wire, id: u64, source: &str, base: u64) -> Value {
    let draft = json!({"id": "d", "on": "initial", "kind": "code", "source": source});
    socket.command(id, &format!(r#""do":"put_draft","in_place":true,"base":{base},"draft":{draft}"#))
}

#[test]
fn a_conflicting_change_of_a_draft_is_refused_and_versions_survive_a_kill() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    let (mut ada, mut bob) = (Wire::socket(&server, TOKEN), Wire::socket(&server, TOKEN));
    let version = |server: &TestServer| {
        server.owner(Request::get("/api/notebooks/main")).json()["drafts"][0]["version"].as_u64().unwrap()
    };
    assert_eq!(put(&mut ada, 1, "a", 0)["kind"], "done");
    assert_eq!(put(&mut ada, 2, "ab", 1)["kind"], "done");
    assert_eq!(put(&mut bob, 1, "ax", 1)["code"], "conflict");
    // The client receives the conflicting change before the refusal. So it can merge its own text
    // with that change.
    assert_eq!(put(&mut bob, 2, "abx", 2)["kind"], "done");
    let heard = ada.hear_until(|m| m["put"][0]["draft"]["version"] == 3);
    assert_eq!(heard["put"][0]["draft"]["source"], "abx");
    server.signal(Signal::SIGKILL);
    server.wait();

    let server = TestServer::in_dir(room.path());
    assert_eq!(version(&server), 3);
    let mut ada = Wire::socket(&server, TOKEN);
    assert_eq!(put(&mut ada, 1, "late", 2)["code"], "conflict");
    assert_eq!(ada.command(2, r#""do":"delete_draft","draft":"d""#)["kind"], "done");
    assert_eq!(put(&mut ada, 3, "late", 3)["code"], "not_found");
}

#[test]
fn an_update_sent_again_is_recognised_after_a_crash() {
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    let put = |socket: &mut Wire, id: u64, number: u64| {
        let draft = json!({"id": "d", "on": "initial", "kind": "code", "source": format!("{number}")});
        let update = json!({"client": "ada", "number": number, "changes": []});
        let base = number - 1;
        let rest = format!(r#""base":{base},"draft":{draft},"update":{update}"#);
        socket.command(id, &format!(r#""do":"put_draft",{rest}"#))
    };
    let mut ada = Wire::socket(&server, TOKEN);
    assert_eq!(put(&mut ada, 1, 1)["kind"], "done");
    assert_eq!(put(&mut ada, 2, 2)["kind"], "done");
    server.signal(Signal::SIGKILL);
    server.wait();

    let server = TestServer::in_dir(room.path());
    let mut ada = Wire::socket(&server, TOKEN);
    assert_eq!(put(&mut ada, 1, 1)["kind"], "done");
    assert_eq!(put(&mut ada, 2, 2)["kind"], "done");
    let draft = server.owner(Request::get("/api/notebooks/main")).json()["drafts"][0].clone();
    assert_eq!((&draft["source"], &draft["version"]), (&json!("2"), &json!(2)));
    assert_eq!(draft["received"], json!([{"client": "ada", "number": 2}]));
}

/// A page that is closed sends its unanswered commands so.
#[test]
fn a_batch_is_carried_out_in_its_order_and_a_run_delays_no_later_command() {
    let server = TestServer::start();
    let room = server.room();
    let put = |version: u64| {
        let draft = json!({"id": "d", "on": "initial", "kind": "code", "source": format!("{version}")});
        json!({"do": "put_draft", "in_place": true, "base": version - 1, "draft": draft})
    };
    let code = "import os\nwhile not os.path.exists('go'): pass";
    let run = json!({"do": "run", "exec_id": "r", "on": {"state": "initial"}, "code": code});
    let batch = |commands: &[Value]| {
        let body = json!({"commands": commands}).to_string();
        Request::post("/api/notebooks/main/commands/batch", &body)
    };
    let refused = json!({"do": "delete_state", "state": "none", "subtree": false});
    let commands: Vec<Value> = [run, refused].into_iter().chain((1..=300).map(put)).collect();
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.owner(batch(&commands)));
        let draft = || server.owner(Request::get("/api/notebooks/main")).json()["drafts"][0].clone();
        until("the last text is there", || draft()["source"] == "300");
        room.put("go");
        asked.join().unwrap()
    });
    let kinds: Vec<_> =
        answer.json()["replies"].as_array().unwrap().iter().map(|reply| reply["kind"].clone()).collect();
    assert_eq!(kinds[..2], [json!("ended"), json!("refused")]);
    assert_eq!(kinds[2..], vec![json!("done"); 300]);

    assert_eq!(server.owner(batch(&[json!({"do": "dance"})])).status, 400);
    let (_, token) = view_link(&server);
    let refused = server.send(batch(&[put(1)]).bearer(&token)).json();
    assert_eq!(refused["replies"][0]["code"], "forbidden");

    // All answers of a batch are in memory at the same time.
    let look = json!({"do": "look_at_variables", "state": "initial"});
    let looked = server.send(batch(&vec![look.clone(); 4]).bearer(&token)).json();
    assert!(looked["replies"].as_array().unwrap().iter().all(|reply| reply["kind"] == "variables"));
    let refused = server.send(batch(&vec![look; 5]).bearer(&token));
    assert_eq!((refused.status, refused.error_code().as_str()), (413, "too_large"));
}

/// There are two thousand drafts of a hundred bytes on one state. Another client receives each
/// draft once.
#[test]
fn a_change_of_one_of_many_drafts_sends_only_that_draft() {
    const DRAFTS: u64 = 2000;
    let room = Room::new();
    let mut server = TestServer::in_dir(room.path());
    let (mut types, mut looks) = (Wire::socket(&server, TOKEN), Wire::socket(&server, TOKEN));
    let put = |n: u64, version: u64, after: Option<u64>| {
        let draft = json!({
            "id": format!("d{n}"), "on": "initial", "kind": "code",
            "source": format!("{version}{}", "x".repeat(99)),
        });
        let after = json!(after.map(|after| format!("d{after}")));
        format!(r#""do":"put_draft","in_place":true,"base":{},"draft":{draft},"after":{after}"#, version - 1)
    };
    // Reads while the other client types. The server disconnects clients that do not read.
    let mut heard = 0;
    let mut hear = |id: &str, version: u64| {
        loop {
            let message = looks.hear_until(|message| message["event"] == "drafts_changed");
            heard += message.to_string().len() as u64;
            let drafts = message["put"].as_array().into_iter().flatten();
            let mut drafts = drafts.map(|put| &put["draft"]);
            if drafts.any(|draft| draft["id"] == id && draft["version"] == version) {
                return;
            }
        }
    };
    let mut order = Vec::new();
    for n in 0..DRAFTS {
        // Every third draft is inserted between two others.
        let after = if n % 3 == 2 { Some(n - 2) } else { order.last().copied() };
        let at = after.map_or(0, |after| order.iter().position(|other| *other == after).unwrap() + 1);
        order.insert(at, n);
        assert_eq!(types.command(n, &put(n, 1, after))["kind"], "done");
        hear(&format!("d{n}"), 1);
    }
    assert_eq!(types.command(DRAFTS, &put(7, 2, Some(4)))["kind"], "done");
    hear("d7", 2);
    assert!(heard < DRAFTS * 500, "{heard} bytes");
    let drafts =
        |server: &TestServer| server.owner(Request::get("/api/notebooks/main")).json()["drafts"].clone();
    let shown = drafts(&server);
    let ids: Vec<_> =
        shown.as_array().unwrap().iter().map(|draft| draft["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, order.iter().map(|n| format!("d{n}")).collect::<Vec<_>>());
    server.signal(Signal::SIGKILL);
    server.wait();
    let server = TestServer::in_dir(room.path());
    assert!(drafts(&server) == shown, "the same drafts in the same order");
}

#[test]
fn late_typing_does_not_recreate_a_draft_that_became_a_state() {
    let server = TestServer::start();
    let mut socket = Wire::socket(&server, TOKEN);
    put(&mut socket, 1, "x = 1", 0);
    let run = r#""do":"run","exec_id":"r","code":"x = 1","on":{"state":"initial"},"draft":"d""#;
    assert_eq!(socket.command(2, run)["status"], "ok");
    for base in [0, 1] {
        assert_eq!(put(&mut socket, 3, "x = 12", base)["code"], "not_found");
    }
    assert_eq!(server.owner(Request::get("/api/notebooks/main")).json()["drafts"], json!([]));
}

#[test]
fn deleting_a_subtree_stops_its_runs_and_keeps_the_rest() {
    let server = TestServer::start();
    let room = server.room();
    let a = server.run("initial", "x = 1");
    let b = server.run(a.state(), "x = 2");
    let c = server.run(b.state(), "x = 3");
    let beside = server.run(a.state(), "y = 1");
    let going = server.begin(c.state(), "open('began', 'w').close()\nwhile True: pass");
    room.wait_for("began");
    let mut socket = Wire::socket(&server, TOKEN);
    socket.say(&format!(r#"{{"id":1,"do":"delete_state","subtree":true,"state":"{}"}}"#, b.state()));
    let removed = socket.hear_until(|m| m["event"] == "removed");
    let mut gone: Vec<&str> =
        removed["states"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let mut wanted = [b.state(), c.state()];
    gone.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(gone, wanted, "all in one event");
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
    assert_eq!(server.states(), ["initial", a.state(), beside.state()]);
    assert_eq!(server.run(beside.state(), "print(x + y)").text(), "2\n");
}

#[test]
fn only_the_rest_call_of_snapshot_kernel_can_delete_the_root() {
    let server = TestServer::start();
    for subtree in [true, false] {
        let wish = format!(r#"{{"do":"delete_state","state":"initial","subtree":{subtree}}}"#);
        let answer = server.owner(Request::post("/api/notebooks/main/commands", &wish));
        assert_eq!((answer.status, &answer.json()["code"]), (409, &json!("conflict")));
    }
    assert_eq!(server.owner(Request::new("DELETE", "/states/initial")).status, 200);
}

/// A page that is loaded again is another WebSocket of the same person.
#[test]
fn the_numbers_of_people_stay_when_they_come_back() {
    let server = TestServer::fresh();
    let tokens = [view_link(&server).1, view_link(&server).1];
    let arrive = |token: &str| {
        let mut socket = Wire::socket(&server, token);
        assert_eq!(socket.command(1, r#""do":"stand","state":"initial""#)["kind"], "standing");
        socket
    };
    let mut owner = arrive(TOKEN);
    let [first, second] = tokens.each_ref().map(|token| arrive(token));
    let numbers = |all: Vec<Value>| all.iter().map(|one| one["number"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers(until_there_are(&mut owner, 3)), [0, 1, 2]);
    drop(first);
    assert_eq!(numbers(until_there_are(&mut owner, 2)), [0, 2]);
    let first = arrive(&tokens[0]);
    assert_eq!(numbers(until_there_are(&mut owner, 3)), [0, 2, 1]);
    // A newcomer takes the lowest number that nobody present has.
    drop(first);
    assert_eq!(numbers(until_there_are(&mut owner, 2)), [0, 2]);
    let _newcomer = arrive(&view_link(&server).1);
    assert_eq!(numbers(until_there_are(&mut owner, 3)), [0, 2, 1]);
    let _first = arrive(&tokens[0]);
    assert_eq!(numbers(until_there_are(&mut owner, 4)), [0, 2, 1, 3]);
    drop(second);
}
