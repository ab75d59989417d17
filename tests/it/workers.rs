//! Tests of runs at workers, with an executor of this machine and a store in a directory. The suite
//! `machines` tests a Dask cluster, an S3 server and faults.

use crate::cells::Room;
use crate::request::Request;
use crate::restarts::{command, run_of, state_of};
use crate::server::{TestServer, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const THREADS: &str = "concurrent.futures:ThreadPoolExecutor";

fn start(room: &StoreRoom) -> TestServer {
    let dir = room.file("notebooks");
    std::fs::create_dir_all(&dir).unwrap();
    let store = room.store();
    TestServer::start_with(&["--dir", dir.to_str().unwrap(), "--store", &store, "--workers", THREADS])
}

/// A room with a store. Ends the agents that use the store before it is deleted: an agent outlives
/// its server, and waits for a store that is gone.
struct StoreRoom(Room);

impl StoreRoom {
    fn store(&self) -> String {
        format!("file://{}", self.0.file("store").display())
    }

    /// The agents that use the store, and the directory of each.
    fn agents(&self) -> Vec<(Pid, PathBuf)> {
        let store = self.store();
        let agent_of = |entry: std::fs::DirEntry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
            let words: Vec<&str> = line.split('\0').collect();
            let after = |option: &str| Some(words[words.iter().position(|&word| word == option)? + 1]);
            let file = after("--agent").filter(|_| after("--store") == Some(&store))?;
            Some((Pid::from_raw(pid), Path::new(file).parent()?.to_owned()))
        };
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(agent_of).collect()
    }
}

impl Drop for StoreRoom {
    fn drop(&mut self) {
        let agents = self.agents();
        for &(pid, _) in &agents {
            // Fails if the agent has ended meanwhile.
            let _ = kill(pid, Signal::SIGTERM);
        }
        until("the agents have ended", || self.agents().is_empty());
        for (_, directory) in agents {
            // A second agent of the same directory has removed it.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

impl std::ops::Deref for StoreRoom {
    type Target = Room;

    fn deref(&self) -> &Room {
        &self.0
    }
}

fn tasks(room: &StoreRoom) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![room.file("store").join("tasks")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                names.push(name_of(&entry.path()));
            }
        }
    }
    names
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn rows_and_runs_at_workers_leave_the_states_that_they_would_leave_here() {
    let room = StoreRoom(Room::new());
    let server = start(&room);
    let base = server.run("initial", "data = bytes(300_000)\nbias = 1").state().to_owned();
    let checked =
        server.post("/api/notebooks/main/workers/check", json!({"at": base, "code": "x = bias"})).json();
    assert_eq!((&checked["refusals"], &checked["packages"]), (&json!([]), &json!([])), "{checked}");

    let sweep = json!({
        "at": base, "code": "lr = 0\nprint('row', lr)\nscore = lr * 2 + bias", "metric": "score",
        "grid": {"lr": [0, 1, 2, 3, 4]}, "where": "workers",
    });
    let id = server.post("/api/notebooks/main/sweeps", sweep).json()["id"].as_str().unwrap().to_owned();
    let get = || server.owner(Request::get(&format!("/api/notebooks/main/sweeps/{id}"))).json();
    until("the sweep ends", || get()["status"] != "running");
    let rows = get()["rows"].as_array().unwrap().clone();
    let of = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("metric"), [1.0, 3.0, 5.0, 7.0, 9.0], "{rows:?}");
    assert!(of("node").iter().all(Value::is_string), "{rows:?}");
    let run = run_of(&server, &format!("{id}.3"));
    assert_eq!((&run["outputs"][0]["text"], &run["status"]), (&json!("row 3\n"), &json!("ok")));
    let fetched =
        (0..5).filter(|row| run_of(&server, &format!("{id}.{row}"))["worker"]["fetched_bytes"] != 0);
    assert_eq!(fetched.count(), 1, "the node fetches the state once");
    let third = rows[3]["state"].as_str().unwrap();
    assert_eq!(state_of(&server, third)["living"], "disk");
    assert_eq!(server.run(third, "print(lr, score, len(data))").text(), "3 7 300000\n");

    // A single run, from the state of a row, and one that fails.
    let next = server.begin_with(third, "score += 1; print(score)", json!({"where": "workers"})).end();
    assert_eq!(next.text(), "8\n");
    assert_eq!(server.run(next.state(), "print(score)").text(), "8\n");
    let failed = server.begin_with(third, "1 / 0", json!({"where": "workers"})).end();
    assert_eq!(failed.ename(), "ZeroDivisionError");
    until("nothing is left in the store", || tasks(&room).is_empty());
    // A copy of an agent's notebook would have a lease, and keep the agents of other nodes out.
    let copies = std::fs::read_dir(room.file("store").join("notebooks")).unwrap();
    let names: Vec<String> = copies.map(|entry| name_of(&entry.unwrap().path())).collect();
    assert_eq!(names, ["main"], "the store has copies of the server's notebooks only");
}

#[test]
fn output_streams_interrupts_arrive_and_a_restart_goes_on() {
    let room = StoreRoom(Room::new());
    let mut server = start(&room);
    let code = "import time\nprint('begun', flush=True)\ntime.sleep(600)";
    let going = server.begin_with("initial", code, json!({"where": "workers", "exec_id": "slow"}));
    let runs = || server.notebook()["runs"].as_array().unwrap().clone();
    until("its output streams", || runs().iter().any(|run| run["outputs"][0]["text"] == "begun\n"));
    assert!(server.interrupt("slow"));
    assert_eq!(going.end().ename(), "KeyboardInterrupt");
    until("its task is gone", || tasks(&room).is_empty());

    let go = room.file("go");
    let sweep = json!({
        "at": "initial", "grid": {"n": [1, 2]}, "where": "workers",
        "code": format!("import os, time\nn = 1\nwhile not os.path.exists({go:?}): time.sleep(0.01)"),
    });
    let id = server.post("/api/notebooks/main/sweeps", sweep).json()["id"].as_str().unwrap().to_owned();
    until("the rows are at the workers", || {
        tasks(&room).iter().filter(|name| name.contains(".out.")).count() == 2
    });
    server.restart();
    room.put("go");
    let get = || server.owner(Request::get(&format!("/api/notebooks/main/sweeps/{id}"))).json();
    until("the sweep goes on", || get()["status"] == "done");
    let count = server.notebook()["states"].as_array().unwrap().len();
    assert_eq!(count, 3, "each row has one state");

    let refused = command(
        &server,
        json!({
            "do": "run", "exec_id": "r", "on": {"state": "initial"}, "code": "1", "where": "workers",
            "resources": {"gpus": 1},
        }),
    );
    assert_eq!(refused["error"]["ename"], "WorkerFailed", "{refused}");
}
