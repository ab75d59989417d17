"""Runs cells as an ordinary Python session would, in one namespace: what a line of states is
compared with.

Reads a JSON list of sources from its standard input; writes, per cell, what it printed and how many
figures it drew.
"""

import contextlib
import io
import json
import sys

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt

# A module of its own, as in a notebook: functions that are sent to other processes are looked up in
# it by name.
namespace = sys.modules["__main__"].__dict__
answers = []
for number, source in enumerate(json.load(sys.stdin)):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        exec(compile(source, f"<cell {number}>", "exec"), namespace)
    answers.append({"text": text.getvalue(), "figures": len(plt.get_fignums())})
    plt.close("all")
json.dump(answers, sys.stdout)
