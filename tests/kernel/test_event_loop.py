"""Tests of asyncio in cells without `await`."""

from run_cells import run_cells

BEGIN = "import asyncio\nasync def work(name):\n    print(name, 'begins')\n    await asyncio.sleep(0.01)\n    return name"


def printed(room, *cells):
    """Runs cells. Returns for each what it printed, or the error's name and message."""
    ran = run_cells(room, *([cell, True, False] for cell in cells))
    texts = []
    for one in ran:
        error = one["ended"]["error"]
        said = "".join(part[1] for part in one["sent"] if isinstance(part[1], str))
        texts.append(said if error is None else f"{error['ename']}: {error['evalue']}")
    return texts


def test_tasks_begin_in_the_cell_that_makes_them_and_end_in_the_next_that_awaits(tmp_path):
    told = printed(
        tmp_path,
        f"{BEGIN}\ntask = asyncio.create_task(work('a'))\nprint('made')",
        "print(task.done())",
        "print(await task)",
        "other = asyncio.ensure_future(work('b'))",
        "third = asyncio.get_event_loop().create_task(work('c'))",
        "print(await asyncio.gather(other, third))",
        "await asyncio.sleep(0)\nlast = asyncio.get_running_loop().create_task(work('d'))",
        "print(await last)",
    )
    assert told == [
        "made\na begins\n",
        "False\n",
        "a\n",
        "b begins\n",
        "c begins\n",
        "['b', 'c']\n",
        "d begins\n",
        "d\n",
    ]


def test_what_plain_python_does_with_loops_still_works(tmp_path):
    told = printed(
        tmp_path,
        f"{BEGIN}\nprint(asyncio.run(work('a')))",
        "loop = asyncio.new_event_loop()\nprint(loop.run_until_complete(work('b')))\nloop.close()",
        "own = asyncio.new_event_loop()\nasyncio.set_event_loop(own)\nprint(asyncio.get_event_loop() is own)",
        "asyncio.set_event_loop(None)\nprint(asyncio.get_event_loop() is asyncio.get_running_loop())",
        "import threading\n"
        "def ask():\n"
        "    try:\n"
        "        asyncio.get_running_loop()\n"
        "    except RuntimeError as error:\n"
        "        print(error)\n"
        "t = threading.Thread(target=ask); t.start(); t.join()",
        "def deep():\n    return asyncio.get_running_loop()\nprint(deep() is asyncio.get_running_loop())",
        "import pickle\nprint(pickle.loads(pickle.dumps(asyncio.get_running_loop)).__name__)",
    )
    assert told == [
        "a begins\na\n",
        "b begins\nb\n",
        "True\n",
        "True\n",
        "no running event loop\n",
        "True\n",
        "get_running_loop\n",
    ]


def test_a_task_that_never_waits_and_one_that_fails_end_no_cell(tmp_path):
    told = printed(
        tmp_path,
        "import asyncio\n"
        "async def busy():\n"
        "    while True: await asyncio.sleep(0)\n"
        "async def bad():\n"
        "    raise ValueError('bad')\n"
        "tasks = [asyncio.create_task(busy()), asyncio.create_task(bad())]",
        "print(tasks[0].done(), tasks[1].exception())",
        "async def stop(): raise KeyboardInterrupt\nstops = asyncio.create_task(stop())",
    )
    assert told == ["", "False bad\n", "KeyboardInterrupt: "]
