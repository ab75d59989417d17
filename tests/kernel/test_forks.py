"""Tests of the reports about forked processes."""

import asyncio
import json
import os
import threading

import pytest

from ratoon_kernel import forks


def in_a_fork(find):
    """Calls `find` in a forked child. Returns the child's pid and the result, which must be
    JSON."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, json.dumps(find()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        found = json.loads(answer.read())
    os.waitpid(pid, 0)
    return pid, found


def test_the_thread_that_forked_has_the_id_of_its_new_process(booted):
    pid, ids = in_a_fork(lambda: json.loads(forks.native_ids()))
    assert ids == [pid]


@pytest.fixture
def warnings(booted, monkeypatch):
    """A function that returns the warnings about parts of this process that do not survive a
    fork."""
    monkeypatch.setattr(forks, "_shell", booted)
    monkeypatch.setattr(forks, "_is_simple", lambda: False)
    return lambda: json.loads(forks.hazards())[0]


def test_a_thread_that_waits_for_a_process_is_not_reported(warnings):
    """After the process of a %%bash cell has ended, such a thread still exists for a moment."""
    loop = asyncio.new_event_loop()
    process = loop.run_until_complete(asyncio.create_subprocess_exec("sleep", "1000"))
    assert not any("threads" in sentence for sentence in warnings())
    process.kill()
    loop.run_until_complete(process.wait())
    loop.close()


def test_a_thread_is_reported_until_its_function_has_returned(warnings):
    go_on, may_end = threading.Event(), threading.Event()

    class Slow(threading.Thread):
        def run(self):
            super().run()
            may_end.wait()

    thread = Slow(target=go_on.wait, name="slow", daemon=True)
    thread.start()
    assert warnings() == ["threads do not survive in a branch: slow"]
    go_on.set()
    while hasattr(thread, "_target"):
        pass
    assert thread.is_alive()
    assert warnings() == []
    may_end.set()
    thread.join()
