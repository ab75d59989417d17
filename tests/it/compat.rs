//! The calls that snapshot-kernel added after 0.2.0, by which its clients tell which cells have to run again.

use crate::cells::unique;
use crate::server::TestServer;
use serde_json::{Value, json};

/// Runs a cell; answers the whole body.
fn executed(server: &TestServer, state: &str, code: &str) -> Value {
    let body = json!({"code": code, "exec_id": unique("symbols"), "state_name": state});
    let answer = server.post("/execute", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// What a cell has read, assigned and deleted.
fn symbols(server: &TestServer, state: &str, code: &str) -> [String; 3] {
    let body = executed(server, state, code);
    ["accessed_symbols", "modified_symbols", "deleted_symbols"].map(|field| {
        let names = body[field].as_array().unwrap_or_else(|| panic!("no {field} in {body}"));
        names.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    })
}

const BASE: &str = "x, y, z, n, flag = 1, [2], {'a': 3}, 1000, True\ntable = 'rows'\n_private = 1\n";

#[test]
fn what_a_cell_reads_assigns_and_deletes_is_told() {
    let server = TestServer::start();
    let base = server.run("initial", BASE);
    for (code, accessed, modified, deleted) in [
        ("1 + 1", "", "", ""),
        ("a = x + 1", "x", "a", ""),
        ("x = 5", "", "x", ""),
        // The same value again is an assignment all the same.
        ("flag = True", "", "flag", ""),
        ("x += 1", "x", "x", ""),
        ("del y", "", "", "y"),
        ("del y\ny = 1", "", "y", ""),
        ("t = 1\ndel t", "", "", "t"),
        ("print(x); import math; b = math.pi", "x", "b math", ""),
        ("for i in y: q = i", "y", "i q", ""),
        ("[x for w in y]", "x y", "", ""),
        ("list(map(lambda v: v + n, y))", "n y", "", ""),
        ("y.append(1)", "y", "", ""),
        ("z['b'] = x", "x z", "", ""),
        ("f'{x} {y!r}'", "x y", "", ""),
        // An attribute and a text are no variables.
        ("class T: x = 3\nT.x\n'y'", "", "T", ""),
        ("_private + 1", "_private", "", ""),
        ("x, *rest = y, z", "y z", "rest x", ""),
        ("with open('/dev/null') as file: pass", "", "file", ""),
        ("(w := x)", "x", "w", ""),
        ("global x\nx = 2", "", "x", ""),
        ("def set_it():\n    global n, new\n    n, new = 2, 3\nset_it()", "", "n new set_it", ""),
        ("x = 1 if flag else 2\nx = x", "flag x", "x", ""),
    ] {
        assert_eq!(symbols(&server, base.state(), code), [accessed, modified, deleted], "{code}");
    }
    // What is assigned only sometimes, and was not, may have passed through: it counts as read.
    assert_eq!(symbols(&server, base.state(), "if not flag: x = 1"), ["flag x", "x", ""]);
    // A cell that fails says what it had done.
    let failed = executed(&server, base.state(), "k = x\n1/0\nj = y");
    assert_eq!(failed["error"]["ename"], "ZeroDivisionError");
    assert_eq!((&failed["accessed_symbols"], &failed["modified_symbols"]), (&json!(["x"]), &json!(["k"])));
}

#[test]
fn what_functions_of_earlier_cells_read_counts_as_read() {
    let server = TestServer::start();
    let base = server.run("initial", BASE);
    let code = "def f(): return g()\ndef g(): return x\ndef late(): return table\nclass C:\n    def m(self): return y\n    def __repr__(self): return str(n)\n\
                c = C()\nimport functools\npart = functools.partial(f)\nkept = [late]\ndef outer():\n    def inner(): return z\n    return inner\nclosed = outer()";
    // Defining a function reads nothing that is in it.
    let defined = symbols(&server, base.state(), "def f(): return x");
    assert_eq!(defined, ["", "f", ""]);
    let defs = server.run(base.state(), code);
    for (code, accessed) in [
        ("f", "f g x"),
        ("f()", "f g x"),
        ("part()", "g part x"),
        ("kept[0]()", "kept table"),
        ("c", "c n y"),
        ("C", "C n y"),
        ("closed()", "closed z"),
        ("x = 3\nf()", "f g x"),
    ] {
        let [told, ..] = symbols(&server, defs.state(), code);
        let told: Vec<&str> = told.split(' ').collect();
        for name in accessed.split(' ') {
            assert!(told.contains(&name), "{code}: {told:?}");
        }
        assert!(!told.contains(&"flag"), "{code}: {told:?}");
    }
    // The name that a function reads, defined in the same cell.
    assert_eq!(symbols(&server, base.state(), "def h(): return x\nh()")[0], "x");
    assert_eq!(symbols(&server, base.state(), "def h(x): return x\nh(1)")[0], "");
}

#[test]
fn what_cannot_be_told_from_the_code_counts_as_read() {
    let server = TestServer::start();
    let base = server.run("initial", BASE);
    let all = "_private flag n table x y z";
    for (code, accessed) in [
        ("globals()['x']", all),
        ("eval('x')", all),
        ("exec('x')", all),
        ("locals()", all),
        ("import __main__", all),
        ("get_ipython().user_ns['x']", all),
        ("%whos", all),
        ("_", all),
        ("In[-1]", all),
        ("%timeit -n1 -r1 x", "x"),
        ("%time y.append(1)", "y"),
        ("%%time\nx + n", "n x"),
        ("!echo {x} $table", "table x"),
        ("dir = stack = 5\ndir + stack", ""),
        ("class Q:\n    def query(self, text): pass\nQ().query('a > @x')", "x"),
    ] {
        assert_eq!(symbols(&server, base.state(), code)[0], accessed, "{code}");
    }
}

#[test]
fn a_repeat_of_a_request_tells_the_same_symbols_after_a_restart_too() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let base = server.run("initial", BASE);
    let body = json!({"code": "a = x\ndel y", "exec_id": "again", "state_name": base.state()});
    let first = server.post("/execute", body.clone()).json();
    assert_eq!(first["accessed_symbols"], json!(["x"]));
    assert_eq!(server.post("/execute", body.clone()).json(), first);
    let mut server = server;
    server.signal(nix::sys::signal::Signal::SIGKILL);
    server.wait();
    let server = TestServer::in_dir(room.path());
    assert_eq!(server.post("/execute", body).json(), first);
}

#[test]
fn what_the_shell_puts_into_the_namespace_is_no_variable() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let names = |server: &TestServer, state: &str| {
        let shown = server.get(&format!("/states/{state}")).json()["variables"].clone();
        shown.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let first = server.run("initial", "x = 1\nx\nOut, In, exit, quit, get_ipython\n5");
    assert_eq!(names(&server, first.state()), ["x"]);
    // Not even when a cell assigns them, as some do to save memory.
    let second = executed(&server, first.state(), "Out = {}\nexit = quit = 1\nIn = []");
    assert_eq!(second["modified_symbols"], json!([]));
    let second = second["state_name"].as_str().unwrap().to_owned();
    assert_eq!(names(&server, &second), ["x"]);
    server.checkpoint(&second, json!({}));
    let mut server = server;
    server.signal(nix::sys::signal::Signal::SIGKILL);
    server.wait();
    let server = TestServer::in_dir(room.path());
    assert_eq!(names(&server, &second), ["x"]);
}
