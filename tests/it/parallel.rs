//! Tests of parallel runs and requests: against one state, against many states, and from many
//! clients.

use crate::cells::{Dir, Going};
use crate::request::Request;
use crate::server::{TestServer, until};
use crate::wire::Wire;
use serde_json::json;
use std::time::Instant;

/// Sends a request several times and prints the shortest response time. The answers must not wait
/// for the sleeping cells, which this test wakes later.
fn answers(what: &str, mut ask: impl FnMut()) {
    let mut once = || {
        let asked = Instant::now();
        ask();
        asked.elapsed()
    };
    eprintln!("{what}: {:?}", (0..7).map(|_| once()).min().unwrap());
}

const WAITS: &str = "import os, time\nopen(f'began{os.getpid()}', 'w').close()\n\
    while not os.path.exists('go'): time.sleep(0.05)";

fn have_begun(room: &Dir) -> usize {
    std::fs::read_dir(room.path())
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("began"))
        .count()
}

fn fifty_sleep(states: impl Fn(&TestServer, usize) -> String) {
    let server = TestServer::start();
    let room = server.room();
    let states: Vec<String> = (0..50).map(|n| states(&server, n)).collect();
    let going: Vec<Going> = states.iter().map(|state| server.begin(state, WAITS)).collect();
    until("all fifty run", || have_begun(&room) == 50);

    answers("the list", || assert!(server.states().contains(&"initial".to_owned())));
    answers("the notebook", || assert_eq!(server.notebook()["name"], "main"));
    let variables = Request::get(&format!("/states/{}", states[7]));
    // Accepts the status 504, because on a busy machine listing variables may exceed its time
    // limit.
    answers("a state's variables", || {
        until("the variables are listed", || match server.owner(variables.clone()).status {
            504 => false,
            status => status == 200 || panic!("{status}"),
        });
    });
    answers("an unknown run", || assert!(!server.interrupt("nobody")));
    let mut going = going;
    answers("an interrupt", || {
        let meant = going.pop().unwrap();
        assert!(server.interrupt(&meant.exec_id));
        assert_eq!(meant.end().ename(), "KeyboardInterrupt");
    });
    answers("another cell", || assert_eq!(server.run("initial", "print(1)").text(), "1\n"));
    assert!(!room.file("go").exists(), "the cells slept all the time");
    room.put("go");
    for going in going {
        assert_eq!(going.end().ename(), "");
    }
}

#[test]
fn fifty_sleeping_cells_on_one_state_delay_no_request() {
    fifty_sleep(|_, _| "initial".into());
}

#[test]
fn fifty_sleeping_cells_on_many_states_delay_no_request() {
    fifty_sleep(|server, n| server.run("initial", &format!("n = {n}")).state().to_owned());
}

/// So two branches use two cores: what would keep them from it is a lock that they share.
#[test]
fn a_branch_that_holds_its_interpreters_lock_delays_no_other() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "import ctypes, os\nkeeping_the_lock = ctypes.PyDLL(None)");
    let holds = "open('began', 'w').close()\nwhile not os.path.exists('go'): keeping_the_lock.usleep(50_000)";
    let holder = server.begin(state.state(), holds);
    room.wait_for("began");
    assert_eq!(server.run(state.state(), "print(sum(range(1_000_000)))").text(), "499999500000\n");
    room.put("go");
    assert_eq!(holder.end().ename(), "");
}

#[test]
fn many_clients_may_use_one_name() {
    let server = TestServer::start();
    let going: Vec<Going> = (0..20)
        .map(|n| server.begin_with("initial", &format!("n = {n}"), json!({"new_state_name": "same"})))
        .collect();
    for going in going {
        assert_eq!(going.end().state(), "same");
    }
    // The name refers to only one of the twenty states. The other states can be found by id.
    assert_eq!(server.states(), ["initial", "same"]);
    let notebook = server.notebook();
    let ids: Vec<&str> =
        notebook["states"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    let mut values: Vec<i32> = ids
        .iter()
        .filter(|id| **id != "initial")
        .map(|id| server.run(id, "print(n)").text().trim().parse().unwrap())
        .collect();
    values.sort_unstable();
    assert_eq!(values, (0..20).collect::<Vec<_>>());
}

#[test]
fn many_clients_run_list_and_delete_at_once() {
    let server = TestServer::start();
    std::thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut tip = "initial".to_owned();
                for n in 0..8 {
                    let ran = server.run(&tip, &format!("x = ({client}, {n}, globals().get('x'))"));
                    let next = ran.state().to_owned();
                    assert!(server.states().contains(&next));
                    assert_eq!(server.run(&next, "print(x[:2])").text(), format!("({client}, {n})\n"));
                    if tip != "initial" {
                        assert_eq!(
                            server.owner(Request::new("DELETE", &format!("/states/{tip}"))).status,
                            200
                        );
                    }
                    tip = next;
                }
            });
        }
    });
    server.has_no_zombies();
}

#[test]
fn a_state_may_be_deleted_while_a_cell_runs_from_it() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "x = 1");
    let going = server.begin(state.state(), &format!("{WAITS}\nx += 1"));
    until("it runs", || have_begun(&room) == 1);
    assert_eq!(server.owner(Request::new("DELETE", &format!("/states/{}", state.state()))).status, 200);
    assert_eq!(server.states(), ["initial"]);
    room.put("go");
    let ran = going.end();
    assert_eq!(server.run(ran.state(), "print(x)").text(), "2\n");
    assert_eq!(server.run(state.state(), "1").ename(), "StateNotFound");
}

#[test]
fn a_reset_ends_all_runs() {
    let server = TestServer::start();
    let room = server.room();
    let state = server.run("initial", "x = 1");
    let going: Vec<Going> = (0..5).map(|_| server.begin(state.state(), WAITS)).collect();
    until("all run", || have_begun(&room) == 5);
    server.reset();
    for going in going {
        let ran = going.end();
        assert_eq!((ran.ename(), ran.state.as_deref()), ("KeyboardInterrupt", None));
    }
    assert_eq!(server.states(), ["initial"]);
    assert_eq!(server.run("initial", "print('x' in globals())").text(), "False\n");
    assert_eq!(server.run(state.state(), "1").ename(), "StateNotFound");
}

#[test]
fn a_client_that_leaves_does_not_stop_its_run() {
    let server = TestServer::start();
    let room = server.room();
    let going = server.begin_with("initial", &format!("{WAITS}\nx = 1"), json!({"new_state_name": "left"}));
    until("it runs", || have_begun(&room) == 1);
    drop(going);
    room.put("go");
    until("its state is there", || server.states().contains(&"left".to_owned()));
    assert_eq!(server.run("left", "print(x)").text(), "1\n");
}

#[test]
fn requests_for_runs_on_one_connection_are_answered_in_order() {
    let server = TestServer::start();
    let mut wire = Wire::open(server.address);
    for n in 0..20 {
        let body =
            json!({"exec_id": format!("turn{n}"), "state_name": "initial", "code": format!("print({n})")});
        let request = Request::post("/execute", &body.to_string()).bearer(crate::server::TOKEN);
        assert_eq!(wire.ask(&request.bytes(&server.host())).json()["output"][0]["text"], format!("{n}\n"));
    }
}

#[test]
fn cells_beyond_the_limit_of_simultaneous_runs_wait_and_run_later() {
    let server = TestServer::start();
    let going: Vec<Going> = (0..150)
        .map(|n| server.begin("initial", &format!("import time; time.sleep(0.1); print({n})")))
        .collect();
    for (n, going) in going.into_iter().enumerate() {
        assert_eq!(going.end().text(), format!("{n}\n"));
    }
}
