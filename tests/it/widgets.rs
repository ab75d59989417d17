//! Tests of messages to widgets: who sees what their code sets, and when they are refused.

use crate::cells::Live;
use crate::restarts::{command, run_of, state_of};
use crate::server::{TestServer, until};
use serde_json::{Value, json};

const SLIDER: &str = "import ipywidgets\nseen = []\nslider = ipywidgets.IntSlider()\n\
    slider.observe(lambda change: (seen.append(change['new']), print('saw', change['new'])), 'value')\n\
    print(slider.model_id)";

/// The command that sets the slider.
fn set(state: &str, exec_id: &str, model: &str, value: i64) -> Value {
    let message = json!({"method": "update", "model": model, "state": {"value": value}, "echo": "e"});
    json!({"do": "widget", "state": state, "exec_id": exec_id, "message": message})
}

fn value_in(run: &Value, model: &str) -> Value {
    run["widgets"][model]["state"]["value"].clone()
}

#[test]
fn the_next_cell_branches_and_restored_states_see_what_a_widget_has_set() {
    let Some(mut server) = TestServer::with_science() else { return };
    let made = server.run("initial", SLIDER);
    let (state, model) = (made.state().to_owned(), made.text().trim().to_owned());
    let exec_id = state_of(&server, &state)["exec_id"].as_str().unwrap().to_owned();
    until("the state is saved", || state_of(&server, &state)["checkpoint"].is_object());
    let mut live = Live::join(&server);
    let id = live.send(set(&state, &exec_id, &model, 7));
    let changed = live.hear(|m| m["event"] == "widgets_changed");
    assert_eq!(changed["messages"][0]["echo"], "e", "all pages get what one page has set");
    assert_eq!(live.hear(|m| m["reply"] == id)["kind"], "handled");
    let printed = run_of(&server, &exec_id)["outputs"].to_string();
    assert!(printed.contains("saw 7"), "it is shown where the widget is: {printed}");

    // Two cells at once: the head runs one, and the other is a fork of the state.
    let cells = ["print(slider.value, seen)", "print(seen)"].map(|code| server.begin(&state, code));
    let mut texts = cells.map(|cell| cell.end().text());
    texts.sort();
    assert_eq!(texts, ["7 [7]\n", "[7]\n"]);
    let late = live.send(set(&state, &exec_id, &model, 9));
    let refused = live.hear(|m| m["reply"] == late);
    assert_eq!(
        (&refused["code"], refused["why"].as_str().unwrap().contains("a cell has run")),
        (&json!("conflict"), true)
    );

    command(&server, json!({"do": "checkpoint", "state": state}));
    server.restart();
    assert_eq!(value_in(&run_of(&server, &exec_id), &model), 7, "its look is on disk");
    assert_eq!(server.run(&state, "print(slider.value, seen)").text(), "7 [7]\n");
}

#[test]
fn messages_wait_while_a_cell_runs_and_go_to_the_state_that_it_left() {
    let Some(server) = TestServer::with_science() else { return };
    let room = server.room();
    let made = server.run("initial", SLIDER);
    let (state, model) = (made.state().to_owned(), made.text().trim().to_owned());
    let exec_id = state_of(&server, &state)["exec_id"].as_str().unwrap().to_owned();
    let mut live = Live::join(&server);
    let code =
        "import os, time\nprint('waits', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)";
    let cell = server.begin(&state, code);
    live.hear(|m| m["event"] == "output_added" && m["exec_id"] == cell.exec_id);
    let id = live.send(set(&state, &exec_id, &model, 7));
    // The server answers commands in order, so the message has arrived.
    let label = live.send(json!({"do": "label", "state": state, "label": "made"}));
    assert_eq!(live.hear(|m| m["reply"] == label)["kind"], "done");
    std::fs::write(room.file("go"), "").unwrap();
    let next = cell.end();
    assert_eq!(live.hear(|m| m["reply"] == id)["kind"], "handled");
    assert_eq!(server.run(next.state(), "print(slider.value)").text(), "7\n");
    assert_eq!(server.run(&state, "print(slider.value)").text(), "0\n");
}

#[test]
fn a_widget_whose_code_ends_its_process_changes_nothing() {
    let Some(server) = TestServer::with_science() else { return };
    let code = format!("{SLIDER}\nimport os\nslider.observe(lambda _: os._exit(3), 'value')");
    let made = server.run("initial", &code);
    let (state, model) = (made.state().to_owned(), made.text().trim().to_owned());
    let exec_id = state_of(&server, &state)["exec_id"].as_str().unwrap().to_owned();
    let mut live = Live::join(&server);
    let id = live.send(set(&state, &exec_id, &model, 7));
    assert_eq!(live.hear(|m| m["reply"] == id)["code"], "kernel");
    assert_eq!(value_in(&run_of(&server, &exec_id), &model), 0);
    assert_eq!(server.run(&state, "print(slider.value, seen)").text(), "0 []\n");
}

#[test]
fn the_code_of_a_widget_can_be_interrupted_and_cells_wait_for_it() {
    let Some(server) = TestServer::with_science() else { return };
    let code = format!("{SLIDER}\nimport time\nslider.observe(lambda _: time.sleep(1000), 'value')");
    let made = server.run("initial", &code);
    let (state, model) = (made.state().to_owned(), made.text().trim().to_owned());
    let exec_id = state_of(&server, &state)["exec_id"].as_str().unwrap().to_owned();
    let mut live = Live::join(&server);
    let id = live.send(set(&state, &exec_id, &model, 7));
    live.hear(|m| m["event"] == "output_added" && m["exec_id"] == exec_id);
    let cell = server.begin(&state, "print(slider.value)");
    live.hear(|m| m["event"] == "run_added" && m["run"]["exec_id"] == cell.exec_id);
    assert_eq!(run_of(&server, &cell.exec_id)["status"], "queued");
    let stop = live.send(json!({"do": "interrupt", "exec_id": exec_id}));
    assert_eq!(live.hear(|m| m["reply"] == stop)["interrupted"], true);
    assert_eq!(live.hear(|m| m["reply"] == id)["kind"], "handled");
    assert_eq!(cell.end().text(), "7\n");
    let shown = run_of(&server, &exec_id)["outputs"].to_string();
    assert!(shown.contains("KeyboardInterrupt"), "{shown}");
}

#[test]
fn a_flood_of_changes_reaches_pages_as_few_events() {
    let Some(server) = TestServer::with_science() else { return };
    let mut live = Live::join(&server);
    let code = "import ipywidgets\nslider = ipywidgets.IntSlider(max=10**6)\n\
        for i in range(20_000): slider.value = i";
    let exec_id = live.run("initial", code);
    let events = live.events_of(&exec_id);
    let changes = events.iter().filter(|e| e["event"] == "widgets_changed").count();
    assert!(changes < 1000, "{changes} events");
    let run = run_of(&server, &exec_id);
    let models = run["widgets"].as_object().unwrap();
    assert!(models.values().any(|model| model["state"]["value"] == 19_999));
}

#[test]
fn a_state_whose_variables_were_taken_never_changes_and_reads_see_what_a_widget_has_set() {
    let Some(server) = TestServer::with_science() else { return };
    let base = server.run("initial", "ends = []").state().to_owned();
    let ours = server.run(&base, "own = 1").state().to_owned();
    let ends = "slider.observe(lambda change: ends.append(8) if change['new'] == 8 else None, 'value')";
    let made = server.run(&base, &format!("{SLIDER}\n{ends}"));
    let (state, model) = (made.state().to_owned(), made.text().trim().to_owned());
    let exec_id = state_of(&server, &state)["exec_id"].as_str().unwrap().to_owned();
    let mut live = Live::join(&server);
    let id = live.send(set(&state, &exec_id, &model, 7));
    assert_eq!(live.hear(|m| m["reply"] == id)["kind"], "handled");
    let values = command(&server, json!({"do": "evaluate", "state": state, "expressions": ["seen"]}));
    assert_eq!(values["values"][0]["text"], "[7]", "also right after the widget");
    let id = live.send(set(&state, &exec_id, &model, 8));
    assert_eq!(live.hear(|m| m["reply"] == id)["kind"], "handled");
    let path = format!("/api/states/{ours}/merge");
    // The code of the slider names `seen` and `ends`, but no object of the slider holds them, so
    // they can be taken without it.
    let merged = server.post(&path, json!({"from": state, "take": ["ends", "seen"]}));
    assert_eq!(merged.status, 200, "{merged:?}");
    let merged = merged.json();
    assert_eq!(merged["taken"], json!([{"name": "ends"}, {"name": "seen"}]), "the widget has changed both");
    let taken = merged["state"].as_str().unwrap();
    assert_eq!(server.run(taken, "print(ends, seen)").text(), "[8] [7, 8]\n");
    let late = live.send(set(&state, &exec_id, &model, 9));
    assert_eq!(live.hear(|m| m["reply"] == late)["code"], "conflict");
}
