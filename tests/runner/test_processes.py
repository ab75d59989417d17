"""The end of a run that its user has stopped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parent

# Two threads: one runs two processes one after the other, one three in a thread of its own.
RUN = """
import os, signal, sys
from functools import partial
sys.path.insert(0, {runner!r})
import processes
from programs import follow

signal.signal(signal.SIGTERM, signal.default_int_handler)
environment = {{**os.environ, processes.MARK: {mark!r}}}

def work(name):
    # print() would write the text and the end of the line apart, and the threads' could mix.
    show = lambda line: os.write(1, line.encode() + b"\\n")
    follow(["sh", "-c", f"sleep 1000 & echo {{name}}; wait"], environment, show)

def one_after_the_other():
    work("first")
    work("later")

def in_own_thread():
    processes.side_by_side(1, [partial(work, name) for name in ("nested", "later", "later")], {mark!r})

processes.side_by_side(2, [one_after_the_other, in_own_thread], {mark!r})
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_ends_its_processes_and_starts_no_other(how):
    sys.path.insert(0, str(RUNNER))
    import processes

    mark = f"{os.getpid()}-{how.name}"
    script = RUN.format(runner=str(RUNNER), mark=mark)
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert sorted([run.stdout.readline(), run.stdout.readline()]) == ["first\n", "nested\n"]
        run.send_signal(how)
        rest, _ = run.communicate(timeout=60)
        assert rest == ""
        assert run.returncode != 0
        assert processes.marked(mark) == {}
    finally:
        run.kill()
        processes.kill(processes.marked(mark))
