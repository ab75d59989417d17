"""The Python client against a real server: each kind of request, its errors, and accidents."""

import asyncio
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ratoon import AsyncNotebook, CellFailed, Notebook, NotFound, RatoonError, client, servers
from ratoon.connection import Added, Cleared, Prompt, Started, Updated
from ratoon.values import CellError, Display, Stream

ROOT = Path(__file__).resolve().parents[2]

PICTURE = """
from IPython.display import HTML, display
class Red:
    def _repr_png_(self):
        return b"\\x89PNG\\r\\n\\x1a\\nred"
print("before"); display(Red(), HTML("<b>fat</b>")); print("after")
import sys; print("warned", file=sys.stderr)
6 * 7
"""


def until(what, limit=60):
    """Waits until a fact holds."""
    by = time.monotonic() + limit
    while not (found := what()):
        assert time.monotonic() < by, "it does not become true"
        time.sleep(0.01)
    return found


def test_a_run_has_its_outputs_its_state_and_its_variables(notebook):
    run = notebook.run(PICTURE)
    assert (run.status, run.ok, run.error, run.at) == ("ok", True, None, "initial")
    assert (run.text, run.stderr, run.result) == ("before\nafter\n", "warned\n", "42")
    assert run.html == ("<b>fat</b>",) and run.images == (b"\x89PNG\r\n\x1a\nred",)
    assert run.outputs[0] == Stream("stdout", "before\n")
    assert run.duration > 0
    assert run.variables["Red"].type == "type"
    following = notebook.run("x = 1", at=run)
    assert (following.at, following.variables["x"].repr) == (run.state, "1")
    assert "<img" in run._repr_html_() and "<b>fat</b>" in run._repr_html_()
    assert "<td>x</td>" in following.variables._repr_html_()


def test_cells_that_fail_are_results_and_no_state_grows_from_them(notebook):
    run = notebook.run("y = 1\n1 / 0")
    assert (run.status, run.state, run.error.ename) == ("error", None, "ZeroDivisionError")
    assert isinstance(run.outputs[-1], CellError) and "ZeroDivision" in run._repr_html_()
    with pytest.raises(CellFailed, match="division by zero") as failed:
        notebook.run("1", at=run)
    assert failed.value.ename == "ZeroDivisionError"
    with pytest.raises(CellFailed):
        run.raise_for_error()
    assert run.keepable
    kept = notebook.keep_partial(run)
    assert notebook.variables(kept)["y"].repr == "1"
    assert notebook.states().find(kept).partial
    at_once = notebook.run("z = 2\nno_name", keep_partial=True)
    assert (at_once.error.ename, at_once.variables["z"].repr) == ("NameError", "2")
    crashed = notebook.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (crashed.status, crashed.error.ename) == ("crashed", "KernelDied")
    slow = notebook.run("import time; time.sleep(1000)", timeout=0.2)
    assert (slow.status, slow.error.ename) == ("interrupted", "RunTimeout")


def test_branches_and_sweeps_start_from_one_state(notebook):
    loaded = notebook.run("data = list(range(10))")
    runs = notebook.run_many([f"data.append({n}); sum(data)" for n in range(3)], at=loaded)
    assert [run.result for run in runs] == ["45", "46", "47"]
    sweep = notebook.sweep(
        "k = 1\nb = 0\nscore = -(k - 2) ** 2 + b",
        {"k": [1, 2, 3], "b": [0, 1]},
        at=loaded,
        metric="score",
        label="squares",
    )
    assert (sweep.status, len(sweep.rows)) == ("done", 6)
    assert sweep.best.params == {"k": 2, "b": 1} and sweep.best.metric == 1
    assert "<td>1.0</td>" in sweep._repr_html_()
    assert notebook.collapse(sweep.id, label="best") == sweep.best.state
    assert notebook.states().find("best").id == sweep.best.state
    going = notebook.sweep("k = 1\nwhile k: pass", {"k": [1, 2]}, at=loaded, wait=False)
    assert notebook.sweep_of(going.id).status == "running"
    notebook.stop_sweep(going.id)
    until(lambda: notebook.sweep_of(going.id).status == "stopped")
    with pytest.raises(RatoonError, match="nothing"):
        notebook.sweep("k = 1", {"nothing": [1]}, at=loaded)


def test_states_are_listed_named_taken_from_deleted_and_restored(notebook):
    first = notebook.run("x = 1; shared = []")
    left, right = notebook.run_many(["x = 2", "y = [3]"], at=first)
    taken = notebook.take(["y"], from_=right, into=left)
    assert {n: v.repr for n, v in taken.variables.items()} == {"x": "2", "shared": "[]", "y": "[3]"}
    other = notebook.run("x = 4", at=first)
    with pytest.raises(RatoonError) as conflict:
        notebook.take("changed", from_=other, into=left)
    assert conflict.value.code == "conflict" and "x" in conflict.value.why
    theirs = notebook.take("changed", from_=other, into=left, on_conflict="theirs")
    assert theirs.variables["x"].repr == "4"

    notebook.label(first, "loaded")
    notebook.pin(first)
    states = notebook.states()
    loaded = states.find("loaded")
    assert (loaded.id, loaded.parent, loaded.code) == (first.state, "initial", first.code)
    assert [each.id for each in states.lineage(left.state)] == ["initial", first.state, left.state]
    assert "loaded" in states._repr_html_() and "x = 2" in states._repr_html_()
    with pytest.raises(KeyError):
        states.find("nothing")
    assert [run.code for run in notebook.history(at=left)] == [first.code, left.code]
    assert len(notebook.history()) == 6

    x, failed = notebook.evaluate("x + 1", "nothing", at=loaded)
    assert (x.text, x.number, x.failed, failed.failed) == ("2", 2, False, True)
    notebook.delete(left)
    assert notebook.states().find(left.state).residency == "deleted"
    notebook.restore(left)
    assert notebook.states().find(left.state).residency != "deleted"
    assert len(notebook.checkpoint(loaded, label="kept")) == 64
    notebook.replay(loaded)
    assert b"x = 1; shared = []" in notebook.export(left, "py")
    assert b'"nbformat": 4' in notebook.export(left)
    assert "loaded" in notebook._repr_html_()
    notebook.reset()
    assert [state.id for state in notebook.states()] == ["initial"]


def test_code_is_completed_described_and_checked(notebook):
    run = notebook.run("number = 1")
    assert "number" in {item["text"] for item in notebook.complete("num", 3, at=run)["items"]}
    assert notebook.inspect("number", 3, at=run)["type"] == "int"
    assert notebook.check("1 +", at=run)["message"] and notebook.check("1", at=run) is None


def test_a_passing_run_leaves_nothing(notebook):
    first = notebook.run("x = []")
    run = notebook.run("x.append(1); print(x); y = 1\nx", at=first, passing=True)
    assert (run.status, run.state, run.text, run.result) == ("ok", None, "[1]\n", "[1]")
    failed = notebook.run("1 / 0", at=first, passing=True)
    assert failed.error.ename == "ZeroDivisionError"
    assert len(notebook.history()) == 1 and len(notebook.states()) == 2
    assert notebook.evaluate("x", at=first)[0].text == "[]"


def test_outputs_come_while_the_cell_runs(notebook):
    code = """
from IPython.display import clear_output, display
handle = display("one", display_id=True)
handle.update("two")
print("gone")
clear_output(wait=True)
print("name:", input("Who? "))
"""
    live = notebook.start(code, allow_stdin=True)
    events = []
    for event in live.events():
        events.append(event)
        if isinstance(event, Prompt):
            assert (event.text, event.password) == ("Who? ", False)
            live.answer("Ada")
    kinds = [type(event) for event in events]
    assert kinds[:3] == [Started, Added, Updated]
    assert Cleared(wait=True) in events
    run = live.wait()
    assert run.outputs == (Stream("stdout", "Who? Ada\nname: Ada\n"),)
    kinds = [type(each) for each in notebook.start("print(1)\n2")]
    assert list(dict.fromkeys(kinds)) == [Stream, Display]  # Text may come in pieces.
    refused = notebook.start("1", at="no-such-state")
    with pytest.raises(NotFound):
        refused.wait()


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt. A shell starts programs in the background with SIGINT
    ignored, and Python leaves it ignored then."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_runs_are_interrupted_by_name_by_ctrl_c_and_by_cancelling(notebook, ctrl_c):
    forever = "import time\nprint('on')\nwhile True: time.sleep(0.01)"
    live = notebook.start(forever)
    next(iter(live))
    live.interrupt()
    assert live.wait().status == "interrupted"
    assert notebook.interrupt("no-such-run") is False

    def running():
        return [run for run in notebook.history() if run.status == "running"]

    timer = threading.Thread(
        target=lambda: (until(running), os.kill(os.getpid(), signal.SIGINT)), daemon=True
    )
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        notebook.run(forever)
    timer.join()
    until(lambda: [run.status for run in notebook.history()] == ["interrupted"] * 2)

    async def cancelled():
        server = notebook.server
        async with AsyncNotebook(notebook.name, url=server.url, token=server.token) as other:
            task = asyncio.create_task(other.run(forever))
            while not running():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelled())
    until(lambda: [run.status for run in notebook.history()] == ["interrupted"] * 3)


def test_the_asynchronous_notebook_runs_side_by_side_and_streams(notebook):
    async def both():
        server = notebook.server
        async with AsyncNotebook(notebook.name, url=server.url, token=server.token) as other:
            runs = await asyncio.gather(*(other.run(f"print({n})") for n in range(20)))
            assert [run.text for run in runs] == [f"{n}\n" for n in range(20)]
            live = await other.start("print(1)\n2")
            kinds = [type(each) async for each in live]
            assert list(dict.fromkeys(kinds)) == [Stream, Display]
            assert (await live.wait()).result == "2"
            # The synchronous one works within a loop, too.
            assert notebook.run("1 + 1").result == "2"

    asyncio.run(both())


def test_an_interrupted_connection_loses_no_output(notebook):
    connection = notebook._core.connection
    loop = client.LOOP.running()

    def interrupt():
        if connection.writer:  # Else it is just being opened again.
            connection.writer.transport.abort()

    live = notebook.start("import time\nfor n in range(40): print(n); time.sleep(0.01)\n'end'")
    for n, _ in enumerate(live):
        if n in (3, 20):
            loop.call_soon_threadsafe(interrupt)
    run = live.wait()
    assert run.text == "".join(f"{n}\n" for n in range(40)) and run.result == "'end'"
    # While nothing runs, the next call connects again.
    loop.call_soon_threadsafe(interrupt)
    until(lambda: connection.writer is None)
    assert notebook.run("1 + 1").result == "2"
    flood = notebook.run("for n in range(50_000): print('x' * 50)")
    assert len(flood.text) == 50_000 * 51


def test_threads_share_a_notebook(notebook):
    found = {}

    def one(n):
        found[n] = notebook.run(f"print({n})").text

    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: f"{n}\n" for n in range(8)}


def test_errors_say_what_why_and_how(notebook, tmp_path):
    with pytest.raises(NotFound) as unknown:
        notebook.run("1", at="nope")
    error = unknown.value
    assert (error.what, error.code) == ("find state nope", "not_found") and error.why and error.how
    with pytest.raises(RatoonError) as wrong:
        Notebook(notebook.name, url=notebook.server.url, token="wrong-token")
    assert wrong.value.code == "unauthorized"
    with pytest.raises(RatoonError, match="its token is missing"):
        Notebook(url="http://127.0.0.1:1/n/main")
    with pytest.raises(RatoonError, match="no http address"):
        Notebook(url="127.0.0.1:1", token="secret-token")
    with pytest.raises(RatoonError) as nobody:
        Notebook(url="http://127.0.0.1:1", token="secret-token")
    assert nobody.value.code == "unreachable" and "secret-token" not in str(nobody.value)
    with pytest.raises(RatoonError, match="it does not exist"):
        Notebook(directory=tmp_path / "nothing")
    with pytest.raises(RatoonError, match="name a notebook"):
        Notebook("a/b", directory=tmp_path)
    assert "secret" not in repr(servers.Server("http://x", "secret"))


def test_a_link_opens_a_notebook_with_its_own_rights(notebook):
    body = {"scope": "view", "notebook": notebook.name}
    token = servers.json.loads(notebook.server.request("POST", "/api/links", body))["token"]
    guest = Notebook(notebook.name, url=notebook.server.url, token=token)
    assert len(guest.states()) == 1
    with pytest.raises(RatoonError) as refused:
        guest.run("1")
    assert refused.value.code == "forbidden"


PRINT_PID = """
import sys
from ratoon import Notebook
notebook = Notebook("shared", directory=sys.argv[1])
print(notebook.server.url, notebook.run("import os; os.getppid()").result)
"""


def test_programs_find_the_server_of_a_directory_or_start_one_that_ends_unused(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(servers, "UNUSED_SECONDS", 1)
    files = servers.data_directory() / "servers"
    before = set(files.glob("*.json"))
    first = Notebook("shared", directory=tmp_path)
    process = servers.STARTED[-1]
    (file,) = set(files.glob("*.json")) - before
    assert file.stem == str(process.pid) and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.stat().st_mode) == 0o700
    # Two programs at once find it.
    command = [sys.executable, "-c", PRINT_PID, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    programs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    answers = {program.communicate()[0].split()[0] for program in programs}
    assert answers == {first.server.url}
    # A cell that runs keeps it; without connections and cells it ends and removes its file.
    first.start("import time; time.sleep(2)")
    until(lambda: [run for run in first.history() if run.status == "running"])
    began = time.monotonic()
    first.close()
    assert process.wait(60) == 0 and time.monotonic() - began > 2
    assert not file.exists()
    # The file of a server that was killed is ignored.
    again = Notebook("shared", directory=tmp_path)
    assert [run.status for run in again.history()][-1] == "ok"
    killed = servers.STARTED[-1]
    killed.kill()
    killed.wait()
    assert (files / f"{killed.pid}.json").exists()
    assert servers.find(tmp_path) is None
    third = Notebook("shared", directory=tmp_path)
    assert third.server != again.server and not (files / f"{killed.pid}.json").exists()


def test_the_environment_names_a_server(notebook, monkeypatch):
    monkeypatch.setenv("RATOON_URL", f"{notebook.url}?token={notebook.server.token}")
    assert Notebook().name == notebook.name


def test_the_examples_of_the_documentation_run(notebook, monkeypatch, capsys):
    monkeypatch.setenv("RATOON_URL", f"{notebook.url}?token={notebook.server.token}")
    text = (ROOT / "docs/python.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) >= 4
    space: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "docs/python.md", "exec"), space)
    # What a comment at the end of a line promises is printed.
    promised = re.findall(r"print\(.*#  ?(.*)", "".join(examples))
    assert capsys.readouterr().out.splitlines() == promised
