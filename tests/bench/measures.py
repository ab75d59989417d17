"""The measures of the group `alive`. Each function returns rows. A row has samples of all
contestants that support the measure.

Contestants take turns in one loop, so that other work of the machine affects all alike. Their
medians are compared.
"""

import os
import statistics
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import ratoon_client as ratoon
from peers import RESULT, STREAM, IPyKernel, RatoonSocket, RestLine, SnapshotKernel

STACK = "import numpy, pandas, matplotlib.pyplot"
MS, MB = 1e-3, 1 << 20

WS, REST, SNAPSHOT, IPYKERNEL = "Ratoon WS", "Ratoon REST", "snapshot-kernel", "ipykernel"
CONTESTANTS = [WS, REST, SNAPSHOT, IPYKERNEL]


@dataclass
class Row:
    """One line of the table. `target` applies to the figure of the contestant `judged`. It is a
    minimum if `at_least` is set, else a maximum.
    """

    what: str
    unit: str
    samples: dict = field(default_factory=dict)
    target: float | None = None
    judged: str = WS
    at_least: bool = False
    quantile: float = 0.5

    def add(self, contestant, value):
        self.samples.setdefault(contestant, []).append(value)

    def figure(self, contestant):
        values = self.samples.get(contestant)
        if not values or self.quantile == 0.5:
            return statistics.median(values) if values else None
        return sorted(values)[min(len(values) - 1, int(len(values) * self.quantile))]

    def at(self, quantile):
        """Returns a row with the same samples that shows another quantile than the median."""
        what = f"{self.what}, p{quantile * 100:.0f}"
        return replace(self, what=what, quantile=quantile)

    def hit(self):
        """Whether the target is met. None if there is no target or no figure."""
        figure = self.figure(self.judged)
        if self.target is None or figure is None:
            return None
        return figure >= self.target if self.at_least else figure <= self.target


class Field(ExitStack):
    """A new Ratoon server and new peers, each ready to run cells."""

    def __init__(self, start_ratoon):
        super().__init__()
        server = self.enter_context(start_ratoon())
        snapshot = self.enter_context(SnapshotKernel())
        self.lines = {
            WS: RatoonSocket(server),
            REST: RestLine(REST, server),
            SNAPSHOT: RestLine(SNAPSHOT, snapshot),
            IPYKERNEL: self.enter_context(IPyKernel()),
        }

    def all(self, code):
        for line in self.lines.values():
            line.run(code)


def round_trips(start_ratoon):
    """Times `1+1` with an empty namespace and with large ones."""
    rows = []
    for size, title, turns, target in (
        (0, "1+1, to its result", 200, 0.5),
        (100, "1+1 on a state with 100 MB", 30, None),
        (1000, "1+1 on a state with 1 GB", 7, None),
    ):
        row = Row(title, "ms", target=target)
        with Field(start_ratoon) as field:
            field.all(f"import numpy; held = numpy.ones({size} * {MB} // 8)")
            # snapshot-kernel copies the namespace for each state, so memory cannot hold all states.
            field.lines[SNAPSHOT].keep = False
            for line in field.lines.values():
                [line.time_to(RESULT, "1+1") for _ in range(5)]
            for _ in range(turns):
                for name, line in field.lines.items():
                    # Ratoon freezes the state after its answer. The pause excludes this time, which
                    # is measured elsewhere.
                    time.sleep(0.01)
                    row.add(name, line.time_to(RESULT, "1+1") / MS)
        rows.append(row)
    return rows


def chain(start_ratoon):
    """Times 100 cells. Each is sent as soon as the previous one is answered."""
    row = Row("a cell of a chain of 100", "ms", judged=REST)
    for _ in range(3):
        with Field(start_ratoon) as field:
            field.all("x = 0")
            for name, line in field.lines.items():
                started = time.perf_counter()
                for _ in range(100):
                    line.run("x = x + 1")
                row.add(name, (time.perf_counter() - started) * 10)
    return [row]


def start(start_ratoon):
    """Times the start of a program until its first result."""
    row = Row("process start to first result", "s", target=0.4, judged=REST)
    for turn in range(6):
        for name, make in (
            (REST, start_ratoon),
            (SNAPSHOT, SnapshotKernel),
            (IPYKERNEL, IPyKernel),
        ):
            with make() as program:
                line = program if name == IPYKERNEL else RestLine(name, program)
                line.run("1+1")
                # Ignores the first turn, which fills the disk's cache.
                if turn > 0:
                    row.add(name, time.perf_counter() - program.started)
    return [row]


def streams(start_ratoon):
    """Measures the time until the first printed text arrives, and the speed of 10 MB of text."""
    first = Row("first print seen", "ms", target=5)
    speed = Row("10 MB of prints", "MB/s", target=20, at_least=True)
    whole = Row("10 MB of prints: delivered", "%", target=100, at_least=True)
    with Field(start_ratoon) as field:
        for _ in range(15):
            for name, line in field.lines.items():
                first.add(
                    name, line.time_to(STREAM, "import time; print('a'); time.sleep(0.3)") / MS
                )
        for _ in range(3):
            for name, line in field.lines.items():
                started = time.perf_counter()
                answer = line.run("for _ in range(100_000): print('x' * 99)")
                passed = time.perf_counter() - started
                count = len(ratoon.printed(answer))
                speed.add(name, count / 1e6 / passed)
                whole.add(name, count / 1e5)
    return [first, speed, whole]


def depth(start_ratoon):
    """Measures a lineage of a thousand states with common libraries loaded: the time of freezing,
    and the memory of a state.
    """
    rows = {d: Row(f"result to frozen, depth {d}", "ms", target=5) for d in (10, 100, 1000)}
    growth = Row("freezing at depth 1000, relative to depth 10", "×", target=1.5)
    late = Row("a whole cell at depth 300, relative to depth 10", "×", target=1.2)
    frozen = []
    with start_ratoon() as server:
        line = RatoonSocket(server)
        line.run(STACK, freeze=True)
        before, available = memory_of(server), available_memory()
        frozen += [one_cell(line)[1] for _ in range(300)]
        deep, fresh = beside_a_fresh_line(start_ratoon, line)
        late.add(WS, median_of(sum, deep) / median_of(sum, fresh))
        frozen += [one_cell(line)[1] for _ in range(1000 - len(frozen) - len(deep))]
        after, left = memory_of(server), available_memory()
        deep, fresh = beside_a_fresh_line(start_ratoon, line)
        growth.add(WS, median_of(last, deep) / median_of(last, fresh))
    rows[10].samples[WS] = frozen[:20]
    rows[100].samples[WS] = frozen[80:100]
    rows[1000].samples[WS] = [last(cell) for cell in deep]
    each = Row("memory of a state (private + page tables)", "MB", target=3.5)
    each.add(WS, (after - before) / 1000 / MB)
    gone = Row("memory of a state (decrease of available memory)", "MB")
    gone.add(WS, (available - left) / 1000 / MB)
    total = Row("memory of 1000 states", "GB", target=4)
    total.add(WS, max(after, before + available - left) / MB / 1024)
    return [*rows.values(), growth, late, each, gone, total]


def one_cell(line):
    """Runs a cell. Returns the milliseconds until it has ended, and the milliseconds from then
    until its state is frozen."""
    started = time.perf_counter()
    line.run(f"x = {started}")
    ended = time.perf_counter()
    line.door.wait_for_frozen(line.state)
    return (ended - started) / MS, (time.perf_counter() - ended) / MS


def beside_a_fresh_line(start_ratoon, deep, turns=20):
    """Times the same cells in a deep lineage and in one of depth 10. Takes turns, so that other
    work of the machine affects both alike.
    """
    with start_ratoon() as server:
        fresh = RatoonSocket(server)
        fresh.run(STACK, freeze=True)
        [one_cell(fresh) for _ in range(10)]
        pairs = [(one_cell(deep), one_cell(fresh)) for _ in range(turns)]
    return list(zip(*pairs, strict=True))


def median_of(part, cells):
    return statistics.median(part(cell) for cell in cells)


def last(cell):
    return cell[-1]


def large(start_ratoon):
    """Measures freezing and branching with common libraries and 1 GB in the namespace."""
    freeze = Row("result to frozen, 1 GB", "ms", target=6)
    branch = Row("branch from an older state, 1 GB: first line", "ms", target=15)
    with start_ratoon() as server:
        line = RatoonSocket(server)
        line.run(f"{STACK}; held = numpy.ones({1000 * MB // 8})", freeze=True)
        older = line.state
        for number in range(20):
            line.run(f"x = {number}")
            ended = time.perf_counter()
            line.door.wait_for_frozen(line.state)
            freeze.add(WS, (time.perf_counter() - ended) / MS)
        # From here on, all of the array differs from the older state.
        line.run("held = held + 1", freeze=True)
        for _ in range(20):
            line.state = older
            branch.add(WS, line.time_to(STREAM, "print(held[0])") / MS)
            time.sleep(0.05)
    return [freeze, branch]


def parallel(start_ratoon):
    """Compares two computing cells in two branches at the same time with one such cell."""
    row = Row("two computing branches at once, relative to one", "×", target=1.3, judged=REST)
    code = "sum(i * i for i in range(60_000_000))"
    with start_ratoon() as server, SnapshotKernel() as snapshot:
        for _ in range(3):
            for name, program in ((REST, server), (SNAPSHOT, snapshot)):
                row.add(name, at_once(program, code, 2) / at_once(program, code, 1))
    return [row]


def at_once(program, code, count):
    """Starts `count` runs on the initial state. Returns the seconds until all have ended."""
    doors = [program.rest() for _ in range(count)]
    threads = [threading.Thread(target=door.run, args=(code,)) for door in doors]
    started = time.perf_counter()
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    passed = time.perf_counter() - started
    [door.close() for door in doors]
    return passed


def memory_of(server):
    """Returns the memory of the server and its child processes, in bytes: private pages and page
    tables.
    """
    total = 0
    for pid in server.processes():
        try:
            for name in (f"/proc/{pid}/smaps_rollup", f"/proc/{pid}/status"):
                with open(name) as lines:
                    wanted = (
                        line.split()
                        for line in lines
                        if line.startswith(("Private_Dirty:", "VmPTE:"))
                    )
                    total += sum(int(words[1]) * 1024 for words in wanted)
        except OSError:
            continue  # the process has just ended
    return total


def available_memory():
    # Waits until Linux has counted all memory that it has handed out.
    time.sleep(2)
    os.sync()
    return now_available()


def now_available():
    with open("/proc/meminfo") as lines:
        return next(
            int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")
        )


# Cells that wait or loop. An interrupt stops most of them. The processes of the others are killed
# 3 s later.
INTERRUPTED = {
    "sleep": "time.sleep(1000)",
    "a busy loop": "while True: pass",
    "a loop that prints": "while True: print(1)",
    "a blocked socket": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "a lock": "import threading; a = threading.Lock(); a.acquire(); a.acquire()",
    "a subprocess": "import subprocess; subprocess.run(['sleep', '1000'])",
    "a loop in C (is killed)": "sum(range(10**12))",
    "a swallowed KeyboardInterrupt (is killed)": "while True:\n"
    " try: time.sleep(1)\n"
    " except KeyboardInterrupt: pass",
    "SIGINT ignored (is killed)": "import signal; signal.signal(2, signal.SIG_IGN)\n"
    "while True: time.sleep(1)",
}


def interrupts(start_ratoon):
    """Times interrupts: from the request until the run has ended."""
    rows = {what: Row(f"interrupt: {what}", "ms") for what in INTERRUPTED}
    rows["twice"] = Row("interrupt: a loop in C, interrupted twice", "ms")
    rows["queued"] = Row("interrupt: while it waits for another run", "ms")
    rows["fork"] = Row("interrupt: at once, during its fork", "ms")
    rows["over"] = Row("interrupt: after its end (answered)", "ms")
    with start_ratoon() as server:
        line = RatoonSocket(server)
        line.run("import time", freeze=True)
        # Uses up the idle head at this state, so that each later run begins with a fork.
        line.door.run("1", line.state)
        for _ in range(5):
            for what, code in INTERRUPTED.items():
                rows[what].add(WS, stopped(line, code, has_begun=True))
            rows["twice"].add(
                WS, stopped(line, INTERRUPTED["a loop in C (is killed)"], times=2, has_begun=True)
            )
            rows["fork"].add(WS, stopped(line, "while True: pass"))
            first = line.door.start("time.sleep(0.3)", line.state)
            rows["queued"].add(WS, stopped(line, "1", on={"run": first}))
            ended(line, first)
            started = time.perf_counter()
            asked = line.door.ask("interrupt", exec_id=first)
            while line.door.receive().get("reply") != asked:
                pass
            rows["over"].add(WS, (time.perf_counter() - started) / MS)
    return list(rows.values())


def stopped(line, code, times=1, on=None, has_begun=False):
    """Starts a run and interrupts it. Returns the milliseconds from the interrupt until the run has
    ended."""
    exec_id = ratoon.new_id()
    line.door.ask(
        "run", exec_id=exec_id, code=f"print('began')\n{code}", on=on or {"state": line.state}
    )
    if has_begun:
        wait_for(
            line, lambda event: event["event"] == "output_added" and event["exec_id"] == exec_id
        )
    started = time.perf_counter()
    for _ in range(times):
        line.door.ask("interrupt", exec_id=exec_id)
    ended(line, exec_id)
    return (time.perf_counter() - started) / MS


def ended(line, exec_id):
    wait_for(line, lambda event: event["event"] == "run_ended" and event["exec_id"] == exec_id)


def wait_for(line, is_it):
    while not is_it(next(line.door.events())):
        pass


ALL = [round_trips, chain, start, streams, depth, large, parallel, interrupts]
