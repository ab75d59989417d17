//! Tests of sweeps, through the REST API.

use crate::request::Request;
use crate::restarts::{command, run_of, state_of};
use crate::server::{TestServer, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SWEEPS: &str = "/api/notebooks/main/sweeps";

/// Starts a sweep. Returns its id.
fn start(server: &TestServer, body: &Value) -> String {
    let answer = server.post(SWEEPS, body.clone());
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn get(server: &TestServer, id: &str) -> Value {
    server.owner(Request::get(&format!("{SWEEPS}/{id}"))).json()
}

fn ended(server: &TestServer, id: &str) -> Value {
    until("the sweep ends", || get(server, id)["status"] != "running");
    get(server, id)
}

fn column(sweep: &Value, name: &str) -> Vec<Value> {
    sweep["rows"].as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

fn count(server: &TestServer) -> (usize, usize) {
    let notebook = server.notebook();
    (notebook["states"].as_array().unwrap().len(), notebook["runs"].as_array().unwrap().len())
}

#[test]
fn each_row_is_a_branch_with_its_values_and_the_best_ones_are_kept() {
    let server = TestServer::start();
    let base = server.run("initial", "def f(x): return x * 10\nbias = 1").state().to_owned();
    let code = "lr = 0.1  # tried\nkind = \"a\"\nscore = f(lr) + bias + len(kind)\nprint(lr, kind)";
    let id = start(
        &server,
        &json!({
            "at": base, "code": code, "metric": "score", "goal": "max", "keep": 2, "parallel": 2, "label": "tries",
            "grid": {"lr": [0.1, 1, {"code": "bias"}], "kind": ["b", "ccc"], "bias": [5]},
        }),
    );
    let sweep = ended(&server, &id);
    assert_eq!(
        (&sweep["status"], &sweep["label"], &sweep["count"]),
        (&json!("done"), &json!("tries"), &json!(6))
    );
    assert_eq!(column(&sweep, "metric"), [7.0, 9.0, 16.0, 18.0, 56.0, 58.0]);
    assert_eq!((&sweep["best"], &sweep["ended"]), (&json!(5), &json!(6)));
    assert_eq!(sweep["rows"][4]["params"], json!({"lr": {"code": "bias"}, "kind": "b", "bias": 5}));
    let run = run_of(&server, &format!("{id}.3"));
    let expected = code.replace("0.1", "1").replace("\"a\"", "\"ccc\"");
    assert_eq!(run["code"], format!("bias = 5\n{expected}"));
    until("only the best states are in memory", || {
        column(&get(&server, &id), "is_kept") == [false, false, false, false, true, true]
    });
    // A row that was not kept comes back by a replay, and goes on.
    let lost = sweep["rows"][1]["state"].as_str().unwrap();
    assert_eq!(state_of(&server, lost)["living"], "replay");
    let replayed = server.begin_with(lost, "print(lr, kind, score)", json!({"replay": true})).end();
    assert_eq!(replayed.text(), "0.1 ccc 9.0\n");
    let best = sweep["rows"][5]["state"].as_str().unwrap();
    assert_eq!(server.run(best, "print(score)").text(), "58\n");
    assert_eq!(server.owner(Request::get(SWEEPS)).json()[0]["id"], id);
}

#[test]
fn a_request_that_cannot_work_is_refused_and_nothing_runs() {
    let server = TestServer::start();
    let before = count(&server);
    let refused = |more: Value| {
        let mut body = json!({"at": "initial", "code": "lr = 0.1\nn = int('3')\nprint(lr)"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = server.post(SWEEPS, body);
        (answer.status, answer.json()["error"]["why"].as_str().unwrap().to_owned())
    };
    let has = |(status, why): (u16, String), expected: (u16, &str)| {
        assert!(status == expected.0 && why.contains(expected.1), "{status} {why}");
    };
    let grid = json!({"lr": [1]});
    has(refused(json!({"grid": {"rate": [1]}})), (400, "no name `rate`"));
    has(refused(json!({"grid": {"n": [1]}})), (400, "`n` cannot be a parameter"));
    has(refused(json!({"grid": {"lr": [{"code": "f(1)"}]}})), (400, "the value `f(1)`"));
    has(refused(json!({"grid": {"lr": [{"code": "nowhere"}]}})), (400, "nowhere"));
    has(refused(json!({"grid": grid, "metric": "x ="})), (400, "the metric is"));
    has(refused(json!({"grid": grid, "metric": "scroe"})), (400, "reads `scroe`"));
    has(refused(json!({"grid": grid, "code": "lr = 0.1\nfor"})), (400, "line 2"));
    has(refused(json!({"grid": grid, "metric": "lr", "rungs": {"code": "for", "count": 1}})), (400, "rung"));
    has(refused(json!({"grid": grid, "keep": 1})), (400, "metric"));
    has(refused(json!({"grid": grid, "pararell": 1})), (400, "pararell"));
    let thousand: Vec<u32> = (0..1000).collect();
    has(
        refused(json!({"code": "a = 1\nlr = 1", "grid": {"lr": thousand, "a": thousand}})),
        (413, "1000000 rows"),
    );
    has(refused(json!({"at": "nowhere", "grid": grid})), (404, "no state"));
    let optuna = json!({"kind": "optuna", "trials": 2, "space": {"lr": {"low": 0, "high": 1}}});
    has(refused(json!({"sampler": optuna})), (400, "Optuna"));
    has(refused(json!({"sampler": optuna, "metric": "lr"})), (400, "Optuna is not installed"));
    assert_eq!(count(&server), before);
    assert_eq!(server.owner(Request::get(&format!("{SWEEPS}/none"))).status, 404);
}

#[test]
fn a_row_that_fails_or_has_no_metric_says_why_and_the_others_go_on() {
    let server = TestServer::start();
    let code = "x = 1\nif x == 2: raise ValueError('two')\nif x == 3:\n    while True: pass\nm = [] if x == 4 else x";
    let body = json!({
        "at": "initial", "code": code, "metric": "m", "goal": "min", "timeout": 2, "grid": {"x": [5, 2, 3, 4, 1]},
    });
    let sweep = ended(&server, &start(&server, &body));
    assert_eq!(column(&sweep, "status"), ["ok", "error", "interrupted", "ok", "ok"]);
    assert_eq!(column(&sweep, "metric"), [json!(5.0), json!(null), json!(null), json!(null), json!(1.0)]);
    let errors = column(&sweep, "error");
    assert_eq!((&errors[0], &errors[1]), (&json!(null), &json!("ValueError: two")));
    assert!(errors[3].as_str().unwrap().contains("list"), "{errors:?}");
    assert_eq!((&sweep["best"], &sweep["status"]), (&json!(4), &json!("done")));
}

#[test]
fn rungs_continue_from_the_states_of_the_best_rows_only() {
    let server = TestServer::start();
    let body = json!({
        "at": "initial", "code": "lr = 1\nlosses = [lr]", "metric": "losses[-1]", "goal": "min", "keep": 1,
        "grid": {"lr": [8, 4, 2, 1, 16, 32]},
        "rungs": {"code": "losses.append(losses[-1] / 2)", "count": 2, "factor": 2},
    });
    let id = start(&server, &body);
    let sweep = ended(&server, &id);
    assert_eq!(column(&sweep, "rung"), [0, 1, 2, 2, 0, 0]);
    assert_eq!(column(&sweep, "metric"), [8.0, 2.0, 0.5, 0.25, 16.0, 32.0]);
    assert_eq!(sweep["best"], 3);
    let best = sweep["rows"][3]["state"].as_str().unwrap();
    assert_eq!(server.run(best, "print(losses)").text(), "[1, 0.5, 0.25]\n");
    assert_eq!(run_of(&server, &format!("{id}.3.2"))["code"], "losses.append(losses[-1] / 2)");
    until("one state is kept", || {
        column(&get(&server, &id), "is_kept").iter().filter(|k| **k == true).count() == 1
    });
}

#[test]
fn a_sweep_stops_at_its_target_and_when_a_user_stops_it() {
    let server = TestServer::start();
    let room = server.room();
    let code = "x = 0\nimport os, time\nif x == 9:\n    open('waits', 'w').close()\n    time.sleep(1000)";
    let body = |values: &[u32], more: Value| {
        let mut body =
            json!({"at": "initial", "code": code, "metric": "x", "parallel": 1, "grid": {"x": values}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let sweep = ended(&server, &start(&server, &body(&[1, 2, 3, 4], json!({"stop": {"target": 2}}))));
    assert_eq!(column(&sweep, "status"), ["ok", "ok", "queued", "queued"]);
    assert_eq!(
        (&sweep["status"], sweep["note"].as_str().unwrap().contains("target")),
        (&json!("done"), true)
    );
    let sweep = ended(&server, &start(&server, &body(&[1, 2, 3], json!({"stop": {"trials": 1}}))));
    assert_eq!(column(&sweep, "status"), ["ok", "queued", "queued"]);
    let id = start(&server, &body(&[1, 9, 2], json!({})));
    room.wait_for("waits");
    let refused = server.post(&format!("{SWEEPS}/{id}/collapse"), json!({}));
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(server.post(&format!("{SWEEPS}/{id}/stop"), json!({})).status, 200);
    until("the row is interrupted", || column(&get(&server, &id), "status")[1] == "interrupted");
    let sweep = get(&server, &id);
    assert_eq!((&sweep["status"], column(&sweep, "status")[2].as_str()), (&json!("stopped"), Some("queued")));
    server.has_no_zombies();
}

#[test]
fn a_collapse_keeps_one_row_and_what_was_continued_and_can_be_undone() {
    let server = TestServer::start();
    let body =
        json!({"at": "initial", "code": "x = 0\n1 / (x - 4)", "metric": "x", "grid": {"x": [1, 2, 3, 4, 5]}});
    let id = start(&server, &body);
    let sweep = ended(&server, &id);
    let state = |row: usize| sweep["rows"][row]["state"].as_str().unwrap().to_owned();
    let child = server.run(&state(1), "y = x").state().to_owned();
    let before = count(&server);
    let answer = server.post(&format!("{SWEEPS}/{id}/collapse"), json!({"row": 2, "label": "best"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["kept"], state(2));
    assert_eq!(answer["continued"], json!([state(1)]));
    assert_eq!(answer["deleted"], json!([state(0), state(4)]));
    assert_eq!(state_of(&server, &state(2))["label"], "best");
    let mut left = server.states();
    left.sort();
    let mut expected = vec!["initial".to_owned(), state(1), state(2), child];
    expected.sort();
    assert_eq!(left, expected);
    // The table keeps its results.
    assert_eq!(column(&get(&server, &id), "metric"), column(&sweep, "metric"));
    let restored = command(&server, json!({"do": "restore", "deleted": state(0)}));
    assert_eq!(restored["kind"], "done");
    assert_eq!(count(&server), before);
    assert_eq!(server.owner(Request::new("DELETE", &format!("{SWEEPS}/{id}"))).status, 200);
    assert_eq!(server.owner(Request::get(SWEEPS)).json(), json!([]));
    assert!(!server.states().contains(&state(2)) && server.states().contains(&state(1)));
}

#[test]
fn the_same_request_again_is_answered_with_the_first_sweep() {
    let server = TestServer::start();
    let body = json!({"id": "mine", "at": "initial", "code": "x = 0", "grid": {"x": [1, 2]}});
    assert_eq!(start(&server, &body), "mine");
    ended(&server, "mine");
    let before = count(&server);
    assert_eq!(start(&server, &body), "mine");
    assert_eq!(count(&server), before);
    let other = json!({"id": "mine", "at": "initial", "code": "x = 1", "grid": {"x": [1]}});
    assert_eq!(server.post(SWEEPS, other).status, 409);
}

#[test]
fn random_rows_are_drawn_before_they_run() {
    let server = TestServer::start();
    let sampler = json!({"kind": "random", "trials": 5, "seed": 3, "space": {
        "lr": {"low": 0.001, "high": 1, "log": true}, "kind": ["a", {"code": "(1, 2)"}],
    }});
    let body = json!({"at": "initial", "code": "lr = 1\nkind = 0", "metric": "lr", "sampler": sampler});
    let sweep = ended(&server, &start(&server, &body));
    let drawn: Vec<f64> = column(&sweep, "params").iter().map(|row| row["lr"].as_f64().unwrap()).collect();
    let metrics: Vec<f64> = column(&sweep, "metric").iter().map(|metric| metric.as_f64().unwrap()).collect();
    assert_eq!(drawn, metrics);
    assert!(drawn.iter().all(|lr| (0.001..=1.0).contains(lr)) && drawn.len() == 5);
}

#[test]
#[ignore = "nightly: it kills the server 50 times"]
fn a_server_that_is_killed_again_and_again_ends_each_row_exactly_once() {
    let kills = 50;
    let mut server = TestServer::start();
    let room = server.room();
    let base = server.run("initial", "import time\nbase = [1]").state().to_owned();
    let values: Vec<usize> = (0..kills * 5).collect();
    let code =
        "x = 0\ntime.sleep(0.02)\nwith open('rows', 'a') as file: print(x, file=file)\nm = x + len(base)";
    let rungs = json!({"code": "m += 1; time.sleep(0.02)", "count": 1, "factor": 5});
    let body = json!({
        "id": "s", "at": base, "code": code, "metric": "m", "keep": 3, "parallel": 2, "grid": {"x": values}, "rungs": rungs,
    });
    start(&server, &body);
    let mut random: u64 = 7;
    let mut lines = 0;
    for _ in 0..kills {
        // The next kill comes some writes later, at another point of a row each time.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let seen = std::fs::read_to_string(room.file("rows")).unwrap_or_default().lines().count();
        let more = lines.max(seen) + 1 + (random >> 62) as usize;
        until("rows run", || {
            lines = std::fs::read_to_string(room.file("rows")).unwrap_or_default().lines().count();
            lines >= more || get(&server, "s")["status"] != "running"
        });
        std::thread::sleep(std::time::Duration::from_micros((random >> 40) % 20_000));
        server.restart();
    }
    let sweep = ended(&server, "s");
    assert_eq!((&sweep["status"], &sweep["ended"]), (&json!("done"), &json!(values.len())), "{sweep}");
    for (x, row) in sweep["rows"].as_array().unwrap().iter().enumerate() {
        let rung = row["rung"].as_u64().unwrap();
        assert_eq!(
            (&row["status"], row["metric"].as_f64()),
            (&json!("ok"), Some((x + 1) as f64 + rung as f64)),
            "{row}"
        );
    }
    assert_eq!(column(&sweep, "rung").iter().filter(|rung| **rung == 1).count(), kills);
    let notebook = server.notebook();
    let mut by_run: BTreeMap<String, usize> = BTreeMap::new();
    for state in notebook["states"].as_array().unwrap() {
        *by_run.entry(state["exec_id"].to_string()).or_default() += 1;
    }
    assert!(by_run.values().all(|count| *count == 1), "a run has two states: {by_run:?}");
    assert_eq!(by_run.len(), 2 + values.len() + kills, "the root, the base, the rows and the rungs");
    assert_eq!(notebook["runs"].as_array().unwrap().len(), by_run.len() - 1, "no run is left over");
}

#[test]
#[ignore = "nightly: it trains 12 models three times"]
fn the_example_finds_a_good_model_in_less_than_a_minute() {
    let Some(server) = TestServer::with_science() else { return };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples/sweep.ipynb");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let text = |cell: &Value| {
        cell["source"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect::<String>()
    };
    let cells = file["cells"].as_array().unwrap();
    let code: Vec<String> = cells.iter().filter(|cell| cell["cell_type"] == "code").map(text).collect();
    let loaded = server.run("initial", &code[0]).state().to_owned();
    let ready = server.run(&loaded, &code[1]).state().to_owned();
    let body = json!({
        "at": ready, "code": code[2], "metric": "score",
        "grid": {
            "kind": [{"code": "linear"}, {"code": "network"}], "rate": [0.001, 0.01, 0.1],
            "alpha": [0.00001, 0.001], "batch": [16, 64],
        },
        "rungs": {"code": "score = train(model, batch)", "count": 3, "factor": 3},
    });
    let id = start(&server, &body);
    let sweep = ended(&server, &id);
    let rungs = column(&sweep, "rung");
    assert_eq!(
        (1..=3).map(|rung| rungs.iter().filter(|r| r.as_u64() >= Some(rung)).count()).collect::<Vec<_>>(),
        [8, 3, 1]
    );
    let best = &sweep["rows"][usize::try_from(sweep["best"].as_u64().unwrap()).unwrap()];
    assert!(best["metric"].as_f64().unwrap() > 0.9, "{best}");
    // Takes the model into the main line.
    let path = format!("/api/states/{ready}/merge");
    let taken = server.post(&path, json!({"from": best["state"], "take": "changed"}));
    assert_eq!(taken.status, 200, "{taken:?}");
    let score: f64 =
        server.run(taken.json()["state"].as_str().unwrap(), &code[3]).text().trim().parse().unwrap();
    assert!(score > 0.9);
}

#[test]
fn a_reset_ends_a_sweep_and_no_row_begins_after_it() {
    let server = TestServer::start();
    let room = server.room();
    let code = "x = 0\nimport time\nopen(f'row{x}', 'w').close()\ntime.sleep(1000)";
    let body = json!({"at": "initial", "code": code, "parallel": 1, "grid": {"x": [1, 2, 3]}});
    start(&server, &body);
    room.wait_for("row1");
    server.reset();
    assert_eq!(server.owner(Request::get(SWEEPS)).json(), json!([]));
    assert_eq!(count(&server), (1, 0));
    server.has_no_zombies();
    assert!(!room.file("row2").exists() && !room.file("row3").exists());
}

#[test]
fn a_copy_of_a_notebook_runs_no_row_by_itself() {
    let server = TestServer::start();
    let room = server.room();
    let code = "x = 0\nimport time\nopen(f'row{x}', 'w').close()\ntime.sleep(1000 if x == 2 else 0)";
    let body = json!({"at": "initial", "code": code, "parallel": 1, "grid": {"x": [1, 2, 3]}});
    let id = start(&server, &body);
    room.wait_for("row2");
    std::fs::remove_file(room.file("row1")).unwrap();
    std::fs::remove_file(room.file("row2")).unwrap();
    let copied = server.post("/api/notebooks/main/duplicate", json!({"to": "copy"}));
    assert!(copied.status < 300, "{copied:?}");
    let sweeps = "/api/notebooks/copy/sweeps";
    let copy = server.owner(Request::get(&format!("{sweeps}/{id}"))).json();
    assert_eq!(copy["status"], "stopped", "{copy}");
    assert!(copy["note"].as_str().unwrap().contains("was copied"), "{copy}");
    assert_eq!(column(&copy, "metric").len(), 3);
    // A cell of the copy runs after everything that its start has begun.
    let run = json!({"do": "run", "exec_id": "one", "code": "1", "on": {"state": "initial"}});
    let ran = server.owner(Request::post("/api/notebooks/copy/commands", &run.to_string()));
    assert_eq!(ran.json()["status"], "ok", "{ran:?}");
    assert!(!room.file("row2").exists() && !room.file("row3").exists());
    assert_eq!(get(&server, &id)["status"], "running");
}

#[test]
fn ids_belong_to_one_sweep_and_requests_at_the_same_time_get_one_answer() {
    let server = TestServer::start();
    let body =
        |id: &str, code: &str| json!({"sweep_id": id, "at": "initial", "code": code, "grid": {"x": [1, 2]}});
    let all: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let send = |n: usize| {
            let body = body("same", if n.is_multiple_of(2) { "x = 0" } else { "x = 1" });
            let server = &server;
            scope.spawn(move || {
                let answer = server.post(SWEEPS, body);
                (answer.status, answer.json())
            })
        };
        let threads: Vec<_> = (0..6).map(send).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let good = all.iter().filter(|(status, _)| *status == 202).count();
    assert!(good == 3 && all.iter().all(|(status, _)| [202, 409].contains(status)), "{all:?}");
    let sweep = ended(&server, "same");
    assert_eq!(column(&sweep, "status"), ["ok", "ok"]);
    // Other rows under the same id.
    let mut other = body("same", sweep["code"].as_str().unwrap());
    other["grid"] = json!({"x": [1, 3]});
    assert_eq!(server.post(SWEEPS, other).status, 409);
    // The ids of the rows are reserved, and an id that runs have already is refused.
    let mine = |exec_id: &str| {
        let run = json!({"do": "run", "exec_id": exec_id, "code": "1", "on": {"state": "initial"}});
        server.post("/api/notebooks/main/commands", run).status
    };
    assert_eq!((mine("same.7"), mine("free.0")), (409, 200));
    assert_eq!(server.post(SWEEPS, body("free", "x = 0")).status, 409);
    assert_eq!(server.post(SWEEPS, body("a.b", "x = 0")).status, 400);
}

#[test]
fn a_row_from_which_variables_were_taken_stays_when_the_sweep_is_collapsed() {
    let server = TestServer::start();
    let body = json!({"at": "initial", "code": "x = 0", "metric": "x", "grid": {"x": [1, 2, 3]}});
    let id = start(&server, &body);
    let sweep = ended(&server, &id);
    let other = server.run("initial", "y = 1").state().to_owned();
    let path = format!("/api/states/{other}/merge");
    let from = &sweep["rows"][0]["state"];
    assert_eq!(server.post(&path, json!({"from": from, "take": ["x"]})).status, 200);
    let answer = server.post(&format!("{SWEEPS}/{id}/collapse"), json!({})).json();
    assert_eq!((&answer["continued"], answer["deleted"].as_array().unwrap().len()), (&json!([from]), 1));
}

#[test]
fn deleting_a_sweep_ends_rows_that_ignore_an_interrupt() {
    let server = TestServer::start();
    let room = server.room();
    let code = "x = 0\nimport time\nopen(f'row{x}', 'w').close()\nwhile True:\n    try: time.sleep(1000)\n    except \
                KeyboardInterrupt: pass";
    let id = start(&server, &json!({"at": "initial", "code": code, "parallel": 2, "grid": {"x": [1, 2, 3]}}));
    room.wait_for("row1");
    room.wait_for("row2");
    assert_eq!(server.owner(Request::new("DELETE", &format!("{SWEEPS}/{id}"))).status, 200);
    assert_eq!((server.owner(Request::get(SWEEPS)).json(), count(&server)), (json!([]), (1, 0)));
    server.has_no_zombies();
}

#[test]
fn a_row_whose_state_is_deleted_cannot_continue_and_the_others_do() {
    let server = TestServer::start();
    let room = server.room();
    let code = "x = 0\nimport os, time\nopen(f'row{x}', 'w').close()\nwhile x == 3 and not os.path.exists('go'): \
                time.sleep(0.01)";
    let body = json!({
        "at": "initial", "code": code, "metric": "x", "parallel": 1, "grid": {"x": [1, 2, 3]},
        "rungs": {"code": "x += 10", "count": 1, "factor": 2},
    });
    let id = start(&server, &body);
    room.wait_for("row3");
    let second = column(&get(&server, &id), "state")[1].as_str().unwrap().to_owned();
    assert_eq!(server.owner(Request::new("DELETE", &format!("/states/{second}"))).status, 200);
    room.put("go");
    let sweep = ended(&server, &id);
    assert_eq!(
        (&sweep["status"], column(&sweep, "metric")[2].as_f64()),
        (&json!("done"), Some(13.0)),
        "{sweep}"
    );
    assert_eq!((&sweep["rows"][1]["status"], &sweep["best"]), (&json!("error"), &json!(2)));
}
