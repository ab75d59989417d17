//! Repeats attacks on the kernel and its server that succeeded in earlier versions.

use crate::cells::{Live, Room, descendants};
use crate::request::Request;
use crate::server::{TestServer, until};
use serde_json::{Value, json};

/// Each cell must make a state with its outputs as text, and must not end its process.
#[test]
fn hostile_displays_and_errors_do_not_end_their_process() {
    let server = TestServer::start();
    let deep = "display({'application/json': __import__('functools').reduce(lambda a, _: [a], range(200), \
        1)}, raw=True)";
    for code in [
        "display('a', display_id=5)",
        deep,
        "display({'application/json': {'a': 10**400}}, raw=True)",
        "display({'application/json': {'a': '\\udc80'}}, raw=True)",
        "print('\\udc80'); {'\\udc80': 1}",
        "get_ipython().execution_count = 2**40; 5",
        "display({f'text/x{i}': 'y' * 8_000_000 for i in range(9)}, raw=True)",
        "import threading, time\n\
        threading.Thread(target=time.sleep, args=(5,), name='x' * 70_000_000, daemon=True).start()",
    ] {
        let ran = server.run("initial", code);
        assert_eq!(ran.ename(), "", "{code}");
        assert!(ran.state.is_some(), "{code}");
    }
    for (code, name) in [
        ("raise Exception('x' * 40_000_000)", "Exception"),
        ("raise type('K' * 70_000_000, (Exception,), {})", "KKK"),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E"),
    ] {
        let ran = server.run("initial", code);
        assert!(ran.ename().starts_with(name), "{code}: {}", ran.ename());
    }
}

#[test]
fn hostile_variables_do_not_hide_the_others() {
    let server = TestServer::start();
    let code = "class M(type):\n    @property\n    def __name__(cls): raise ValueError\n\
        class A(metaclass=M): pass\na = A()\nglobals()[5] = 1\n\
                class S(str):\n    def __len__(self): return -1\ns = S('s')\n\
                class R:\n    def __repr__(self): raise type('K' * 80_000_000, (Exception,), {})\nr = R()\n\
                class Slow:\n    def __repr__(self):\n        while True: pass\nslow = Slow()\nfine = 42";
    let ran = server.run("initial", code);
    let answer = server.owner(Request::get(&format!("/states/{}", ran.state())));
    let variables = &answer.json()["variables"];
    assert_eq!(variables["fine"], json!({"type": "int", "repr": "42"}));
    assert_eq!(variables["a"]["type"], "A");
    for name in ["r", "slow"] {
        assert!(variables[name]["repr"].as_str().unwrap().starts_with("<repr failed: "), "{name}");
    }
}

#[test]
fn a_reused_run_id_is_not_stopped_by_alarms_of_the_first_run() {
    let server = TestServer::start();
    let run = |id: &str, code: &str, limit: Value| {
        let body = json!({"code": code, "exec_id": id, "state_name": "initial", "timeout": limit});
        server.owner(Request::post("/execute", &body.to_string()))
    };
    let room = Room::new();
    let begun = room.file("begun");
    std::thread::scope(|scope| {
        let code = format!("open({begun:?}, 'w'); import time; time.sleep(60)");
        let first = scope.spawn(move || run("1", &code, json!(60)));
        room.wait_for("begun");
        assert!(server.interrupt("1"));
        assert_eq!(first.join().unwrap().json()["error"]["ename"], "KeyboardInterrupt");
    });
    let limited = run("2", "import time; time.sleep(60)", json!(1));
    assert_eq!(limited.json()["error"]["ename"], "RunTimeout");
    server.reset();
    // These cells run longer than the grace period of an interrupt (3 s) and the time limit of the
    // first run.
    for id in ["1", "2"] {
        let again = run(id, "import time; time.sleep(3.5)", Value::Null);
        assert_eq!(again.json()["error"], Value::Null, "{id}");
    }
}

#[test]
fn a_run_that_waits_for_input_survives_the_deletion_of_its_state() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let state = server.run("initial", "x = 1");
    let exec_id = live.run(state.state(), "y = input('q')\nprint(y, x)");
    live.event(&exec_id, "prompt_changed");
    let deleted = server.owner(Request::new("DELETE", &format!("/states/{}", state.state())));
    assert_eq!(deleted.status, 200);
    live.send(json!({"do": "answer_input", "exec_id": exec_id, "text": "yes"}));
    assert_eq!(live.event(&exec_id, "run_ended")["status"], "ok");
}

#[test]
fn a_thread_cannot_ask_for_input() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let code = "import threading\ntold = []\n\
        def ask():\n    try: input('bg?')\n    except RuntimeError as e: told.append(str(e))\n\
                t = threading.Thread(target=ask); t.start(); t.join(); assert 'thread' in told[0], told";
    let exec_id = live.run("initial", code);
    let ended = live.event(&exec_id, "run_ended");
    assert_eq!(ended["status"], "ok", "{ended}");
    let next = server.run(ended["state"].as_str().unwrap(), "print(len(told))");
    assert_eq!(next.text(), "1\n");
}

#[test]
fn an_answer_goes_to_the_current_prompt() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let code = "try: input('a')\nexcept KeyboardInterrupt: pass\nprint('B:', input('b'))";
    let exec_id = live.run("initial", code);
    let first = live.hear(|m| m["event"] == "prompt_changed" && m["prompt"]["text"] == "a");
    assert_eq!(first["exec_id"], exec_id);
    assert!(server.interrupt(&exec_id));
    live.hear(|m| m["event"] == "prompt_changed" && m["prompt"].is_null());
    live.hear(|m| m["event"] == "prompt_changed" && m["prompt"]["text"] == "b");
    live.send(json!({"do": "answer_input", "exec_id": exec_id, "text": "for b"}));
    let events = live.events_of(&exec_id);
    let printed: String = events.iter().filter_map(|e| e["output"]["text"].as_str()).collect();
    assert_eq!(printed, "bfor b\nB: for b\n");
}

#[test]
#[ignore = "nightly: it takes 5 s of processor time"]
fn many_requests_for_variables_start_few_processes() {
    let server = TestServer::start();
    let code = "class Slow:\n    def __repr__(self):\n        while True: pass\na = b = c = d = Slow()";
    let states: Vec<String> = (0..12).map(|_| server.run("initial", code).state().to_owned()).collect();
    let before = descendants(server.pid()).len();
    std::thread::scope(|scope| {
        let server = &server;
        for state in states.iter().cycle().take(60) {
            scope.spawn(move || {
                let answer = server.owner(Request::get(&format!("/states/{state}")));
                assert!([200, 429, 503].contains(&answer.status), "{}", answer.status);
            });
        }
        for _ in 0..20 {
            let now = descendants(server.pid()).len();
            let why = "eight forks list, one may save, one may compare; as many may be ending";
            assert!(now <= before + 20, "{now} processes, {before} before: {why}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
}

#[test]
fn a_reset_in_the_middle_of_runs_leaves_only_the_root() {
    let server = TestServer::start();
    server.run("initial", "1");
    server.reset();
    until("only the root is there", || descendants(server.pid()).len() == 1);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..15).for_each(|_| drop(server.run("initial", "y = 1"))));
        }
        (0..25).for_each(|_| server.reset());
    });
    server.reset();
    until("only the root is there", || descendants(server.pid()).len() == 1);
}

#[test]
fn hooks_of_the_user_in_the_shell_run_only_for_the_users_cells() {
    let server = TestServer::start();
    let code = "L = []\nget_ipython().display_formatter.formatters['text/html'].for_type(int, lambda o: \
        L.append(1))";
    let state = server.run("initial", code);
    for _ in 0..3 {
        assert_eq!(server.run(state.state(), "print(len(L))").text(), "0\n");
    }
}

#[test]
fn a_process_that_holds_a_dead_heads_socket_does_not_keep_its_run_going() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let code = "import ctypes, os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
        child = ctypes.CDLL(None).fork()\n\
                if child == 0:\n    os.setsid()\n    time.sleep(1000)\nprint(child)";
    let detached = server.run("initial", code);
    let exec_id = live.run(detached.state(), "print(child)\nwhile True: time.sleep(1)");
    live.event(&exec_id, "output_added");
    assert!(server.interrupt(&exec_id));
    assert!(server.interrupt(&exec_id));
    assert_eq!(live.event(&exec_id, "run_ended")["status"], "interrupted");
    // The process has left its process group. It would survive the killed server of a test, so the
    // test kills it.
    let child: i32 = detached.text().trim().parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child), nix::sys::signal::Signal::SIGKILL).unwrap();
}

#[test]
#[ignore = "nightly: it takes 13 s of processor time"]
fn no_kind_of_output_exceeds_the_limit() {
    let server = TestServer::fresh();
    let before = server.memory();
    let code = "big = 'x' * 8_000_000\nhandles = [display('', display_id=True) for _ in range(40)]\n\
                for handle in handles: handle.update(big)\n\
                for _ in range(200_000): display({}, raw=True)";
    let ran = server.run("initial", code);
    assert_eq!(ran.ename(), "");
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 250 * 1024 * 1024, "the server grew by {grown} bytes");
}

#[test]
fn a_thread_pool_of_a_state_works_in_its_branches() {
    let server = TestServer::start();
    let code = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\n\
        print(pool.submit(pow, 2, 3).result())";
    let state = server.run("initial", code);
    assert_eq!(state.text(), "8\n");
    // The second and third states are branches. Each one uses the pool again in its lineage.
    for n in 1..=3 {
        let next = server.run(state.state(), &format!("print(list(pool.map(lambda x: x + {n}, range(5))))"));
        assert_eq!(next.text(), format!("{:?}\n", (n..n + 5).collect::<Vec<_>>()));
        assert_eq!(server.run(next.state(), "print(pool.submit(len, 'ab').result())").text(), "2\n");
    }
}

#[test]
fn a_state_that_lost_the_kernels_modules_can_be_branched() {
    let server = TestServer::start();
    let none = "import sys\nfor name in list(sys.modules):\n    if name.startswith('ratoon_kernel'): \
        sys.modules[name] = None\nv = 1";
    let gone = "import sys\nfor name in list(sys.modules):\n    if name.startswith('ratoon_kernel'): del \
        sys.modules[name]\nv = 1";
    for code in [none, gone, "import sys; sys.modules.clear(); v = 1"] {
        let state = server.run("initial", code);
        assert_eq!(state.ename(), "", "{code}: {state:?}");
        for _ in 0..2 {
            let ran = server.run(state.state(), "print(v)");
            assert_eq!(ran.text(), "1\n", "{code}: {ran:?}");
        }
        for path in ["/symbol_hashes", "/alias_groups"] {
            let answer = server.post(path, json!({"state_name": state.state(), "symbols": ["v"]}));
            assert_eq!(answer.status, 200, "{code}: {answer:?}");
        }
        let body =
            json!({"code": "print(a.v)", "exec_id": state.state(), "state_mapping": {"a": state.state()}});
        assert_eq!(server.post("/multistate_execute", body).json()["error"], json!(null), "{code}");
    }
}
