//! Tests of threads of unknown libraries. If a state has such threads, no branch is forked from it.

use crate::cells::{Live, Room};
use crate::checkpoints::wait_for_checkpoints;
use crate::request::Request;
use crate::restarts::state_of;
use crate::server::{TestServer, until};
use serde_json::json;
use std::process::Command;

/// A pool with one worker thread, in C. `ask` wakes the worker and waits for its answer. In a
/// process without the worker, `ask` never returns.
const POOL: &str = r#"#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked_now = PTHREAD_COND_INITIALIZER, answered_now = PTHREAD_COND_INITIALIZER;
static int asked, answered, has_worker, is_over;
static pthread_t worker;
static void *work(void *name) {
    if (name) pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&lock);
    for (;;) {
        while (answered == asked && !is_over) pthread_cond_wait(&asked_now, &lock);
        if (is_over) return (void *)(long)pthread_mutex_unlock(&lock);
        answered = asked;
        pthread_cond_signal(&answered_now);
    }
}
int ask(char *name) {
    pthread_mutex_lock(&lock);
    if (!has_worker) has_worker = !pthread_create(&worker, 0, work, name);
    int number = ++asked;
    pthread_cond_signal(&asked_now);
    while (answered < number) pthread_cond_wait(&answered_now, &lock);
    pthread_mutex_unlock(&lock);
    return number;
}
void end(void) {
    pthread_mutex_lock(&lock);
    is_over = 1;
    pthread_cond_signal(&asked_now);
    pthread_mutex_unlock(&lock);
    if (has_worker) pthread_join(worker, 0);
    has_worker = is_over = 0;
}
// Each worker answers once, starts the next worker and ends.
static void *work_once(void *microseconds) {
    pthread_mutex_lock(&lock);
    if (answered != asked) pthread_cond_signal(&answered_now);
    answered = asked;
    pthread_mutex_unlock(&lock);
    usleep((long)microseconds);
    pthread_t next;
    if (!pthread_create(&next, 0, work_once, microseconds)) pthread_detach(next);
    return 0;
}
int ask_a_chain(int microseconds) {
    pthread_mutex_lock(&lock);
    if (!has_worker) has_worker = !pthread_create(&worker, 0, work_once, (void *)(long)microseconds);
    int number = ++asked;
    while (answered < number) pthread_cond_wait(&answered_now, &lock);
    pthread_mutex_unlock(&lock);
    return number;
}
// Waits for ever, except in the process that called it first.
int only_here(void) {
    static pid_t home;
    if (!home) home = getpid();
    pthread_mutex_lock(&lock);
    while (getpid() != home) pthread_cond_wait(&asked_now, &lock);
    pthread_mutex_unlock(&lock);
    return 1;
}
"#;

/// A module with the pool, and with values that start the pool when they are unpickled. The arrays
/// of some libraries do the same.
const MODULE: &str = "import ctypes, os
_pool = ctypes.CDLL(os.path.abspath('libpool.so'))
_name = ctypes.create_string_buffer(b'pool-worker')
def ask(is_named=False): return _pool.ask(_name if is_named else None)
class Array:
    def __reduce__(self): return _new, ()
    def __repr__(self): return f'array {ask()}'
def _new():
    ask()
    return Array()
";

fn room() -> Room {
    let room = Room::new();
    std::fs::write(room.file("pool.c"), POOL).unwrap();
    std::fs::write(room.file("pool.py"), MODULE).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-pthread", "-o", "libpool.so", "pool.c"])
        .current_dir(room.path())
        .status();
    assert!(built.unwrap().success(), "cc could not build the library");
    room
}

fn warnings(server: &TestServer, state: &str) -> String {
    let warnings: Vec<String> = serde_json::from_value(state_of(server, state)["warnings"].clone()).unwrap();
    warnings.join("\n")
}

/// Reads a state without running a cell, in several ways. Each request must get an answer or an
/// error.
fn looks_end(server: &TestServer, state: &str) {
    for asked in [
        json!({"do": "look_at_variables", "state": state}),
        json!({"do": "complete", "state": state, "code": "pool.a", "cursor": 6}),
    ] {
        // The test's connection has a time limit, so a missing answer fails the test.
        let answer = server.owner(Request::post("/api/notebooks/main/commands", &asked.to_string()));
        assert!(answer.json().is_object(), "{asked}: {}", answer.text());
    }
}

fn printed(server: &TestServer, state: &str, code: &str) -> String {
    let ran = server.run(state, code);
    assert_eq!(ran.ename(), "", "{code}: {}", ran.evalue());
    ran.text()
}

#[test]
fn an_unknown_library_with_threads_does_not_hang_branches() {
    let room = room();
    let mut server = TestServer::in_dir(room.path());
    let state = server.run("initial", "import pool; g = iter([1]); print(pool.ask())");
    assert_eq!(state.text(), "1\n", "{state:?}");
    let says =
        "native threads do not survive a fork, so branches come from the checkpoint: one of libpool.so";
    assert_eq!(warnings(&server, state.state()), says);
    assert_eq!(state_of(&server, state.state())["forks"], false);
    // The head keeps its worker. Each of the two simultaneous branches has a separate worker.
    assert_eq!(printed(&server, state.state(), "print(pool.ask())"), "2\n");
    let branches = [0; 2].map(|_| server.begin(state.state(), "print(pool.ask(), pool.ask())"));
    for branch in branches {
        let ran = branch.end();
        assert_eq!(ran.text(), "1 2\n", "{ran:?}");
        assert_eq!(printed(&server, ran.state(), "print(pool.ask())"), "3\n");
        assert!(warnings(&server, ran.state()).contains("libpool.so"));
    }
    looks_end(&server, state.state());
    server.restart();
    for _ in 0..2 {
        assert_eq!(printed(&server, state.state(), "print(pool.ask())"), "1\n");
    }
    looks_end(&server, state.state());
}

#[test]
fn warnings_about_threads_contain_their_names() {
    let room = room();
    let server = TestServer::in_dir(room.path());
    let state = server.run("initial", "import pool; pool.ask(True)");
    assert!(warnings(&server, state.state()).ends_with(": pool-worker (libpool.so)"));
    // Python's own threads cause a warning, but the state's process may be forked.
    let code = "import _thread, threading, time; _thread.start_new_thread(time.sleep, (1000,))
threading.Thread(target=time.sleep, args=(1000,), name='sleeper', daemon=True).start()";
    let state = server.run("initial", code);
    assert_eq!(warnings(&server, state.state()), "threads do not survive in a branch: sleeper");
    assert_eq!(state_of(&server, state.state())["forks"], true);
}

#[test]
fn a_directory_named_like_a_proven_library_proves_nothing() {
    let room = room();
    let server = TestServer::in_dir(room.path());
    for file in [
        "envs-openblas/lib/libpool.so",
        "libpython-tools/libpool.so",
        "libgomp-x/libpool.so",
        "numexpr/pool.so",
    ] {
        let file = room.file(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::copy(room.file("libpool.so"), &file).unwrap();
        let code =
            format!("import ctypes; lib = ctypes.CDLL({:?}); print(lib.ask(None))", file.to_str().unwrap());
        let state = server.run("initial", &code);
        assert!(warnings(&server, state.state()).ends_with("pool.so"), "{state:?}");
        assert_eq!(state_of(&server, state.state())["forks"], false);
        server.run(state.state(), "pass");
        assert_eq!(printed(&server, state.state(), &code), "1\n");
    }
}

#[test]
fn threads_that_start_each_other_and_end_are_detected() {
    let room = room();
    let server = TestServer::in_dir(room.path());
    for microseconds in [300, 300, 300, 300, 1] {
        let code = format!("import pool; print(pool._pool.ask_a_chain({microseconds}))");
        let state = server.run("initial", &code);
        let told = warnings(&server, state.state());
        assert!(told.starts_with("native threads do not survive a fork"), "{told}");
        assert_eq!(state_of(&server, state.state())["forks"], false);
        server.run(state.state(), "pass");
        assert_eq!(printed(&server, state.state(), &code), "1\n");
    }
}

#[test]
fn a_state_with_threads_of_numexpr_is_forked() {
    // Imitates the package numexpr: unnamed threads that start in a file of this name.
    let room = room();
    std::fs::create_dir(room.file("numexpr")).unwrap();
    std::fs::copy(room.file("libpool.so"), room.file("numexpr/interpreter.so")).unwrap();
    let server = TestServer::in_dir(room.path());
    let code = |name: &str| {
        format!(
            "import ctypes, os\nlib = ctypes.CDLL(os.path.abspath('numexpr/interpreter.so')); g = (n for n \
            in range(9)); print(next(g), lib.ask({name}))"
        )
    };
    let state = server.run("initial", &code("None"));
    assert_eq!((state.text(), warnings(&server, state.state())), ("0 1\n".to_owned(), String::new()));
    for _ in 0..3 {
        assert_eq!(printed(&server, state.state(), "print(next(g))"), "1\n");
    }
    let other = server.run("initial", &code("ctypes.create_string_buffer(b'other')"));
    assert!(warnings(&server, other.state()).ends_with(": other (interpreter.so)"));
}

#[test]
fn grpc_is_imported_without_fork_handlers_unless_the_user_wants_them() {
    let room = Room::new();
    std::fs::create_dir_all(room.file("grpc/_cython")).unwrap();
    std::fs::write(room.file("grpc/_cython/__init__.py"), "").unwrap();
    std::fs::write(room.file("grpc/__init__.py"), "from grpc._cython import cygrpc").unwrap();
    // Imitates gRPC, which reads this environment variable once.
    let stub = "import os\nforks = os.environ.get('GRPC_ENABLE_FORK_SUPPORT', '1').strip() not in ('0', \
        'false', 'no')";
    std::fs::write(room.file("grpc/_cython/cygrpc.py"), stub).unwrap();
    let server = TestServer::in_dir(room.path());
    let code = "import grpc, os; print(grpc.cygrpc.forks, os.environ.get('GRPC_ENABLE_FORK_SUPPORT'))";
    assert_eq!(printed(&server, "initial", code), "False None\n");
    let wanted = format!("import os; os.environ['GRPC_ENABLE_FORK_SUPPORT'] = '1'\n{code}");
    assert_eq!(printed(&server, "initial", &wanted), "True 1\n");
}

#[test]
fn opencvs_threads_are_ended_before_its_state_is_forked() {
    let room = room();
    // Imitates OpenCV. Its threads end if the number of threads is set to 1. They start again when
    // there is work.
    let stub = "import pool
count = 4
def ask(): return pool.ask()
def getNumThreads(): return count
def setNumThreads(now):
    global count
    count = now
    if now == 1: pool._pool.end()
";
    std::fs::write(room.file("cv2.py"), stub).unwrap();
    let server = TestServer::in_dir(room.path());
    let state = server.run("initial", "import cv2; g = (n for n in range(9)); print(next(g), cv2.ask())");
    assert_eq!((state.text(), warnings(&server, state.state())), ("0 1\n".to_owned(), String::new()));
    for _ in 0..3 {
        let ran = server.run(state.state(), "print(next(g), cv2.ask(), cv2.getNumThreads())");
        assert_eq!(ran.text(), "1 2 4\n", "{ran:?}");
    }
    // Another thread could be using the library's threads at the same time.
    let code = "import threading; stop = threading.Event(); threading.Thread(target=stop.wait, \
        daemon=True).start(); print(cv2.ask())";
    let busy = server.run(state.state(), code);
    assert!(warnings(&server, busy.state()).contains("one of libpool.so"), "{busy:?}");
}

#[test]
fn a_state_that_needs_its_checkpoint_but_has_none_is_refused_or_forked_on_request() {
    let room = room();
    let mut server = TestServer::in_dir(room.path());
    let state = server.run("initial", "import pool; pool.ask(); g = (n for n in range(9)); next(g)");
    server.run(state.state(), "pass");
    let ran = server.run(state.state(), "next(g)");
    assert!(ran.evalue().contains("Replay the cells of this state to get it back"), "{ran:?}");
    let anyway = |anyway: bool| {
        let wish = json!({ "anyway": anyway }).to_string();
        let path = format!("/api/states/{}/fork_anyway", state.state());
        server.owner(Request::post(&path, &wish)).json()
    };
    assert_eq!(anyway(true)["fork_anyway"], true);
    for _ in 0..2 {
        assert_eq!(printed(&server, state.state(), "print(next(g))"), "1\n");
    }
    assert_eq!(anyway(false)["fork_anyway"], false);
    assert_eq!(server.run(state.state(), "next(g)").ename(), "NameError");
    anyway(true);
    server.restart();
    let told = state_of(&server, state.state());
    assert_eq!((&told["forks"], &told["fork_anyway"]), (&json!(false), &json!(true)));
}

#[test]
fn a_state_whose_loading_started_threads_is_not_forked() {
    let room = room();
    let mut server = TestServer::in_dir(room.path());
    let state = server.run("initial", "import pool; x = pool.Array(); n = 1");
    let next = server.run(state.state(), "n = 2");
    assert_eq!(state_of(&server, state.state())["forks"], true);
    assert_eq!(printed(&server, state.state(), "print(x)"), "array 1\n");
    let states = [state.state().to_owned(), next.state().to_owned()];
    wait_for_checkpoints(&server, &states);
    server.restart();
    let runs: Vec<_> = (0..2).map(|_| server.begin(state.state(), "print(x, n)")).collect();
    for run in runs {
        let ran = run.end();
        assert_eq!(ran.text(), "array 2 1\n", "{ran:?}");
    }
    assert_eq!(state_of(&server, state.state())["forks"], false);
    assert!(warnings(&server, state.state()).ends_with("one of libpool.so"));
    // Listing variables calls methods of these values in a fork. The fork must end nevertheless.
    looks_end(&server, next.state());
    assert_eq!(printed(&server, next.state(), "print(x, n)"), "array 2 2\n");
    assert_eq!(printed(&server, next.state(), "print(pool.ask(), n)"), "2 2\n");
}

#[test]
fn a_state_that_imported_polars_is_forked() {
    let Some(server) = TestServer::with_science() else { return };
    let state = server.run("initial", "import polars as pl; g = (n for n in range(9)); print(next(g))");
    assert_eq!((state.text().as_str(), warnings(&server, state.state()).as_str()), ("0\n", ""));
    for _ in 0..3 {
        let ran = printed(&server, state.state(), "print(next(g), pl.DataFrame({'a': [1, 2]}).height)");
        assert_eq!(ran, "1 2\n");
    }
}

#[test]
fn a_state_with_threads_of_proven_pools_is_forked() {
    let Some(server) = TestServer::with_science() else { return };
    let code = "import numpy as np, pyarrow as pa, pyarrow.parquet as pq, duckdb\n\
        from sklearn.cluster import KMeans
a = np.ones((600, 600)); b = a @ a; t = pa.table({'a': list(range(100_000)), 'b': list(range(100_000))})
pq.write_table(t, 'x.parquet'); pq.read_table('x.parquet'); con = duckdb.connect()
query = lambda: con.sql('select sum(i) from range(3000000) t(i)').fetchall()
query(); KMeans(3, n_init=1).fit(a)
import os; threads = len(os.listdir('/proc/self/task')); g = (n for n in range(9)); next(g)";
    let state = server.run("initial", code);
    assert_eq!((state.ename(), warnings(&server, state.state()).as_str()), ("", ""), "{state:?}");
    let use_them = "print(next(g), threads > 4, (a @ a)[0, 0], pq.read_table('x.parquet').num_rows, query(), \
        KMeans(3, n_init=1).fit(a).n_clusters)";
    for _ in 0..3 {
        let ran = server.run(state.state(), use_them);
        assert!(ran.text().starts_with("1 "), "{ran:?}");
        assert!(ran.text().ends_with(" 600.0 100000 [(4499998500000,)] 3\n"), "{ran:?}");
    }
}

/// Takes 20 s, the timeout of the watchdog.
#[test]
fn a_branch_that_waits_for_a_lock_gets_a_warning_with_a_remedy() {
    let room = room();
    let server = TestServer::in_dir(room.path());
    let mut live = Live::join(&server);
    let state = server.run("initial", "import pool; pool.ask()");
    server.run(state.state(), "pass");
    server.owner(Request::post(
        &format!("/api/states/{}/fork_anyway", state.state()),
        &json!({"anyway": true}).to_string(),
    ));
    let exec_id = live.run(state.state(), "pool.ask()");
    let told = live.event(&exec_id, "run_warned")["warning"].as_str().unwrap_or_default().to_owned();
    assert!(told.starts_with("the cell has used no processor time for 20 s and waits for a lock."), "{told}");
    assert!(told.contains("one of libpool.so") && told.contains("interrupt it and run it again"), "{told}");
    assert!(server.interrupt(&exec_id));
    until("the run has ended", || state_of(&server, state.state())["fork_anyway"].is_null());
    assert_eq!(printed(&server, state.state(), "print(pool.ask())"), "1\n");
}

/// Takes 20 s, the timeout of the watchdog.
#[test]
fn a_branch_that_waits_for_a_lock_gets_a_warning_without_a_suspect() {
    let room = room();
    let server = TestServer::in_dir(room.path());
    let mut live = Live::join(&server);
    let state = server.run("initial", "import pool; print(pool._pool.only_here())");
    assert_eq!(warnings(&server, state.state()), "");
    server.run(state.state(), "pass");
    let exec_id = live.run(state.state(), "pool._pool.only_here()");
    let told = live.event(&exec_id, "run_warned")["warning"].as_str().unwrap_or_default().to_owned();
    assert!(told.starts_with("the cell has used no processor time for 20 s and waits for a lock."), "{told}");
    assert!(!told.contains("Suspected") && told.contains("interrupt it and run it again"), "{told}");
    assert!(server.interrupt(&exec_id));
    until("its state is not forked any more", || state_of(&server, state.state())["forks"] == false);
    assert_eq!(printed(&server, state.state(), "print(pool._pool.only_here())"), "1\n");
}
