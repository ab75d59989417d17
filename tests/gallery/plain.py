"""Runs cells in one namespace of an ordinary Python. `run.py` compares Ratoon's outputs with the
outputs of this program.

Reads a JSON list of sources from standard input. Writes a JSON list: for each cell, the text that
it printed and the number of figures that it drew.
"""

import contextlib
import io
import json
import sys

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt

# Cells run in the module `__main__`, as in a notebook, because other processes look up functions in
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
