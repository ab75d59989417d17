"""Measures states on disk: their size, the time that users wait for them, and how fast and how
exactly they are restored.

Compares Ratoon with Kishu, which commits after each cell before it answers, and with `dill.dump` in
the cell. All three run in the same Python with the same libraries. If a contestant fails at a task,
its figures are missing, and a line explains the failure.
"""

import random
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass

from keepers import Dill, Kishu, Ratoon, forget_pages, kept_cell, size_of
from measures import MB, MS, Row, available_memory, memory_of, now_available

RATOON, WITHOUT, KISHU, DILL = "Ratoon", "no checkpoints", "Kishu", "dill"
CONTESTANTS = [RATOON, WITHOUT, KISHU, DILL]

# Pause between two cells of a user who reads each result, in seconds.
PACE = 0.15


@dataclass
class Setup:
    """The parameters of a measure: a function that starts a server, the Python of the cells, and a
    factor for all sizes.
    """

    start: object
    python: str
    scale: float = 1.0

    def ratoon(self, *options):
        return Ratoon(self.start(*options, python=self.python))

    def of(self, count):
        return max(1, round(count * self.scale))


class Beside(ExitStack):
    """Several keepers (keepers.py) that do the same tasks in turns."""

    def __init__(self, setup, names=(RATOON, KISHU, DILL)):
        super().__init__()
        make = {
            RATOON: setup.ratoon,
            WITHOUT: lambda: setup.ratoon("--no-checkpoints"),
            KISHU: lambda: Kishu(setup.python),
            DILL: lambda: Dill(setup.python),
        }
        self.keepers = {name: self.enter_context(make[name]()) for name in names}

    def each(self, what, do):
        """Calls `do` for each keeper in turn. If a peer fails, prints the reason and removes the
        peer from the measure.
        """
        for name, keeper in list(self.keepers.items()):
            try:
                do(name, keeper)
            except RuntimeError as error:
                if name == RATOON:
                    raise
                print(f"({name} is out: {what}: {str(error)[:200]})", flush=True)
                del self.keepers[name]


@dataclass
class Namespace:
    """A namespace to be saved: code that makes it, code that changes all of it, and code that
    prints a text by which its content can be checked.
    """

    what: str
    make: str
    change: str
    check: str


def namespaces(setup):
    n = setup.of
    names = "\n".join(f"number{i} = {i}; words{i} = ['a', 'b', {i}]" for i in range(15))
    functions = "\n".join(f"def function{i}(by={i}): return number{i} * by" for i in range(10))
    classes = "\n".join(
        f"class Class{i}:\n"
        f"    def __init__(self): self.own = {i}\n"
        f"    def sum(self): return self.own + number{i}"
        for i in range(5)
    )
    things = "\n".join(f"thing{i} = Class{i}()" for i in range(5))
    return [
        Namespace(
            "1 GB numbers",
            f"import numpy\nheld = numpy.random.default_rng(1).random({n(1000) * MB // 8})",
            "held = held + 1",
            "print(held.sum(), held.shape)",
        ),
        Namespace(
            "1M ints",
            f"items = list(range({n(1_000_000)}))",
            "items = [-item for item in items]",
            "print(sum(items), len(items))",
        ),
        Namespace(
            "100k objects",
            "class Node:\n"
            "    def __init__(self, number, parent):\n"
            "        self.number, self.parent, self.children = number, parent, []\n"
            "        if parent: parent.children.append(self)\n"
            "nodes = []\n"
            f"for i in range({n(100_000)}): nodes.append(Node(i, nodes[(i - 1) // 3] if i "
            "else None))",
            "for node in nodes: node.number += 1",
            "print(sum(n.number for n in nodes), all(c.parent is n for n in nodes for c in "
            "n.children))",
        ),
        Namespace(
            "frame 1M×5",
            "import numpy, pandas\n"
            f"rng, rows = numpy.random.default_rng(1), {n(1_000_000)}\n"
            "frame = pandas.DataFrame({'a': rng.random(rows), 'b': rng.integers(0, 99, "
            "rows), 'c': rng.normal(size=rows),\n"
            "    'name': [f'name {i % 1000}' for i in range(rows)], 'code': [f'{i:x}' for i "
            "in range(rows)]})",
            "frame = frame.assign(a=frame.a + 1, b=-frame.b, c=-frame.c, name=frame.name + "
            "'.', code=frame.code + '.')",
            "print(frame.a.sum(), frame.b.sum(), frame.name.str.len().sum(), "
            "frame.code.str.len().sum())",
        ),
        Namespace(
            "50 names",
            "\n".join([names, functions, classes, things]),
            "\n".join(f"number{i} = -1; words{i} = None" for i in range(15)),
            "print(sum(f() for f in (function1, function2, function9)), thing3.sum(), "
            "words7, isinstance(thing1, Class1))",
        ),
        Namespace(
            "forest",
            "import numpy\nfrom sklearn.ensemble import RandomForestClassifier\n"
            f"X = numpy.random.default_rng(1).random(({n(2000)}, 20)); y = (X[:, 0] > X[:, "
            "1]).astype(int)\n"
            "model = RandomForestClassifier(100, random_state=0).fit(X, y)",
            "model = RandomForestClassifier(100, random_state=1).fit(X, 1 - y); X = X + 1; y "
            "= 1 - y",
            "print(model.predict_proba(X[:50]).sum(axis=0), X.sum())",
        ),
    ]


def kept(setup):
    """Measures for each namespace: size on disk, waiting times, times of restoring, and whether the
    restored content is equal."""
    for namespace in namespaces(setup):
        yield from one_kept(setup, namespace)


def one_kept(setup, namespace):
    def row(what, unit="ms", **more):
        return Row(f"{namespace.what}: {what}", unit, judged=RATOON, **more)

    made = row("cell that makes it, waiting beyond its work")
    next_cell = row("then `1+1`, waiting")
    on_disk = row("from the answer until it is on disk", "s")
    size = row("size on disk", "MB")
    live = row("restored after a change of all, no restart")
    warm = row("restored after kill -9", target=1500 if namespace.what == "1 GB numbers" else None)
    cold = row("restored after kill -9, cold files")
    right = row("equal after kill -9", "yes/no", target=1, at_least=True)
    marks, texts = {}, {}

    def make(name, keeper):
        before = size_of(keeper.place())
        made.add(name, kept_cell(keeper, namespace.make).beyond / MS)
        if name == RATOON:
            on_disk.add(name, keeper.wait_until_kept())
        marks[name] = keeper.mark()
        size.add(name, (size_of(keeper.place()) - before) / MB)

    def go_on(name, keeper):
        for _ in range(3):
            next_cell.add(name, keeper.cell("1+1").beyond / MS)
            time.sleep(PACE)
        texts[name] = keeper.cell(namespace.check).text

    def back_alive(name, keeper):
        keeper.cell(namespace.change)
        live.add(name, keeper.go_back(marks[name]) / MS)

    def back_after(row, is_cold):
        def back(name, keeper):
            if name == RATOON:
                # Waits, so that no checkpoint is written while restoring is timed.
                keeper.wait_until_kept()
            if is_cold:
                forget_pages(keeper.place())
            keeper.restart()
            if is_cold:
                forget_pages(keeper.place())
            row.add(name, keeper.go_back(marks[name]) / MS)

        return back

    def compare(name, keeper):
        try:
            right.add(name, float(keeper.cell(namespace.check).text == texts[name]))
        except RuntimeError:
            right.add(name, 0.0)

    with Beside(setup) as beside:
        for what, do in (("making it", make), ("running on", go_on), ("going back", back_alive)):
            beside.each(f"{namespace.what}: {what}", do)
        for turn in range(3):
            beside.each(f"{namespace.what}: after kill -9", back_after(warm, False))
            if turn == 0:
                beside.each(f"{namespace.what}: comparing it", compare)
            beside.each(f"{namespace.what}: after kill -9, cold", back_after(cold, True))
    return [made, next_cell, on_disk, size, live, warm, cold, right]


# Each entry: a title, a cell to save, a cell that runs after restoring, and the text that it must
# print. None means the text that it prints before the restart.
WHOLE = [
    ("a function reads current variables", "x = 1\ndef f(): return x", "x = 5; print(f())", "5"),
    (
        "a method reads current variables",
        "x = 1\nclass M:\n    def get(self): return x\nm = M()",
        "x = 5; print(m.get())",
        "5",
    ),
    (
        "a closure in a list reads current variables",
        "x = 1\n"
        "def outer(k):\n"
        "    def inner(): return x + k\n"
        "    return inner\n"
        "fs = [outer(10), lambda: x]",
        "x = 5; print([f() for f in fs])",
        "[15, 5]",
    ),
    ("an object has the current class", "class C: pass\nc = C()", "print(type(c) is C)", "True"),
    ("two names of one list", "a = []; b = a", "print(a is b)", "True"),
    (
        "a view stays a view",
        "import numpy\nbase = numpy.arange(10.); view = base[2:5]",
        "view[0] = 77; print(base[2])",
        "77.0",
    ),
    (
        "random continues",
        "import random; random.seed(3)",
        "import random; print(random.random())",
        None,
    ),
    (
        "numpy.random continues",
        "import numpy; numpy.random.seed(3)",
        "import numpy; print(numpy.random.random())",
        None,
    ),
    (
        "the working directory",
        "import os; os.chdir('/usr')",
        "import os; print(os.getcwd())",
        "/usr",
    ),
    (
        "the environment",
        "import os; os.environ['OF_THE_BENCH'] = 'x'",
        "import os; print(os.environ.get('OF_THE_BENCH'))",
        "x",
    ),
    (
        "the source of a function",
        "def f():\n    return 1",
        "import inspect; print(inspect.getsource(f).strip())",
        None,
    ),
    (
        "a recursive structure",
        "loop = {}; loop['self'] = [loop]",
        "print(loop['self'][0] is loop)",
        "True",
    ),
    (
        "a chain of 20,000 links",
        "link = None\nfor i in range(20_000): link = [i, link]",
        "n = 0\nwhile link: n, link = n + 1, link[1]\nprint(n)",
        "20000",
    ),
]


def whole(setup):
    """Checks properties of objects that were restored after kill -9, one by one."""
    for what, make, check, expected in WHOLE:
        row = Row(f"restored: {what}", "yes/no", judged=RATOON, target=1, at_least=True)
        with Beside(setup) as beside:
            for name, keeper in beside.keepers.items():
                row.add(name, float(comes_back(keeper, make, check, expected)))
        yield row


def comes_back(keeper, make, check, expected):
    try:
        kept_cell(keeper, make)
        mark = keeper.mark()
        if expected is None:
            expected = keeper.cell(check).text.strip()
        keeper.restart()
        keeper.go_back(mark)
        return keeper.cell(check).text.strip() == expected
    except RuntimeError:
        return False


def one_element(setup):
    """Measures cells that each change one element of an array of 1 GB."""
    states, of_kishu = setup.of(20), 3
    grows = Row(
        f"1 GB, one element changed: disk per state (Kishu: {of_kishu})",
        "MB",
        target=8,
        judged=RATOON,
    )
    waits = Row("1 GB, one element changed: waiting beyond its work", "ms", judged=RATOON)
    busy = Row("the same, each cell while the last is being saved", "ms", judged=RATOON)
    written = Row("the same: from the answer until it is on disk", "s", judged=RATOON)
    make = f"import numpy\nheld = numpy.random.default_rng(1).random({setup.of(1000) * MB // 8})"
    change = (
        f"held[numpy.random.default_rng({{number}}).integers({setup.of(1000) * MB // 8})] = "
        f"{{number}}"
    )
    with Beside(setup, (RATOON, WITHOUT, KISHU)) as beside:

        def run(name, keeper):
            keeper.cell(make)
            if name != WITHOUT:
                keeper.mark()
            for number in range(of_kishu if name == KISHU else max(states, 3)):
                before = size_of(keeper.place())
                waits.add(name, keeper.cell(change.format(number=number)).beyond / MS)
                if name == RATOON:
                    written.add(name, keeper.wait_until_kept())
                if name != WITHOUT:
                    grows.add(name, (size_of(keeper.place()) - before) / MB)
                time.sleep(PACE)
            for number in range(0 if name == KISHU else max(states, 3)):
                busy.add(name, keeper.cell(change.format(number=number + 1000)).beyond / MS)
                time.sleep(PACE)

        beside.each("one element changed", run)
    return [grows, waits, busy, written]


def latency(setup):
    """Times `1+1` with and without checkpoints, at a user's pace and without pauses."""
    cells = setup.of(100)
    paced = Row("1+1 at a person's pace", "ms", judged=RATOON)
    rushed = Row("1+1, without pauses", "ms", judged=RATOON)
    with Beside(setup, (RATOON, WITHOUT, KISHU)) as beside:

        def warm(_name, keeper):
            [keeper.cell("1+1") for _ in range(5)]

        def paced_one(name, keeper):
            time.sleep(PACE)
            paced.add(name, keeper.cell("1+1").seconds / MS)

        def rushed_ten(name, keeper):
            time.sleep(PACE)
            for _ in range(10):
                rushed.add(name, keeper.cell("1+1").seconds / MS)

        beside.each("warming up", warm)
        for _ in range(cells):
            beside.each("1+1", paced_one)
        for _ in range(max(1, cells // 10)):
            beside.each("1+1", rushed_ten)
    return [paced, paced.at(0.95), rushed, rushed.at(0.95)]


def late(setup):
    """Compares cells late in a notebook with cells early in a notebook. Each cell defines a new
    name."""
    late_at = max(setup.of(300), 30)
    ratio = Row(f"a cell at {late_at}, relative to one at 10", "×", target=1.2, judged=RATOON)
    deeper = Row(f"a cell at {late_at}", "ms", judged=RATOON)
    early = Row("a cell at 10", "ms", judged=RATOON)

    counts = {}

    def cell(keeper, pause):
        number = counts[keeper] = counts.get(keeper, 0) + 1
        time.sleep(pause)
        return keeper.cell(f"name{number} = {number}").seconds / MS

    with (
        Beside(setup, (RATOON, WITHOUT, KISHU)) as deep,
        Beside(setup, (RATOON, WITHOUT, KISHU)) as fresh,
    ):
        deep.each("going deep", lambda _name, keeper: [cell(keeper, 0) for _ in range(late_at)])
        fresh.each("going to 10", lambda _name, keeper: [cell(keeper, 0) for _ in range(10)])

        def take_turns(name, keeper):
            for _ in range(20):
                deeper.add(name, cell(keeper, PACE))
                early.add(name, cell(fresh.keepers[name], PACE))

        deep.each("taking turns", take_turns)
        for name in deeper.samples:
            ratio.add(name, deeper.figure(name) / early.figure(name))
    return [early, deeper, ratio]


def restart(setup):
    """Measures the restart of a killed server with a notebook of 1,000 states."""
    count = setup.of(1000)
    answers = Row(f"{count} states: process start to `GET /states`", "s", target=1, judged=RATOON)
    first = Row(f"{count} states: process start to a run at the last", "s", judged=RATOON)
    with setup.ratoon() as keeper:
        keeper.cell("import numpy; held = numpy.arange(1000)")
        for number in range(count):
            keeper.run(f"x = {number}")
        tip = keeper.mark()
        for turn in range(6):
            server = keeper.server
            server.restart()
            keeper.door = server.rest()
            listed = len(keeper.door.get("/states")["states"])
            passed = time.perf_counter() - server.started
            if listed < count:
                raise RuntimeError(f"only {listed} of {count} states were restored")
            keeper.state = tip
            if keeper.cell("print(x)").text.strip() != str(count - 1):
                raise RuntimeError("the last state was restored with wrong values")
            # Ignores the first turn, which fills the disk's cache.
            if turn > 0:
                answers.add(RATOON, passed)
                first.add(RATOON, time.perf_counter() - server.started)
    return [answers, first]


def budget(setup):
    """Measures a tree of 300 states of 50 MB each, with at most 20 frozen processes."""
    count, size = max(setup.of(300), 60), setup.of(50)
    made = Row(f"tree of {count} states of {size} MB: a cell that makes one", "ms", judged=RATOON)
    touch = Row("the same, room for 20: a cell at any of them", "ms", judged=RATOON)
    right = Row("the same: correct values", "%", target=100, at_least=True, judged=RATOON)
    held = Row("the same: peak of private memory", "MB", judged=RATOON)
    gone = Row("the same: peak decrease of available memory", "MB", judged=RATOON)
    processes = Row("the same: processes at the end", "", judged=RATOON)
    chosen = random.Random(1)
    with setup.ratoon("--max-frozen", "20") as keeper, Peak(keeper.server) as peak:
        keeper.cell("import numpy")
        names = [keeper.state]
        for number in range(1, count):
            keeper.state = names[(number - 1) // 3]
            code = (
                f"data = numpy.random.default_rng({number}).random({size * MB // 8}); number = "
                f"{number}"
            )
            made.add(RATOON, keeper.cell(code).beyond / MS)
            names.append(keeper.state)
            if number % 10 == 0:
                keeper.wait_until_kept()
        keeper.wait_until_kept(names)
        order = list(range(1, count))
        chosen.shuffle(order)
        for number in order:
            keeper.state = names[number]
            check = (
                "print(number, bool((data == "
                f"numpy.random.default_rng({number}).random({size * MB // 8})).all()))"
            )
            cell = keeper.cell(check)
            touch.add(RATOON, cell.beyond / MS)
            right.add(RATOON, 100.0 * (cell.text.split() == [str(number), "True"]))
            keeper.door.ask("DELETE", f"/states/{keeper.state}")
        processes.add(RATOON, len(keeper.server.processes()))
    right.samples[RATOON] = [sum(right.samples[RATOON]) / len(right.samples[RATOON])]
    held.add(RATOON, peak.private / MB)
    gone.add(RATOON, peak.lacking / MB)
    return [made, touch, touch.at(0.95), right, held, gone, processes]


def take(setup):
    """Measures a merge that takes three arrays, and one large one, beside `dill.dump` and
    `dill.load` of the same arrays.
    """
    rows = []
    for count, size in ((3, setup.of(100)), (1, setup.of(1000))):
        what = f"{count} × {size} MB"
        whole = Row(f"take {what}; dill: dump and load", "ms", judged=RATOON)
        memory = Row("the same: peak decrease of available memory", "MB", judged=RATOON)
        make = "import numpy\n" + "\n".join(
            f"a{i} = numpy.random.default_rng({i}).random({size * MB // 8})" for i in range(count)
        )
        with Beside(setup, (RATOON, DILL)) as beside:
            for _ in range(3):
                beside.each(
                    "take",
                    lambda name, keeper: one_take(name, keeper, make, count, whole, memory),
                )
        ratio = Row("the same: Ratoon to dill", "×", target=3, judged=RATOON)
        ratio.add(RATOON, whole.figure(RATOON) / whole.figure(DILL))
        rows += [whole, memory, ratio]
    return rows


def one_take(name, keeper, make, count, whole, memory):
    """Makes arrays in one branch and brings them into another."""
    if name == DILL:
        keeper.cell(make)
        keeper.cell(f"import dill; arrays = [globals()[f'a{{i}}'] for i in range({count})]")
        took = keeper.cell("back = dill.loads(dill.dumps(arrays))")
        whole.add(name, took.own / MS)
        return
    ours = keeper.door.run("x = 1")["state_name"]
    theirs = keeper.door.run(make)["state_name"]
    with Peak(keeper.server) as peak:
        since = time.perf_counter()
        answer = keeper.door.ask(
            "POST", f"/api/states/{ours}/merge", {"from": theirs, "take": "changed"}
        )
        passed = time.perf_counter() - since
    if not answer["taken"]:
        raise RuntimeError(f"nothing was taken: {answer}")
    whole.add(name, passed / MS)
    memory.add(name, peak.lacking / MB)


class Peak:
    """Records the peak memory of a server and its processes in a thread."""

    def __init__(self, server):
        self.server = server
        self.private = self.lacking = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.before = available_memory()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def watch(self):
        turn = 0
        while not self.is_over.wait(0.2):
            self.lacking = max(self.lacking, self.before - now_available())
            turn += 1
            # Rarely, because reading the memory of all processes takes much processor time.
            if turn % 10 == 0:
                self.private = max(self.private, memory_of(self.server))


ALL = [kept, whole, one_element, latency, late, restart, budget, take]
