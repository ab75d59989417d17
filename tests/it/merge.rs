//! Tests of taking variables from one state into another.

use crate::cells::{Room, unique};
use crate::restarts::{command, state_of};
use crate::server::{TestServer, until};
use serde_json::{Value, json};

/// A base with two children.
struct Fork {
    server: TestServer,
    base: String,
    ours: String,
    theirs: String,
}

impl Fork {
    fn of(base: &str, ours: &str, theirs: &str) -> Self {
        Self::on(TestServer::start(), base, ours, theirs)
    }

    fn on(server: TestServer, base: &str, ours: &str, theirs: &str) -> Self {
        let base = server.run("initial", base).state().to_owned();
        let ours = server.run(&base, ours).state().to_owned();
        let theirs = server.run(&base, theirs).state().to_owned();
        Self { server, base, ours, theirs }
    }

    /// Sends a merge. Returns the status and the answer.
    fn merge(&self, take: Value, more: Value) -> (u16, Value) {
        merge(&self.server, &self.ours, &self.theirs, take, more)
    }

    /// Takes variables. Returns the id of the new state.
    fn taken(&self, take: Value) -> String {
        let (status, answer) = self.merge(take, json!({}));
        assert_eq!(status, 200, "{answer}");
        answer["state"].as_str().unwrap().to_owned()
    }

    /// Takes variables. Returns why the merge was refused.
    fn refused(&self, take: Value, more: Value) -> String {
        let (status, answer) = self.merge(take, more);
        assert_eq!(status, 409, "{answer}");
        answer["error"]["why"].as_str().unwrap().to_owned()
    }

    /// What a cell prints at a state.
    fn prints(&self, state: &str, code: &str) -> String {
        let ran = self.server.run(state, code);
        ran.state();
        ran.stream("stdout").trim().to_owned()
    }
}

fn merge(server: &TestServer, ours: &str, theirs: &str, take: Value, more: Value) -> (u16, Value) {
    let mut body = json!({"from": theirs, "take": take});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    let answer = server.post(&format!("/api/states/{ours}/merge"), body);
    (answer.status, answer.json())
}

fn changed() -> Value {
    json!("changed")
}

#[test]
fn what_the_other_state_has_changed_is_taken_and_everything_else_stays() {
    let fork = Fork::of("x, y, gone = 1, 1, 1", "own = 5\ny = 2", "x = 7\nnew = [1]\ndel gone");
    let (status, answer) = fork.merge(changed(), json!({"new_state_name": "both"}));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["taken"], json!([{"name": "new"}, {"name": "x"}]));
    assert_eq!((&answer["deleted"], &answer["state_name"]), (&json!(["gone"]), &json!("both")));
    let code = "print(x, y, own, new, 'gone' in globals())";
    assert_eq!(fork.prints("both", code), "7 2 5 [1] False");
    // Neither of the two states has changed.
    assert_eq!(fork.prints(&fork.ours, "print(x, y, gone)"), "1 2 1");
    assert_eq!(fork.prints(&fork.theirs, "print(x, y, new)"), "7 1 [1]");
    // The new state has two parents, and readable code.
    let state = state_of(&fork.server, "both");
    assert_eq!((&state["parent"], &state["taken_from"]), (&json!(fork.ours), &json!(fork.theirs)));
    let notebook = fork.server.notebook();
    let runs = notebook["runs"].as_array().unwrap();
    let run = runs.iter().find(|run| run["state"] == answer["state"]).unwrap();
    assert_eq!(run["code"], json!(format!("%take new, x from {} del gone", fork.theirs)));
}

#[test]
fn objects_that_variables_share_stay_shared() {
    let Some(server) = TestServer::with_science() else { return };
    let fork = Fork::on(
        server,
        "import numpy as np\na = [1]\nb = a\nr = [0]\nv = np.zeros(4)\nw = v[1:3]\nzero = {'r': r}",
        "r.append(9)",
        "b.append(2)\nv[1] = 5\nc = {'a': a}",
    );
    let state = fork.taken(changed());
    let code = "a.append(3); w[0] += 1; print(b, c['a'] is a, a is b, v.tolist(), zero['r'] is r, r)";
    assert_eq!(fork.prints(&state, code), "[1, 2, 3] True True [0.0, 6.0, 0.0, 0.0] True [0, 9]");
    let why = fork.refused(json!(["a"]), json!({}));
    assert!(why.contains("`a`, `b`, `c` share objects"), "{why}");
    assert_eq!(fork.merge(json!(["a", "b", "c"]), json!({})).0, 200);
}

#[test]
fn a_view_of_a_frame_shares_its_data_after_the_merge() {
    let Some(server) = TestServer::with_science() else { return };
    let fork = Fork::on(
        server,
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3]})\nother = 1",
        "other = 2",
        "df['b'] = df.a * 2\nalias = df\ncolumns = [df, alias]",
    );
    let state = fork.taken(changed());
    let code = "alias['c'] = 1; print(list(df.columns), columns[0] is df, other)";
    assert_eq!(fork.prints(&state, code), "['a', 'b', 'c'] True 2");
}

#[test]
fn functions_and_classes_read_the_variables_of_their_new_state() {
    let fork = Fork::of(
        "k = 1\nclass Base:\n    def m(self): return k",
        "k = 10",
        "def f(): return k\nclass C(Base):\n    def n(self): return f() + 1\nc = C()\n\
         def counter():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n        return n\n\
         \u{20}   return step\nstep = counter()\nstep()\nm = c.n",
    );
    let (status, answer) = fork.merge(changed(), json!({}));
    assert_eq!(status, 200, "{answer}");
    let warnings = answer["warnings"].to_string();
    assert!(warnings.contains("`f` reads the variable `k`, which has another value here"), "{warnings}");
    let state = answer["state"].as_str().unwrap();
    let code = "print(f(), c.n(), c.m(), m(), step(), isinstance(c, C), isinstance(c, Base), type(c) is C)";
    assert_eq!(fork.prints(state, code), "10 11 10 11 2 True True True");
    // The run has the warnings too.
    let notebook = fork.server.notebook();
    let runs = notebook["runs"].as_array().unwrap();
    let run = runs.iter().find(|run| run["state"] == answer["state"]).unwrap();
    assert_eq!(run["warnings"], answer["warnings"]);
}

#[test]
fn modules_are_imported_and_settings_random_numbers_and_history_stay_ours() {
    let fork = Fork::of(
        "import random, os\nrandom.seed(1)\nhere = os.getcwd()",
        "first = random.random()\nos.environ['WHOSE'] = 'ours'",
        "import decimal\nd = decimal.Decimal('1.5')\nos.environ['WHOSE'] = 'theirs'\nos.chdir('/')\n\
         random.seed(9)",
    );
    let state = fork.taken(json!(["decimal", "d"]));
    let code = "print(d * 2, decimal.__name__, os.environ['WHOSE'], os.getcwd() == here, len(In), \
                round(random.random(), 6))";
    assert_eq!(fork.prints(&state, code), "3.0 decimal ours True 5 0.847434");
}

#[test]
fn what_cannot_leave_its_process_is_refused_and_leaves_nothing() {
    let fork = Fork::of(
        "x = 1",
        "y = 2",
        "x = 5\ng = (i for i in range(3))\nf = open('/dev/null')\nimport threading\nlock = threading.Lock()",
    );
    let before = fork.server.notebook()["states"].as_array().unwrap().len();
    let why = fork.refused(json!(["g"]), json!({}));
    assert!(why.contains("g (a generator"), "{why}");
    let why = fork.refused(json!(["f"]), json!({}));
    assert!(why.contains("f ("), "{why}");
    let notebook = fork.server.notebook();
    assert_eq!(notebook["states"].as_array().unwrap().len(), before);
    assert!(!notebook["runs"].to_string().contains("%take"), "no failed run stays");
    assert_eq!(fork.prints(&fork.taken(json!(["x", "lock"])), "print(x, lock.locked())"), "5 False");
}

#[test]
fn a_conflict_is_refused_or_decided() {
    let fork = Fork::of("x = 1\na = b = []", "x = 2\na.append(1)", "x = 3\nb.append(2)\nnew = 1");
    let why = fork.refused(changed(), json!({}));
    assert!(why.contains("both states have changed `a`, `b`, `x`"), "{why}");
    let (_, plan) = fork.merge(changed(), json!({"dry_run": true}));
    assert_eq!(plan["plan"]["conflicts"], json!([["a", "b"], ["x"]]));
    assert_eq!(plan["plan"]["take"], json!([{"name": "new"}]));
    assert!(plan["refusal"]["why"].as_str().unwrap().contains("both states"), "{plan}");
    for (more, code, expected) in [
        (json!({"on_conflict": "ours"}), "print(x, a, b, new)", "2 [1] [1] 1"),
        (json!({"on_conflict": "theirs"}), "print(x, a, b, new, a is b)", "3 [2] [2] 1 True"),
        (json!({"on_conflict": "rename"}), "print(x, x_b, a, a_b, a_b is b_b, new)", "2 3 [1] [2] True 1"),
        (json!({"resolve": {"x": "theirs", "a": "ours"}}), "print(x, a, new)", "3 [1] 1"),
    ] {
        let (status, answer) = fork.merge(changed(), more);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(fork.prints(answer["state"].as_str().unwrap(), code), expected);
    }
    // Equal changes are no conflict.
    let fork = Fork::of("x = 1", "x = 2", "x = 2\ny = 1");
    assert_eq!(fork.prints(&fork.taken(changed()), "print(x, y)"), "2 1");
}

#[test]
fn states_that_are_related_otherwise() {
    let server = TestServer::start();
    let base = server.run("initial", "x = 1\ng = iter([1])").state().to_owned();
    let below = server.run(&base, "x = 2\ny = 3").state().to_owned();
    let from = |ours: &str, theirs: &str, take: Value| merge(&server, ours, theirs, take, json!({}));
    // From a descendant: everything that it changed.
    let (status, answer) = from(&base, &below, json!(["x", "y"]));
    assert_eq!((status, &answer["taken"]), (200, &json!([{"name": "x"}, {"name": "y"}])), "{answer}");
    // From an ancestor: it has changed nothing, but its value can be taken if it is named.
    assert_eq!(from(&below, &base, changed()).0, 409);
    let (status, answer) = merge(&server, &below, &base, json!(["x"]), json!({"on_conflict": "theirs"}));
    assert_eq!(status, 200, "{answer}");
    let ran = server.run(answer["state"].as_str().unwrap(), "print(x, y)");
    assert_eq!(ran.stream("stdout"), "1 3\n");
    let (status, answer) = from(&base, &base, changed());
    assert_eq!((status, answer["error"]["why"].as_str()), (409, Some("both states are the same one")));
    let (status, answer) = from(&base, &below, json!(["nothing"]));
    assert_eq!((status, answer["error"]["code"].as_str()), (404, Some("not_found")), "{answer}");
    assert_eq!(from(&base, "nothing", changed()).0, 404);
    for bad in [json!("all"), json!(3), json!([3])] {
        assert_eq!(from(&base, &below, bad).0, 400);
    }
    // Names that are equal in both states need not be taken.
    let ours = server.run(&base, "x = 2").state().to_owned();
    let (status, answer) = from(&ours, &below, json!(["x"]));
    assert_eq!(status, 409, "{answer}");
}

#[test]
fn a_repeated_request_gets_the_same_state() {
    let fork = Fork::of("x = 1", "y = 2", "x = 2");
    let once = json!({"exec_id": unique("merge")});
    let (_, first) = fork.merge(changed(), once.clone());
    let (status, second) = fork.merge(changed(), once.clone());
    assert_eq!((status, &second["state"]), (200, &first["state"]), "{second}");
    let (status, answer) = merge(&fork.server, &fork.theirs, &fork.ours, changed(), once);
    assert_eq!(status, 409, "{answer}");
}

#[test]
fn merged_states_survive_a_restart_and_are_replayed() {
    let mut fork = Fork::of(
        "x, data = 1, [0]",
        "own = 5",
        "x = 7\nmade = [data, data]\ngenerator = (i for i in range(3))",
    );
    let state = fork.taken(json!(["x", "data", "made"]));
    let after = fork.server.run(&state, "last = x + own\nopened = iter([1, 2])").state().to_owned();
    for id in [&fork.base, &fork.ours, &fork.theirs, &state, &after] {
        until("the states are saved", || state_of(&fork.server, id)["checkpoint"].is_object());
    }
    // From a state on disk into a state on disk.
    fork.server.restart();
    let again = fork.taken(json!(["x", "data", "made"]));
    assert_eq!(fork.prints(&again, "print(x, own, made[0] is data)"), "7 5 True");
    assert_eq!(state_of(&fork.server, &state)["taken_from"], json!(fork.theirs));
    let state_now = |server: &TestServer, id: &str| state_of(server, id)["living"].clone();
    assert_eq!(state_now(&fork.server, &after), "disk");
    // A replay of the line takes the variables again.
    command(&fork.server, json!({"do": "replay", "state": after}));
    assert_eq!(fork.prints(&after, "print(last, made[1] is data, next(opened))"), "12 True 1");
}

#[test]
fn a_crashed_process_of_the_other_state_does_no_harm() {
    let fork = Fork::of("x = 1", "own = 5", "import os\nx = 7\npid = os.getpid()");
    until("it is saved", || state_of(&fork.server, &fork.theirs)["checkpoint"].is_object());
    // The first cell runs in the head at this state, the second in a fork of the frozen process.
    fork.prints(&fork.theirs, "print(os.getppid())");
    let pid: i32 = fork.prints(&fork.theirs, "print(os.getppid())").parse().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
    until("it is on disk", || state_of(&fork.server, &fork.theirs)["living"] == "disk");
    assert_eq!(fork.prints(&fork.taken(json!(["x"])), "print(x, own)"), "7 5");
}

#[test]
fn an_exported_file_names_what_was_taken_in_a_comment() {
    let fork = Fork::of("x = 1", "own = 5", "x = 7\ny = 1");
    command(&fork.server, json!({"do": "label", "state": fork.theirs, "label": "the better one"}));
    let state = fork.taken(changed());
    let path = format!("/api/notebooks/main/states/{state}/document?format=py");
    let text = fork.server.get(&path).text();
    assert!(text.contains("# taken from the better one: x, y"), "{text}");
    assert!(!text.contains("%take"), "{text}");
}

#[test]
fn the_page_sends_a_merge_as_a_command() {
    let fork = Fork::of("x = 1", "own = 5", "x = 7");
    let id = unique("merge");
    let ask =
        json!({"do": "merge", "exec_id": id, "into": fork.ours, "from": fork.theirs, "take": "changed"});
    let dry = command(&fork.server, {
        let mut ask = ask.clone();
        ask["dry_run"] = json!(true);
        ask
    });
    assert_eq!((&dry["kind"], &dry["refusal"]), (&json!("merge_planned"), &json!(null)), "{dry}");
    let ended = command(&fork.server, ask);
    assert_eq!((&ended["kind"], &ended["status"]), (&json!("ended"), &json!("ok")), "{ended}");
}

#[test]
fn a_state_from_elsewhere_hands_over_plain_values_until_it_is_trusted() {
    let (here, there) = (TestServer::start(), TestServer::start());
    let state = there.run("initial", "x = [1, 2]\ndef f(): return x").state().to_owned();
    there.checkpoint(&state, json!({}));
    let imported = here.import(&there.export(&state, "").body).json()["state"].as_str().unwrap().to_owned();
    let ours = here.run("initial", "own = 5").state().to_owned();
    let take = |names: Value| merge(&here, &ours, &imported, names, json!({}));
    let (status, answer) = take(json!(["x"]));
    assert_eq!(status, 200, "{answer}");
    let ran = here.run(answer["state"].as_str().unwrap(), "print(x, own)");
    assert_eq!(ran.stream("stdout"), "[1, 2] 5\n");
    assert_eq!(take(json!(["f"])).0, 404, "no code has been loaded");
    assert_eq!(here.post("/api/trust", json!({})).json(), json!({"trusted": 1}));
    let (status, answer) = take(json!(["f", "x"]));
    assert_eq!(status, 200, "{answer}");
    let ran = here.run(answer["state"].as_str().unwrap(), "print(f(), own)");
    assert_eq!(ran.stream("stdout"), "[1, 2] 5\n");
}

#[test]
fn odd_names_are_neither_taken_nor_run_as_code() {
    let odd =
        "globals()['{open(\"made\", \"w\")}'] = globals()['p,q'] = globals()['a as q'] = 1\nx = 2\np = 3";
    let room = Room::new();
    let fork = Fork::on(TestServer::in_dir(room.path()), "x = 1", "q = 5", odd);
    let state = fork.taken(changed());
    assert_eq!(fork.prints(&state, "print(x, q, p)"), "2 5 3");
    assert!(!room.file("made").exists());
}
