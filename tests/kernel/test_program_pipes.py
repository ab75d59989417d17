"""Tests of the streams from which the output of programs is read."""

import io
import os
import subprocess
import sys

import pytest

from ratoon_kernel import forks, program_pipes
from ratoon_kernel.shell import running


@pytest.fixture
def popen(booted, monkeypatch):
    """`subprocess.Popen`, as it is in a kernel process."""
    for name in ("_execute_child", "communicate", "_internal_poll", "_try_wait"):
        monkeypatch.setattr(subprocess.Popen, name, getattr(subprocess.Popen, name))
    forks._note_new_processes()
    program_pipes.boot()
    return lambda code, **how: subprocess.Popen([sys.executable, "-c", code], **how)


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


@pytest.mark.parametrize("how", [{}, {"bufsize": 0}, {"text": True}, {"encoding": "latin-1"}])
def test_streams_read_as_before(popen, how):
    # One write, so that no read returns a part of it.
    process = popen("import os; os.write(1, b'a\\nb\\nc\\nd\\n')", **PIPES, **how)
    plain = (lambda text: text) if "text" in how or "encoding" in how else str.encode
    assert process.stdout.readline() == plain("a\n")
    assert process.stdout.read(2) == plain("b\n")
    assert process.stdout.read() == plain("c\nd\n")
    process.stdin.close()
    assert process.wait() == 0
    kinds = {"bufsize": io.FileIO, "text": io.TextIOWrapper, "encoding": io.TextIOWrapper}
    assert isinstance(process.stdout, kinds.get(next(iter(how), ""), io.BufferedReader))
    number = process.stdout.fileno()
    process.stdout.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_other_ways_to_read_work(popen):
    assert subprocess.run(["echo", "a"], capture_output=True, text=True).stdout == "a\n"
    assert subprocess.check_output("echo a; echo b >&2", shell=True, stderr=subprocess.STDOUT)
    assert popen("input()", **PIPES).communicate(b"x\n") == (b"", None)
    with popen("print(*range(5), sep='\\n')", stdout=subprocess.PIPE, text=True) as process:
        assert list(map(int, process.stdout)) == [*range(5)]


def test_another_line_is_refused_while_the_reader_exists(popen):
    process = popen("while True: print(input(), flush=True)", **PIPES)
    reading = process._ratoon_reading

    def ask():
        process.stdin.write(b"x\n")
        process.stdin.flush()
        return process.stdout.readline()

    assert ask() == b"x\n"
    running.number += 1
    assert ask() == b"x\n", "a later run of the line that has read"
    other = os.getppid() << 32 | 7
    assert reading.last.replace(reading.last.get(), other)
    with pytest.raises(OSError, match="another branch reads the output of program"):
        ask()
    with pytest.raises(OSError, match="start the program again"):
        process.communicate()
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert reading.last.replace(other, gone.pid << 32 | 7)
    assert ask() == b"x\n", "the process that has read last has ended"
    process.kill()
    process.communicate()
