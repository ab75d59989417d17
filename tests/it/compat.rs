//! Tests of the requests that snapshot-kernel added after 0.2.0. Clients use them to find out which
//! cells must run again.

use crate::cells::unique;
use crate::server::TestServer;
use serde_json::{Value, json};

/// Runs a cell. Returns the body of the answer.
fn executed(server: &TestServer, state: &str, code: &str) -> Value {
    let body = json!({"code": code, "exec_id": unique("symbols"), "state_name": state});
    let answer = server.post("/execute", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Returns the variables that a cell has read, assigned and deleted.
fn symbols(server: &TestServer, state: &str, code: &str) -> [String; 3] {
    let body = executed(server, state, code);
    ["accessed_symbols", "modified_symbols", "deleted_symbols"].map(|field| {
        let names = body[field].as_array().unwrap_or_else(|| panic!("no {field} in {body}"));
        names.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    })
}

const BASE: &str = "x, y, z, n, flag = 1, [2], {'a': 3}, 1000, True\ntable = 'rows'\n_private = 1\n";

#[test]
fn answers_list_the_variables_that_a_cell_reads_assigns_and_deletes() {
    let server = TestServer::start();
    let base = server.run("initial", BASE);
    for (code, accessed, modified, deleted) in [
        ("1 + 1", "", "", ""),
        ("a = x + 1", "x", "a", ""),
        ("x = 5", "", "x", ""),
        // Assigning an equal value also counts as an assignment.
        ("flag = True", "", "flag", ""),
        ("x += 1", "x", "x", ""),
        ("del y", "", "", "y"),
        ("del y\ny = 1", "", "y", ""),
        ("t = 1\ndel t", "", "", "t"),
        // An assignment counts only if the code executed it.
        ("try:\n    1/0\nexcept ZeroDivisionError as t: a = x", "x", "a", "t"),
        ("try:\n    x\nexcept ZeroDivisionError as t: pass", "x", "", ""),
        ("for i in y:\n    t = i\n    del t", "y", "i", "t"),
        ("if flag:\n    t = 1\nelse:\n    del t", "flag", "t", ""),
        ("if flag:\n    try:\n        [][1]\n    except IndexError as x: del y", "flag", "", "x y"),
        ("print(x); import math; b = math.pi", "x", "b math", ""),
        ("for i in y: q = i", "y", "i q", ""),
        ("[x for w in y]", "x y", "", ""),
        ("list(map(lambda v: v + n, y))", "n y", "", ""),
        ("y.append(1)", "y", "", ""),
        ("z['b'] = x", "x z", "", ""),
        ("f'{x} {y!r}'", "x y", "", ""),
        // Attributes and strings are not variables.
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
    // If the code could assign a variable but did not, the variable counts as read.
    assert_eq!(symbols(&server, base.state(), "if not flag: x = 1"), ["flag x", "x", ""]);
    // The answer of a failed cell lists the variables that the cell used before it failed.
    let failed = executed(&server, base.state(), "k = x\n1/0\nj = y");
    assert_eq!(failed["error"]["ename"], "ZeroDivisionError");
    assert_eq!((&failed["accessed_symbols"], &failed["modified_symbols"]), (&json!(["x"]), &json!(["k"])));
}

#[test]
fn each_item_of_a_traceback_consists_of_whole_lines() {
    let server = TestServer::start();
    let failed = executed(&server, "initial", "def f(): return 1 / 0\n\nf()");
    for error in [&failed["error"], failed["output"].as_array().unwrap().last().unwrap()] {
        let parts = error["traceback"].as_array().unwrap();
        assert!(
            parts.len() > 3 && parts.iter().all(|part| part.as_str().unwrap().ends_with('\n')),
            "{error}"
        );
    }
}

#[test]
fn variables_that_called_functions_read_count_as_read() {
    let server = TestServer::start();
    let base = server.run("initial", BASE);
    let code = "def f(): return g()\ndef g(): return x\ndef late(): return table\n\
        class C:\n    def m(self): return y\n    def __repr__(self): return str(n)\n\
                c = C()\nimport functools\npart = functools.partial(f)\nkept = [late]\n\
                def outer():\n    def inner(): return z\n    return inner\nclosed = outer()";
    // Defining a function does not read the variables in its body.
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
    // If a cell defines a function and calls it, the cell reads the variables in the function's
    // body.
    assert_eq!(symbols(&server, base.state(), "def h(): return x\nh()")[0], "x");
    assert_eq!(symbols(&server, base.state(), "def h(x): return x\nh(1)")[0], "");
}

#[test]
fn variables_that_code_may_read_count_as_read() {
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
fn a_repeated_request_gets_the_same_symbols_also_after_a_restart() {
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
fn names_that_the_shell_puts_into_the_namespace_are_not_listed() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let names = |server: &TestServer, state: &str| {
        let shown = server.get(&format!("/states/{state}")).json()["variables"].clone();
        shown.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let first = server.run("initial", "x = 1\nx\nOut, In, exit, quit, get_ipython\n5");
    assert_eq!(names(&server, first.state()), ["x"]);
    // These names are not listed even if a cell assigns them, for example to free memory.
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

fn multi(server: &TestServer, code: &str, states: Value, default: Value) -> Value {
    let body =
        json!({"code": code, "exec_id": unique("multi"), "state_mapping": states, "default_state": default});
    let answer = server.post("/multistate_execute", body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Returns the ids of all states and runs of the notebook.
fn graph(server: &TestServer) -> Vec<String> {
    let notebook = server.notebook();
    let ids = |list: &str, id: &str| {
        let all = notebook[list].as_array().unwrap().iter().map(|one| one[id].as_str().unwrap().to_owned());
        all.collect::<Vec<_>>()
    };
    [ids("states", "name"), ids("runs", "exec_id")].concat()
}

/// Returns the text that a cell printed, or its error.
fn said(body: &Value) -> String {
    if let Some(why) = body["error"]["evalue"].as_str() {
        return format!("{}: {why}", body["error"]["ename"].as_str().unwrap());
    }
    let items = body["output"].as_array().unwrap();
    items.iter().filter_map(|item| item["text"].as_str().or(item["data"]["text/plain"].as_str())).collect()
}

#[test]
fn code_can_read_several_states_and_leaves_no_state_or_process() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let one = "x, shared = 1, [1]\nalias = shared\ndef f(): return x + 10\n\
        class C:\n    def m(self): return f()\nc = C()\nbig = bytes(9 << 20)";
    server.begin_with("initial", one, json!({"new_state_name": "one"})).end().state();
    let two = "x, y = 2, 5\ng = (i for i in range(3))\nnext(g)";
    server.begin_with("initial", two, json!({"new_state_name": "two"})).end().state();
    let both = json!({"a": "one", "b": "two"});
    let before = graph(&server);
    for (code, default, expected) in [
        ("a.x, b.x", json!(null), "(1, 2)"),
        ("x + a.x", json!("two"), "3"),
        // Functions use the variables of their own state.
        ("x, a.f(), a.c.m()", json!("two"), "(2, 11, 11)"),
        ("a.shared is a.alias, a.alias", json!(null), "(True, [1])"),
        ("a.shared.append(2); a.x = 7; print(a.x, a.alias)", json!(null), "7 [1, 2]\n"),
        ("len(a.big)", json!(null), "9437184"),
        ("sorted(vars(a))", json!(null), "['C', 'alias', 'big', 'c', 'f', 'shared', 'x']"),
        ("getattr(b, 'y')", json!(null), "5"),
        ("hasattr(a, 'nothing'), hasattr(b, 'x')", json!(null), "(False, True)"),
        ("x", json!(null), "NameError: name 'x' is not defined"),
        ("1 + 1", json!("one"), "2"),
    ] {
        let body = multi(&server, code, both.clone(), default);
        assert_eq!(said(&body), expected, "{code}: {body}");
        assert_eq!(body["state_name"], Value::Null);
    }
    let body = multi(&server, "a.x + y", both.clone(), json!("two"));
    assert_eq!((&body["accessed_symbols"], &body["modified_symbols"]), (&json!(["a", "y"]), &json!([])));
    // Using a variable raises an error if the variable cannot be sent.
    let lacks = said(&multi(&server, "b.g", both.clone(), json!(null)));
    assert!(
        lacks.starts_with("AttributeError: 'g' could not be read") && lacks.contains("generator"),
        "{lacks}"
    );
    for (states, default, missing) in
        [(json!({"a": "none"}), json!(null), "none"), (json!({"a": "one"}), json!("nowhere"), "nowhere")]
    {
        let body = multi(&server, "1", states, default);
        assert_eq!(body["error"], json!({"ename": "StateNotFound", "evalue": missing, "traceback": []}));
    }
    assert_eq!(graph(&server), before);
    assert_eq!(server.run("one", "print(x, shared)").text(), "1 [1]\n");
    // A state that is only on disk is loaded.
    for name in ["one", "two"] {
        server.checkpoint(name, json!({}));
    }
    let mut server = server;
    server.signal(nix::sys::signal::Signal::SIGKILL);
    server.wait();
    let server = TestServer::in_dir(room.path());
    assert_eq!(said(&multi(&server, "a.f() + b.y + x", both, json!("one"))), "17");
}

#[test]
fn code_that_reads_several_states_can_be_interrupted_limited_and_refused() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let one = server.run("initial", "x = 1");
    let code = "open('began', 'w').close()\nimport time\nwhile a.x: time.sleep(0.01)";
    let body = json!({"code": code, "exec_id": "long", "state_mapping": {"a": one.state()}});
    std::thread::scope(|scope| {
        let going = scope.spawn(|| server.post("/multistate_execute", body.clone()));
        room.wait_for("began");
        // While the run is active, its id cannot be used by another run.
        let again = server.post("/multistate_execute", body.clone());
        assert_eq!((again.status, again.error_code().as_str()), (409, "conflict"));
        assert_eq!(server.notebook()["runs"].as_array().unwrap().len(), 1);
        assert_eq!(server.post("/interrupt", json!({"exec_id": "long"})).json()["interrupted"], true);
        assert_eq!(going.join().unwrap().json()["error"]["ename"], "KeyboardInterrupt");
    });
    let limited = json!({
        "code": "while a.x: pass", "exec_id": "l", "state_mapping": {"a": one.state()}, "timeout": 0.3,
    });
    assert_eq!(server.post("/multistate_execute", limited).json()["error"]["ename"], "RunTimeout");
    let dies =
        json!({"code": "import os; os._exit(a.x)", "exec_id": "d", "state_mapping": {"a": one.state()}});
    assert_eq!(server.post("/multistate_execute", dies).json()["error"]["ename"], "KernelDied");
    for body in [
        json!({"code": "1"}),
        json!({"code": "1", "exec_id": "x"}),
        json!({"code": "1", "exec_id": "x", "state_mapping": ["a"]}),
        json!({"code": "1", "exec_id": "x", "state_mapping": {"a": 1}}),
    ] {
        assert_eq!(server.post("/multistate_execute", body.clone()).status, 400, "{body}");
    }
    assert_eq!(server.states().len(), 2);
    // The id of a cell's run cannot be used again, even with the same code.
    server.begin_with("initial", "1", json!({"exec_id": "cell"})).end();
    let body = json!({"code": "1", "exec_id": "cell", "state_mapping": {}});
    assert_eq!(server.post("/multistate_execute", body).status, 409);
    // If the process that sends the variables dies, the error of the run says so.
    let deadly = server
        .run("initial", "import os\nclass D:\n    def __reduce__(self): os.kill(os.getpid(), 9)\nd = D()");
    let body = json!({"code": "a.d", "exec_id": "dead", "state_mapping": {"a": deadly.state()}});
    let answer = server.post("/multistate_execute", body).json();
    assert_eq!(answer["error"]["ename"], "TransferFailed", "{answer}");
}

fn groups(server: &TestServer, state: &str) -> (Vec<String>, Vec<String>) {
    let answer = server.post("/alias_groups", json!({"state_name": state}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let group = |group: &Value| group.as_array().unwrap().iter().map(text).collect::<Vec<_>>().join(" ");
    let all = (
        body["groups"].as_array().unwrap().iter().map(group),
        body["fingerprints"].as_array().unwrap().iter().map(text),
    );
    (all.0.collect(), all.1.collect())
}

fn hashes(server: &TestServer, state: &str, names: &[&str]) -> Value {
    let answer =
        server.post("/symbol_hashes", json!({"state_name": state, "symbols": names, "hash_algo": "full"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["hashes"].clone()
}

#[test]
fn variables_that_share_an_object_are_a_group() {
    let server = TestServer::start();
    for (code, expected) in [
        ("a = [1]\nb = a\nc = [1]", "a b|c"),
        ("a = [1]\nb = {'in': (0, [a])}\nc = 5", "a b|c"),
        // A mutable object inside immutable ones is shared too.
        ("a = (1, [2])\nb = a\nc = (1, 2)", "a b|c"),
        ("s = [1]\na = (0, (1, (2, s)))\nb = a[1]", "a b s"),
        ("class C: pass\na = b = frozenset({C()})", "C a b"),
        ("e = ValueError([1])\na = e.args", "a e"),
        ("a = b = (1, ('x', frozenset({2, (3,)})))\nc = d = frozenset({1})", "a|b|c|d"),
        ("a = b = 'text'\nc = d = 1000\ne = f = (1, 'x')\ng = h = None", "a|b|c|d|e|f|g|h"),
        ("import math as a, math as b\nfrom os.path import join as c\nd = c\ne = f = int", "a|b|c|d|e|f"),
        ("x = 1\ndef f(): return x\ndef g(): return f()", "f|g|x"),
        ("def make():\n    n = [0]\n    return (lambda: n), (lambda: n)\nf, g = make()", "f g|make"),
        ("class C: pass\nc = C()\nd = 1", "C c|d"),
        ("a = [0]\ng = (x for x in a)\nnext(g)\nb = 1", "a g|b"),
        ("a = [1]\nb = [a]\nc = [b]\nd = [2]", "a b c|d"),
        ("a = []\na.append(a)\nb = []", "a|b"),
        ("_p = [1]\nq = _p", "_p q"),
        ("import datetime\na = b = datetime.date(2020, 1, 1)", "a|b|datetime"),
    ] {
        let state = server.run("initial", code);
        let (found, fingerprints) = groups(&server, state.state());
        assert_eq!(found.join("|"), expected, "{code}");
        assert!(
            fingerprints.len() == found.len() && fingerprints.iter().all(|one| one.len() == 64),
            "{code}"
        );
    }
}

#[test]
fn digests_are_equal_for_equal_values_and_for_no_others() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let code = "a, b, s = [1, 2], {'k': {3}}, 'text'\nd = {'k': [1, 2]}\n\
        class C:\n    def __init__(self): self.x = 1\nc = C()\ng = (n for n in [1])";
    let one = server.run("initial", code);
    let names = ["a", "b", "s", "d", "c", "C", "g", "none"];
    let first = hashes(&server, one.state(), &names);
    assert!(
        names[..7].iter().all(|name| first[name].as_str().is_some_and(|hash| hash.len() == 64)),
        "{first}"
    );
    assert_eq!(first["none"], Value::Null);
    // A state made by the same cell, and another state with equal values.
    let again = server.run("initial", code);
    let two = server.run(one.state(), "a = [1] + [2]\nd['k'].append(3)\nc.x = 2\n_ = 0");
    let (same, other) = (hashes(&server, again.state(), &names), hashes(&server, two.state(), &names));
    for name in ["a", "b", "s", "d", "c", "C"] {
        assert_eq!(first[name], same[name], "{name}");
    }
    for (name, is_same) in [("a", true), ("b", true), ("s", true), ("C", true), ("d", false), ("c", false)] {
        assert_eq!(first[name] == other[name], is_same, "{name}");
    }
    // A value that cannot be read has the same hash in repeated requests, but another hash in other
    // states.
    assert_ne!(first["g"], other["g"]);
    assert_eq!(first["g"], hashes(&server, one.state(), &["g"])["g"]);
    // Equal values that share objects in different ways have equal hashes and different groups.
    let apart = server.run("initial", "p, q = [1], [1]");
    let shared = server.run("initial", "p = [1]\nq = p");
    assert_eq!(hashes(&server, apart.state(), &["p", "q"]), hashes(&server, shared.state(), &["p", "q"]));
    let (apart, shared) = (groups(&server, apart.state()).1, groups(&server, shared.state()).1);
    assert!(shared.iter().all(|one| !apart.contains(one)));
    // Reading the digests changes no state, and a restart changes no digest.
    server.checkpoint(two.state(), json!({}));
    let mut server = server;
    server.signal(nix::sys::signal::Signal::SIGKILL);
    server.wait();
    let server = TestServer::in_dir(room.path());
    let restored = hashes(&server, two.state(), &["a", "b", "s", "d", "c", "C"]);
    for name in ["a", "b", "s", "d", "c", "C"] {
        assert_eq!(restored[name], other[name], "{name}");
    }
    for (body, status) in [
        (json!({"state_name": two.state()}), 400),
        (json!({"state_name": two.state(), "symbols": "a"}), 400),
        (json!({"state_name": two.state(), "symbols": ["a"], "hash_algo": "md5"}), 400),
        (json!({"state_name": "none", "symbols": ["a"]}), 404),
    ] {
        assert_eq!(server.post("/symbol_hashes", body.clone()).status, status, "{body}");
    }
    assert_eq!(server.post("/alias_groups", json!({})).status, 400);
    assert_eq!(server.post("/alias_groups", json!({"state_name": "none"})).status, 404);
}

/// Takes 10 s, because the server waits so long for a slow value.
#[test]
fn a_value_that_cannot_be_read_leaves_the_others_their_digests() {
    let server = TestServer::start();
    let plain = server.run("initial", "w = 3");
    let expected = hashes(&server, plain.state(), &["w"]);
    for code in [
        "class M(type):\n    def __getattribute__(c, n): raise SystemExit\nclass V(metaclass=M): pass\n\
        v, w = [V(), iter([])], 3",
        "class M(type):\n    def __hash__(c): raise SystemExit\nclass V(metaclass=M): pass\n\
        v, w = [V(), iter([])], 3",
        "import time\nclass V:\n    def __reduce__(self):\n        while True: time.sleep(0.01)\nv, w = [V(), V()], 3",
    ] {
        let state = server.run("initial", code);
        let found = hashes(&server, state.state(), &["v", "w"]);
        assert_eq!(found["w"], expected["w"], "{code}");
        assert!(found["v"].is_string(), "{code}");
        assert!(groups(&server, state.state()).0.contains(&"w".to_owned()), "{code}");
    }
}

#[test]
fn a_state_built_from_two_states_is_a_state_like_others() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let source = "p = [1]\nq = {'p': p}\nx = 1\ndef f(): return x, p\nimport math\ngone = 5";
    server.begin_with("initial", source, json!({"new_state_name": "src"})).end().state();
    let input = "p = q = 0\nr = [8]\nx = 2\nlocked = __import__('threading').Lock()\n\
        gen = (i for i in range(5))\nnext(gen)\nleft = 1";
    server.begin_with("initial", input, json!({"new_state_name": "inp"})).end().state();
    let rebuild = |take: &[&str], keep: &[&str], name: &str| {
        server.post(
            "/rebuild_state",
            json!({
                "input_state": "inp", "source_state": "src", "source_vars": take, "input_vars": keep,
                "new_state_name": name,
            }),
        )
    };
    let built = rebuild(&["p", "q", "f", "math", "absent"], &["r", "x", "gen", "p", "absent"], "built");
    assert_eq!(built.status, 200, "{built:?}");
    let body = built.json();
    assert_eq!(body["state_name"], "built");
    // The code of `f` names p and x, but `f` shares no object with them.
    assert_eq!(body["groups"], json!([["f"], ["gen"], ["math"], ["p", "q"], ["r"], ["x"]]));
    assert_eq!(body["groups"], server.post("/alias_groups", json!({"state_name": "built"})).json()["groups"]);
    let check = "print(p, q['p'] is p, r, f(), next(gen), math.pi > 3, 'left' in dir(), 'gone' in dir())";
    assert_eq!(server.run("built", check).text(), "[1] True [8] (2, [1]) 1 True False False\n");
    // Functions belong to the new state.
    assert_eq!(server.run("built", "x = 9; p.append(2); print(f())").text(), "(9, [1, 2])\n");
    // The two old states are unchanged.
    assert_eq!(server.run("src", "print(p, f())").text(), "[1] (1, [1])\n");
    assert_eq!(server.run("inp", "print(p, x, next(gen), left)").text(), "0 2 1 1\n");
    let notebook = server.notebook();
    let run = notebook["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["exec_id"].as_str().unwrap().starts_with("rebuild-"))
        .unwrap()
        .clone();
    let code = run["code"].as_str().unwrap();
    assert!(
        code.starts_with("%rebuild_state --from ")
            && code.ends_with("--take absent f math p q --keep gen r x"),
        "{code}"
    );
    // The new state may have the name of the source state. The name then refers to the new state.
    let over = rebuild(&["p", "q"], &["r"], "src");
    assert_eq!(over.json()["state_name"], "src");
    assert_eq!(server.run("src", "print(p, r, 'x' in dir())").text(), "[1] [8] False\n");
    // The new state is saved like other states, and its code can be replayed.
    let state = server.states().len();
    server.checkpoint("built", json!({}));
    let mut server = server;
    server.signal(nix::sys::signal::Signal::SIGKILL);
    server.wait();
    let server = TestServer::in_dir(room.path());
    assert_eq!(server.states().len(), state);
    assert_eq!(server.run("built", "print(p, q['p'] is p, f())").text(), "[1] True (2, [1])\n");
    let replayed = server.post("/api/states/built/replay", json!({}));
    assert_eq!(replayed.status, 200, "{replayed:?}");
    assert_eq!(server.run("built", "print(p, q['p'] is p, next(gen), f())").text(), "[1] True 1 (2, [1])\n");
}

#[test]
fn building_a_state_from_two_states_can_be_interrupted() {
    let room = crate::cells::Room::new();
    let server = TestServer::in_dir(room.path());
    let slow = "import time\nclass Slow:\n    def __reduce__(self): open('began', 'w').close(); \
        time.sleep(1000)\nslow = Slow()";
    let (source, input) = (server.run("initial", slow), server.run("initial", "y = 1"));
    let before = server.states();
    let body = json!({
        "input_state": input.state(), "source_state": source.state(), "source_vars": ["slow"],
        "input_vars": ["y"],
    });
    std::thread::scope(|scope| {
        let going = scope.spawn(|| server.post("/rebuild_state", body));
        let running = || {
            let notebook = server.notebook();
            let run = notebook["runs"].as_array().unwrap().iter().find(|run| run["status"] == "running")?;
            run["exec_id"].as_str().map(str::to_owned)
        };
        crate::server::until("it runs", || running().is_some());
        assert!(server.interrupt(&running().unwrap()));
        let refused = going.join().unwrap();
        assert_eq!((refused.status, refused.error_code().as_str()), (409, "conflict"));
        assert_eq!(refused.json()["error"]["why"], "the run was interrupted", "{refused:?}");
    });
    assert_eq!(server.states(), before);
}

#[test]
fn a_failed_build_from_two_states_leaves_no_state() {
    let server = TestServer::start();
    server
        .begin_with("initial", "g = (i for i in range(3))\nnext(g)\nx = 1", json!({"new_state_name": "src"}))
        .end();
    server.begin_with("initial", "y = 1", json!({"new_state_name": "inp"})).end();
    let before = graph(&server);
    let body = |take: Value, keep: Value| {
        json!({
            "input_state": "inp", "source_state": "src", "source_vars": take, "input_vars": keep,
        })
    };
    let refused = server.post("/rebuild_state", body(json!(["g"]), json!(["y"])));
    assert_eq!((refused.status, refused.error_code().as_str()), (409, "conflict"));
    assert!(refused.text().contains("generator"), "{refused:?}");
    for (body, status) in [
        (json!({"input_state": "inp"}), 400),
        (json!({"input_state": "inp", "source_state": "src"}), 400),
        (body(json!("x"), json!([])), 400),
        (body(json!([1]), json!([])), 400),
        (json!({"input_state": "none", "source_state": "src", "source_vars": [], "input_vars": []}), 404),
        (json!({"input_state": "inp", "source_state": "none", "source_vars": [], "input_vars": []}), 404),
    ] {
        assert_eq!(server.post("/rebuild_state", body.clone()).status, status, "{body}");
    }
    assert_eq!(graph(&server), before);
    // The magic `%rebuild_state` reports an error if the source state does not exist.
    let ran = server.run("inp", "%rebuild_state --from nowhere --take x --keep y");
    assert_eq!(ran.ename(), "TransferFailed");
    assert!(ran.evalue().contains("deleted"), "{}", ran.evalue());
}
