"""What is said about a process that was forked."""

import json
import os

from ratoon_kernel import forks


def in_a_fork(find):
    """What `find` returns in a forked child, which must be JSON."""
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
