"""Counts the costs of a trivial cell: page faults, memory, system calls and bytes. A busy machine
changes counts much less than times.

"Chain" means that each cell is sent as soon as the previous one is answered. "After a rest" means
that the state of the previous cell is already frozen and its checkpoint is written.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack

from measures import STACK, Row
from peers import IPyKernel, RatoonSocket, RestLine

WS, WS_STACK, REST, REST_STACK = "WS", "WS, libraries", "REST", "REST, libraries"
CONTESTANTS = [WS, WS_STACK, REST, REST_STACK]
CELLS = 40
# Number of cells whose system calls are counted.
TRACED = 20


def process(pid):
    """Returns counters of a process since its start, by name. Returns None if the process has
    ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/status") as file:
            status = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return None
    switches = sum(int(status[f"{kind}_ctxt_switches"]) for kind in ("voluntary", "nonvoluntary"))
    return {
        "parent": int(fields[1]),
        "faults": int(fields[7]),
        "faults of its children": int(fields[8]),
        "switches": switches,
    }


def kilobytes(pid, name, field):
    """Returns a field of a file in /proc, in kilobytes."""
    with open(f"/proc/{pid}/{name}") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field))


def memory(pid):
    """Returns the private memory and the page tables of a process in kilobytes, and the number of
    its memory areas."""
    private = kilobytes(pid, "smaps_rollup", "Private_Dirty:")
    tables = kilobytes(pid, "status", "VmPTE:")
    with open(f"/proc/{pid}/maps") as file:
        areas = sum(1 for _ in file)
    return private, tables, areas


class Line:
    """Runs cells one after the other on a server, and finds its processes."""

    def __init__(self, server, line, libraries):
        self.server, self.line, self.cells = server, line, 0
        if libraries:
            line.run(STACK)
        answer = line.run("import os\nos.getpid()")
        self.head = int(answer["output"][-1]["data"]["text/plain"])

    def cell(self):
        self.cells += 1
        self.line.run(f"x = {self.cells}")

    def rest(self):
        """Waits until the processes have been idle for a moment."""
        before, idle = None, 0
        while idle < 5:
            time.sleep(0.05)
            now = {pid: process(pid) for pid in self.server.processes()}
            idle = idle + 1 if now == before else 0
            before = now

    def frozen(self):
        """Returns the pids of the frozen processes that this line's head has forked."""
        found = {pid: process(pid) for pid in self.server.processes()}
        return [pid for pid, of in found.items() if of and of["parent"] == self.head]


def per_cell(line, what, count, pause):
    """Returns the average growth of a counter of the head per cell."""
    before = process(line.head)[what]
    for _ in range(count):
        line.cell()
        if pause:
            line.rest()
    return (process(line.head)[what] - before) / count


def faults(start_ratoon):
    rows = [
        chain := Row("page faults of the head, chain", "", target=150, judged=WS_STACK),
        rested := Row("page faults of the head, after a rest", ""),
        frozen := Row("page faults of the frozen process", ""),
        short := Row("page faults of its checkpoint's fork", ""),
        switches := Row("context switches of the head", ""),
        private := Row("private memory of a state", "KB", target=1200, judged=WS_STACK),
        tables := Row("page tables of a state", "KB"),
        areas := Row("memory areas of a state", ""),
    ]
    with ExitStack() as stack:
        for name, line in lines(stack, start_ratoon):
            for _ in range(5):
                line.cell()
            line.rest()
            known = set(line.frozen())
            chain.add(name, per_cell(line, "faults", CELLS, pause=False))
            line.rest()
            switches.add(name, per_cell(line, "switches", CELLS, pause=False))
            line.rest()
            for pid in set(line.frozen()) - known:
                counters = process(pid)
                frozen.add(name, counters["faults"])
                short.add(name, counters["faults of its children"])
                for row, value in zip((private, tables, areas), memory(pid), strict=True):
                    row.add(name, value)
            rested.add(name, per_cell(line, "faults", 10, pause=True))
    return rows


def lines(stack, start_ratoon):
    for name in CONTESTANTS:
        server = stack.enter_context(start_ratoon())
        line = RatoonSocket(server) if name in (WS, WS_STACK) else RestLine(name, server)
        stack.callback(line.close)
        yield name, Line(server, line, name in (WS_STACK, REST_STACK))


def calls(start_ratoon):
    """Counts system calls of the server and of the head. Returns no rows if strace is missing."""
    rows = {
        "server": Row("system calls of the server, chain", ""),
        "fsync": Row("of these: fsync and fdatasync", ""),
        "head": Row("system calls of the head, chain", ""),
    }
    if shutil.which("strace") is None:
        return []
    with ExitStack() as stack:
        for name, line in lines(stack, start_ratoon):
            for _ in range(5):
                line.cell()
            line.rest()
            server = traced(line, line.server.process.pid)
            rows["server"].add(name, sum(server.values()) / TRACED)
            syncs = server.get("fsync", 0) + server.get("fdatasync", 0)
            rows["fsync"].add(name, syncs / TRACED)
            rows["head"].add(name, sum(traced(line, line.head).values()) / TRACED)
    return list(rows.values())


def traced(line, pid):
    """Runs `TRACED` cells. Returns the number of system calls of a process, by name."""
    with tempfile.NamedTemporaryFile("r") as log:
        command = ["strace", "-f", "-c", "-S", "calls", "-U", "name,calls", "-o", log.name]
        tracer = subprocess.Popen([*command, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        tracer.stderr.readline()  # printed when strace is attached
        for _ in range(TRACED):
            line.cell()
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()
        counted = {}
        for row in log:
            name, _, count = row.strip().partition(" ")
            if count.strip().isdigit() and name != "total":
                counted[name] = int(count)
        return counted


class Counted:
    """A socket that counts the bytes it sends and receives."""

    def __init__(self, inner):
        self.inner, self.bytes = inner, 0

    def sendall(self, data):
        self.bytes += len(data)
        self.inner.sendall(data)

    def recv(self, size):
        data = self.inner.recv(size)
        self.bytes += len(data)
        return data

    def close(self):
        self.inner.close()


def wire(start_ratoon):
    """Counts the bytes that a client and the server exchange for a cell."""
    row = Row("bytes on the wire", "B")
    with start_ratoon() as server:
        line = RatoonSocket(server)
        line.run("x = 0")
        line.door.wire = Counted(line.door.wire)
        for number in range(CELLS):
            line.run(f"x = {number}", freeze=True)
        row.add(WS, line.door.wire.bytes / CELLS)
        line.close()
    return [row]


def ratios(start_ratoon):
    """Compares the time of a cell with a fork of a plain Python that has loaded the same libraries,
    and with the same cell in ipykernel."""
    fork = Row("a cell of a chain, relative to a raw fork", "×")
    kernel = Row("a cell of a chain, relative to ipykernel's", "×")
    with ExitStack() as stack:
        peers = {}
        for libraries in (False, True):
            peers[libraries] = stack.enter_context(IPyKernel())
            if libraries:
                peers[libraries].run(STACK)
        raw = {libraries: raw_fork(libraries) for libraries in (False, True)}
        for name, line in lines(stack, start_ratoon):
            libraries = name in (WS_STACK, REST_STACK)
            for _ in range(10):
                line.cell()
                peers[libraries].run("x = 0")
            for _ in range(5):
                own = seconds(line.cell, 20)
                kernel.add(name, own / seconds(lambda: peers[libraries].run("x = 1"), 20))
                fork.add(name, own / raw[libraries])
    return [fork, kernel]


def seconds(run, times):
    started = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - started) / times


RAW_FORK = """
import os, time
{imports}
import gc; gc.collect(); gc.freeze()
times = []
for _ in range(50):
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    times.append(time.perf_counter() - started)
    os.waitpid(pid, 0)
print(sorted(times)[25])
"""


def raw_fork(libraries):
    """Returns the median time of a fork of a plain Python, in seconds."""
    import sys

    code = RAW_FORK.format(imports=STACK if libraries else "")
    return float(subprocess.check_output([sys.executable, "-c", code], text=True))


def objects(start_ratoon):
    """Compares a cell on a state with a million dicts with the same cell on an empty state."""
    huge = Row("a million dicts: in huge pages", "MB")
    cost = Row("a cell on a million dicts, relative to an empty state", "×")
    with ExitStack() as stack:
        own = [stack.enter_context(start_ratoon()) for _ in range(2)]
        full, empty = [Line(server, RatoonSocket(server), False) for server in own]
        for line in (full, empty):
            stack.callback(line.line.close)
        full.line.run("d = [{'number': i, 'text': str(i)} for i in range(1_000_000)]")
        huge.add(WS, kilobytes(full.head, "smaps_rollup", "AnonHugePages:") / 1024)
        for line in (full, empty):
            seconds(line.cell, 10)
        for _ in range(5):
            cost.add(WS, seconds(full.cell, 20) / seconds(empty.cell, 20))
    return [huge, cost]


ALL = [faults, calls, wire, ratios, objects]
