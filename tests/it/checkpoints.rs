//! Tests that the content of states survives when the server is killed. Each row runs cells and
//! reads the last state before and after a restart. Both outputs must be equal.

use crate::breadth::examples;
use crate::cells::{Ran, Room};
use crate::request::Request;
use crate::restarts::state_of;
use crate::server::{PATIENCE, TestServer, until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Cells to run, and the code that reads the last state.
struct Row {
    name: &'static str,
    cells: &'static [&'static str],
    look: &'static str,
}

const fn row(name: &'static str, cells: &'static [&'static str], look: &'static str) -> Row {
    Row { name, cells, look }
}

/// Runs cells one after the other. Returns the name of the last state.
fn grow(server: &TestServer, name: &str, cells: &[&str]) -> String {
    cells.iter().fold("initial".to_owned(), |state, cell| {
        let ran = server.run(&state, cell);
        assert!(ran.error.is_none(), "{name}: {} {}", ran.ename(), ran.evalue());
        ran.state().to_owned()
    })
}

/// Waits until these states have a checkpoint.
pub fn wait_for_checkpoints(server: &TestServer, states: &[String]) {
    let start = Instant::now();
    for state in states {
        while state_of(server, state)["checkpoint"].is_null() {
            assert!(start.elapsed() < 2 * PATIENCE, "no checkpoint: {}", state_of(server, state));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Kills a server with SIGKILL.
fn kill(mut server: TestServer) {
    server.signal(Signal::SIGKILL);
    server.wait();
}

/// Checks that these rows come back. Checks nothing if the server cannot be started, because the
/// machine lacks the libraries.
fn comes_back<'a>(start: impl Fn(&Path) -> Option<TestServer>, rows: impl Iterator<Item = &'a Row> + Clone) {
    let room = Room::new();
    let Some(server) = start(room.path()) else { return };
    let states: Vec<String> = rows.clone().map(|row| grow(&server, row.name, row.cells)).collect();
    // Waits before reading, because reading a state makes further states, which would also be
    // saved.
    wait_for_checkpoints(&server, &states);
    let before: Vec<String> =
        rows.clone().zip(&states).map(|(row, state)| shown(&server, state, row.look)).collect();
    kill(server);
    let server = start(room.path()).expect("it was there a moment ago");
    let wrong: Vec<String> = rows
        .zip(states.iter().zip(&before))
        .filter_map(|(row, (state, before))| {
            let after = shown(&server, state, row.look);
            (after != *before).then(|| format!("{}:\n  before {before:?}\n  after  {after:?}", row.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the output or the error of a cell that reads a state.
fn shown(server: &TestServer, state: &str, look: &str) -> String {
    let ran = server.run(state, look);
    let error = if ran.error.is_none() { "" } else { ran.evalue() };
    format!("{}{error}", ran.text())
}

/// A client that asks for the plain values does not keep the rest of the state from being saved.
#[test]
fn a_checkpoint_of_plain_values_is_followed_by_one_of_the_whole_state() {
    let mut server = TestServer::start();
    let ran = server.run("initial", "class A: pass\na = A()\na.x = 7");
    server.checkpoint(ran.state(), json!({"form": "data"}));
    until("the whole state is saved", || {
        state_of(&server, ran.state())["checkpoint"]["form"] == "environment"
    });
    server.restart();
    assert_eq!(server.run(ran.state(), "print(a.x)").text(), "7\n");
}

#[test]
fn objects_are_restored() {
    comes_back(|dir| Some(TestServer::in_dir(dir)), examples(OBJECTS, 4));
}

#[test]
fn locks_pools_databases_and_loggers_are_restored() {
    comes_back(|dir| Some(TestServer::in_dir(dir)), MACHINERY.iter());
}

#[test]
fn changed_settings_of_libraries_are_restored() {
    comes_back(TestServer::science_in, examples(IN_LIBRARIES, 4));
}

#[test]
fn arrays_and_objects_of_libraries_are_restored() {
    comes_back(TestServer::science_in, examples(SCIENCE, 4));
}

#[test]
fn what_the_own_pickling_of_a_library_changes_is_listed() {
    let mut server = TestServer::start();
    let library = "open('losing.py', 'w').write('class Molecule:\\n    atoms = 1\\n\
        \\n    def __getstate__(self): return {\"atoms\": 1}')\nimport losing\nm = losing.Molecule(); n = [m]";
    let whole = grow(&server, "library", &[library]);
    let changed = server.run(&whole, "m.source = 'paper'").state().to_owned();
    wait_for_checkpoints(&server, &[whole.clone(), changed.clone()]);
    let of = |server: &TestServer, state: &str| {
        let checkpoint = server.owner(Request::get(&format!("/api/states/{state}/checkpoint"))).json();
        assert!(checkpoint["not_compared"].is_null(), "{checkpoint}");
        checkpoint["changed"].clone()
    };
    let expected = json!([{"name": "m", "type": "Molecule", "what": "a Molecule lost .source"}]);
    assert_eq!((of(&server, &whole), of(&server, &changed)), (json!([]), expected.clone()));
    server.restart();
    assert_eq!(server.run(&changed, "print(hasattr(m, 'source'), n[0] is m)").text(), "False True\n");
    assert_eq!(of(&server, &changed), expected);
}

#[test]
fn variables_that_cannot_be_saved_are_listed_with_the_reason() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let code = "import threading\ng = (i for i in range(3)); x = 1; box = {'a': [g]}\n\
        class H:\n    def __init__(self): self._lock = threading.Lock()\n\
        h = H(); h._lock.acquire(); f = open('f', 'w')\ndef uses(): return next(g)";
    let state = grow(&server, "missing", &[code]);
    wait_for_checkpoints(&server, std::slice::from_ref(&state));
    kill(server);
    let server = TestServer::in_dir(room.path());
    assert_eq!(server.run(&state, "print(x)").text(), "1\n");
    for (look, reason) in [
        ("g", "a generator"),
        ("box", "it holds a generator (['a'][0])"),
        ("h", "it holds a lock that is held (_lock)"),
        ("f", "an open file"),
        ("uses()", "a generator"),
    ] {
        let ran = server.run(&state, look);
        assert_eq!(ran.ename(), "NameError", "{look}");
        assert!(ran.evalue().contains(reason) && ran.evalue().contains("Replay"), "{look}: {}", ran.evalue());
    }
    let caught = "try: g\nexcept NameError as e: print(e.name)\ng = iter([5]); print(uses())";
    assert_eq!(server.run(&state, caught).text(), "g\n5\n");
    let missing = state_of(&server, &state)["checkpoint"]["missing"].clone();
    let names: Vec<&str> =
        missing.as_array().expect("a list").iter().filter_map(|m| m["name"].as_str()).collect();
    assert_eq!(names, ["g", "box", "h", "f"]);
}

#[test]
fn a_run_can_replay_variables_that_its_checkpoint_lacks_first() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    // Loading this object fails, and saving it does not detect this.
    let breaks = "import os\nclass Breaks:\n    def __reduce__(self): return (int, ('no',))";
    let told = grow(&server, "told", &["n = 1", "g = (i for i in range(n)); x = 5"]);
    let not_told = grow(&server, "not told", &[breaks, "b = Breaks(); x = 6"]);
    wait_for_checkpoints(&server, &[told.clone(), not_told.clone()]);
    assert_eq!(state_of(&server, &not_told)["checkpoint"]["missing"], json!([]));
    kill(server);
    let server = TestServer::in_dir(room.path());
    let with_replay = |state: &str, code: &str| {
        let ran = server.begin_with(state, code, json!({"replay": true})).end();
        (ran.text(), ran.error)
    };
    // Names that are missing in a state are also missing in its children.
    let grown = server.run(&told, "y = x + 1").state().to_owned();
    assert_eq!(server.run(&grown, "g").ename(), "NameError");
    assert_eq!(with_replay(&grown, "print(next(g), y)"), ("0 6\n".to_owned(), None));
    assert_eq!(with_replay(&told, "print(next(g), x)"), ("0 5\n".to_owned(), None));
    assert_eq!(with_replay(&not_told, "print(type(b).__name__, x)"), ("Breaks 6\n".to_owned(), None));
    assert_eq!(server.run(&told, "print(next(g))").text(), "0\n");
}

#[test]
fn a_variable_that_could_not_be_loaded_is_listed_as_missing() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let code = "class Breaks:\n    def __reduce__(self): return (int, ('no',))\nb = Breaks(); ok = 1";
    let state = grow(&server, "breaks", &[code]);
    wait_for_checkpoints(&server, std::slice::from_ref(&state));
    kill(server);
    let server = TestServer::in_dir(room.path());
    assert!(server.run(&state, "print(ok); b").evalue().contains("could not be loaded"));
    let missing = state_of(&server, &state)["checkpoint"]["missing"].clone();
    assert_eq!(missing[0]["name"], "b", "{missing}");
    assert!(missing[0]["reason"].as_str().expect("text").contains("invalid literal"), "{missing}");
}

#[test]
fn restored_figures_are_displayed_as_before() {
    let room = Room::new();
    let Some(server) = TestServer::science_in(room.path()) else { return };
    let plot = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); ax.plot([1, 2]);";
    let state = grow(&server, "figure", &[plot, "%config InlineBackend.figure_formats = ['svg']"]);
    let looks = ["fig", "display(fig)", "plt.plot([1, 2]);"];
    let shown = |server: &TestServer| looks.map(|look| mimes(&server.run(&state, look)));
    let before = shown(&server);
    assert!(before.iter().all(|one| one.contains("image/svg+xml")), "{before:?}");
    wait_for_checkpoints(&server, std::slice::from_ref(&state));
    kill(server);
    let server = TestServer::science_in(room.path()).expect("it was there a moment ago");
    assert_eq!(shown(&server), before);
}

/// Returns the mime types of a run's outputs, in order.
fn mimes(ran: &Ran) -> String {
    let kinds = |item: &Value| {
        let data = item["data"].as_object();
        data.map(|data| data.keys().cloned().collect::<Vec<String>>().join(" ")).unwrap_or_default()
    };
    ran.output.iter().map(kinds).collect::<Vec<_>>().join("; ")
}

#[test]
fn clients_can_tell_whether_a_checkpoint_will_follow() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let saving = |server: &TestServer, name: &str| {
        let list = server.get("/api/states").json();
        let states = list["states"].as_array().expect("states").clone();
        states.iter().find(|s| s["name"] == name).expect("the state")["saving"].clone()
    };
    assert_eq!(saving(&server, "initial")["now"], "never");
    let state = grow(&server, "due", &["x = 1"]);
    let now = saving(&server, &state)["now"].clone();
    assert!(["waiting", "writing", "done"].contains(&now.as_str().expect("a word")), "{now}");
    wait_for_checkpoints(&server, std::slice::from_ref(&state));
    assert_eq!(saving(&server, &state)["now"], "done");
    kill(server);
    let dir = room.path().to_str().expect("a name in UTF-8");
    let server = TestServer::start_with(&["--dir", dir, "--no-checkpoints"]);
    let state = grow(&server, "never", &["x = 2"]);
    let never = saving(&server, &state);
    assert_eq!(never["now"], "never");
    assert!(never["why"].as_str().expect("a reason").contains("--no-checkpoints"), "{never}");
}

#[test]
fn a_state_that_hangs_while_it_is_saved_does_not_hold_up_others() {
    let server = TestServer::start();
    let list = || server.get("/api/states").json();
    assert_eq!(list()["unsaved"], json!({ "count": 0, "longest_ms": null }));
    let hangs = "import time\nclass Slow:\n  def __reduce__(self): time.sleep(1000)\nslow = Slow()";
    let hanging = grow(&server, "hangs", &[hangs]);
    let is_written = || state_of(&server, &hanging)["saving"]["now"] == "writing";
    until("the state that hangs is being saved", is_written);
    let other = grow(&server, "other", &["x = 1"]);
    wait_for_checkpoints(&server, &[other]);
    assert!(is_written(), "{}", state_of(&server, &hanging));
    let unsaved = list()["unsaved"].clone();
    assert_eq!(unsaved["count"], 1);
    assert!(unsaved["longest_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{unsaved}");
}

#[test]
fn a_state_is_unsaved_from_the_beginning() {
    let server = TestServer::start();
    let mut state = "initial".to_owned();
    for _ in 0..20 {
        state = server.run(&state, "x = 1").state().to_owned();
        let answer = server.get("/api/states").json();
        let is_unsaved = |one: &&Value| {
            one["name"] != "initial"
                && one["checkpoint"].is_null()
                && (one["living"] == "memory" || one["living"] == "freezing")
        };
        let unsaved = answer["states"].as_array().expect("a list").iter().filter(is_unsaved).count();
        assert_eq!(answer["unsaved"]["count"], unsaved, "{answer}");
    }
}

#[test]
fn only_the_names_of_hostile_objects_are_missing() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let code = r#"import os
class Raises:
    def __reduce__(self): raise BaseException('no')
class Exits:
    def __getstate__(self): raise SystemExit(3)
class ExitsHard:
    def __reduce__(self): os._exit(1)
class Nonsense:
    def __reduce__(self): return 5
class Opaque:
    def __getattribute__(self, name): raise KeyboardInterrupt
class Bomb:
    def __reduce__(self): return (exec, ('raise ValueError("on load")',))
shared = []
a, b, c, d, e, bomb = Raises(), Exits(), ExitsHard(), Nonsense(), Opaque(), Bomb()
pair = [shared, bomb]; after = [shared]; ok = 1"#;
    let state = grow(&server, "hostile", &[code]);
    wait_for_checkpoints(&server, std::slice::from_ref(&state));
    kill(server);
    let server = TestServer::in_dir(room.path());
    let look =
        "print(ok, after, after[0] is shared, [n for n in 'a b c d e bomb pair'.split() if n in globals()])";
    assert_eq!(server.run(&state, look).text(), "1 [[]] True []\n");
    assert!(server.run(&state, "bomb").evalue().contains("on load"));
}

#[test]
fn branches_of_a_state_whose_library_hangs_in_forks_use_its_checkpoint() {
    let Some(server) = TestServer::with_science() else { return };
    let code = "import polars as pl\ndf = pl.DataFrame({'a': range(1000)})\n\
        def above(n): return df.lazy().filter(pl.col('a') > n).collect().height\nprint(above(9))";
    let state = server.run("initial", code);
    assert_eq!(state.text(), "990\n");
    let told = state_of(&server, state.state());
    assert_eq!(told["forks"], false, "{told}");
    // The first run continues in the head, with the head's pool. The other runs are branches, and
    // some of them run at the same time.
    assert_eq!(server.run(state.state(), "print(above(99))").text(), "900\n");
    let branches: Vec<_> =
        (1..=3).map(|n| server.begin(state.state(), &format!("print(above({n}99))"))).collect();
    for (n, branch) in (1..=3).zip(branches) {
        let ran = branch.end();
        assert_eq!(ran.text(), format!("{}\n", 1000 - (n * 100 + 100)), "{ran:?}");
        assert_eq!(server.run(ran.state(), "print(above(0))").text(), "999\n");
    }
}

#[test]
fn one_changed_element_writes_one_chunk() {
    let Some(server) = TestServer::with_science() else { return };
    let first = grow(&server, "large", &["import numpy as np; big = np.random.rand(8_000_000)"]);
    wait_for_checkpoints(&server, std::slice::from_ref(&first));
    let second = server.run(&first, "big[5] = 1").state().to_owned();
    wait_for_checkpoints(&server, std::slice::from_ref(&second));
    let new_bytes = |state| state_of(&server, state)["checkpoint"]["new_bytes"].as_u64().expect("a number");
    assert!(new_bytes(&first) > 60_000_000);
    assert!(new_bytes(&second) < 8 << 20, "{}", new_bytes(&second));
}

#[test]
fn a_long_history_is_not_written_again_for_each_state() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let noise: String = (0..3000).map(|_| uuid::Uuid::new_v4().simple().to_string()).collect();
    let first = grow(&server, "long", &["In.append('é\u{2028}\\n')", &format!("# {noise}")]);
    wait_for_checkpoints(&server, std::slice::from_ref(&first));
    let second = server.run(&first, "x = 1").state().to_owned();
    wait_for_checkpoints(&server, std::slice::from_ref(&second));
    let new_bytes = |state| state_of(&server, state)["checkpoint"]["new_bytes"].as_u64().expect("a number");
    assert!(new_bytes(&first) > 40_000);
    assert!(new_bytes(&second) < 16_000, "{}", new_bytes(&second));
    let look = "import zlib; print(len(In), zlib.crc32(repr((In, _ih, _i2, _i, _ii)).encode()))";
    let before = shown(&server, &second, look);
    kill(server);
    assert_eq!(shown(&TestServer::in_dir(room.path()), &second, look), before);
}

#[test]
fn plain_values_are_restored_and_damaged_ones_run_no_code() {
    let server = TestServer::start();
    let code = r#"import sys, random, collections, datetime, decimal, pathlib, uuid
from ratoon_kernel import data_decoder, data_encoder, data_form
held = [1, -5, 2**40, -2**70, 1.5, float('inf'), True, None, 'é', '\udc80', b'b', bytearray(b'c'),
    (1, (2,)), {1}, frozenset('a'), 1j, ..., datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
    datetime.date(1, 2, 3), datetime.timedelta(-1, 5), decimal.Decimal('1.50'), uuid.UUID(int=7),
    pathlib.Path('/a'), range(1, 9, 2), slice(1, None),
    collections.deque([1], 3), collections.OrderedDict(b=1), collections.Counter('aab'),
    collections.defaultdict(list, {1: [2]}), {(1, 'a'): [None]},
    list(range(100)), [i / 3 for i in range(100)], list(map(str, range(100)))]
encoder = data_encoder.Encoder(None)
text = bytes(encoder.encode(held).text)
read = lambda data: data_decoder.Decoder(None, []).decode(data)
assert read(text) == held and list(map(type, read(text))) == list(map(type, held))
loop = []; loop.append(loop); loop.append({'same': loop})
back = read(bytes(encoder.encode(loop).text))
assert back[0] is back and back[1]['same'] is back
placed = read(bytes(encoder.encode([len, open]).text))
assert all(isinstance(one, data_form.Placeholder) for one in placed)
chance, told = random.Random(1), collections.Counter()
for _ in range(5000):
    damaged = bytearray(text)
    for _ in range(chance.choice([1, 1, 2, 5])):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    try: read(bytes(damaged)); told['read'] += 1
    except data_form.Malformed: told['refused'] += 1
# An index that costs nothing, and one value for all of it.
index = b'\x81\xd4R\x16\x93\xa5range\xc0\x93\x00\xd3%s\x01'
few, many = (index % n.to_bytes(8, 'big') for n in (1, 10**15))
try:
    read(b'\x81\xd4R\x14\x93' + many + few + b'\x91\x92\x91\x00\x91\x92\xa7objects\x91\x07')
    told['huge'] += 1
except data_form.Malformed: told['refused'] += 1
except MemoryError: told['no memory'] += 1
print(sorted(told))"#;
    let ran = server.run("initial", code);
    assert_eq!(ran.text(), "['read', 'refused']\n", "{}", ran.evalue());
}

/// Objects of the standard library: locks, databases, loggers, modules.
const MACHINERY: &[Row] = &[
    row(
        "free locks and objects that contain them",
        &["import threading, queue\n\
            lock = threading.Lock(); again = threading.RLock(); cond = threading.Condition(); event = \
            threading.Event(); event.set(); sem = threading.Semaphore(3); sem.acquire(); q = queue.Queue(); \
            q.put(1); q.put(2); simple = queue.SimpleQueue(); simple.put(5)\n\
            class Own:\n    def __init__(self): self._lock = threading.Lock()\n\
            own = Own(); pair = (lock, own._lock, lock)"],
        "with lock, again, cond, own._lock: cond.notify_all()\n\
        print(pair[0] is lock, pair[2] is lock, lock.locked(), event.is_set(), sem._value, q.get(), \
        q.qsize(), simple.get(timeout=1))\n\
        t = threading.Thread(target=lock.acquire); t.start(); t.join(); print(lock.locked())",
    ),
    row(
        "thread-local data of the main thread",
        &["import threading\nclass Local(threading.local):\n    def __init__(self, start): self.n = start\n\
            local = Local(3); local.n += 1; plain = threading.local(); plain.x = [1]"],
        "seen = []; t = threading.Thread(target=lambda: seen.append((local.n, hasattr(plain, 'x')))); \
        t.start(); t.join(); print(local.n, plain.x, seen)",
    ),
    row(
        "pools",
        &[
            "import concurrent.futures as cf, multiprocessing as mp, multiprocessing.pool\n\
            threads = cf.ThreadPoolExecutor(3, 'mine'); done = threads.submit(abs, -9); done.result(); over \
            = cf.ThreadPoolExecutor(1); over.shutdown(); processes = cf.ProcessPoolExecutor(2, \
            mp.get_context('fork')); pool = mp.get_context('fork').Pool(2); workers = \
            multiprocessing.pool.ThreadPool(2)",
            "del processes, pool; processes = cf.ProcessPoolExecutor(2, mp.get_context('fork'))",
        ],
        "print(list(threads.map(abs, [-1, -2])), threads._max_workers, done.result(), \
        list(processes.map(abs, [-3])))\ntry: over.submit(abs, 1)\nexcept RuntimeError: print('over')",
    ),
    row(
        "a database of sqlite3 in memory",
        &["import sqlite3, datetime, warnings; warnings.simplefilter('ignore')\n\
            c = sqlite3.connect(':memory:', detect_types=sqlite3.PARSE_DECLTYPES, check_same_thread=False); \
            c.row_factory = sqlite3.Row; cur = c.cursor(); cur.arraysize = 7\n\
            c.execute('create table t (a, b, d date)'); c.execute('insert into t values (1, ?, ?)', ('x', \
            datetime.date(2020, 1, 2)))\nempty = sqlite3.connect(':memory:', isolation_level=None)"],
        "r = c.execute('select * from t').fetchone(); print(tuple(r), r['b'], c.in_transaction, \
        cur.arraysize, cur.execute('select 5').fetchone()[0], empty.isolation_level, empty.execute('select \
        1').fetchall()); c.commit()\n\
        import threading; seen = []; t = threading.Thread(target=lambda: seen.append(c.execute('select \
        count(*) from t').fetchone()[0])); t.start(); t.join(); print(seen)",
    ),
    row(
        "loggers and their handlers",
        &["import logging, sys\n\
            logging.basicConfig(level=logging.INFO, format='%(name)s-%(message)s', stream=sys.stdout)\n\
            log = logging.getLogger('app'); log.propagate = False; hd = logging.FileHandler('app.log', \
            mode='w'); hd.setFormatter(logging.Formatter('%(levelname)s %(message)s')); log.addHandler(hd); \
            log.warning('one'); logging.getLogger('a.b').setLevel(50); logging.addLevelName(25, 'LOUD')"],
        "logging.log(25, 'root'); logging.getLogger('a.b').error('quiet'); print(log.handlers == [hd], \
        open('app.log').read().splitlines()[0], hd.formatter._fmt, logging.getLevelName(25)); \
        log.error('two'); print(open('app.log').read().splitlines()[-1])",
    ),
    row(
        "attributes that cells gave to modules",
        &["import math, json, xml.dom as dom\n\
            math.tau2 = 5; before = json.dumps; setattr(dom, 'extra', [1])\n\
            def mine(x, **more): return 'mine ' + before(x)\n\
            json.dumps = mine; json.JSONDecoder.own = lambda self: 7"],
        "print(math.tau2, json.dumps([1]), dom.extra, json.JSONDecoder().own(), json.dumps is mine)",
    ),
    row(
        "objects whose class asks or fills itself",
        &["class Wrapper:\n    def __init__(self): self._inside = [1]\n    def __getattr__(self, name): \
            return getattr(self._inside, name)\n\
            class Told(list):\n    def __init__(self, *a): super().__init__(*a); self.owners = set()\n    \
            def append(self, x): self.owners.add(1); super().append(x)\n    def extend(self, xs): \
            self.owners.add(2); super().extend(xs)\nw = Wrapper(); t = Told([1, 2]); t.append(t)"],
        "w.append(2); print(w._inside, t[:2], t[2] is t, t.owners)",
    ),
];

/// Settings of libraries that cells change, and objects of libraries that cannot be pickled.
const IN_LIBRARIES: &[Row] = &[
    row(
        "observers of traitlets",
        &["import traitlets\nseen = []\n\
            class O(traitlets.HasTraits):\n    x = traitlets.Int(); y = traitlets.Int(); own = 0\n    \
            @traitlets.observe('y')\n    def on_y(self, change): self.own += 1\n\
            o = O(); o.observe(lambda c: seen.append(c.new), 'x'); o.observe(lambda c: seen.append(c.name)); \
            a, b = O(), O(); link = traitlets.link((a, 'x'), (b, 'x'))"],
        "o.x = 5; o.y = 6; a.x = 7; print(seen, o.own, b.x)",
    ),
    row(
        "observers of widgets",
        &["import ipywidgets as w\n\
            seen = []; s = w.IntSlider(); s.observe(lambda c: seen.append(c.new), names='value'); label = \
            w.Label(); w.dlink((s, 'value'), (label, 'value'), str); button = w.Button(); \
            button.on_click(lambda b: seen.append('click'))"],
        "s.value = 4; button.click(); print(seen, label.value)",
    ),
    row(
        "accessors and types of pandas",
        &["import pandas as pd\n@pd.api.extensions.register_dataframe_accessor('geo')\n\
            class Geo:\n    def __init__(self, df): self.df = df\n    def rows(self): return len(self.df)\n\
            pd.DataFrame.twice = lambda self: self * 2\n@pd.api.extensions.register_extension_dtype\n\
            class Kind(pd.api.extensions.ExtensionDtype):\n    name = 'kind'; type = int"],
        "d = pd.DataFrame({'a': [1, 2]}); print(d.geo.rows(), d.twice().a.tolist(), \
        type(pd.api.types.pandas_dtype('kind')) is Kind)",
    ),
    row(
        "attributes of frames and arrays, and colormaps",
        &["import pandas as pd, numpy as np, matplotlib, matplotlib.colors as c\n\
            d = pd.DataFrame({'a': [1, 2]}); d.attrs['x'] = 1; d.title = 'T'; s = d.a; s.unit = 'km'\n\
            m = np.ma.masked_array([1, 2], [0, 1]); m.unit = 'm'\n\
            matplotlib.colormaps.register(c.ListedColormap(['red'], name='own'))"],
        "print(d.title, d.attrs, s.unit, m.unit, m, matplotlib.colormaps['own'].colors)",
    ),
    row(
        "callbacks of matplotlib",
        &["import matplotlib.pyplot as plt\nfrom matplotlib.widgets import Slider\nseen = []\n\
            figure, axes = plt.subplots(); image = axes.imshow([[0, 9]]); bar = figure.colorbar(image)\n\
            number = axes.callbacks.connect('xlim_changed', lambda a: seen.append(a.get_xlim()[1]))\n\
            slider = Slider(figure.add_axes([0, 0, 1, .1]), 's', 0, 1); slider.on_changed(seen.append)\n\
            plt.close('all')"],
        "image.set_clim(1, 7); axes.set_xlim(0, 5); slider.set_val(.5); image.norm.vmin = 2\n\
        print(bar.vmin, bar.vmax, [float(one) for one in seen])",
    ),
    row(
        "init_printing of sympy",
        &["from sympy import *; init_printing(use_latex=False, order='rev-lex'); x = Symbol('x')"],
        "print(get_ipython().display_formatter.format(x + x ** 2)[0], \
        get_ipython().display_formatter.format([x + x ** 2])[0])",
    ),
    row(
        "sklearn's configuration",
        &["import sklearn; sklearn.set_config(display='text', transform_output='pandas')"],
        "print(sklearn.get_config()['display'], sklearn.get_config()['transform_output'])",
    ),
    row(
        "IPython's printers for a type",
        &["class Point:\n    def __init__(self, x): self.x = x\n\
            get_ipython().display_formatter.formatters['text/plain'].for_type(Point, lambda p, printer, \
            cycle: printer.text(f'<{p.x}>'));"],
        "Point(3)",
    ),
    row(
        "IPython and its parts",
        &["ip = get_ipython(); plain = ip.display_formatter.formatters['text/plain']; history = \
            ip.history_manager"],
        "print(ip is get_ipython(), plain is ip.display_formatter.formatters['text/plain'], history is \
        ip.history_manager)",
    ),
    row(
        "the settings of matplotlib, imported from it",
        &[
            "from matplotlib import rcParams, colormaps\nimport matplotlib as mpl; rc = mpl.rcParams; rc['lines.linewidth'] = 9",
        ],
        "rcParams['figure.figsize'] = (2, 2)\n\
         print(mpl.rcParams['figure.figsize'], rc['lines.linewidth'], colormaps is mpl.colormaps)",
    ),
    row(
        "a renderer of plotly",
        &["import plotly.io as pio; pio.renderers.default = 'json'; pio.templates.default = 'plotly_dark'"],
        "print(pio.renderers.default, pio.templates.default)",
    ),
    row(
        "a figure of bokeh, and a template of Jinja",
        &["from bokeh.plotting import figure\nfrom bokeh.embed import file_html\nimport jinja2\n\
            p = figure(title='T'); r = p.line([1, 2], [3, 4]); size = len(file_html(p))\n\
            t = jinja2.Template('{% for i in y %}{{ x }}{{ loop.index }} {% endfor %}');"],
        "p.line([1], [2]); p.x_range.start = 3; print(len(p.renderers), p.title.text, \
        r.data_source.data['x'], len(file_html(p)) > size > 1000, t.render(x=1, y='ab'))",
    ),
    row(
        "a bar of tqdm",
        &["import sys\nfrom tqdm import tqdm\n\
            bar = tqdm(total=5, file=sys.stdout, disable=False, mininterval=99); bar.update(2);"],
        "bar.update(1); print(bar.n, bar.total)",
    ),
    row(
        "a bar of tqdm for notebooks",
        &["import sys\nfrom tqdm.notebook import tqdm, trange\n\
            bar = tqdm(total=5, file=sys.stdout, disable=False, mininterval=99, display=False); \
            bar.update(2); list(trange(3, display=False));"],
        "bar.update(1); print(bar.n, bar.total, type(bar) is tqdm)",
    ),
    row(
        "a function of numba whose compiled code is kept on disk",
        &["import inspect, os; os.environ['NUMBA_CACHE_DIR'] = os.path.abspath('compiled')\nimport numba\n\
            @numba.njit(cache=True)\ndef f(x): return x + 1\nf(1);"],
        "print(f(2), type(f._cache).__name__, inspect.getsource(f.py_func))",
    ),
    row(
        "databases of DuckDB in memory",
        &["import duckdb\nc = duckdb.connect(); c.execute('create table t as select * from range(5) \
            r(i)'); c.execute('create view v as select 1 as q'); c.execute('create macro m(a) as a + 1'); \
            other = c.cursor(); duckdb.sql('create table d as select 7 as z')"],
        "c.execute('insert into t values (100)'); print(other.sql('select sum(i), m(3) from t').fetchall(), \
        c.sql('select q from v').fetchall(), duckdb.sql('select z from d').fetchall())",
    ),
];

const OBJECTS: &[Row] = &[
    row("plain", &["x = 1; s = 'é'; l = [1, 2.5, None]; d = {'a': (1, 2)}"], "print(x, s, l, d)"),
    row("alias", &["a = []; b = a; c = {'k': a}"], "b.append(1); print(a, a is b, c['k'] is a)"),
    row(
        "recursive",
        &["l = [1]; l.append(l); d = {}; d['d'] = d; t = ([],); t[0].append(t)"],
        "print(l[1] is l, d['d'] is d, t[0][0] is t)",
    ),
    row("function global", &["x = 1\ndef f(): return x"], "x = 5; print(f())"),
    row(
        "globals()",
        &["x = 1; g = globals()\ndef f(): return globals()"],
        "print(f() is g, g is globals(), f()['x'])",
    ),
    row(
        "method global",
        &["x = 1\nclass C:\n    def m(self): return x\nc = C()"],
        "x = 5; print(c.m(), type(c) is C, isinstance(c, C), C().m())",
    ),
    row(
        "nested function",
        &["x = 1\ndef outer():\n    def inner(): return x\n    return inner\nf = outer()"],
        "x = 7; print(f(), outer()())",
    ),
    row(
        "closures share a cell",
        &["def make():\n    n = 0\n    def inc():\n        nonlocal n; n += 1; return n\n    def get(): \
            return n\n    return inc, get\ninc, get = make(); inc();"],
        "print(inc(), get())",
    ),
    row(
        "recursive closure",
        &["def make():\n    def fact(n): return 1 if n < 2 else n * fact(n - 1)\n    return fact\n\
            fact = make()"],
        "print(fact(5), fact.__closure__[0].cell_contents is fact)",
    ),
    row(
        "decorator",
        &["import functools\ncalls = []\n\
            def deco(f):\n    @functools.wraps(f)\n    def w(*a):\n        calls.append(f.__name__); return \
            f(*a) + x\n    return w\n@deco\ndef g(y): return y\nx = 1"],
        "x = 10; print(g(1), calls, g.__wrapped__(1), g.__name__)",
    ),
    row(
        "classmethod static property",
        &["x = 1\nclass C:\n    k = 2\n    @classmethod\n    def c(cls): return cls.k + x\n    \
            @staticmethod\n    def s(): return x\n    @property\n    def p(self): return x + 1\n    \
            @p.setter\n    def p(self, v):\n        global x; x = v"],
        "x = 3; o = C(); print(C.c(), C.s(), o.p); o.p = 9; print(x, o.p)",
    ),
    row(
        "cached_property",
        &["import functools\nclass C:\n    n = 0\n    @functools.cached_property\n    def \
            p(self):\n        C.n += 1; return C.n\nc = C(); c.p; c2 = C()"],
        "print(c.p, c2.p, C.n)",
    ),
    row(
        "dataclass",
        &["from dataclasses import dataclass, field, fields, replace, asdict\n@dataclass(order=True)\n\
            class P:\n    x: int\n    y: list = field(default_factory=list)\np = P(1)"],
        "print(p, p == P(1), [f.name for f in fields(P)], replace(p, x=2), asdict(p), P(1) < P(2))",
    ),
    row(
        "frozen slots dataclass",
        &["from dataclasses import dataclass\n@dataclass(frozen=True, slots=True)\nclass Q:\n    x: int\n\
            q = Q(3)"],
        "print(q, q == Q(3), hash(q) == hash(Q(3)))\ntry: q.x = 1\n\
        except Exception as e: print(type(e).__name__)",
    ),
    row(
        "enum",
        &["import enum\nclass Color(enum.Enum):\n    RED = 1\n    GREEN = 2\n    ROUGE = 1\n    def \
            hi(self): return self.name + str(x)\nx = 1; r = Color.RED; d = {Color.RED: 'r'}"],
        "x = 2; print(r is Color.RED, Color(1) is r, Color['ROUGE'] is r, Color.ROUGE is r, r.hi(), \
        d[Color.RED], list(Color), len(Color.__members__))",
    ),
    row(
        "enum with init",
        &["import enum\nclass Planet(enum.Enum):\n    EARTH = (5.9, 6.3)\n    MARS = (0.6, 3.3)\n    def \
            __init__(self, mass, radius): self.mass = mass; self.radius = radius\n    @property\n    def \
            g(self): return self.mass / self.radius\np = Planet.EARTH"],
        "print(p.mass, round(p.g, 3), Planet.MARS.radius, Planet((5.9, 6.3)) is p, p)",
    ),
    row(
        "intflag",
        &["import enum\nclass F(enum.IntFlag):\n    A = 1\n    B = 2\nf = F.A | F.B\n\
            class S(str, enum.Enum):\n    X = 'x'"],
        "print(f, F.A in f, F(3) == f, int(f), S.X == 'x', S('x') is S.X)",
    ),
    row(
        "namedtuple",
        &["from collections import namedtuple\nfrom typing import NamedTuple\n\
            P = namedtuple('P', 'x y', defaults=[0])\nclass N(NamedTuple):\n    a: int = 1\n\
             p = P(1); n = N()"],
        "print(p, p.x, P(1) == p, type(p) is P, n, n._fields, N(2), p._replace(x=5))",
    ),
    row(
        "subclasses",
        &["class A:\n    def f(self): return 'A' + str(x)\n\
            class B(A):\n    def f(self): return 'B' + super().f()\nclass L(list):\n    pass\n\
            class D(dict):\n    def __missing__(self, k): return x\n\
            x = 1; b = B(); l = L([1]); l.tag = 't'; d = D(a=1)"],
        "x = 4; print(b.f(), B.__mro__[1] is A, issubclass(B, A), l, l.tag, type(l) is L, d['zz'], d)",
    ),
    row(
        "init_subclass with kwargs",
        &["reg = []\nclass Base:\n    def __init_subclass__(cls, tag, **k):\n        \
            super().__init_subclass__(**k); cls.tag = tag; reg.append(cls)\nclass Sub(Base, tag='s'): pass\n\
            o = Sub()"],
        "print(Sub.tag, len(reg), reg[0] is Sub, Sub.__bases__ == (Base,), type(o) is Sub)",
    ),
    row(
        "metaclass",
        &["class M(type):\n    def __call__(cls, *a):\n        o = super().__call__(*a); o.made = x; \
            return o\nclass K(metaclass=M): pass\nx = 1; k = K()"],
        "x = 2; print(type(K) is M, k.made, K().made)",
    ),
    row(
        "abc",
        &["import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self): ...\n\
            class B(A):\n    def f(self): return 1\nA.register(int); b = B()"],
        "print(isinstance(b, A), isinstance(1, A), b.f())\n\
         try: A()\nexcept TypeError as e: print('abstract')",
    ),
    row(
        "slots",
        &["class S:\n    __slots__ = ('a', 'b')\ns = S(); s.a = 1"],
        "print(s.a, hasattr(s, 'b'), hasattr(s, '__dict__'))",
    ),
    row(
        "generic typing",
        &["from typing import *\nT = TypeVar('T')\n\
            class Box(Generic[T]):\n    def __init__(self, v: T): self.v = v\n\
            UserId = NewType('UserId', int)\nb = Box[int](3); u = UserId(5); Alias = Dict[str, List[int]]\n\
            class Pr(Protocol):\n    def f(self) -> int: ...\nclass TD(TypedDict):\n    a: int"],
        "print(b.v, Box[int].__args__, u, UserId(3), UserId.__name__, Alias, T)",
    ),
    row(
        "generator function",
        &["n = 3\ndef gen():\n    for i in range(n): yield i\nasync def co(): return n\n\
            async def ag():\n    yield n"],
        "n = 2; print(list(gen())); print(await co()); print([i async for i in ag()])",
    ),
    row(
        "lambdas",
        &["n = 1; fs = [lambda x, k=k: x + k + n for k in range(3)]; d = {'f': lambda: n}"],
        "n = 10; print([f(1) for f in fs], d['f']())",
    ),
    row(
        "function attributes",
        &["def f(a, b=[1], *, c={'k': 2}): return a, b, c\n\
            f.tag = 'T'; f.__doc__ = 'doc'; f.__annotations__['a'] = int"],
        "f(1)[1].append(5); print(f(1), f.tag, f.__doc__, f.__annotations__, f.__kwdefaults__, \
        f.__defaults__)",
    ),
    row(
        "lru_cache",
        &["import functools\nn = 1\n@functools.lru_cache(maxsize=7)\ndef f(x): return x + n\nf(1);\n\
            @functools.cache\ndef fib(k): return k if k < 2 else fib(k-1) + fib(k-2)"],
        "n = 5; print(f(2), f.cache_parameters()['maxsize'], fib(30), f.__name__)",
    ),
    row(
        "lru method",
        &["import functools\nclass C:\n    @functools.lru_cache(None)\n    def m(self, x): return x * k\n\
            k = 2; c = C(); c.m(2);"],
        "k = 3; print(c.m(5), C().m(2))",
    ),
    row(
        "partial",
        &["import functools, operator\ndef add(a, b): return a + b + z\n\
            z = 0; p = functools.partial(add, 1); ig = operator.itemgetter(1); pm = [].append; l = [3]; la = \
            l.append"],
        "z = 1; la(4); print(p(2), ig([5, 6]), l, la.__self__ is l)",
    ),
    row(
        "singledispatch",
        &["import functools\n@functools.singledispatch\ndef f(x): return 'obj' + str(k)\n@f.register\n\
            def _(x: int): return 'int' + str(k)\nk = 1; f(1);"],
        "k = 2; print(f(1), f('a'))\n@f.register(str)\ndef _(x): return 'str'\n\
        print(f('a'), list(f.registry)[:2])",
    ),
    row(
        "total_ordering contextmanager",
        &["import functools, contextlib\n@functools.total_ordering\n\
            class V:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o.n\n    def \
            __lt__(s, o): return s.n < o.n\nlog = []\n@contextlib.contextmanager\n\
            def cm():\n    log.append('in'); yield 1; log.append('out')"],
        "print(V(1) <= V(2))\nwith cm() as c: print(c)\nprint(log)",
    ),
    row(
        "bound method",
        &["class C:\n    def __init__(self): self.n = 0\n    def inc(self): self.n += 1; return self.n\n\
            c = C(); m = c.inc; m(); cb = {'m': c.inc}"],
        "m(); print(c.n, m.__self__ is c, cb['m']())",
    ),
    row(
        "getsource",
        &[
            "import inspect, functools, dataclasses, enum\ndef f(x):\n    return x + 1\n\
            @functools.lru_cache\ndef h(): return 1\nlam = lambda q: q * 2\n\
            def outer():\n    def inner(): return 'in'\n    return inner\ni = outer()",
            "class C:\n    k = 1\n    class D:\n        z = 1\n    def m(self):\n        return self.k\n\n\
            @dataclasses.dataclass\nclass P:\n    x: int\nclass E(enum.Enum):\n    A = 1",
        ],
        "for o in (f, h, lam, i, C, C.m, C.D, P, E): print(inspect.getsource(o), end='|')",
    ),
    row(
        "traceback shows source",
        &["def boom():\n    raise ValueError('x')"],
        r#"import traceback
try: boom()
except ValueError: print(traceback.format_exc().split('\n')[-3:])"#,
    ),
    row(
        "imports",
        &["import os.path, json as js, xml.etree.ElementTree as ET\n\
            from collections import OrderedDict as OD\nimport concurrent.futures\n\
            from math import pi, sqrt as root"],
        "print(js.dumps([1]), OD(a=1), ET.fromstring('<a/>').tag, concurrent.futures.Future.__name__, pi, \
        root(4), os.path.join('a', 'b'))",
    ),
    row(
        "submodule",
        &["import xml\nimport xml.dom.minidom"],
        "print(xml.dom.minidom.parseString('<a/>').documentElement.tagName)",
    ),
    row(
        "user module",
        &[
            r#"import os; os.makedirs('mods', exist_ok=True)
open('mods/mymod.py','w').write('v = [1]\nclass K:\n    def __init__(self): self.v = v\ndef f(): return v\n')
os.chdir('mods')"#,
            "import mymod; from mymod import K, f\nk = K()",
        ],
        "print(mymod.f(), k.v, type(k) is mymod.K, f is mymod.f, os.path.basename(os.getcwd()))",
    ),
    row(
        "dynamic module",
        &["import types, sys\nm = types.ModuleType('grown'); m.x = [1]; sys.modules['grown'] = m; \
            exec('def f(): return x', m.__dict__); y = m.x"],
        "import grown; print(grown.x, grown is m, y is m.x, m.f() is m.x)",
    ),
    row(
        "exec'd namespace",
        &[r#"ns = {}; exec('def f(): return a\na = 1', ns); f = ns['f']"#],
        "ns['a'] = 7; print(f(), f.__globals__ is ns)",
    ),
    row(
        "random",
        &["import random\nrandom.seed(5); random.random(); r = random.Random(1); r.random();"],
        "print(random.random(), r.random(), random.getrandbits(9))",
    ),
    row(
        "cwd",
        &["import os\nos.makedirs('outer/inner', exist_ok=True); os.chdir('outer')"],
        "print(os.path.basename(os.getcwd()), os.listdir())",
    ),
    row(
        "environ",
        &["import os\nos.environ['GROWN'] = 'x'; os.environ.pop('HOME', None);"],
        "print(os.environ['GROWN'], os.getenv('GROWN'), 'HOME' in os.environ); import subprocess; \
        print(subprocess.check_output('echo $GROWN', shell=True, text=True))",
    ),
    row(
        "sys.path argv",
        &["import sys; sys.path.insert(0, '/one'); sys.path.append('/two'); sys.argv = ['a', 'b']"],
        "print(sys.path[0], sys.path[-1], len(sys.path), sys.argv)",
    ),
    row(
        "warnings",
        &["import warnings\nwarnings.simplefilter('error'); warnings.filterwarnings('ignore', \
            message='quiet.*')"],
        "warnings.warn('quiet now')\ntry: warnings.warn('w')\nexcept UserWarning as e: print('raised', e)",
    ),
    row(
        "decimal",
        &["import decimal; decimal.getcontext().prec = 5; decimal.getcontext().rounding = decimal.ROUND_UP"],
        "print(decimal.Decimal(1) / 3)",
    ),
    row(
        "umask recursion locale",
        &["import os, sys, locale; os.umask(0o027); sys.setrecursionlimit(5000); \
            locale.setlocale(locale.LC_ALL, 'C'); import gc; gc.disable()"],
        "print(oct(os.umask(0o027)), sys.getrecursionlimit(), locale.setlocale(locale.LC_ALL), \
        gc.isenabled())",
    ),
    row(
        "time zone",
        &["import os, time\nos.environ['TZ'] = 'UTC-3'; time.tzset()"],
        "print(time.localtime(0).tm_hour)",
    ),
    row("out shares identity", &["l = [1]\nl"], "l.append(2); print(Out[1] is l, _1 is l, _ is l)"),
    row(
        "underscore names",
        &["_private = 1; __version__ = '1'; x: int = 5"],
        "print(_private, __version__, __annotations__)",
    ),
    row(
        "deep list",
        &["l = []\nfor _i in range(30000): l = [l]"],
        "n = 0; m = l\nwhile m: m = m[0]; n += 1\nprint(n)",
    ),
    row(
        "100k objects",
        &["class P:\n    def __init__(self, i): self.i = i; self.peer = None\n\
            ps = [P(i) for i in range(100000)]\nfor p, q in zip(ps, ps[1:]): p.peer = [q.i]\n\
            g = {p: i for i, p in enumerate(ps[:1000])}"],
        "print(len(ps), ps[500].peer, g[ps[77]], type(ps[3]) is P)",
    ),
    row(
        "stdlib values",
        &[r#"import datetime, decimal, fractions, uuid, pathlib, re, array, io, types, zoneinfo
v = [datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc), datetime.timedelta(1),
    decimal.Decimal('1.10'), fractions.Fraction(1, 3), uuid.UUID(int=5), pathlib.Path('a'),
    re.compile('a+', re.I), array.array('i', [1, 2]), range(3), slice(1, 2), complex(1, 2), frozenset([1]),
    bytearray(b'x'), types.SimpleNamespace(a=1), zoneinfo.ZoneInfo('UTC'), Ellipsis, NotImplemented, int,
    ValueError('k'), memoryview(b'abc')]
s = io.StringIO('one\ntwo'); s.readline(); b = io.BytesIO(b'abcdef'); b.seek(3)"#],
        "print([str(x) for x in v if not isinstance(x, memoryview)], s.readline(), b.read(), bytes(v[-1]))",
    ),
    row(
        "iterators",
        &["l = [1, 2, 3]; i = iter(l); next(i); z = zip('ab', [1, 2]); next(z); e = enumerate('xy'); \
            next(e); r = reversed([1, 2, 3]); next(r)"],
        "print(list(i), list(z), list(e), list(r))",
    ),
    row(
        "iterators of itertools, which Python pickles up to 3.13",
        &["import itertools, sys\n\
            if sys.version_info < (3, 14): c = itertools.count(5); next(c); ch = itertools.chain([1], [2])\n\
            else: c, ch = iter([6]), [1, 2]"],
        "print(next(c), list(ch))",
    ),
    row(
        "weakrefs",
        &["import weakref\nclass K: pass\n\
            k = K(); w = weakref.ref(k); wd = weakref.WeakKeyDictionary({k: 1}); wv = \
            weakref.WeakValueDictionary(a=k); ws = weakref.WeakSet([k]); wl = weakref.ref(K()); "],
        "print(w() is k, wd[k], wv['a'] is k, k in ws, wl())",
    ),
    row(
        "weak proxies of live and of deleted objects",
        &["import weakref, gc\nclass K:\n    def f(self): return 1\n\
            k = K(); p = weakref.proxy(k); m = weakref.WeakMethod(k.f); w = weakref.ref(k); ws = \
            weakref.WeakSet([k])"],
        "print(type(p), p.f(), m()()); del k; print(w(), m(), len(ws))",
    ),
    row(
        "hashes that objects cache",
        &["class K:\n    def __init__(self, x): self.x = x; self.kept = hash(x)\n    def __hash__(self): \
            return self.kept\n    def __eq__(self, other): return self.x == other.x\n\
            d = {K('a'): 1}; h = hash('abc')"],
        "print(K('a') in d, h == hash('abc'))",
    ),
    row(
        "views of dictionaries",
        &["import collections\nd = {'a': 1}; v = [d.keys(), d.values(), d.items()]; d['v'] = d.keys()\n\
            o = collections.OrderedDict(a=1); k = o.keys()"],
        "d['b'] = 2; o['c'] = 3; print(list(v[0]), len(v[1]), len(v[2]), list(d['v']), list(k), type(k))",
    ),
    row(
        "views of memory",
        &["import array\na = array.array('i', [1, 2, 3, 4]); m = memoryview(a)[1:3]; b = bytes(range(16)); \
            c = memoryview(b).cast('I'); back = memoryview(b)[4:8].cast('I')\n\
            t = bytearray(10); s = memoryview(t)[2:5]; r = memoryview(t).toreadonly()"],
        "m[0] = 9; s[0] = 7; print(a, t, m.format, m[1], c[1], c.format, back[0], r.readonly)",
    ),
    row(
        "classes that their metaclass or base registers",
        &["log = []\nclass Meta(type):\n    count = 0\n    def __new__(m, n, b, d, **k): log.append(n); \
            return super().__new__(m, n, b, d)\n    def __init__(c, n, b, d, **k): super().__init__(n, b, \
            d); Meta.count += 1\nclass P(metaclass=Meta, x=1): pass\nclass Q(P): pass\nclass A: pass\n\
            class Mixin:\n    names = []\n    def __init_subclass__(cls, tag): cls.tag = tag; \
            Mixin.names.append(cls.__name__)\nclass C(A, Mixin, tag=5): pass\n\
            class D(dict, Mixin, tag=6): pass"],
        "class R(P): pass\nclass E(C, tag=7): pass\nprint(log, Meta.count, Mixin.names, C.tag, D.tag, E.tag)",
    ),
    row(
        "functions of random that share one generator",
        &["import random\nfrom random import shuffle, randint\nr = random.random; random.seed(3)"],
        "random.seed(5); print(r(), random.random(), randint(0, 10**9), shuffle.__self__ is random._inst)",
    ),
    row(
        "settings of the shell",
        &["get_ipython().ast_node_interactivity = 'all'\n%precision 2\n\
            import sys; sys.set_int_max_str_digits(5000)"],
        "3.14159; print(get_ipython().ast_node_interactivity, sys.get_int_max_str_digits())\n1.23456",
    ),
    row(
        "exceptions whose arguments differ from those of their constructor",
        &["class E(Exception):\n    def __init__(self, a, b): super().__init__(a); self.b = b\n\
            try:\n    try: raise KeyError(1)\n    except KeyError as e: raise E(2, 3) from e\n\
            except E as e: kept = e\nclass X(SystemExit):\n    def __init__(self, a): super().__init__(a)\n\
            x = X(3)\ntry: raise ValueError(3) from KeyError(4)\nexcept ValueError as e: v = e"],
        "print(x.code, v, repr(v.__cause__), kept.args, kept.b, repr(kept.__cause__), kept.__context__ is \
        kept.__cause__, kept.__suppress_context__)",
    ),
    row(
        "exceptions",
        &["class E(Exception):\n    def __init__(self, a, b): super().__init__(a); self.b = b\n    def \
            __reduce__(self): return (E, (self.args[0], self.b))\ntry: raise E(1, 2)\n\
            except E as e: kept = e\nv = ValueError('x'); v.note = 5"],
        "print(kept.args, kept.b, type(kept) is E, v.note, repr(v))",
    ),
    row(
        "exceptions with their tracebacks",
        &["import traceback\ndef f(path):\n    return open(path)\ntry: f('/no/file')\n\
            except OSError as e: kept = e\ntry:\n    import no_module\nexcept ImportError as e: absent = e"],
        "print(*traceback.format_exception(kept), kept.filename, kept.errno, absent.name)\n\
         print([one.lineno for one in traceback.extract_tb(absent.__traceback__)])\nraise kept",
    ),
    row(
        "numbers that are none",
        &["import math\nown = float('nan'); l = [math.nan, own, float('nan')]; d = {own: 1}; p = (own, l)"],
        "print(l[0] is math.nan, own in l, d[own], p[0] is own, float('nan') in l, len({*l, own}))",
    ),
    row(
        "what belongs to a module",
        &[
            "import argparse, os, pathlib, sys, warnings\nfrom dataclasses import dataclass, field\n\
            from os import environ\nfrom sys import path\nfrom warnings import filters\n\
            from unittest.mock import ANY\n\
            pathlib.Path('own_module.py').write_text('MISSING = object()\\nclass Option:\\n    def \
            __init__(self, v=MISSING): self.v = v\\n    def is_set(self): return self.v is not MISSING')\n\
            import own_module\n\
            @dataclass\nclass A:\n    x: int\n    items: list = field(default_factory=list)",
            "a = argparse.ArgumentParser(prog='p'); a.add_argument('-x')\n\
            o = own_module.Option(); bare = object(); same = [bare, bare]",
        ],
        "@dataclass\nclass B(A): z: int = 1\n\
         environ['OWN'] = '1'; path.append('/zzz')\n\
         print(B(5), o.is_set(), a.parse_args([]), os.getenv('OWN'), sys.path[-1], same[0] is bare)\n\
         print(filters is warnings.filters, ANY is sys.modules['unittest.mock'].ANY)\n\
         try: B()\n\
         except TypeError as e: print(e)",
    ),
    row(
        "attributes of a class, in order",
        &[
            "class Config: lr = 0.1; epochs = 5; batch = 32\nclass C(Config):\n    def f(self): pass\n    a = 1",
        ],
        "print([*filter(lambda n: n[0] != '_', [*vars(Config), *vars(C)])])",
    ),
    row(
        "objects whose class has a constructor with other arguments",
        &[
            "class S(str):\n    def __new__(cls, v, tag): o = super().__new__(cls, v); o.tag = tag; return o\n\
            class P:\n    __slots__ = ('a', 'b')\n    def __new__(cls, a, b): o = object.__new__(cls); o.a, o.b = a, b; \
            return o\nclass L(list):\n    def __new__(cls, first, *more): return super().__new__(cls)\n    \
            def __init__(self, *all): self.extend(all)\ns = S('x', 3); p = P(1, 2); l = L(1, 2)\n\
            class K(L):\n    def append(self, one): print('appended'); super().append(one)\n    \
            def extend(self, all): print('extended'); super().extend(all)\nk = K(1, 2)",
        ],
        "print(s, s.tag, type(s) is S, p.a, p.b, l, type(l) is L, k, type(k) is K)",
    ),
    row(
        "proxies of mappings",
        &["import types, collections as c\n\
            o = c.OrderedDict(a=1); p = types.MappingProxyType(o)\n\
            q = types.MappingProxyType(c.Counter('aab'))\n\
            u = types.MappingProxyType(c.defaultdict(int, a=1))\n\
            pp = types.MappingProxyType(c.UserDict(a=1))\n\
            class C: x = 1\nclass S:\n    __slots__ = ()\nv = vars(C); w = vars(S); b = vars(int)"],
        "o['b'] = 2; C.y = 3\n\
        print(p['b'], type(p.copy()), q['z'], u['z'], pp['a'], v['y'], w == vars(S), b == vars(int))",
    ),
    row(
        "changed builtins",
        &["import builtins\nbuiltins.answer = [42]; same = answer; builtins.len = lambda x: 0; \
            del builtins.divmod\ndef f(): return len([1]), answer"],
        "print(len([1]), answer is same, f())\ntry: divmod(3, 2)\nexcept NameError: print('gone')",
    ),
    row(
        "a time zone that is not used yet",
        &["import os, time; then = time.tzname, time.timezone; os.environ['TZ'] = 'Asia/Tokyo'"],
        "print((time.tzname, time.timezone) == then); time.tzset(); print(time.tzname)",
    ),
    row(
        "a time zone",
        &["import os, time; os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()"],
        "print(time.tzname, time.timezone)",
    ),
    row(
        "variables that every module has, directories and the debugger",
        &["%cd -q /", "__doc__ = 'mine'; __name__ = 'other'", "%pdb on"],
        "print(__doc__, __name__, _dh[-1], len(_dh), get_ipython().call_pdb)",
    ),
    row(
        "a variable that is deleted everywhere",
        &["a = [1]; b = 2", "a"],
        "get_ipython().run_line_magic('xdel', 'a'); print(b, 'a' in globals(), Out)",
    ),
    row(
        "ctypes",
        &["import ctypes as c\n\
            b = c.create_string_buffer(b'abc', 10); a = (c.c_int * 3)(1, 2, 3); m = ((c.c_int * 2) * 2)()\n\
            class P(c.Structure): _fields_ = [('x', c.c_int), ('y', c.c_double)]; _pack_ = 1\n\
            class N(c.Structure): pass\nN._fields_ = [('n', c.c_int), ('next', c.POINTER(N)), ('p', P)]\n\
            class U(c.Union): _anonymous_ = ('p',); _fields_ = [('p', P), ('i', c.c_char)]\n\
            p = P(1, 2.); u = U(p); T = c.POINTER(c.c_int); ps = (P * 2)(p)"],
        "print(b.raw, list(a), p.x, p.y, T is c.POINTER(c.c_int), type(a) is c.c_int * 3, m[1][1], ps[0].y, \
        P.x.offset, P.y.offset, N().p.x, u.x, u.i, c.sizeof(N), isinstance(P.x, property))",
    ),
    row(
        "objects in a cycle through their own hash",
        &["class H:\n    def __init__(self, n): self.n = n; self.all = {self}\n    \
            def __hash__(self): return hash(self.n)\n    def __eq__(self, o): return self.n == o.n\n\
            h = H(3); lone = H(4); lone.all = None\n\
            import dataclasses as d\n@d.dataclass(frozen=True, slots=True)\nclass N:\n    name: str\n    \
            near: dict = d.field(compare=False, default_factory=dict)\na, b = N('a'), N('b')\n\
            a.near[b] = [a]; b.near[a] = {b}"],
        "print(h.n, h in h.all, lone.n, lone.all, a.near[b][0] is a, b in b.near[a], list(a.near)[0] is b)",
    ),
    row(
        "objects whose constructor changes what it is given",
        &[
            "import collections, datetime, decimal, fractions\n\
            class Pct(float):\n    def __new__(c, x): return super().__new__(c, x / 100)\n\
            class V(tuple):\n    def __new__(c, *xs): return super().__new__(c, xs)\n\
            class N(collections.namedtuple('N', 'x y')):\n    def __new__(c, x, y=1): return \
            super().__new__(c, x * 10, y)\n\
            class M(decimal.Decimal):\n    def __new__(c, x, cur='EUR'): o = super().__new__(c, x); o.cur = cur; \
            return o\n\
            class D(datetime.date):\n    def __new__(c, year): return super().__new__(c, year, 2, 3)\n\
            class F(frozenset):\n    def __new__(c, *xs): return super().__new__(c, xs)\n\
            class R(fractions.Fraction): pass\n\
            class E(Exception):\n    made = 0\n    \
            def __new__(c, *a): E.made += 1; return super().__new__(c, *a)\n\
            class S:\n    made = []\n    def __new__(c, kind=None): o = super().__new__(T if kind else c); \
            S.made.append(1); return o\nclass T(S): pass",
            "p = Pct(50); v = V(1, 2); n = N(1); m = M('2.5', 'USD'); d = D(2020)\n\
            f = F(1, 2); e = E(3); s = S('t')\n\
            d.note = 'x'; r = R(1, 3); r.note = 'y'; f.note = 'z'",
        ],
        "print(p, v, n, m, m.cur, d, d.note, f, f.note, repr(e), E.made, type(s), S.made, repr(r), r.note, \
        type(m) is M, N(2), n._replace(y=5))",
    ),
    row(
        "containers that change what they are given",
        &[
            "import collections as c\n\
            class O(c.OrderedDict):\n    def __setitem__(s, k, v): super().__setitem__(k, v * 2)\n\
            class D(c.defaultdict):\n    def __init__(s): super().__init__(list)\n    \
            def __setitem__(s, k, v): super().__setitem__(k, v * 2)\n\
            class Q(c.deque):\n    def append(s, v): super().append(v * 2)\n    def extend(s, v): print('no')\n\
            class C(c.Counter):\n    def __init__(s, name): super().__init__(); s.name = name\n\
            class A(dict):\n    def __init__(s, **k): super().__init__(**k); s.__dict__ = s",
            "o = O(); o['a'] = 1; o['b'] = 2; d = D(); d['x'] = 1; q = Q(); q.append(1); n = C('n'); n['y'] += 3\n\
            a = A(x=1); a.y = a; o.note = 1; q.note = 2",
        ],
        "o.move_to_end('a'); a.z = 3\nprint(list(o.items()), o.note, d, d['new'], q, q.note, n, n.name, type(n) is C, \
        a['z'], a['y'] is a, a.x, vars(a) is a)",
    ),
    row(
        "variables that are hidden from lists",
        &["import math; get_ipython().push({'q': [5], 'm': math}, interactive=False)", "x = 1"],
        "print(q, m.pi)\n%who",
    ),
    row(
        "enums whose members are made by their own constructor",
        &["import enum\nclass Co(int, enum.Enum):\n    X = 1\n    Y = 2\n    \
            def __new__(c, v): o = int.__new__(c, v * 10); o._value_ = v; return o\n\
            class L(enum.Enum):\n    A = 1, 'one'\n    \
            def __new__(c, v, label): o = object.__new__(c); o._value_ = v; o.label = label; return o\n\
            class S(str, enum.Enum): A = 'a'\nclass U(enum.Enum): A = []\n\
            x = Co.X; s = S.A; u = U.A"],
        "print(Co.X + 0, Co(1) is Co.X, x is Co.X, s is S.A, s.name, u is U.A, U([]) is u, Co.Y.value, L.A.label, L(1), Co['Y'] + 1, len(Co))",
    ),
    row(
        "objects that share their attributes",
        &[
            "class Borg:\n    _s = {}\n    def __init__(s): s.__dict__ = Borg._s\na = Borg(); b = Borg(); a.v = 1",
        ],
        "a.w = 2; print(b.v, b.w, Borg._s, Borg().v)",
    ),
    row(
        "sentinels of classes of modules",
        &["open('sentinels.py', 'w').write('class Box:\\n    none = object()\\n    class In: pass\\n    \
            part = In()')\nimport sentinels; n = sentinels.Box.none; p = sentinels.Box.part; mine = object(); same = mine"],
        "print(n is sentinels.Box.none, p is sentinels.Box.part, mine is same)",
    ),
    row(
        "a directory that no longer exists",
        &["import os, tempfile\nx = 1; gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)"],
        "print(x)",
    ),
    row(
        "types of iterators and views",
        &[
            "t = [type(iter([])), type({}.keys()), type(reversed({}.items())), type(iter(int, 1))]; y = iter('é')\n\
            kinds = {type(iter('')): 1}",
        ],
        "print(t, type(iter([])) is t[0], kinds[type(iter(''))])",
    ),
    row(
        "a feature from __future__",
        &["from __future__ import annotations\nx = 1"],
        "def f(x: Undefined): pass\nprint(f.__annotations__)",
    ),
    row(
        "sets that shrank, and sets of many words",
        &["s = {'apple', 'pear', 'fig', 'kiwi', 'plum', 'lime'}; s.discard('fig')\n\
            s |= {f'a{n}' for n in range(6)}; s -= {'a1', 'a2', 'kiwi'}\n\
            words = {f'word {n}' for n in range(1000)}; both = words | s; same = [s, s]"],
        "print(s, list(words)[:20], list(both)[-20:], same[0] is s)",
    ),
    row(
        "instances with getstate",
        &["class G:\n    def __init__(self): self.a = 1; self.cache = (i for i in [1])\n    def \
            __getstate__(self): return {'a': self.a}\n    def __setstate__(self, s): \
            self.__dict__.update(s); self.cache = None\ng = G()\n\
            class N:\n    def __new__(cls, v): o = super().__new__(cls); o.v = v; return o\n    def \
            __getnewargs__(self): return (self.v,)\nn = N(3)"],
        "print(g.a, n.v)",
    ),
    row(
        "large bytes and strings",
        &["b = bytes(range(256)) * 40000; s = 'äb' * 500000; ba = bytearray(b); l = list(range(300000))"],
        "import hashlib; print(hashlib.md5(b).hexdigest(), hash(s) == hash('äb' * 500000), ba == b, sum(l))",
    ),
    row(
        "ctypes-free extras",
        &["import logging, string, types\n\
            log = logging.getLogger('x.y'); t = string.Template('$a'); mp = types.MappingProxyType({'a': \
            1}); sl = logging.getLogger()"],
        "print(log is logging.getLogger('x.y'), t.substitute(a=1), mp['a'], sl is logging.getLogger())",
    ),
    row(
        "class attributes and refs",
        &["class C:\n    reg = {}\n    def __init__(self): C.reg[id(self) * 0 + len(C.reg)] = self\n\
            c1 = C(); c2 = C(); C.self_ref = C; C.inst = c1"],
        "print(len(C.reg), C.reg[0] is c1, C.self_ref is C, C.inst is c1)",
    ),
    row(
        "super without args and __class__",
        &["class A:\n    def __init__(self): self.a = k\n\
            class B(A):\n    def __init__(self):\n        super().__init__(); self.c = __class__\nk = 1"],
        "k = 2; b = B(); print(b.a, b.c is B)",
    ),
    row(
        "class redefined instance",
        &["class C:\n    v = 1\nc = C()\nclass C:\n    v = 2"],
        "print(c.v, C.v, isinstance(c, C), type(c) is C)",
    ),
    row(
        "objects of the user's own module that a cell imports and changes",
        &["open('own_options.py', 'w').write('''class Options: pass\n\
            class Box(dict): pass\noptions = Options(); options.d = {}; options.me = options\n\
            table = {'a': 1}; many = [1]; few = {1}; box = Box(x=1)\n\
            def get(): return options.d, table['z'] is options, many[1] is table, few, box, box.unit[0] is many''')\n\
            import own_options; from own_options import *\n\
            options.d['a'] = [1]; table['z'] = options; many.append(table); few.add(2); box['y'] = 2; \
            box.unit = [many]; alias = options.d['a']"],
        "print(own_options.get(), options.me is options, alias is options.d['a'], [getattr(own_options, one) is \
        globals()[one] for one in ('options', 'table', 'many', 'few', 'box')])",
    ),
    row(
        "a class whose metaclass has a property of the same name",
        &["class Meta(type):\n    @property\n    def title(self): return 'of the metaclass'\n\
            class C(metaclass=Meta):\n    @property\n    def title(self): return 'of the class'\nc = [C()]"],
        "print(C.title, c[0].title)",
    ),
    row(
        "stdout objects",
        &["import sys; out = sys.stdout; err = sys.__stderr__"],
        "print('a', file=out); print(out is sys.stdout)",
    ),
    row(
        "descriptors",
        &["class D:\n    def __set_name__(self, o, n): self.n = n\n    def __get__(self, i, t): return \
            (self.n, k)\nclass C:\n    d = D()\nk = 1"],
        "k = 2; print(C.d, C().d)",
    ),
];

const SCIENCE: &[Row] = &[
    row(
        "polars",
        &["import polars as pl\n\
            df = pl.DataFrame({'a': [1, 2, None], 's': ['x', 'é', None]}); s = df['a']; two = pl.concat([df, \
            df], rechunk=False)"],
        "print(df, s.sum(), two.height, df.schema, two.filter(pl.col('a') > 1).height)",
    ),
    row(
        "pyarrow",
        &["import pyarrow as pa\n\
            t = pa.table({'a': [1, 2, None], 's': ['x', 'é', None]}); c = t['a']; \
             b = pa.array([[1], [2, 3]])"],
        "print(t, c.to_pylist(), b.to_pylist(), t.schema)",
    ),
    row(
        "sympy",
        &["import sympy\nx, y = sympy.symbols('x y', positive=True); e = sympy.integrate(sympy.sin(x) ** 2 \
            * y, x); same = sympy.Symbol('x', positive=True)"],
        "print(e, e.diff(y), same == x, sympy.solve(x ** 2 - 4, x), e.free_symbols == {x, y})",
    ),
    row(
        "networkx",
        &["import networkx as nx\n\
            g = nx.karate_club_graph(); g.add_edge(0, 33, weight=lambda: 7); view = g.subgraph([0, 1, 2])"],
        "print(g, nx.shortest_path(g, 0, 30), g[0][33]['weight'](), sorted(view.edges))",
    ),
    row(
        "pillow",
        &["from PIL import Image\n\
            im = Image.new('RGB', (30, 20), 'red'); im.putpixel((1, 2), (1, 2, 3)); crop = im.crop((0, 0, 5, \
            5)); im.info['k'] = 1"],
        "print(im.size, im.getpixel((1, 2)), crop.getpixel((1, 2)), im.mode, im.info, im.tobytes()[:6])",
    ),
    row(
        "numpy random",
        &["import numpy as np\nnp.random.seed(3); np.random.rand(); g = np.random.default_rng(5); \
            g.random(); rs = np.random.RandomState(1)"],
        "print(np.random.rand(), g.random(), rs.rand(), np.random.randn())",
    ),
    row(
        "np settings",
        &["import numpy as np; np.seterr(divide='raise'); np.set_printoptions(precision=2, suppress=True); \
            a = np.array([1.23456])"],
        "print(a)\ntry: a / 0\nexcept FloatingPointError as e: print('fpe')",
    ),
    row(
        "numpy views",
        &["import numpy as np\na = np.arange(12.).reshape(3, 4); r = a[1]; c = a[:, 2]; t = a.T; f = \
            a[::-1, ::2]; i = a.view('i8'); w = a[0:2]; w.flags.writeable = False"],
        "a[1, 2] = 99; print(r[2], c[1], t[2, 1], f[1, 1], r.base is not None, np.shares_memory(a, r), \
        i.shape, w.flags.writeable, f.strides, t.flags.f_contiguous)\nr[0] = -1; print(a[1, 0])",
    ),
    row(
        "numpy large views",
        &["import numpy as np\na = np.arange(1_000_000.); b = a[10:500_000:3]; o = a.reshape(1000, 1000).T"],
        "a[13] = -5; print(b[1], o[13, 0], np.shares_memory(a, b), a.flags.owndata, a.flags.writeable, \
        float(a.sum()))\na2 = a.copy(); a2.resize(5); print(a2)",
    ),
    row(
        "numpy views without root name",
        &["import numpy as np\nb = np.arange(20)[2:10]; c = b[1:]"],
        "b[1] = 77; print(c[0], len(b))",
    ),
    row(
        "numpy windows and masked arrays",
        &["import numpy as np\nfrom numpy.lib.stride_tricks import sliding_window_view, as_strided\n\
            a = np.arange(100_000.); w = sliding_window_view(a, 10_000)\n\
            s = as_strided(a, (3, 3), (8, 8))[1:]\n\
            m = np.ma.array([1, 2, 3], mask=[0, 1, 0], fill_value=7); d = m.data; k = m.mask\n\
            part = m[1:]; e = np.ma.masked_array(np.arange(3) + 1); f = e.data\n\
            part.name = 'p'; one = np.ma.masked\n\
            o = np.ma.array([[1], None], mask=[0, 1], dtype=object); z = np.ma.zeros((2, 2), order='F')"],
        "a[1] = -1; m[0] = 9; f[0] = 8; k[2] = True\n\
        print(w[1, 0], w.shape, s, d, m, part, part.name, e, one is np.ma.masked, o, z, m.fill_value, \
        part.data.base is d.base, m.hardmask, m.sharedmask)",
    ),
    row(
        "numpy dtypes",
        &["import numpy as np\ns = np.zeros(3, dtype=[('a', 'i4'), ('b', 'f8', (2,)), ('c', 'U3')]); \
            s['c'] = 'xyz'; sv = s['a']; o = np.array([[1, 'a'], [None, [2]]], dtype=object); F = \
            np.asfortranarray(np.arange(6).reshape(2, 3)); d = np.array(['2020-01-01', 'NaT'], 'M8[D]'); z = \
            np.zeros((0, 3)); sc = np.float32(1.5); zero = np.array(5); bo = np.array([True]); big = \
            np.arange(3, dtype='>i4'); u = np.array(['é', 'ab']); cx = np.array([1j]); rec = \
            np.rec.array([(1, 2.)], dtype=[('x', int), ('y', float)]); ma = np.ma.array([1, 2], mask=[0, \
            1]); mx = np.matrix([[1, 2]]); tz = np.timedelta64(3, 's'); ro = np.arange(3); \
            ro.flags.writeable = False; dt = s.dtype; h = np.float16([1]); so = np.zeros(2, dtype=[('o', \
            'O'), ('i', int)]); so['o'][0] = [1]"],
        "sv[1] = 5; print(s, o, F.flags.f_contiguous, F, d, z.shape, sc, type(sc), zero, bo, big, big.dtype, \
        u, cx, rec.x, ma, mx, tz, ro.flags.writeable, dt, h, so, type(rec), type(mx))",
    ),
    row(
        "object array sharing",
        &["import numpy as np\nl = [1]; o = np.empty(2, object); o[0] = l; o[1] = o; v = o[:1]"],
        "l.append(2); print(o[0], o[1] is o, v[0] is l); o[0] = 5; print(v)",
    ),
    row(
        "memmap",
        &["import numpy as np\nm = np.memmap('mm.dat', dtype='f4', mode='w+', shape=(4, 5)); m[:] = 1; \
            m[1, 2] = 7; m.flush(); mv = m[1]"],
        "print(type(m).__name__, m.shape, m[1, 2], mv[2], m.mode in ('w+', 'r+')); mv[0] = 3; print(m[1, 0])",
    ),
    row(
        "pandas",
        &["import pandas as pd, numpy as np\n\
            df = pd.DataFrame({'a': [1, 2, 3], 's': ['x', None, 'z'], 'c': pd.Categorical(['u', 'v', 'u']), \
            't': pd.date_range('2020', periods=3, tz='UTC')}, index=list('pqr')); s = df['a']; g = \
            df.groupby('s'); v = df[['a']]; mi = df.set_index(['s', 'c']); sub = df.iloc[:2]; df.attrs['k'] \
            = 1"],
        "print(df, df.dtypes, mi.index.nlevels, g.a.sum(), df.attrs)\n\
        s2 = df['a']; df.loc['p', 'a'] = 100; print(sub.loc['p', 'a'], s['p'], v.loc['p', 'a'])\n\
        v.loc['q', 'a'] = -1; print(df.loc['q', 'a'])",
    ),
    row(
        "pandas cow",
        &["import pandas as pd, numpy as np\n\
            df = pd.DataFrame(np.arange(200000.).reshape(-1, 4), columns=list('abcd')); d2 = df[:]; d3 = \
            df.copy(deep=False); s = df['b']; t = pd.DataFrame({'t': pd.date_range('2020', periods=3)}); t2 \
            = t.copy(deep=False); arr = np.zeros((3, 2)); fa = pd.DataFrame(arr); vals = df.values"],
        "d2.iloc[0, 0] = 99; print(df.iloc[0, 0], d3.iloc[0, 0]); s.iloc[0] = 5; print(df.iloc[0, 1], \
        d2.iloc[0, 1]); t2.iloc[0, 0] = pd.Timestamp(0); print(t.iloc[0, 0]); arr[0, 0] = 7; \
        print(fa.iloc[0, 0]); print(df.sum().sum())",
    ),
    row(
        "pandas options",
        &["import pandas as pd\n\
            pd.set_option('display.max_rows', 7); pd.set_option('display.precision', 2); df = \
            pd.DataFrame({'a': [1.23456] * 20})"],
        "print(df); print(pd.get_option('display.max_rows'))",
    ),
    row(
        "sklearn",
        &["from sklearn.linear_model import LogisticRegression\n\
            from sklearn.ensemble import RandomForestClassifier, HistGradientBoostingClassifier\n\
            from sklearn.pipeline import make_pipeline\n\
            from sklearn.preprocessing import StandardScaler, FunctionTransformer\nimport numpy as np\n\
            X = np.random.RandomState(0).rand(200, 4); y = (X[:, 0] > .5).astype(int)\n\
            m = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y); rf = \
            RandomForestClassifier(10, random_state=0).fit(X, y); h = \
            HistGradientBoostingClassifier(max_iter=5).fit(X, y); ft = FunctionTransformer(lambda q: q * k); \
            k = 2"],
        "print(m.predict_proba(X[:2]), rf.predict(X[:5]), h.predict(X[:5]), m[1].coef_)\n\
        k = 3; print(ft.transform(X[:1]) / X[:1]); h2 = HistGradientBoostingClassifier(max_iter=3).fit(X, \
        y); print(h2.score(X, y))",
    ),
    row(
        "matplotlib",
        &[
            "import matplotlib.pyplot as plt\nplt.rcParams['lines.linewidth'] = 5\n\
            fig, ax = plt.subplots(); ln, = ax.plot([1, 2], [3, 4], label='q'); ax.set_title('T');",
            "x = 1",
        ],
        "print(plt.rcParams['lines.linewidth'], ax.get_title(), ax.figure is fig, ln.get_xdata(), \
        ax.lines[0] is ln, len(plt.get_fignums())); import io; b = io.BytesIO(); fig.savefig(b); \
        print(len(b.getvalue()) > 1000)\nimport matplotlib; print(matplotlib.get_backend())",
    ),
    row(
        "PIL",
        &["from PIL import Image\n\
            im = Image.new('RGB', (300, 400), (1, 2, 3)); im.putpixel((5, 5), (9, 9, 9)); sm = im.resize((3, \
            3))"],
        "print(im.size, im.getpixel((5, 5)), im.mode, sm.getpixel((0, 0)))",
    ),
    row(
        "scipy",
        &["import numpy as np, scipy.sparse as sp, scipy.stats as st\n\
            from scipy.interpolate import interp1d\n\
            m = sp.csr_matrix(np.eye(500)); d = st.norm(1, 2); i = interp1d([0, 1], [0, 2])"],
        "print(m.sum(), d.cdf(1), i(.5), (m @ m).nnz)",
    ),
    row(
        "arrays over memory of Python objects, and views of arrays of other classes",
        &["import numpy as np, array\n\
            b = bytearray(16); a = np.frombuffer(b, 'u1')[4:]; c = array.array('d', [1, 2]); d = \
            np.asarray(c)\nm = np.matrix([[1, 2], [3, 4]]); v = m[0]; rec = np.rec.array([(1, 2.), (3, 4.)], \
            names='p,q'); p = rec.p\nclass A(np.ndarray): pass\n\
            o = np.ndarray.__new__(A, (3,)); o[:] = 1; ov = o[1:]\nrand = np.random.mtrand._rand"],
        "a[0] = 5; d[0] = 7; v[0, 0] = 9; p[0] = 42; ov[0] = 3; print(b, c, m, rec, o, rand is \
        np.random.mtrand._rand)",
    ),
    row(
        "big array and view across",
        &["import numpy as np\nbig = np.random.RandomState(0).rand(3_000_000); half = big[:1_500_000]; two \
            = [big, half]"],
        "big[3] = -7; print(half[3], two[0] is big, two[1] is half, big.sum())",
    ),
];

/// Returns the paths of all blobs of a notebook.
fn blobs(server: &TestServer) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(server.kept().join("blobs")).unwrap();
    folders
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect()
}

#[test]
fn a_damaged_checkpoint_is_repaired_when_its_values_are_saved_again() {
    let mut server = TestServer::start();
    // Values that can be compressed, values that cannot, and small values. A sibling state has the
    // same values.
    let code = "import random\nr = random.Random(7)\nlarge = bytes(5_000_000)\nnoise = r.randbytes(300_000)\n\
        small = [1, 2, 3]";
    let first = grow(&server, "first", &[code]);
    wait_for_checkpoints(&server, std::slice::from_ref(&first));
    server.kill();
    let damaged = blobs(&server);
    assert!(damaged.len() > 3);
    for path in &damaged {
        let mut bytes = std::fs::read(path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    assert!(server.start_again(&[]));
    let lost = server.run(&first, "print(small)");
    assert!(lost.ename() == "RestoreFailed" && lost.evalue().contains("is damaged"), "{lost:?}");
    // A replay restores the state completely. Then the state is saved again.
    assert_eq!(server.post(&format!("/api/states/{first}/replay"), serde_json::json!({})).status, 200);
    crate::server::until("the state is saved again", || state_of(&server, &first)["saving"]["now"] == "idle");
    let second = grow(&server, "second", &[code]);
    wait_for_checkpoints(&server, std::slice::from_ref(&second));
    server.checkpoint(&first, serde_json::json!({}));
    server.restart();
    for state in [&first, &second] {
        assert_eq!(
            server.run(state, "print(small, len(large), len(noise))").text(),
            "[1, 2, 3] 5000000 300000\n"
        );
    }
    server.signal(Signal::SIGTERM);
    server.wait();
    // Only old blobs that no checkpoint names may still be damaged.
    let kept = server.kept();
    for command in ["gc", "check"] {
        let output = crate::server::output_of(&[command, kept.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{command}: {output:?}");
    }
}
