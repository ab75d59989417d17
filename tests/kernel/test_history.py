"""Checks that magics find in the history what they find in IPython's database."""

import json
import subprocess
import sys

from run_cells import run_cells

CELLS = [
    "x = 1; print('a')",
    "x += 1",
    "print(x, 'é')",
    "%rerun -g x +",
    "print(x)",
    "%rerun",
    "x += 1",
    "print(x)",
    "%rerun -l 2",
    "%history -g print",
    "%history -g x -l 2",
    "%history -o -l 3",
    "%history -g -u -n x*=*",
    "%history -l 1000",
    "%rerun -g nowhere",
    "%recall print",
    "print(x)",
]
IN_IPYTHON = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config()
config.HistoryManager.hist_file = 'history.sqlite'
config.InteractiveShell.colors = 'nocolor'
shell = InteractiveShell.instance(config=config)
told = []
for cell in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        shell.run_cell(cell, store_history=True)
    told.append(out.getvalue())
print(json.dumps(told))
"""


def printed(ran):
    return "".join(part[1] for part in ran["sent"] if isinstance(part[1], str))


def test_the_history_is_searched_as_ipython_searches_its_database(tmp_path):
    asked = json.dumps(CELLS)
    command = [sys.executable, "-c", IN_IPYTHON]
    ended = subprocess.run(command, input=asked, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    expected = json.loads(ended.stdout)
    ran = run_cells(tmp_path, *([cell, True, False] for cell in CELLS))
    assert list(zip(CELLS, map(printed, ran))) == list(zip(CELLS, expected))
