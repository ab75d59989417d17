//! Tests that a branch behaves like an ordinary Python session, and does not affect its siblings.
//!
//! Each probe runs one cell, and then two branches of the cell's state. Each branch must print the
//! same text as plain Python that runs the two cells in one session.

use crate::breadth::in_full;
use crate::cells::{Going, Ran, Room};
use crate::restarts::state_of;
use crate::server::TestServer;

struct Probe {
    what: &'static str,
    state: &'static str,
    /// The code of one branch, and its expected output.
    one: (&'static str, &'static str),
    /// The code of the other branch, and its expected output.
    other: (&'static str, &'static str),
}

const fn probe(
    what: &'static str,
    state: &'static str,
    one: (&'static str, &'static str),
    other: (&'static str, &'static str),
) -> Probe {
    Probe { what, state, one, other }
}

/// Checks probes. The first branch runs in the process that ran the state's cell. All others are
/// forks of the frozen process, after their siblings have run. `tests/run nightly` runs each twice.
fn hold(server: &TestServer, probes: &[Probe]) {
    check(server, probes, if in_full() { 2 } else { 1 });
}

/// Checks probes whose branches change something that all processes share, for example a file's
/// content.
fn hold_once(server: &TestServer, probes: &[Probe]) {
    check(server, probes, 1);
}

fn check(server: &TestServer, probes: &[Probe], times: usize) {
    let mut wrong = Vec::new();
    for probe in probes {
        let grown = server.run("initial", probe.state);
        let Some(state) = &grown.state else {
            wrong.push(format!("{}: its state: {}", probe.what, shown(&grown)));
            continue;
        };
        for time in 0..times {
            for (code, expected) in [probe.one, probe.other] {
                let ran = server.run(state, code);
                if ran.error.is_some() || ran.text().trim_end() != expected {
                    wrong.push(format!(
                        "{}, time {time}: `{code}` gave {}, not {expected:?}",
                        probe.what,
                        shown(&ran)
                    ));
                }
            }
        }
        server.reset();
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), probes.len(), wrong.join("\n"));
}

fn shown(ran: &Ran) -> String {
    format!("{:?} {} {}", ran.text(), ran.ename(), ran.evalue())
}

#[test]
fn functions_and_classes_belong_to_their_branch() {
    let room = Room::new();
    hold(&TestServer::in_dir(room.path()), FUNCTIONS);
}

const FUNCTIONS: &[Probe] = &[
    probe(
        "a function sees a changed global",
        "k = 1\ndef f(): return k",
        ("k = 2; print(f())", "2"),
        ("print(f())", "1"),
    ),
    probe(
        "a function sees a global that came later",
        "def f(): return later",
        ("later = 'a'; print(f())", "a"),
        ("try: f()\nexcept NameError as e: print(e)", "name 'later' is not defined"),
    ),
    probe(
        "a function calls what another name means now",
        "def g(): return 'old'\ndef f(): return g()",
        ("def g(): return 'new'\nprint(f())", "new"),
        ("print(f())", "old"),
    ),
    probe(
        "a method sees a changed global",
        "k = 1\nclass C:\n    def m(self): return k\nc = C()",
        ("k = 2; print(c.m(), C().m())", "2 2"),
        ("print(c.m())", "1"),
    ),
    probe(
        "a function's globals are the session's",
        "def f(): global made; made = 'by f'",
        ("f(); print(made, f.__globals__ is globals())", "by f True"),
        ("print('made' in globals(), f.__globals__ is globals())", "False True"),
    ),
    probe(
        "a closure keeps counting",
        "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    \
        return up\nup = counter(); up()",
        ("print(up(), up())", "2 3"),
        ("print(up())", "2"),
    ),
    probe(
        "two closures share one cell",
        "def pair():\n    n = [0]\n    return (lambda: n.append(1)), (lambda: len(n))\nadd, size = pair()",
        ("add(); add(); print(size())", "3"),
        ("print(size())", "1"),
    ),
    probe(
        "a mutable default argument grows",
        "def f(x, seen=[]):\n    seen.append(x)\n    return seen\nf(0);",
        ("print(f(1))", "[0, 1]"),
        ("print(f(2))", "[0, 2]"),
    ),
    probe(
        "a default argument keeps its value",
        "k = 1\ndef f(x=k): return x",
        ("k = 2; print(f()); f.__defaults__ = (9,); print(f())", "1\n9"),
        ("print(f())", "1"),
    ),
    probe(
        "a function's attribute",
        "def f():\n    f.n += 1\n    return f.n\nf.n = 0",
        ("print(f(), f())", "1 2"),
        ("print(f())", "1"),
    ),
    probe(
        "a class attribute",
        "class C: n = 0\nc = C()",
        ("C.n = 5; print(c.n, C().n)", "5 5"),
        ("print(c.n)", "0"),
    ),
    probe(
        "a method given to a class later reaches its instances",
        "class C: pass\nc = C()",
        ("C.hi = lambda self: 'hi'; print(c.hi())", "hi"),
        ("print(hasattr(c, 'hi'))", "False"),
    ),
    probe(
        "an instance of a class that was defined again is of the old one",
        "class C: pass\nc = C()",
        ("class C: pass\nprint(isinstance(c, C))", "False"),
        ("print(isinstance(c, C))", "True"),
    ),
    probe(
        "a decorator's registry",
        "known = {}\ndef register(f):\n    known[f.__name__] = f\n    return f\n@register\ndef a(): return 1",
        ("@register\ndef b(): return known['a']() + 1\nprint(sorted(known), b())", "['a', 'b'] 2"),
        ("print(sorted(known), known['a'] is a)", "['a'] True"),
    ),
    probe(
        "lru_cache remembers",
        "from functools import lru_cache\ncalls = []\n@lru_cache\n\
        def f(x):\n    calls.append(x)\n    return x\nf(1);",
        ("f(1); f(2); print(calls, f.cache_info().hits)", "[1, 2] 1"),
        ("f.cache_clear(); f(1); print(calls, f.cache_info().hits)", "[1, 1] 0"),
    ),
    probe(
        "a cached_property stays computed",
        "from functools import cached_property\ncalls = []\n\
        class C:\n    @cached_property\n    def p(self):\n        calls.append(1)\n        return \
        len(calls)\nc = C(); c.p;",
        ("print(c.p, len(calls))", "1 1"),
        ("del c.p; print(c.p, len(calls))", "2 2"),
    ),
    probe(
        "a weak reference dies with its object",
        "import weakref\nclass T: pass\nt = T(); w = weakref.ref(t)",
        ("del t; print(w())", "None"),
        ("print(w() is t)", "True"),
    ),
    probe(
        "a WeakValueDictionary forgets",
        "import weakref\nclass T: pass\nt, u = T(), T(); d = weakref.WeakValueDictionary(t=t, u=u)",
        ("del t; print(sorted(d))", "['u']"),
        ("del u; print(sorted(d))", "['t']"),
    ),
    probe(
        "__del__ and finalize run where the object is dropped",
        "import weakref\nclass T:\n    def __del__(self): print('deleted')\n\
        t = T(); done = weakref.finalize(t, print, 'finalized')",
        ("del t; print(done.alive)", "deleted\nfinalized\nFalse"),
        ("print(done.alive)", "True"),
    ),
    probe(
        "a dataclass",
        "from dataclasses import dataclass, field\n@dataclass\n\
        class P:\n    x: int\n    tags: list = field(default_factory=list)\np = P(1)",
        ("p.tags.append('a'); p.x = 2; print(p, p == P(2, ['a']))", "P(x=2, tags=['a']) True"),
        ("print(p, p == P(1))", "P(x=1, tags=[]) True"),
    ),
    probe(
        "an enum's members stay the same objects",
        "import enum\nclass Color(enum.Enum):\n    RED = 1\n    BLUE = 2\nmine = Color.RED",
        ("mine = Color.BLUE; print(mine is Color(2))", "True"),
        ("print(mine is Color(1), mine is Color['RED'])", "True True"),
    ),
    probe(
        "a named tuple's class",
        "from collections import namedtuple\nP = namedtuple('P', 'x y'); p = P(1, 2)",
        ("p = p._replace(x=9); print(p, isinstance(p, P))", "P(x=9, y=2) True"),
        ("print(p, isinstance(p, P))", "P(x=1, y=2) True"),
    ),
    probe(
        "singledispatch learns a type",
        "from functools import singledispatch\n@singledispatch\ndef show(x): return 'any'\nshow(1);",
        ("@show.register\ndef _(x: int): return 'int'\nprint(show(1))", "int"),
        ("print(show(1))", "any"),
    ),
    probe(
        "an abstract class learns a subclass",
        "import abc\nclass A(abc.ABC): pass\nisinstance(1, A);",
        ("A.register(int); print(isinstance(1, A))", "True"),
        ("print(isinstance(1, A))", "False"),
    ),
    probe(
        "a metaclass counts its classes",
        "class M(type):\n    made = []\n    def __init__(cls, name, *rest): M.made.append(name)\n\
        class A(metaclass=M): pass",
        ("class B(A): pass\nprint(M.made, A.__subclasses__())", "['A', 'B'] [<class '__main__.B'>]"),
        ("print(M.made, A.__subclasses__())", "['A'] []"),
    ),
    probe(
        "a singleton is one object",
        "class S:\n    it = None\n    def __new__(cls):\n        cls.it = cls.it or \
        super().__new__(cls)\n        return cls.it\ns = S(); s.n = 1",
        ("S().n = 2; print(s.n, S() is s)", "2 True"),
        ("print(S().n, S() is s)", "1 True"),
    ),
    probe(
        "a class with state",
        "class Account:\n    def __init__(self): self.log = []\n    def pay(self, n):\n        \
        self.log.append(n)\n        return sum(self.log)\na = Account(); a.pay(10);",
        ("print(a.pay(5), a.log)", "15 [10, 5]"),
        ("print(a.pay(-3), a.log)", "7 [10, -3]"),
    ),
    probe(
        "a lambda",
        "n = 1; f = lambda x, y=n: (x, y, n)",
        ("n = 2; print(f(0))", "(0, 1, 2)"),
        ("print(f(0))", "(0, 1, 1)"),
    ),
    probe(
        "a partial and a bound method",
        "from functools import partial\nl = []; add = l.append; p = partial(max, 5)",
        ("add(1); print(l, p(3), p(7))", "[1] 5 7"),
        ("print(l, add.__self__ is l)", "[] True"),
    ),
    probe(
        "a function pickles and comes back",
        "import pickle\nclass P:\n    def __init__(self, x): self.x = x\ndef f(): return 'f'",
        (
            "q = pickle.loads(pickle.dumps(P(3))); print(q.x, type(q) is P, pickle.loads(pickle.dumps(f)) is \
            f)",
            "3 True True",
        ),
        ("print(P.__module__, f.__module__)", "__main__ __main__"),
    ),
    probe(
        "a function's source can be read",
        "def f():\n    return 'source'",
        ("import inspect; print(inspect.getsource(f))", "def f():\n    return 'source'"),
        ("def f(): return 2\nimport inspect; print(inspect.getsource(f))", "def f(): return 2"),
    ),
];

#[test]
fn suspended_code_continues_in_each_branch() {
    let room = Room::new();
    hold(&TestServer::in_dir(room.path()), SUSPENDED);
}

const SUSPENDED: &[Probe] = &[
    probe(
        "a generator expression half consumed",
        "g = (x * x for x in range(5)); next(g), next(g);",
        ("print(list(g), list(g))", "[4, 9, 16] []"),
        ("print(next(g))", "4"),
    ),
    probe(
        "a generator that is sent values and closed",
        "def talk():\n    try:\n        got = []\n        while True: got.append((yield len(got)))\n    \
        finally: print('closed', got)\ng = talk(); next(g);",
        ("print(g.send('a'), g.send('b')); g.close()", "1 2\nclosed ['a', 'b']"),
        ("print(g.send('c'))", "1"),
    ),
    probe(
        "a coroutine half way",
        "import types\n@types.coroutine\ndef ask(): return (yield 'ask')\n\
        async def both(): return [await ask(), await ask()]\nc = both(); c.send(None);",
        ("print(c.send(1))\ntry: c.send(2)\nexcept StopIteration as e: print(e.value)", "ask\n[1, 2]"),
        (
            "c.close()\ntry: c.send(1)\nexcept RuntimeError as e: print(e)",
            "cannot reuse already awaited coroutine",
        ),
    ),
    probe(
        "a task that a cell without `await` made",
        "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n    return [1]\n\
        task = asyncio.create_task(work())",
        ("print(await task)", "[1]"),
        ("task.cancel()\ntry: await task\nexcept asyncio.CancelledError: print('cancelled')", "cancelled"),
    ),
    probe(
        "an async generator half consumed",
        "async def count():\n    for i in range(3): yield i\ng = count(); print(await anext(g))",
        ("print([i async for i in g])", "[1, 2]"),
        ("print(await anext(g))", "1"),
    ),
    probe(
        "an event loop kept in a variable",
        "import asyncio\nloop = asyncio.new_event_loop(); seen = []; loop.call_soon(seen.append, 'soon');",
        ("loop.run_until_complete(asyncio.sleep(0)); print(seen)", "['soon']"),
        (
            "print(seen); print(loop.run_until_complete(asyncio.sleep(0, 'slept')), seen)",
            "[]\nslept ['soon']",
        ),
    ),
    probe(
        "a future with a callback",
        "import asyncio\nloop = asyncio.new_event_loop(); seen = []; f = loop.create_future(); \
        f.add_done_callback(lambda f: seen.append(f.result()))",
        ("f.set_result('a'); loop.run_until_complete(asyncio.sleep(0)); print(seen)", "['a']"),
        ("f.set_result('b'); loop.run_until_complete(asyncio.sleep(0)); print(seen)", "['b']"),
    ),
    probe(
        "what a selector watches",
        "import os, select\nr, w = os.pipe(); os.write(w, b'x'); e = select.epoll()",
        ("e.register(r, select.EPOLLIN); print(len(e.poll(0)))", "1"),
        ("print(len(e.poll(0)))", "0"),
    ),
    probe(
        "a selector that watches already",
        "import os, select\nr, w = os.pipe(); os.write(w, b'x'); e = select.epoll(); e.register(r, \
        select.EPOLLIN)",
        ("e.unregister(r); print(len(e.poll(0)))", "0"),
        ("print(len(e.poll(0)))", "1"),
    ),
    probe(
        "a task that waits goes on with the loop",
        "import asyncio\nevent = asyncio.Event(); got = []\n\
        async def wait():\n    await event.wait()\n    got.append(1)\n\
        task = asyncio.ensure_future(wait()); await asyncio.sleep(0)",
        ("event.set(); await task; print(got)", "[1]"),
        ("print(got, task.done())", "[] False"),
    ),
    probe(
        "await at the top",
        "import asyncio\nx = await asyncio.sleep(0, 41)",
        ("x = await asyncio.sleep(0.01, x + 1); print(x)", "42"),
        ("print(x)", "41"),
    ),
    probe(
        "an iterator over a list",
        "l = [1, 2, 3]; i = iter(l); next(i);",
        ("l.append(4); print(list(i))", "[2, 3, 4]"),
        ("print(next(i), l)", "2 [1, 2, 3]"),
    ),
    probe(
        "itertools half way",
        "import itertools\nc = itertools.count(5); next(c); a, b = itertools.tee(range(4)); next(a);",
        ("print(next(c), list(a), list(b))", "6 [1, 2, 3] [0, 1, 2, 3]"),
        ("print(next(c), next(b))", "6 0"),
    ),
    probe(
        "zip, enumerate and reversed half way",
        "z = zip('abc', range(3)); next(z); e = enumerate('xy'); next(e); r = reversed([1, 2, 3]); next(r);",
        ("print(list(z), list(e), list(r))", "[('b', 1), ('c', 2)] [(1, 'y')] [2, 1]"),
        ("print(next(z), next(e), next(r))", "('b', 1) (1, 'y') 2"),
    ),
    probe(
        "an exception kept for later",
        "def f(): raise ValueError('kept')\ntry: f()\nexcept ValueError as e: kept = e",
        ("import traceback; print(traceback.extract_tb(kept.__traceback__)[-1].name, kept)", "f kept"),
        (
            "kept.add_note('n') if hasattr(kept, 'add_note') else None\ntry: raise kept\n\
            except ValueError as e: print(e is kept)",
            "True",
        ),
    ),
    probe(
        "an ExitStack is left open",
        "import contextlib\nstack = contextlib.ExitStack(); log = []; stack.callback(log.append, 'left');",
        ("stack.close(); print(log)", "['left']"),
        ("stack.pop_all(); stack.close(); print(log)", "[]"),
    ),
];

#[test]
fn event_loops_of_branches_do_not_take_each_others_wakeups() {
    let server = TestServer::start();
    let state = server.run("initial", "import asyncio; await asyncio.sleep(0)");
    let code = "for _ in range(1000): await asyncio.to_thread(lambda: None)\nprint('through')";
    let branches = [0; 4].map(|_| server.begin(state.state(), code));
    for branch in branches {
        assert_eq!(branch.end().text(), "through\n");
    }
}

#[test]
fn objects_keep_their_identity_and_internal_state() {
    let room = Room::new();
    hold(&TestServer::in_dir(room.path()), OBJECTS);
}

const OBJECTS: &[Probe] = &[
    probe(
        "two names of one list",
        "a = []; b = a; d = {'a': a}",
        ("b.append(1); print(a, d['a'] is b)", "[1] True"),
        ("print(a, a is b)", "[] True"),
    ),
    probe(
        "a list in itself",
        "l = [1]; l.append(l)",
        ("l[1][0] = 2; print(l[0], l[1] is l)", "2 True"),
        ("print(l)", "[1, [...]]"),
    ),
    probe(
        "an object's id",
        "o = object(); n = id(o)",
        ("print(id(o) == n)", "True"),
        ("o = object(); print(id(o) == n)", "False"),
    ),
    probe("del takes a name away", "x = 1", ("del x; print('x' in globals())", "False"), ("print(x)", "1")),
    probe(
        "an RLock that is held",
        "import threading\nlock = threading.RLock(); lock.acquire();",
        (
            "lock.release()\ntry: lock.release()\nexcept RuntimeError as e: print(e)",
            "cannot release un-acquired lock",
        ),
        ("print(lock.acquire(timeout=1)); lock.release(); lock.release()", "True"),
    ),
    probe(
        "a Lock that is held",
        "import threading\nlock = threading.Lock(); lock.acquire();",
        ("lock.release(); print(lock.locked())", "False"),
        ("print(lock.locked(), lock.acquire(timeout=0.01))", "True False"),
    ),
    probe(
        "a Lock that is free works between threads",
        "import threading\nlock = threading.Lock(); n = [0]\n\
        def add():\n    for _ in range(100):\n        with lock: n[0] += 1",
        (
            "ts = [threading.Thread(target=add) for _ in range(4)]; [t.start() for t in ts]; [t.join() for t \
            in ts]; print(n)",
            "[400]",
        ),
        ("add(); print(n, lock.locked())", "[100] False"),
    ),
    probe(
        "an Event, a Semaphore and a Queue",
        "import threading, queue\n\
        e = threading.Event(); s = threading.Semaphore(1); q = queue.Queue(); q.put('a')",
        ("e.set(); s.acquire(); print(q.get(), q.qsize(), s.acquire(blocking=False))", "a 0 False"),
        ("print(e.is_set(), q.qsize(), s.acquire(blocking=False))", "False 1 True"),
    ),
    probe(
        "threading.local",
        "import threading\nl = threading.local(); l.x = 1; me = threading.get_ident()",
        ("l.x = 2; print(l.x, threading.get_ident() == me)", "2 True"),
        ("print(l.x, threading.current_thread() is threading.main_thread())", "1 True"),
    ),
    probe(
        "a context variable",
        "import contextvars\nv = contextvars.ContextVar('v', default=0); token = v.set(1)",
        ("v.reset(token); print(v.get())", "0"),
        ("v.set(2); print(v.get())", "2"),
    ),
    probe(
        "sqlite in memory",
        "import sqlite3\ndb = sqlite3.connect(':memory:'); db.execute('create table t (x)'); \
        db.execute('insert into t values (1)');",
        (
            "db.execute('insert into t values (2)'); print(db.execute('select sum(x) from t').fetchone())",
            "(3,)",
        ),
        ("print(db.execute('select count(*) from t').fetchone())", "(1,)"),
    ),
    probe(
        "an sqlite transaction and a cursor half read",
        "import sqlite3\ndb = sqlite3.connect(':memory:'); db.execute('create table t (x)'); db.commit(); \
        db.executemany('insert into t values (?)', [(1,), (2,), (3,)]); c = db.execute('select x from t'); \
        c.fetchone();",
        ("db.rollback(); print(db.execute('select count(*) from t').fetchone())", "(0,)"),
        (
            "print(c.fetchall()); db.commit(); db.rollback(); print(db.execute('select count(*) from \
            t').fetchone())",
            "[(2,), (3,)]\n(3,)",
        ),
    ),
    probe(
        "an array and a memoryview of it",
        "import array\na = array.array('i', [1, 2]); v = memoryview(a)",
        ("v[0] = 9; print(a)", "array('i', [9, 2])"),
        ("print(a, v.obj is a)", "array('i', [1, 2]) True"),
    ),
    probe(
        "ctypes memory",
        "import ctypes\nb = ctypes.create_string_buffer(b'abc'); p = ctypes.cast(b, ctypes.c_char_p)",
        ("b[0] = b'X'; print(p.value)", "b'Xbc'"),
        ("print(p.value)", "b'abc'"),
    ),
    probe(
        "a ctypes callback",
        "import ctypes\nn = 0\n@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)\ndef f(x): return x + n",
        ("n = 10; print(f(1))", "11"),
        ("print(f(1))", "1"),
    ),
    probe(
        "collections",
        "from collections import *\n\
        d = deque([1, 2], maxlen=2); o = OrderedDict(a=1, b=2); c = Counter('aab'); m = ChainMap({}, {'x': \
        1}); z = defaultdict(list)",
        (
            "d.append(3); o.move_to_end('a'); c['a'] += 1; m['x'] = 2; z[1].append(2); print(list(d), \
            list(o), c['a'], m.maps, dict(z))",
            "[2, 3] ['b', 'a'] 3 [{'x': 2}, {'x': 1}] {1: [2]}",
        ),
        ("print(list(d), list(o), c['a'], m.maps, dict(z))", "[1, 2] ['a', 'b'] 2 [{}, {'x': 1}] {}"),
    ),
    probe(
        "a heap",
        "import heapq\nh = [5, 1, 3]; heapq.heapify(h)",
        ("print(heapq.heappushpop(h, 0), heapq.heappop(h))", "0 1"),
        ("print(heapq.heappop(h), len(h))", "1 2"),
    ),
    probe(
        "a StringIO at a position",
        "import io\ns = io.StringIO('one\\ntwo\\n'); s.readline();",
        ("s.write('X'); print(repr(s.getvalue()))", r"'one\nXwo\n'"),
        ("print(repr(s.readline()))", r"'two\n'"),
    ),
    probe(
        "a csv reader half read",
        "import csv\nr = csv.reader(['a,b', '1,2', '3,4']); next(r);",
        ("print(list(r))", "[['1', '2'], ['3', '4']]"),
        ("print(next(r), r.line_num)", "['1', '2'] 2"),
    ),
    probe(
        "a hash under way",
        "import hashlib\nh = hashlib.sha256(b'a')",
        ("h.update(b'b'); print(h.hexdigest() == hashlib.sha256(b'ab').hexdigest())", "True"),
        ("print(h.hexdigest() == hashlib.sha256(b'a').hexdigest())", "True"),
    ),
    probe(
        "a decompressor under way",
        "import zlib\nd = zlib.decompressobj(); z = zlib.compress(b'hello world'); first = \
        d.decompress(z[:9])",
        ("print(first + d.decompress(z[9:]))", "b'hello world'"),
        ("print(d.eof)", "False"),
    ),
    probe(
        "bytes in memory at a position",
        "import io\nb = io.BytesIO(b'abcdef'); b.seek(3);",
        ("b.truncate(); print(b.getvalue())", "b'abc'"),
        ("print(b.read())", "b'def'"),
    ),
];

#[test]
fn process_settings_belong_to_their_branch() {
    let room = Room::new();
    hold(&TestServer::in_dir(room.path()), PROCESS);
}

const PROCESS: &[Probe] = &[
    probe(
        "a module's global",
        "import json.decoder as m\nm.mine = [1]",
        ("m.mine.append(2); import json.decoder; print(json.decoder.mine)", "[1, 2]"),
        ("print(m.mine)", "[1]"),
    ),
    probe(
        "a patched module",
        "import math\nreal = math.sqrt; math.sqrt = lambda x: 'patched'",
        ("math.sqrt = real; print(math.sqrt(4))", "2.0"),
        ("from math import sqrt; print(sqrt(4))", "patched"),
    ),
    probe(
        "a name among the builtins",
        "import builtins\nbuiltins.shout = lambda: 'hi'",
        ("del builtins.shout; print('shout' in dir(builtins))", "False"),
        ("print(shout())", "hi"),
    ),
    probe(
        "an import",
        "import json",
        (
            "import fractions; import sys; print('fractions' in sys.modules, fractions.Fraction(1, 2))",
            "True 1/2",
        ),
        ("print('fractions' in globals(), json.dumps([1]))", "False [1]"),
    ),
    probe(
        "sys.modules and a module of one's own",
        "import sys, types\nm = types.ModuleType('grown'); m.x = 1; sys.modules['grown'] = m",
        (
            "del sys.modules['grown']\ntry: import grown\nexcept ImportError as e: print(e)",
            "No module named 'grown'",
        ),
        ("import grown; print(grown.x, grown is m)", "1 True"),
    ),
    probe(
        "sys.path",
        "import sys\nsys.path.insert(0, '/one')",
        ("sys.path.insert(0, '/two'); print(sys.path[:2])", "['/two', '/one']"),
        ("print(sys.path[0])", "/one"),
    ),
    probe(
        "a module is imported from a changed directory",
        "import os\nos.makedirs('modules', exist_ok=True); open('modules/late.py', 'w').write('x = 7'); \
        os.chdir('modules')",
        ("import late; late.x += 1; print(late.x)", "8"),
        ("import late; print(late.x)", "7"),
    ),
    probe(
        "the working directory",
        "import os\nos.makedirs('outer/inner', exist_ok=True); os.chdir('outer')",
        ("os.chdir('inner'); print(os.path.basename(os.getcwd()))", "inner"),
        ("print(os.path.basename(os.getcwd()), os.listdir())", "outer ['inner']"),
    ),
    probe(
        "%cd",
        "import os\nos.makedirs('magic/deep', exist_ok=True)\n%cd -q magic",
        ("%cd -q deep\nprint(os.path.basename(os.getcwd()))", "deep"),
        ("print(os.path.basename(os.getcwd()))", "magic"),
    ),
    probe(
        "the environment, also of a subprocess",
        "import os, subprocess\nos.environ['GROWN'] = 'state'",
        (
            "os.environ['GROWN'] = 'one'; print(subprocess.check_output('echo $GROWN', shell=True, \
            text=True))",
            "one",
        ),
        (
            "print(subprocess.check_output('echo $GROWN', shell=True, text=True), os.getenv('GROWN'))",
            "state\n state",
        ),
    ),
    probe(
        "the umask",
        "import os\nos.umask(0o027);",
        ("os.umask(0o077); print(oct(os.umask(0)))", "0o77"),
        ("print(oct(os.umask(0o027)))", "0o27"),
    ),
    probe(
        "the locale",
        "import locale\nlocale.setlocale(locale.LC_ALL, 'C');",
        ("print(locale.setlocale(locale.LC_ALL, 'C.UTF-8'))", "C.UTF-8"),
        ("print(locale.setlocale(locale.LC_ALL))", "C"),
    ),
    probe(
        "the time zone",
        "import os, time\nos.environ['TZ'] = 'UTC-3'; time.tzset()",
        ("os.environ['TZ'] = 'UTC-5'; time.tzset(); print(time.localtime(0).tm_hour)", "5"),
        ("print(time.localtime(0).tm_hour)", "3"),
    ),
    probe(
        "decimal's context",
        "import decimal\ndecimal.getcontext().prec = 5",
        ("decimal.getcontext().prec = 3; print(decimal.Decimal(1) / 3)", "0.333"),
        ("print(decimal.Decimal(1) / 3)", "0.33333"),
    ),
    probe(
        "warnings' filters",
        "import warnings\nwarnings.simplefilter('error')",
        ("warnings.simplefilter('ignore'); warnings.warn('w'); print('quiet')", "quiet"),
        ("try: warnings.warn('w')\nexcept UserWarning as e: print('raised', e)", "raised w"),
    ),
    probe(
        "a signal's handler",
        "import signal, os\ngot = []; signal.signal(signal.SIGUSR1, lambda *_: got.append('state'));",
        (
            "signal.signal(signal.SIGUSR1, lambda *_: got.append('one')); os.kill(os.getpid(), \
            signal.SIGUSR1); print(got)",
            "['one']",
        ),
        ("os.kill(os.getpid(), signal.SIGUSR1); print(got)", "['state']"),
    ),
    probe(
        "the handler of SIGINT",
        "import signal, os\ngot = []; signal.signal(signal.SIGINT, lambda *_: got.append('mine'));",
        ("os.kill(os.getpid(), signal.SIGINT); print(got)", "['mine']"),
        (
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n\
            try: os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt: print('default')",
            "default",
        ),
    ),
    probe(
        "the recursion limit and the switch interval",
        "import sys\nsys.setrecursionlimit(5000)",
        ("sys.setrecursionlimit(6000); print(sys.getrecursionlimit())", "6000"),
        ("print(sys.getrecursionlimit())", "5000"),
    ),
    probe(
        "a limit on resources",
        "import resource\nsoft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); \
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))",
        (
            "resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard)); \
            print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])",
            "400",
        ),
        ("print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])", "512"),
    ),
    probe(
        "garbage collection",
        "import gc\ngc.disable()",
        ("gc.enable(); print(gc.isenabled())", "True"),
        ("print(gc.isenabled())", "False"),
    ),
    probe(
        "logging's handlers",
        "import logging, sys\n\
        log = logging.getLogger('grown'); log.addHandler(logging.StreamHandler(sys.stdout)); log.propagate = \
        False",
        ("log.handlers[0].setFormatter(logging.Formatter('[%(message)s]')); log.warning('hello')", "[hello]"),
        ("log.info('not shown'); log.warning('hello')", "hello"),
    ),
    probe(
        "stdout sent elsewhere",
        "import sys, io\nreal = sys.stdout; sys.stdout = io.StringIO(); print('hidden')",
        ("text = sys.stdout.getvalue(); sys.stdout = real; print(text)", "hidden"),
        ("print('more'); text = sys.stdout.getvalue(); sys.stdout = real; print(text)", "hidden\nmore"),
    ),
    probe(
        "a hook on unraisable errors",
        "import sys\nold = sys.unraisablehook; sys.unraisablehook = print",
        ("sys.unraisablehook = old; print(sys.unraisablehook is old)", "True"),
        ("print(sys.unraisablehook is print)", "True"),
    ),
    probe(
        "hash() of a text",
        "h = hash('ratoon')",
        ("print(hash('ratoon') == h)", "True"),
        ("print(hash('ratoon') == h, list({'a', 'b', 'c'}) == list({'a', 'b', 'c'}))", "True True"),
    ),
    probe(
        "an alarm of one's own",
        "import signal, time\ngot = []; signal.signal(signal.SIGALRM, lambda *_: got.append(1));",
        // It repeats: one that comes before `pause` would wait forever.
        ("signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01); signal.pause(); print(got[0])", "1"),
        ("print(got, signal.getitimer(signal.ITIMER_REAL)[0])", "[] 0.0"),
    ),
    probe(
        "a profiler's hook",
        "import sys\nseen = []\ndef trace(frame, *_): seen.append(frame.f_code.co_name)\ndef f(): pass",
        ("sys.setprofile(trace); f(); sys.setprofile(None); print('f' in seen)", "True"),
        ("f(); print(sys.getprofile(), seen)", "None []"),
    ),
];

#[test]
fn open_files_keep_their_position_in_each_branch() {
    let server = TestServer::start();
    hold(&server, READ);
    hold_once(&server, WRITTEN);
}

const READ: &[Probe] = &[
    probe(
        "a text file at an offset",
        "open('lines', 'w').write('one\\ntwo\\nthree\\n'); f = open('lines'); f.readline();",
        ("print(f.readline(), f.readline())", "two\n three"),
        ("print(f.readline())", "two"),
    ),
    probe(
        "a file whose buffer is used up",
        "open('long', 'w').write('x' * 100_000); f = open('long'); f.read(50_000);",
        ("print(len(f.read()), f.tell())", "50000 100000"),
        ("f.seek(99_990); print(f.read())", "xxxxxxxxxx"),
    ),
    probe(
        "an unbuffered file",
        "open('raw', 'wb').write(b'abcdef'); f = open('raw', 'rb', buffering=0); f.read(2);",
        ("print(f.read(2), f.tell())", "b'cd' 4"),
        ("print(f.read())", "b'cdef'"),
    ),
    probe(
        "a deleted file",
        "import os\nf = open('gone', 'w+'); f.write('abcdef'); f.flush(); f.seek(2); os.remove('gone')",
        ("print(f.read())", "cdef"),
        ("print(f.read(1), os.path.exists('gone'))", "c False"),
    ),
    probe(
        "a temporary file",
        "import tempfile\nf = tempfile.TemporaryFile('w+'); f.write('abcdef'); f.seek(4);",
        ("print(f.read())", "ef"),
        ("print(f.tell(), f.read(1))", "4 e"),
    ),
    probe(
        "a descriptor and its copy move together",
        "import os\nopen('twice', 'w').write('abcdef'); a = os.open('twice', os.O_RDONLY); b = os.dup(a); \
        os.read(a, 1);",
        ("os.read(a, 2); print(os.read(b, 1))", "b'd'"),
        ("print(os.read(b, 1), os.read(a, 1))", "b'b' b'c'"),
    ),
    probe(
        "two openings of a file move apart",
        "import os\nopen('apart', 'w').write('abcdef'); a = os.open('apart', os.O_RDONLY); b = \
        os.open('apart', os.O_RDONLY)",
        ("os.read(a, 2); print(os.read(b, 1))", "b'a'"),
        ("print(os.read(b, 3), os.read(a, 1))", "b'abc' b'a'"),
    ),
    probe(
        "a directory that is open",
        "import os\nos.makedirs('listed/x', exist_ok=True); d = os.open('listed', os.O_RDONLY)",
        ("print(os.listdir(d)); os.close(d)", "['x']"),
        ("print(os.listdir(d))", "['x']"),
    ),
    probe(
        "a zip file",
        "import zipfile\nwith zipfile.ZipFile('z.zip', 'w') as z:\n    z.writestr('a', 'AAAA'); \
        z.writestr('b', 'BBBB')\nz = zipfile.ZipFile('z.zip'); m = z.open('a'); m.read(1);",
        ("print(m.read(), z.read('b'))", "b'AAA' b'BBBB'"),
        ("print(z.read('b'), m.read(1))", "b'BBBB' b'A'"),
    ),
    probe(
        "a mapped file",
        "import mmap\nopen('mapped', 'wb').write(b'abcdef'); f = open('mapped', 'r+b'); m = \
        mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY); m.seek(2)",
        ("m[0:1] = b'X'; print(m[:3], m.read(1))", "b'Xbc' b'c'"),
        ("print(m[:3], m.read(2))", "b'abc' b'cd'"),
    ),
    probe(
        "an inherited descriptor in a subprocess",
        "import os, subprocess\nopen('passed', 'w').write('abc'); f = os.open('passed', os.O_RDONLY)",
        ("print(subprocess.check_output(['head', '-c', '2'], stdin=f, text=True))", "ab"),
        ("print(os.read(f, 3))", "b'abc'"),
    ),
    probe(
        "flags of a descriptor",
        "import os, fcntl\nopen('flags', 'w'); f = os.open('flags', os.O_RDWR | os.O_APPEND); \
        os.set_inheritable(f, True)",
        ("print(bool(fcntl.fcntl(f, fcntl.F_GETFL) & os.O_APPEND), os.get_inheritable(f))", "True True"),
        ("os.set_inheritable(f, False); print(os.get_inheritable(f))", "False"),
    ),
];

const WRITTEN: &[Probe] = &[
    probe(
        "a file written at an offset",
        "f = open('written', 'w+'); f.write('abcdef'); f.flush(); f.seek(2);",
        ("f.write('X'); f.flush(); print(f.tell(), open('written').read())", "3 abXdef"),
        ("print(f.tell()); f.write('Y'); f.flush(); print(open('written').read())", "2\nabYdef"),
    ),
    probe(
        "a file that is appended to",
        "f = open('log', 'a'); f.write('state\\n'); f.flush()",
        ("f.write('one\\n'); f.flush(); print(open('log').read().split())", "['state', 'one']"),
        ("f.write('other\\n'); f.flush(); print(open('log').read().split())", "['state', 'one', 'other']"),
    ),
    probe(
        "text that was not flushed yet",
        "f = open('late', 'w'); f.write('state ');",
        ("f.write('one'); f.close(); print(open('late').read())", "state one"),
        ("f.write('other'); f.close(); print(open('late').read())", "state other"),
    ),
    probe(
        "an sqlite file",
        "import sqlite3\ndb = sqlite3.connect('file.db'); db.execute('create table t (x)'); db.commit()",
        (
            "db.execute('insert into t values (1)'); db.commit(); print(db.execute('select count(*) from \
            t').fetchone())",
            "(1,)",
        ),
        (
            "db.execute('insert into t values (2)'); db.commit(); print(db.execute('select sum(x) from \
            t').fetchone())",
            "(3,)",
        ),
    ),
];

#[test]
fn branches_continue_the_states_random_numbers_but_share_no_secrets() {
    let server = TestServer::start();
    let state = server
        .run("initial", "import random, uuid, secrets, tempfile, os; random.seed(7); own = random.Random(3)");
    let state = state.state();
    let twice = |code: &str| {
        let texts = [0, 1, 2].map(|_| {
            let ran = server.run(state, code);
            ran.state();
            ran.text()
        });
        assert!(!texts[0].is_empty());
        texts
    };
    for code in [
        "print(random.random(), own.random(), random.sample(range(99), 5))",
        "print(random.Random('seed').random())",
    ] {
        let [a, b, c] = twice(code);
        assert!(a == b && b == c, "{code}: {a} {b} {c}");
    }
    for code in [
        "print(uuid.uuid4())",
        "print(secrets.token_hex())",
        "print(os.urandom(8))",
        "print(tempfile.mktemp())",
        "print(random.SystemRandom().random())",
        "import ssl; print(ssl.RAND_bytes(8))",
    ] {
        let [a, b, c] = twice(code);
        assert!(a != b && b != c && a != c, "{code}: {a} {b} {c}");
    }
    // Processes that the user's code forks get different random numbers.
    let forks = "r, w = os.pipe()\nfor _ in range(2):\n    if os.fork() == 0:\n        os.write(w, \
        f'{random.random()} '.encode()); os._exit(0)\n    os.wait()\n\
                 a, b = os.read(r, 99).split(); print(a != b and float(a) != random.random())";
    assert_eq!(server.run(state, forks).text(), "True\n");
    // The random number generator of this state was not seeded.
    let state = server.run("initial", "import random; random.random()");
    let drawn = [0, 1].map(|_| server.run(state.state(), "print(random.random())").text());
    assert_eq!(drawn[0], drawn[1]);
}

#[test]
fn the_history_of_a_state_is_that_of_its_lineage() {
    let room = Room::new();
    hold(
        &TestServer::in_dir(room.path()),
        &[
            probe("_ and Out", "6 * 7", ("print(_, Out, _1)", "42 {1: 42} 42"), ("7 * 7\nprint(_)", "42")),
            probe(
                "In",
                "x = 1",
                ("print(In[-1], In[1])", "print(In[-1], In[1]) x = 1"),
                ("print(len(In), _i)", "3 x = 1"),
            ),
            probe(
                "a magic's result",
                "%who_ls",
                ("print(_)", "[]"),
                ("y = 2\nprint(get_ipython().run_line_magic('who_ls', ''))", "['y']"),
            ),
        ],
    );
}

#[test]
fn each_branch_counts_its_own_cells() {
    let server = TestServer::start();
    let counts = |ran: &Ran| ran.output[0]["execution_count"].as_u64();
    let one = server.run("initial", "'one'");
    let two = server.run(one.state(), "'two'");
    let failed = server.run(two.state(), "1/0");
    let again = server.run(one.state(), "'again'");
    let three = server.run(two.state(), "'three'");
    assert_eq!([&one, &two, &again, &three].map(counts), [Some(1), Some(2), Some(2), Some(3)]);
    assert_eq!(failed.ename(), "ZeroDivisionError");
}

#[test]
fn a_failed_cell_changes_no_state() {
    let server = TestServer::start();
    let state = server.run(
        "initial",
        "import os; l = [1]; os.makedirs('d', exist_ok=True); f = open('d/f', \
        'w+'); f.write('abc'); f.seek(1)",
    );
    for code in ["l.append(2); os.chdir('d'); f.read(); new = 1; 1/0", "l.clear(); del os; raise SystemExit"]
    {
        assert!(server.run(state.state(), code).error.is_some());
        let ran = server.run(
            state.state(),
            "print(l, os.path.basename(os.getcwd()) == 'd', f.tell(), 'new' in globals())",
        );
        assert_eq!(ran.text(), "[1] False 1 False\n", "{:?}", ran.error);
    }
}

#[test]
fn every_state_of_a_long_lineage_keeps_its_own_values() {
    let server = TestServer::start();
    let mut line = vec!["initial".to_owned()];
    for n in 0..30 {
        let code = if n == 0 { "l = [0]".to_owned() } else { format!("l.append({n})") };
        line.push(server.run(&line[n], &code).state().to_owned());
    }
    for n in [29, 3, 17, 0, 28] {
        let ran = server.run(&line[n + 1], "print(len(l), l[-1])");
        assert_eq!(ran.text(), format!("{} {n}\n", n + 1));
    }
    // A lineage of ten more states.
    let mut tip = line[10].clone();
    for n in 0..10 {
        tip = server.run(&tip, &format!("l.append('b{n}')")).state().to_owned();
        assert_eq!(server.run(&line[10], "print(len(l))").text(), "10\n");
    }
    assert_eq!(server.run(&tip, "print(len(l), l[9:12])").text(), "20 [9, 'b0', 'b1']\n");
}

#[test]
fn processes_and_threads_can_be_started_in_every_branch() {
    let room = Room::new();
    hold(
        &TestServer::in_dir(room.path()),
        &[
            probe(
                "a pool of forked processes",
                "import multiprocessing as mp\nn = 1\ndef f(x): return x * n",
                (
                    "n = 3\nwith mp.get_context('fork').Pool(2) as pool: print(pool.map(f, [1, 2, 3]))",
                    "[3, 6, 9]",
                ),
                ("with mp.get_context('fork').Pool(2) as pool: print(pool.map(f, [1, 2, 3]))", "[1, 2, 3]"),
            ),
            probe(
                "subprocesses",
                "import subprocess, sys",
                (
                    "print(subprocess.run('exit 3', shell=True).returncode, subprocess.check_output(['echo', \
                    'a'], text=True))",
                    "3 a",
                ),
                (
                    "p = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE); \
                    print(p.communicate(b'b'), p.returncode)",
                    "(b'b', None) 0",
                ),
            ),
            probe(
                "the user's own Python",
                "import subprocess, sys",
                (
                    "print(subprocess.check_output([sys.executable, '-c', 'import sys; \
                    print(sys.version_info[:2])'], text=True).strip() == str(sys.version_info[:2]))",
                    "True",
                ),
                (
                    "print(subprocess.check_output([sys.executable, '-c', 'import sys; print(sys.prefix)'], \
                    text=True).strip() == sys.prefix)",
                    "True",
                ),
            ),
            probe(
                "a child of the state's cell is no child of its branches",
                "import subprocess\np = subprocess.Popen(['true']); p.wait();",
                ("print(p.returncode)", "0"),
                ("print(p.poll(), subprocess.Popen(['false']).wait())", "0 1"),
            ),
            probe(
                "threads and a pool of them",
                "import threading, concurrent.futures as cf\nn = []",
                (
                    "with cf.ThreadPoolExecutor(4) as pool: print(sorted(pool.map(lambda x: x * 2, \
                    range(4))))",
                    "[0, 2, 4, 6]",
                ),
                (
                    "t = threading.Thread(target=n.append, args=(1,)); t.start(); t.join(); print(n, \
                    threading.active_count())",
                    "[1] 1",
                ),
            ),
            probe(
                "os.fork",
                "import os",
                (
                    "pid = os.fork()\nif pid == 0: os._exit(7)\n\
                    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
                    "7",
                ),
                (
                    "r, w = os.pipe()\nif os.fork() == 0:\n    os.write(w, b'from the child'); os._exit(0)\n\
                    os.wait(); print(os.read(r, 99))",
                    "b'from the child'",
                ),
            ),
            probe(
                "a thread that ended with the state's cell",
                "import threading\nt = threading.Thread(target=lambda: None); t.start(); t.join()",
                ("print(t.is_alive(), threading.active_count())", "False 1"),
                ("t.join(); print(t.is_alive())", "False"),
            ),
            probe(
                "a process pool through concurrent.futures",
                "import concurrent.futures as cf, multiprocessing as mp\ndef f(x): return x + 1",
                (
                    "with cf.ProcessPoolExecutor(2, mp_context=mp.get_context('fork')) as pool: \
                    print(list(pool.map(f, [1, 2])))",
                    "[2, 3]",
                ),
                ("print(f(1))", "2"),
            ),
        ],
    );
}

#[test]
#[ignore = "nightly: it takes 10 s of processor time"]
fn numeric_libraries_work_in_branches() {
    let Some(server) = TestServer::with_science() else { return };
    let unused = server.run("initial", "import numpy as np").state().to_owned();
    let [one, other] = [(); 2].map(|()| server.run(&unused, "print(np.random.rand(3))").text());
    assert_eq!(one, other, "numpy's global generator, which the state has not used");
    hold(
        &server,
        &[
            probe(
                "numpy's global generator",
                "import numpy as np\nnp.random.seed(1)",
                ("a = np.random.rand(3); np.random.seed(1); print((a == np.random.rand(3)).all())", "True"),
                ("print(np.random.randint(1000))", "37"),
            ),
            probe(
                "a numpy Generator",
                "import numpy as np\nr = np.random.default_rng(1); r.random();",
                ("print(r.integers(1000, size=3).tolist())", "[755, 950, 34]"),
                ("print(r.integers(1000))", "755"),
            ),
            probe(
                "a view of an array",
                "import numpy as np\na = np.arange(6); v = a[::2]; m = a.reshape(2, 3)",
                ("v[1] = 9; print(a.tolist(), m[0, 2], v.base is a)", "[0, 1, 9, 3, 4, 5] 9 True"),
                ("print(a.tolist(), v.base is a)", "[0, 1, 2, 3, 4, 5] True"),
            ),
            probe(
                "numpy's error state and print options",
                "import numpy as np\nnp.seterr(divide='raise'); np.set_printoptions(precision=2)",
                ("np.seterr(divide='ignore'); print(np.float64(1) / 0)", "inf"),
                ("try: np.float64(1) / 0\nexcept FloatingPointError: print(np.array([1/3]))", "[0.33]"),
            ),
            probe(
                "a big product of matrices",
                "import numpy as np\na = np.ones((400, 400)); b = a @ a",
                ("print((b @ a).sum())", "25600000000.0"),
                ("a *= 2; print((a @ a)[0, 0], b[0, 0])", "1600.0 400.0"),
            ),
            probe(
                "a frame and a column of it",
                "import pandas as pd\nd = pd.DataFrame({'x': [1, 2], 'y': ['a', 'b']})",
                (
                    "d['z'] = d.x * 2; d.loc[0, 'x'] = 9; print(d.to_dict('list'))",
                    "{'x': [9, 2], 'y': ['a', 'b'], 'z': [2, 4]}",
                ),
                ("print(d.to_dict('list'))", "{'x': [1, 2], 'y': ['a', 'b']}"),
            ),
            probe(
                "pandas' options and a groupby",
                "import pandas as pd\n\
                pd.set_option('display.max_rows', 5); g = pd.Series([1, 2, 3]).groupby([0, 0, 1])",
                (
                    "pd.set_option('display.max_rows', 7); print(pd.get_option('display.max_rows'), \
                    g.sum().tolist())",
                    "7 [3, 3]",
                ),
                ("print(pd.get_option('display.max_rows'))", "5"),
            ),
            probe(
                "a frame read in pieces",
                "import pandas as pd\n\
                open('f.csv', 'w').write('x\\n' + '\\n'.join(map(str, range(10)))); pieces = \
                pd.read_csv('f.csv', chunksize=3); next(pieces);",
                ("print(next(pieces).x.tolist(), next(pieces).x.tolist())", "[3, 4, 5] [6, 7, 8]"),
                ("print(next(pieces).x.tolist())", "[3, 4, 5]"),
            ),
            probe(
                "matplotlib's settings",
                "import matplotlib.pyplot as plt\nplt.rcParams['lines.linewidth'] = 5",
                (
                    "plt.rcParams['lines.linewidth'] = 7; print(plt.plot([1])[0].get_linewidth()); \
                    plt.close('all')",
                    "7.0",
                ),
                ("print(plt.rcParams['lines.linewidth'])", "5.0"),
            ),
            probe(
                "a figure that is drawn further",
                "import matplotlib.pyplot as plt\n\
                plt.ioff(); fig = plt.figure(); ax = fig.add_subplot(); ax.plot([1, 2]); plt.close(fig)",
                ("ax.plot([3]); print(len(ax.lines))", "2"),
                ("print(len(ax.lines), ax.figure is fig)", "1 True"),
            ),
            probe(
                "scikit-learn's threads",
                "import numpy as np\nfrom sklearn.ensemble import HistGradientBoostingRegressor as H\n\
                x = np.random.RandomState(0).rand(500, 3); y = x.sum(axis=1); m = H(max_iter=20, \
                random_state=0).fit(x, y)",
                (
                    "print(round(float(m.score(x, y)), 2) > 0.9, len(H(max_iter=5).fit(x, y).predict(x)))",
                    "True 500",
                ),
                ("m = H(max_iter=5).fit(x, -y); print(m.predict(x).mean() < 0)", "True"),
            ),
            probe(
                "pyarrow's tables and threads",
                "import pyarrow as pa, pyarrow.compute as pc, pyarrow.csv as csv, io\n\
                t = pa.table({'x': range(100_000), 'k': ['a', 'b'] * 50_000}); \
                print(t.group_by('k').aggregate([('x', 'sum')]).num_rows)",
                ("print(t.group_by('k').aggregate([('x', 'max')]).to_pydict()['x_max'])", "[99998, 99999]"),
                (
                    "print(csv.read_csv(io.BytesIO(b'a\\n' + b'1\\n' * 200_000)).num_rows, \
                    pc.sum(t['x']).as_py())",
                    "200000 4999950000",
                ),
            ),
            probe(
                "a duckdb connection and its threads",
                "import duckdb\ndb = duckdb.connect(); db.execute('create table t as select range x, range % \
                3 k from range(1000000)'); db.execute('select k, sum(x) from t group by k').fetchall();",
                (
                    "db.execute('delete from t where k = 0'); print(db.execute('select count(*) from \
                    t').fetchone())",
                    "(666666,)",
                ),
                (
                    "print(db.execute('select k, count(*) from t group by k order by k').fetchall())",
                    "[(0, 333334), (1, 333333), (2, 333333)]",
                ),
            ),
            probe(
                "joblib's processes, which the state has used",
                "from joblib import Parallel, delayed\nimport math\n\
                Parallel(n_jobs=2)(delayed(math.sqrt)(i) for i in [1, 4]);",
                ("print(Parallel(n_jobs=2)(delayed(math.sqrt)(i) for i in [1, 4, 9]))", "[1.0, 2.0, 3.0]"),
                ("print(Parallel(n_jobs=2)(delayed(math.sqrt)(i) for i in [16]))", "[4.0]"),
            ),
            probe(
                "joblib's processes",
                "from joblib import Parallel, delayed\nimport math",
                ("print(Parallel(n_jobs=2)(delayed(math.sqrt)(i) for i in [1, 4, 9]))", "[1.0, 2.0, 3.0]"),
                (
                    "print(Parallel(n_jobs=2, prefer='threads')(delayed(math.sqrt)(i) for i in [16, 25]))",
                    "[4.0, 5.0]",
                ),
            ),
        ],
    );
}

#[test]
fn sqlite_files_are_shared_safely() {
    let server = TestServer::start();
    let code = "import sqlite3\nc = sqlite3.connect('a.db', timeout=60)\nc.execute('CREATE TABLE t (x)'); c.commit()";
    let state = server.run("initial", code).state().to_owned();
    let write = "for n in range(300):\n    with c: c.execute('INSERT INTO t VALUES (?)', (n,))\nprint('ok')";
    // The first runs in the head that made the connection, the others in branches.
    let going: Vec<Going> = (0..3).map(|_| server.begin(&state, write)).collect();
    for one in going {
        assert_eq!(one.end().text(), "ok\n");
    }
    let count = "print(sqlite3.connect('a.db').execute('SELECT count(*) FROM t').fetchone())";
    assert_eq!(server.run(&state, count).text(), "(900,)\n");
}

#[test]
fn a_database_without_locks_has_what_the_last_branch_wrote() {
    let server = TestServer::start();
    let opens =
        "import dbm.dumb, shelve; kept = shelve.Shelf(dbm.dumb.open('kept')); kept['x'] = 1; kept.sync()";
    let state = server.run("initial", opens).state().to_owned();
    for name in ["a", "b"] {
        let ran = server.run(&state, &format!("kept['{name}'] = 1; print(sorted(kept)); kept.close()"));
        assert_eq!(ran.text(), format!("['{name}', 'x']\n"));
    }
    let last = server.run(&state, "print(sorted(dbm.dumb.open('kept').keys()))");
    assert_eq!(last.text(), "[b'b', b'x']\n");
}

#[test]
fn the_output_of_a_program_belongs_to_the_line_that_reads_it_first() {
    let server = TestServer::start();
    let begun = "import subprocess, os, threading\n\
        def cat(**how): return subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)\n\
        p = cat(); text = cat(text=True)\n\
        def ask(n): p.stdin.write(b'%d\\n' % n); p.stdin.flush(); return p.stdout.readline()\n\
        def ask_later(n): p.stdout.readline(); p.stdout.readline(); return ask(n)";
    let state = server.run("initial", begun).state().to_owned();
    // The programs end with the process that has started them, so it does not take part.
    assert_eq!(server.run(&state, "1").ename(), "");
    // Several branches at once: one of them reads, and no other waits.
    let all: Vec<Ran> = std::thread::scope(|scope| {
        let ask = |n: usize| {
            scope.spawn({
                let (server, state) = (&server, &state);
                move || server.run(state, &format!("print(ask({n}))"))
            })
        };
        (0..3).map(ask).collect::<Vec<_>>().into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (read, refused): (Vec<_>, Vec<_>) = all.iter().partition(|ran| ran.error.is_none());
    assert_eq!((read.len(), refused.len()), (1, 2), "{all:?}");
    for ran in refused {
        assert_eq!(ran.ename(), "OSError");
        assert!(ran.evalue().contains("another branch reads the output of program"), "{}", ran.evalue());
    }
    // The line that has read goes on. It first reads what the others wrote, which may already be in
    // its buffer: only what comes after is surely read from the pipe.
    let owner = read[0].state();
    let next = server.run(owner, "print(ask_later(7))");
    assert_eq!(next.text(), "b'7\\n'\n", "{next:?}");
    assert_eq!(server.run(owner, "ask_later(8)").ename(), "OSError", "its child has read since");
    // Nobody has read from the other program.
    let write = "text.stdin.write('a\\n'); text.stdin.flush()";
    let other = server.run(&state, &format!("{write}; print(text.stdout.readline(), text.stdout.encoding)"));
    assert_eq!(other.text().to_lowercase(), "a\n utf-8\n", "{other:?}");
    assert_eq!(server.run(&state, "text.communicate('b')").ename(), "OSError");
}

#[test]
fn a_lock_on_a_file_ends_when_a_later_cell_closes_the_file() {
    let server = TestServer::start();
    let code = "import fcntl, os\ndef lock():\n    f = open('locked', 'a'); \
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); return f\nf = lock(); copy = os.dup(f.fileno())";
    let locked = server.run("initial", code);
    let kept = server.run(locked.state(), "f.write('a')");
    let closed = server.run(kept.state(), "f.close(); os.close(copy)");
    let again =
        server.run(closed.state(), "g = lock(); g.write('b'); g.close(); print(open('locked').read())");
    assert_eq!((again.ename(), again.text().as_str()), ("", "ab\n"), "{again:?}");
}

#[test]
fn an_open_transaction_of_sqlite_is_refused_in_branches() {
    let server = TestServer::start();
    let code = "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('CREATE TABLE t (x)')\n\
                c.execute('INSERT INTO t VALUES (0)');";
    let state = server.run("initial", code).state().to_owned();
    let kept = state_of(&server, &state);
    assert!(kept["warnings"][0].as_str().unwrap().contains("a transaction of sqlite3 is open"), "{kept}");
    let write = "for n in range(300): c.execute('INSERT INTO t VALUES (?)', (n,))\nc.commit(); print('ok')";
    let ends: Vec<Going> = (0..3).map(|_| server.begin(&state, write)).collect();
    let ends: Vec<Ran> = ends.into_iter().map(Going::end).collect();
    // The head that began the transaction continues it.
    assert_eq!(ends.iter().filter(|end| end.text() == "ok\n").count(), 1, "{ends:?}");
    for refused in ends.iter().filter(|end| end.error.is_some()) {
        assert_eq!(refused.ename(), "OperationalError");
        assert!(refused.evalue().contains("was open when the state was kept"), "{refused:?}");
    }
    let count = "print(sqlite3.connect('a.db').execute('SELECT count(*) FROM t').fetchone())";
    assert_eq!(server.run(&state, count).text(), "(301,)\n");
}
