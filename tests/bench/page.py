"""What the browser shows how soon, beside JupyterLab and marimo: all in one Chromium, in one
run. See `page.mjs`, which drives it. The same script types into each page; a row is empty where
a page cannot be driven, and a note says why.
"""

import json
import os
import subprocess
import sys

from measures import Row

RATOON, JUPYTERLAB, MARIMO = "Ratoon", "JupyterLab", "marimo"
CONTESTANTS = [RATOON, JUPYTERLAB, MARIMO]

# How many times Ratoon is to be better than the better one of the others.
AIM = 5

# What is measured: its name in the driver's answer, its title, its unit, whether Ratoon aims to be
# ahead in it, and which quantile of the samples is told besides the median.
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
# What else is hoped for, in the row's unit.
TARGETS = {"paint": 200, "bytes": 250, "completion": 100}


class Setup:
    """What the browser part needs: where the peers are installed, and how large a run is to be."""

    def __init__(self, python, scale):
        self.python = python
        self.turns = max(1, round(7 * scale))
        self.runs = max(5, round(40 * scale))

    def measure(self):
        """All samples, by row and contestant, and what could not be done."""
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
    """Opening, running, printing much."""
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
        "note: JupyterLab's cell is run when its kernel is idle: earlier it asks for a "
        "kernel. The wait is part of its opening."
    )
    print(f"Chromium {told['browser']}; load average now {os.getloadavg()[0]:.1f}")
    return rows


def ahead(row):
    """How many times the figures of the others are Ratoon's. The aim is for the better one of
    them.
    """
    own = row.figure(RATOON)
    others = {name: row.figure(name) for name in CONTESTANTS[1:]}
    ratio = Row("    … times Ratoon's", "×", target=AIM, at_least=True, judged=BEST)
    # Less than half a millisecond is as good as nothing: no task that is longer than 50 ms.
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


# Not a column: who is judged by the aim.
BEST = "the better one"

ALL = [page]
