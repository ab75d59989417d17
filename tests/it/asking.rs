//! Tests of completion, descriptions of objects, lists of variables, and the changes that a cell
//! made to variables.

use crate::cells::Live;
use crate::request::Request;
use crate::restarts::{command, state_of};
use crate::server::{TestServer, until};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Sends a completion or inspection command. The cursor is at the end of the code.
fn ask(server: &TestServer, what: &str, state: &str, code: &str) -> Value {
    ask_at(server, what, state, code, code.chars().count())
}

fn ask_at(server: &TestServer, what: &str, state: &str, code: &str, cursor: usize) -> Value {
    let question = json!({"do": what, "state": state, "code": code, "cursor": cursor}).to_string();
    let mut answer = Value::Null;
    // On a busy machine the server may reach its time limit before the answer is ready.
    until("the server answers in time", || {
        let got = server.owner(Request::post("/api/notebooks/main/commands", &question));
        answer = got.json();
        assert!(got.status == 200 || answer["code"] == "timeout", "{question}: {answer}");
        got.status == 200
    });
    answer
}

/// Returns the texts of the completions at the end of the code.
fn texts(server: &TestServer, state: &str, code: &str) -> Vec<String> {
    let found = ask(server, "complete", state, code);
    assert_eq!(found["kind"], "completions", "{found}");
    found["items"].as_array().unwrap().iter().map(|i| i["text"].as_str().unwrap().to_owned()).collect()
}

/// Returns the completion with this text at the end of the code.
fn item(server: &TestServer, state: &str, code: &str, text: &str) -> Value {
    let found = ask(server, "complete", state, code);
    let items = found["items"].as_array().unwrap();
    items.iter().find(|i| i["text"] == text).unwrap_or_else(|| panic!("no {text} in {found}")).clone()
}

/// Returns the description of the object at the end of the code.
fn object(server: &TestServer, state: &str, code: &str) -> Value {
    let found = ask(server, "inspect", state, code);
    assert_eq!(found["kind"], "inspected", "{found}");
    found["object"].clone()
}

fn variables(server: &TestServer, state: &str) -> Value {
    let found = command(server, json!({"do": "look_at_variables", "state": state}));
    let all = found["variables"].as_array().unwrap();
    Value::Object(all.iter().map(|v| (v["name"].as_str().unwrap().to_owned(), v.clone())).collect())
}

/// Waits until the comparison of a state with its parent is done. Returns the names that were
/// added, changed and removed, and the number of further names.
fn changes(server: &TestServer, state: &str) -> (Vec<String>, Vec<String>, Vec<String>, u64) {
    let mut found = Value::Null;
    until("the changes of the cell are known", || {
        found = state_of(server, state)["changes"].clone();
        !found.is_null()
    });
    let names = |key: &str| serde_json::from_value(found[key].clone()).unwrap();
    (names("added"), names("changed"), names("removed"), found["more"].as_u64().unwrap())
}

fn added_changed_removed(server: &TestServer, state: &str) -> String {
    let (added, changed, removed, more) = changes(server, state);
    assert_eq!(more, 0);
    format!("+{} ~{} -{}", added.join(","), changed.join(","), removed.join(","))
}

#[test]
fn names_attributes_magics_paths_and_keys_are_completed() {
    let server = TestServer::start();
    std::fs::write(server.dir().join("measured.csv"), "").unwrap();
    let code = "import math\ntotal = 1\nd = {'apples': 1, 'pears': 2}\n\
        class Car:\n    def drive(self, far, fast=True): pass\n    @property\n    def speed(self): return 3\n\
        car = Car()";
    let state = server.run("initial", code).state().to_owned();
    assert_eq!(texts(&server, &state, "tot"), ["total"]);
    assert_eq!(item(&server, &state, "math.sq", "sqrt")["kind"], "function");
    let drive = item(&server, &state, "car.dr", "drive");
    assert_eq!((&drive["kind"], &drive["signature"]), (&json!("function"), &json!("(far, fast=True)")));
    assert_eq!(item(&server, &state, "car.", "speed")["kind"], "property");
    assert_eq!(texts(&server, &state, "d['a"), ["apples"]);
    assert!(texts(&server, &state, "%time").contains(&"%timeit".to_owned()));
    assert_eq!(item(&server, &state, "open('meas", "measured.csv")["kind"], "path");
    assert_eq!(item(&server, &state, "car.drive(fa", "fast=")["kind"], "param");
    assert_eq!(item(&server, &state, "whi", "while")["kind"], "keyword");
    assert_eq!(item(&server, &state, "import mat", "math")["kind"], "module");
    let above = "import json as above_json\ndef made_above(a): pass";
    let question = json!({"do": "complete", "state": state, "code": "mad", "cursor": 3, "above": above});
    let found = server.owner(Request::post("/api/notebooks/main/commands", &question.to_string())).json();
    assert_eq!(found["items"][0]["text"], "made_above", "{found}");
    // A name that the cell assigns and that does not exist in the state yet.
    assert_eq!(texts(&server, &state, "fresh_value = 2\nfresh"), ["fresh_value"]);
    // Attributes of an object that the cell itself imports.
    assert_eq!(texts(&server, &state, "import json as j\nj.dump"), ["dump", "dumps"]);
    assert_eq!(texts(&server, &state, "from collections import OrderedDict as O\nO.fromk"), ["fromkeys"]);
    assert_eq!(texts(&server, &state, "new = [1]\nnew.app"), ["append"]);
    assert_eq!(texts(&server, &state, "ne"), ["next"], "the cell's names are not kept");
    // The cursor position counts code points. The cursor may be in the middle of the code.
    let found = ask_at(&server, "complete", &state, "'é😀'; math.sq + 1", 13);
    assert_eq!((&found["from"], &found["to"]), (&json!(11), &json!(13)), "{found}");
    assert!(found["items"].as_array().unwrap().iter().any(|i| i["text"] == "sqrt"), "{found}");
}

#[test]
fn columns_of_data_frames_are_completed_and_numpys_functions_are_described() {
    let Some(server) = TestServer::with_science() else { return };
    let code = "import numpy as np, pandas as pd\ndf = pd.DataFrame({'alpha': [1, 2], 'beta': [3, 4]})";
    let state = server.run("initial", code).state().to_owned();
    assert_eq!(texts(&server, &state, "df['"), ["alpha", "beta"]);
    assert_eq!(item(&server, &state, "df.al", "alpha")["kind"], "instance");
    assert!(texts(&server, &state, "df.alpha.me").contains(&"mean".to_owned()));
    let zeros = item(&server, &state, "np.zer", "zeros");
    assert_eq!(zeros["kind"], "function");
    assert!(zeros["signature"].as_str().unwrap().starts_with("(shape, dtype="), "{zeros}");

    let zeros = object(&server, &state, "x = np.zeros(3, ");
    assert_eq!(zeros["name"], "np.zeros");
    assert_eq!(zeros["signature"]["active"], 1, "{zeros}");
    assert!(zeros["doc"].as_str().unwrap().contains("filled with zeros"), "{zeros}");
    let frame = object(&server, &state, "df");
    assert_eq!((&frame["type"], &frame["signature"]), (&json!("DataFrame"), &Value::Null));
    assert!(frame["repr"].as_str().unwrap().contains("alpha  beta"), "{frame}");
}

#[test]
fn an_object_is_described_with_signature_and_documentation() {
    let server = TestServer::start();
    let code = "def mine(a, b: int = 3, /, *rest, key=None) -> str:\n    '''Does \
        \\x1b[31mit\\x1b[0m.'''\n    return ''\n\
        text = 'x' * 100_000\nclass Long:\n    __doc__ = 'y' * 100_000\nlong = Long()";
    let state = server.run("initial", code).state().to_owned();
    let mine = object(&server, &state, "mine");
    assert_eq!((&mine["type"], &mine["repr"]), (&json!("function"), &Value::Null));
    assert_eq!(mine["doc"], "Does it.");
    assert_eq!(mine["place"], "In[1], line 1");
    let parameters = json!(["a", "b: int = 3", "/", "*rest", "key=None"]);
    assert_eq!(mine["signature"], json!({"parameters": parameters, "returns": "str", "active": null}));
    for (code, active) in [
        ("mine(", json!(0)),
        ("mine(1, ", json!(1)),
        ("mine('(,', [1, 2], 3, 4", json!(3)),
        ("mine(1, key=", json!(4)),
        ("print(mine(1, 2), mine(1, len('')", json!(1)),
        ("mine(len(text), ke", json!(1)),
    ] {
        let found = object(&server, &state, code);
        assert_eq!((&found["name"], &found["signature"]["active"]), (&json!("mine"), &active), "{code}");
    }
    // If the cursor is on an argument, the answer describes the argument instead of the called
    // function.
    assert_eq!(ask_at(&server, "inspect", &state, "mine(text)", 6)["object"]["name"], "text");
    let text = object(&server, &state, "text");
    assert!(text["repr"].as_str().unwrap().len() < 2100);
    assert!(object(&server, &state, "long")["doc"].as_str().unwrap().len() <= 16_100);
    assert_eq!(object(&server, &state, "nothing_of_that_name"), Value::Null);
    assert_eq!(object(&server, &state, ""), Value::Null);
    // A function that the cell itself defines.
    let own = object(&server, &state, "def own(x: int, *, y=2):\n    'Mine.'\nown(1, y=");
    assert_eq!(own["doc"], "Mine.");
    assert_eq!(own["signature"], json!({"parameters": ["x: int", "*", "y=2"], "returns": null, "active": 2}));
}

#[test]
fn completion_and_inspection_run_no_code_of_the_user() {
    let server = TestServer::start();
    let code = "def note(what):\n    open('ran', 'a').write(what + '\\n')\n\
        class Hostile:\n    @property\n    def value(self): note('property')\n\
        \x20   def __getattr__(self, name): note('getattr ' + name); return 1\n\
        \x20   def __getitem__(self, key): note('getitem'); return 1\n\
        \x20   def __call__(self, x): note('call')\n\
        \x20   def __len__(self): note('len'); return 3\n    def __eq__(self, other): note('eq')\n    \
        __hash__ = None\n\
        h = Hostile()\nd = {'h': h}";
    let state = server.run("initial", code).state().to_owned();
    // Waits until the state is saved and compared, because saving and comparing also call methods
    // of objects.
    changes(&server, &state);
    until("the state is saved", || state_of(&server, &state)["checkpoint"].is_object());
    let _ = std::fs::remove_file(server.dir().join("ran"));
    for code in
        ["h.va", "h.value.x", "h.other.x", "h['", "h['a'].x", "h(", "h(1).x", "h.value(", "d['h'].va", "h"]
    {
        ask(&server, "complete", &state, code);
        ask(&server, "inspect", &state, code);
    }
    assert_eq!(std::fs::read_to_string(server.dir().join("ran")).unwrap_or_default(), "");
}

#[test]
fn completion_works_while_a_cell_runs_and_uses_the_requested_state() {
    let server = TestServer::start();
    let old = server.run("initial", "only_then = 1").state().to_owned();
    let new = server.run(&old, "del only_then; only_now = 2").state().to_owned();
    let busy = server.begin(&new, "import time\nwhile True: time.sleep(0.001)");
    until("the cell runs", || {
        state_of(&server, &new).is_object() && {
            let notebook = server.notebook();
            notebook["runs"]
                .as_array()
                .unwrap()
                .iter()
                .any(|r| r["exec_id"] == busy.exec_id.as_str() && r["status"] == "running")
        }
    });
    assert_eq!(texts(&server, &new, "only_"), ["only_now"]);
    assert_eq!(texts(&server, &old, "only_"), ["only_then"]);
    assert_eq!(object(&server, &old, "only_then")["repr"], "1");
    assert!(server.interrupt(&busy.exec_id));
    assert_eq!(busy.end().ename(), "KeyboardInterrupt");
}

#[test]
fn a_completion_that_hangs_is_ended_with_an_error() {
    let server = TestServer::start();
    let code = "import threading\nlock = threading.Lock(); lock.acquire()\n\
        class Stuck:\n    def __dir__(self): lock.acquire()\nstuck = Stuck()\n\
        class Slow:\n    def __repr__(self):\n        while True: pass\nslow = Slow()";
    let state = server.run("initial", code).state().to_owned();
    until("the state is in memory", || state_of(&server, &state)["living"] == "memory");
    changes(&server, &state);
    until("nothing is busy", || server.descendants().len() <= 3);
    let before = server.descendants().len();
    let question = json!({"do": "complete", "state": state, "code": "stuck.", "cursor": 6});
    let answer = server.owner(Request::post("/api/notebooks/main/commands", &question.to_string()));
    assert_eq!((answer.status, &answer.json()["code"]), (504, &json!("timeout")));
    until("the process is gone", || server.descendants().len() <= before);
    // A slow repr is stopped, and the other fields of the answer are filled.
    let slow = object(&server, &state, "slow");
    assert_eq!((&slow["type"], &slow["repr"]), (&json!("Slow"), &json!("<repr failed: TimeoutError>")));
    assert_eq!(texts(&server, &state, "slo"), ["slow"]);
}

#[test]
fn completion_works_for_a_state_on_disk() {
    let mut server = TestServer::start();
    let state = server.run("initial", "from_disk = [1, 2]\ndef f(far): 'Goes.'").state().to_owned();
    command(&server, json!({"do": "checkpoint", "state": state}));
    server.restart();
    assert_eq!(state_of(&server, &state)["living"], "disk");
    // The first answer may take longer, because the state must be loaded.
    assert_eq!(texts(&server, &state, "from_d"), ["from_disk"]);
    let found = object(&server, &state, "f(");
    assert_eq!((&found["doc"], &found["signature"]["active"]), (&json!("Goes."), &json!(0)));
}

#[test]
fn variables_have_the_same_fingerprints_in_branches_and_after_a_restart() {
    let Some(mut server) = TestServer::with_science() else { return };
    let code = "import numpy as np, pandas as pd, datetime\n\
        a = np.array([[1.5, np.nan], [3.0, 4.0]])\n\
        df = pd.DataFrame({'n': [1, 2, 3], 's': ['x', None, 'z'], 't': pd.to_datetime(['2020-01-01', \
        '2021-01-01', None]),\n\
        \x20   'c': pd.Categorical(['a', 'b', 'a'])})\n\
        text, number, items, keys = 'é', 3, [1, [2, {'k': (3, None)}]], {1, 2, 'three'}\n\
        when = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)\n\
        def double(x, by=2): return x * by\n\
        class Point:\n    def __init__(self, x): self.x = x\npoint = Point([1])\n\
        generator = (i for i in [])\n\
        objects = np.array(['a', 1, None], dtype=object)\nseries = df['n']\nempty = np.zeros((0, 3))";
    let state = server.run("initial", code).state().to_owned();
    let seen = variables(&server, &state);
    let array = json!({
        "kind": "array", "shape": [2, 2], "dtype": "float64", "min": 1.5, "max": 4.0, "mean": 8.5 / 3.0,
        "nulls": 1,
    });
    assert_eq!(seen["a"]["summary"], array);
    assert_eq!(seen["a"]["bytes"], 32);
    let frame = &seen["df"]["summary"];
    assert_eq!((&frame["kind"], &frame["rows"], &frame["more"]), (&json!("frame"), &json!(3), &json!(0)));
    let column = |at: usize, what: &str| frame["columns"][at][what].clone();
    assert_eq!((column(0, "name"), column(0, "min"), column(0, "mean")), (json!("n"), json!(1), json!(2.0)));
    assert_eq!((column(1, "nulls"), column(2, "nulls")), (json!(1), json!(1)));
    assert!(column(2, "max").as_str().unwrap().starts_with("2021-01-01"), "{frame}");
    assert!(column(3, "fingerprint").is_string());
    assert!(seen["df"]["bytes"].as_u64().unwrap() > 50);
    assert_eq!(seen["generator"]["fingerprint"], Value::Null);
    let known = "a df text number items keys when double Point point objects series empty np";
    for name in known.split(' ') {
        assert_eq!(seen[name]["fingerprint"].as_str().map(str::len), Some(32), "{name}: {}", seen[name]);
    }

    // A sibling state with the same values at other addresses.
    let other = server.run("initial", &format!("pad = list(range(1000))\n{code}")).state().to_owned();
    let again = variables(&server, &other);
    for name in known.split(' ') {
        assert_eq!(again[name]["fingerprint"], seen[name]["fingerprint"], "{name} in a branch");
    }
    let changed = "a[0, 0] = 2; df.loc[0, 'n'] = 9; items[1][1]['k'] = 4; point.x.append(2)\n\
        def double(x, by=3): return x * by";
    let changed = server.run(&state, changed).state().to_owned();
    let after = variables(&server, &changed);
    for name in known.split(' ') {
        let is_other = "a df items double point".split(' ').any(|n| n == name);
        assert_eq!(after[name]["fingerprint"] != seen[name]["fingerprint"], is_other, "{name}");
    }
    let columns = after["df"]["summary"]["columns"].as_array().unwrap();
    let same = columns.iter().enumerate().map(|(at, c)| c["fingerprint"] == column(at, "fingerprint"));
    assert_eq!(same.collect::<Vec<_>>(), [false, true, true, true]);

    command(&server, json!({"do": "checkpoint", "state": state}));
    server.restart();
    let restored = variables(&server, &state);
    for name in known.split(' ') {
        assert_eq!(restored[name]["fingerprint"], seen[name]["fingerprint"], "{name} after a restart");
    }
}

/// The kernel reads longer Arrow columns in another way than short columns.
#[test]
fn each_column_has_its_own_fingerprint() {
    let Some(server) = TestServer::with_science() else { return };
    let code = "import pandas as pd, polars as pl, numpy as np\n\
        city = ['a', 'b', 'c'] * 1000\n\
        text = pd.DataFrame({'city': city, 'n': range(3000), 'same': city})\n\
        rust = pl.DataFrame({'city': city, 'n': range(3000), 'same': city})\n\
        one = text['city']\n\
        odd = text.assign(city=[object() for _ in city])\n\
        large = np.zeros(20_000_000)";
    let state = server.run("initial", code).state().to_owned();
    let change = "text = text.assign(city='x'); one = text['city']; odd['n'] += 1\n\
        rust = rust.with_columns(pl.lit('x').alias('city')).rechunk()";
    let changed = server.run(&state, change).state().to_owned();
    let (before, after) = (variables(&server, &state), variables(&server, &changed));
    let columns = |seen: &Value, name: &str| seen[name]["summary"]["columns"].as_array().unwrap().clone();
    let differ = |name: &str| {
        let all = columns(&before, name).into_iter().zip(columns(&after, name));
        let all = all.map(|(a, b)| match (a["fingerprint"].as_str(), b["fingerprint"].as_str()) {
            (Some(a), Some(b)) if a == b => '=',
            (Some(_), Some(_)) => '~',
            _ => '?',
        });
        all.collect::<String>()
    };
    assert_eq!(["text", "rust", "one", "odd"].map(differ), ["~==", "~==", "~", "?~="], "{before}");
    assert!(before["text"]["fingerprint"].is_string() && before["odd"]["fingerprint"].is_null());
    assert_eq!((&before["text"]["sampled"], &before["large"]["sampled"]), (&json!(false), &json!(true)));
}

#[test]
fn hostile_objects_do_not_break_the_list_of_variables() {
    let server = TestServer::start();
    let code = "import collections\n\
        def no(*_): raise ValueError('no')\n\
        class Meta(type):\n    __eq__ = no\n    __hash__ = type.__hash__\n    __getattribute__ = no\n\
        class Odd(metaclass=Meta):\n    __repr__ = __len__ = __eq__ = __array__ = __reduce_ex__ = \
        __getattribute__ = no\n    __hash__ = None\n\
        class List(list):\n    __len__ = __iter__ = __repr__ = no\n\
        odd, sub = Odd(), List([1])\nholds = [odd, sub]\nkeyed = {'k': odd}\n\
        deep = []\nfor _ in range(5000): deep = [deep]\n\
        itself = []; itself.append(itself)\nfine = 1\n\
        many = [object() for _ in range(300_000)]";
    let state = server.run("initial", code).state().to_owned();
    let seen = variables(&server, &state);
    for name in ["sub", "holds", "deep", "many"] {
        assert_eq!(
            (&seen[name]["fingerprint"], &seen[name]["summary"]),
            (&Value::Null, &Value::Null),
            "{name}"
        );
    }
    assert!(seen["itself"]["fingerprint"].is_string());
    assert!(seen["fine"]["fingerprint"].is_string());
    changes(&server, &state);
}

#[test]
fn slow_representations_are_left_out_and_the_other_variables_are_listed() {
    let server = TestServer::start();
    let code = "import time\nclass Slow:\n    def __repr__(self): time.sleep(100)\n\
        slow = [Slow() for _ in range(20)]\n\
        globals().update({f's{i}': s for i, s in enumerate(slow)}); del slow\nlast = 1";
    let state = server.run("initial", code).state().to_owned();
    let start = Instant::now();
    let seen = variables(&server, &state);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(seen["s0"]["repr"].as_str().unwrap().starts_with("<repr failed: TimeoutError"), "{}", seen["s0"]);
    assert_eq!(seen["s19"]["repr"], "…");
}

#[test]
fn the_variables_that_a_cell_changed_are_found() {
    let server = TestServer::start();
    let first = server.run(
        "initial",
        "items = [1]\nd = {'k': [1]}\nx = y = 1\nlock = __import__('threading').Lock()\ndef f(): return 1",
    );
    let first = first.state().to_owned();
    assert_eq!(added_changed_removed(&server, &first), "+d,f,items,lock,x,y ~ -");
    let second =
        server.run(&first, "items.append(2); d['k'].append(2); del x; z = 3; y = 1").state().to_owned();
    assert_eq!(added_changed_removed(&server, &second), "+z ~d,items -x");
    let third =
        server.run(&second, "def f(): return 2\nlock = __import__('threading').Lock()").state().to_owned();
    assert_eq!(added_changed_removed(&server, &third), "+ ~f,lock -");
    let fourth = server.run(&third, "from math import *\n_private = 1; 'only shown'").state().to_owned();
    let (added, changed, removed, _) = changes(&server, &fourth);
    assert!(added.contains(&"sin".to_owned()) && added.contains(&"_private".to_owned()), "{added:?}");
    assert!(!added.iter().any(|name| name == "_" || name == "Out"), "{added:?}");
    assert_eq!((changed.len(), removed.len()), (0, 0));
    let fifth =
        server.run(&fourth, "globals().update({f'v{i:03}': i for i in range(300)})").state().to_owned();
    let (added, _, _, more) = changes(&server, &fifth);
    assert_eq!((added.len(), more), (200, 100));
    // A branch is compared with its parent.
    let branch = server.run(&first, "y = 5").state().to_owned();
    assert_eq!(added_changed_removed(&server, &branch), "+ ~y -");
}

#[test]
fn changes_in_place_of_arrays_and_frames_are_found_and_survive_a_restart() {
    let Some(mut server) = TestServer::with_science() else { return };
    let code = "import numpy as np, pandas as pd\nlarge = np.zeros(20_000_000); arr = np.arange(5)\n\
        df = pd.DataFrame({'a': [1, 2]}); other = pd.DataFrame({'a': [1, 2]})";
    let first = server.run("initial", code).state().to_owned();
    assert_eq!(added_changed_removed(&server, &first), "+arr,df,large,np,other,pd ~ -");
    let second = server.run(&first, "arr[0] = 1; df['c'] = 5; total = large.sum()").state().to_owned();
    assert_eq!(added_changed_removed(&server, &second), "+total ~arr,df -");
    command(&server, json!({"do": "checkpoint", "state": second}));
    server.restart();
    assert_eq!(state_of(&server, &second)["changes"]["changed"], json!(["arr", "df"]));
    // The parent is on disk now. It is loaded for the comparison.
    let third = server.run(&second, "other.loc[0, 'a'] = 7").state().to_owned();
    assert_eq!(added_changed_removed(&server, &third), "+ ~other -");
}

#[test]
fn clients_learn_about_changed_variables_soon() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let run = live.run("initial", "x = 1");
    let ended = live.event(&run, "run_ended");
    let start = Instant::now();
    let found = live.hear(|m| m["event"] == "changes_found");
    assert_eq!((&found["state"], &found["changes"]["added"]), (&ended["state"], &json!(["x"])));
    assert!(start.elapsed() < Duration::from_secs(5));
    let number = live.send(json!({"do": "complete", "state": ended["state"], "code": "x.bit", "cursor": 5}));
    let answer = live.hear(|m| m["reply"] == number);
    assert_eq!((&answer["kind"], &answer["from"]), (&json!("completions"), &json!(2)));
}

#[test]
fn long_keys_are_not_completed_and_long_documentation_is_cut() {
    let server = TestServer::start();
    let code = "d = {'short': 1, 'x' * 3_000_000: 2}\ndef f(): pass\nf.__doc__ = 'y ' * 20_000_000";
    let state = server.run("initial", code).state().to_owned();
    assert_eq!(texts(&server, &state, "d[\""), ["short"]);
    let told = object(&server, &state, "f");
    assert_eq!(told["doc"].as_str().unwrap().chars().count(), 16_000, "{}", told["type"]);
}

/// A fork that reads a value of several gigabytes must not allocate several further gigabytes.
#[test]
#[ignore = "nightly: it takes 4 s and 2 GB"]
fn fingerprints_of_large_values_need_little_memory_and_time() {
    let code = r"
import hashlib, resource, sys, time, types
native = types.ModuleType('ratoon_kernel._native')
native.digest = lambda memory: hashlib.blake2b(memory).hexdigest()
native.__getattr__ = lambda name: None
sys.modules['ratoon_kernel._native'] = native
from ratoon_kernel import adapters, fingerprint
import numpy
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def of(value): return fingerprint.fingerprint(value, time.process_time() + 60)
one = numpy.broadcast_to(numpy.array(None, dtype=object), (100_000_000,))
text = 'x' * 600_000_000
before = peak()
assert of(one) is None
assert of(text) is not None and of(text) == of(text) != of(text[1:])
more = (peak() - before) // 1024 - 600
# A long list is not read item by item, either.
many = [None] * 100_000_000
def cost(do): began = time.process_time(); do(); return time.process_time() - began
assert of(many) is None
print(more if cost(lambda: of(many)) < cost(lambda: set(map(type, many))) / 10 else 'each item was read')
";
    let python = std::env::var("RATOON_TEST_PYTHON").unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernel/python");
    let output = std::process::Command::new(python)
        .args(["-B", "-c", code])
        .env("PYTHONPATH", folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let more: i64 = said.trim().parse().unwrap_or_else(|_| panic!("{output:?}"));
    // `text[1:]` is a second copy of the text.
    assert!(more < 100, "{more} MB more than the values themselves");
}
