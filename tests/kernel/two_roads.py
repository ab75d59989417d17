"""Runs cells in two ways, each in its own fork of one shell: by `plain_cells`, and only by
IPython's `run_cell`. Prints JSON: the scenarios with different effects, and the number of plain
cells.

usage: two_roads.py [SECONDS] < SCENARIOS, a JSON list of lists of cells

SECONDS is the time limit of a scenario; 20 without it.
"""

import contextlib
import json
import os
import re
import signal
import sys

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPOSITORY, "src", "kernel", "python"))

import stand_ins

stand_ins.install()

from ratoon_kernel import cells as kernel_cells
from ratoon_kernel import plain_cells, shell

# Time limit of a scenario, in seconds.
LIMIT = int(sys.argv[1]) if len(sys.argv) > 1 else 20
# A cell that collects the effects that a scenario can have besides its outputs.
PROBE = """
import inspect as _inspect, linecache as _linecache, sys as _sys, warnings as _warnings
_shell = get_ipython()
_last = _shell.last_execution_result
_found = {
    "names": sorted(k for k in _shell.user_ns if not k.startswith("__")),
    "hidden": sorted(_shell.user_ns_hidden),
    "In": In, "_ih": _ih, "Out": {k: repr(v) for k, v in Out.items()},
    "_": [repr(_), repr(__), repr(___)], "_i": [_i, _ii, _iii],
    "raw": list(_shell.history_manager.input_hist_raw),
    "database": [list(one) for one in _shell.history_manager.db_input_cache],
    "shown": dict(_shell.history_manager.output_hist_reprs),
    "errors": _shell.history_manager.exceptions,
    "count": _shell.execution_count,
    "flags": _shell.compile.flags,
    "succeeded": _shell.last_execution_succeeded,
    "last": [repr(_last.result), repr(_last.error_in_exec), repr(_last.error_before_exec),
             _last.execution_count, _last.info.raw_cell, _last.info.transformed_cell,
             _last.info.store_history, _last.info.silent, _last.info.cell_id],
    "sources": {k: _inspect.getsource(v) for k, v in list(_shell.user_ns.items())
                if _inspect.isfunction(v) and v.__module__ == "__main__"
                and v.__code__.co_filename.startswith("<ipython")},
    "lines": [v[2] for k, v in _linecache.cache.items() if k.startswith("<ipython-input")],
    "hook": _sys.excepthook is _shell.sys_excepthook,
    "display": _sys.displayhook is _shell.displayhook,
    "filters": len(_warnings.filters),
}
"""


class Channel:
    """Collects everything that a cell sends to the server."""

    def __init__(self):
        self.sent = []

    def text(self, is_error, text):
        if self.sent and self.sent[-1][0] == is_error and len(self.sent[-1]) == 2:
            self.sent[-1][1] += text
        else:
            self.sent.append([is_error, text])

    def flush(self, is_error):
        pass

    def report(self, text):
        self.sent.append(["report", json.loads(text), None])

    def ask(self, prompt, password):
        self.sent.append(["ask", prompt, password])
        return "answer"

    def has_forked(self):
        pass


def run(channel, cells, is_plain, has_symbols):
    """Runs a scenario. Returns its effects and the number of its plain cells."""
    plain, run_plain = 0, plain_cells.run
    if not is_plain:
        plain_cells._parts = None

    def counted(*arguments):
        nonlocal plain
        result = run_plain(*arguments)
        plain += result is not None
        return result

    plain_cells.run = counted
    left = []
    for cell in cells:
        del channel.sent[:]
        ended = json.loads(kernel_cells.run(cell, True, has_symbols))
        left.append({"cell": cell, "ended": ended, "sent": [list(one) for one in channel.sent]})
    plain_cells.run = run_plain
    shell.shell.run_cell(PROBE, silent=True)
    return {"cells": left, "found": shell.shell.user_ns.get("_found")}, plain


def in_fork(channel, cells, is_plain, has_symbols):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        signal.alarm(LIMIT)
        os.close(read)
        with open(write, "w") as file:
            file.write(json.dumps(run(channel, cells, is_plain, has_symbols), default=repr))
        os._exit(0)
    os.close(write)
    with open(read) as file:
        text = file.read()
    # Cells may have started processes, such as joblib's workers.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if text else [{"ended by": status}, 0]


# Differences that are allowed, as (pattern, replacement): lines of a traceback after the line that
# raised, because IPython shows them depending on the order of a set; addresses; a warning that
# IPython prints twice in CPython 3.11; IPython's own frame in the traceback of a group;
# and how long a fit took.
DIFFERING = (
    (r"\d+\.\d+s\b", "TIME"),
    (r" {4,}\d+ .*?\\n", ""),
    (r"(0x|object at )[0-9a-f]{6,}", r"\1…"),
    (r"<>:\d+: SyntaxWarning: .*?\\n", ""),
    (r"  \|   File [^,]*interactiveshell.py.*?\\n  \|     exec\(.*?\\n", ""),
)


def alike(outcome):
    """Returns an outcome as text, without the allowed differences."""
    text = json.dumps(outcome, sort_keys=True)
    for pattern, replacement in DIFFERING:
        text = re.sub(pattern, replacement, text)
    return text


def main():
    channel = Channel()
    own, sys.stdout = sys.stdout, sys.stdout
    kernel_cells.boot(channel, None)
    shell.shell.run_line_magic("colors", "nocolor")
    kernel_cells.settle()
    differing, plain, count = [], 0, 0
    for cells in json.load(sys.stdin):
        for has_symbols in (False, True):
            (one, taken), (other, none) = (
                in_fork(channel, cells, is_plain, has_symbols) for is_plain in (True, False)
            )
            assert none == 0
            plain, count = plain + taken, count + len(cells)
            if alike(one) != alike(other):
                differing.append({"cells": cells, "plain": one, "IPython": other})
    own.write(json.dumps({"differing": differing, "plain": plain, "cells": count}))
    own.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
