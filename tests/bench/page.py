"""Compares the page with the pages of JupyterLab and marimo, all in one Chromium and in one run.
`page.mjs` drives the browser. The same script types into each page. If a page cannot be driven, its
figures are missing, and a note explains the reason.
"""

import json
import os
import subprocess
import sys

from measures import Row

RATOON, JUPYTERLAB, MARIMO = "Ratoon", "JupyterLab", "marimo"
CONTESTANTS = [RATOON, JUPYTERLAB, MARIMO]

# The aim: the better of the other two needs at least this many times Ratoon's figure.
AIM = 5

# Each entry: a name in the result of page.mjs, a title, a unit, whether AIM applies, and a quantile
# to print besides the median.
ROWS = [
    ("open", "cold open to first result, server running", "s", True, None),
    ("typing", "cold open until a cell can be run", "s", False, None),
    ("start", "server start to first result in the page", "s", True, None),
    ("paint", "first paint", "ms", False, None),
    ("content", "first text painted", "ms", False, None),
    ("dom", "DOM ready", "ms", False, None),
    ("bytes", "transferred to the first result", "KB", True, None),
    ("requests", "requests to the first result", "", False, None),
    ("key", "Shift-Enter to result in the DOM", "ms", True, 0.95),
    ("completion", "key to completions", "ms", False, None),
    ("lines", "100,000 printed lines: all shown", "s", True, None),
    ("longest", "100,000 printed lines: longest task", "ms", True, None),
    ("long", "100,000 printed lines: tasks over 50 ms, together", "ms", True, None),
    ("scroll", "100,000 printed lines: scrolling, frame p95", "ms", False, None),
]
# Targets of rows, in the unit of the row.
TARGETS = {"paint": 200, "bytes": 260, "completion": 100}


class Setup:
    """The parameters of the measure: the Python environment of the peers, and the number of
    turns."""

    def __init__(self, python, scale):
        self.python = python
        self.turns = max(1, round(7 * scale))
        self.runs = max(5, round(40 * scale))

    def measure(self):
        """Runs page.mjs. Returns all samples by row and contestant, and notes about failures."""
        beside = os.path.dirname(self.python)
        options = {
            "turns": self.turns,
            "runs": self.runs,
            "commands": {
                RATOON: [os.environ["RATOON_BIN"], "--python", sys.executable],
                JUPYTERLAB: [os.path.join(beside, "jupyter-lab")],
                MARIMO: [os.path.join(beside, "marimo")],
            },
        }
        driver = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.mjs")
        done = subprocess.run(
            ["node", driver, json.dumps(options)], stdout=subprocess.PIPE, check=True
        )
        return json.loads(done.stdout)


def page(setup):
    """Measures opening a page, running cells, and long printed text."""
    told = setup.measure()
    rows = []
    for name, what, unit, is_race, quantile in ROWS:
        row = Row(
            what,
            unit,
            samples=told["samples"].get(name, {}),
            target=TARGETS.get(name),
            judged=RATOON,
        )
        rows.append(row)
        if quantile:
            rows.append(row.at(quantile))
        if is_race:
            rows.append(ahead(row))
    for note in told["notes"]:
        print(f"note: {note}")
    print(
        "note: JupyterLab's cell is run when its kernel is idle, because before that it asks for a "
        "kernel. The wait is part of its opening."
    )
    print(f"Chromium {told['browser']}; load average now {os.getloadavg()[0]:.1f}")
    return rows


def ahead(row):
    """Returns a row with the figures of the others divided by Ratoon's figure. The aim applies to
    the smaller of these ratios.
    """
    own = row.figure(RATOON)
    others = {name: row.figure(name) for name in CONTESTANTS[1:]}
    ratio = Row("    … times Ratoon's", "×", target=AIM, at_least=True, judged=BEST)
    # The limit of half a millisecond avoids a division by zero, for example if no task is longer
    # than 50 ms.
    ratios = {
        name: figure / max(own, 0.5)
        for name, figure in others.items()
        if own is not None and figure is not None
    }
    for name, value in ratios.items():
        ratio.add(name, value)
    if ratios:
        ratio.add(BEST, min(ratios.values()))
    return ratio


# The contestant to which the aim applies. It is not a column of the table.
BEST = "the better one"

ALL = [page]
