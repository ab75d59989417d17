"""Ratoon as a Jupyter kernel: the conformance test, and the programs that execute notebooks."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupyter_kernel_test
import nbformat
import pytest
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "python"), str(REPOSITORY / "tests/gallery")]

import notebooks as gallery
import sdist
from ratoon import Notebook, servers

LIMIT = 60
# Five examples of scikit-learn's gallery: text, tables, plots, warnings and random numbers.
EXAMPLES = (
    "classification/plot_digits_classification.py",
    "cluster/plot_dbscan.py",
    "decomposition/plot_kernel_pca.py",
    "inspection/plot_permutation_importance_multicollinear.py",
    "linear_model/plot_ols_ridge.py",
)


@pytest.fixture(scope="session", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Installs the kernel by the command, and ends the servers that kernels have started."""
    prefix = tmp_path_factory.mktemp("prefix")
    path = os.pathsep.join([str(REPOSITORY / "python"), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path.rstrip(os.pathsep))
        patch.setenv("JUPYTER_PATH", str(prefix / "share/jupyter"))
        patch.setenv("IPYTHONDIR", str(prefix / "ipython"))
        command = [sys.executable, "-m", "ratoon", "kernelspec", "install", "--prefix", str(prefix)]
        subprocess.run(command, check=True, timeout=LIMIT)
        yield prefix
        for file in (servers.data_directory() / "servers").glob("*.json"):
            if described := servers.read(file):
                os.kill(described["pid"], signal.SIGTERM)
        until(
            lambda: (
                not any(map(servers.read, (servers.data_directory() / "servers").glob("*.json")))
            )
        )


def until(what: Any) -> Any:
    by = time.monotonic() + LIMIT
    while not (found := what()):
        assert time.monotonic() < by, "it does not become true"
        time.sleep(0.02)
    return found


class TestConformance(jupyter_kernel_test.KernelTests):
    kernel_name = "ratoon"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = [{"text": "zi", "matches": {"zip"}}]
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\n  return x*2\n\n\n"]
    incomplete_code_samples = ["print('''hello", "def f(x):\n  x*2"]
    invalid_code_samples = ["import = 7q"]
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result = [
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    ]
    code_display_data = [
        {
            "code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))",
            "mime": "text/html",
        }
    ]
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"

    @classmethod
    def setUpClass(cls) -> None:
        os.chdir(os.environ["TMPDIR"])
        super().setUpClass()


class TestWelcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "ratoon"
    support_iopub_welcome = True


class Client:
    """A front end of one kernel."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        environment = {**os.environ, "JPY_SESSION_NAME": str(directory / "Säulen & Kurven.ipynb")}
        self.manager: KernelManager
        self.manager, self.kernel = start_new_kernel(
            kernel_name="ratoon", cwd=str(directory), env=environment
        )

    def send(self, code: str, cell: str | None = None, **options: Any) -> str:
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
            **options,
        }
        message = self.kernel.session.msg("execute_request", content)
        if cell:
            message["metadata"]["cellId"] = cell
        self.kernel.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def reply(self, to: str, channel: str = "shell") -> dict[str, Any]:
        get = getattr(self.kernel, f"get_{channel}_msg")
        while True:
            message = get(timeout=LIMIT)
            if message["parent_header"].get("msg_id") == to:
                return dict(message["content"])

    def outputs(self, of: str) -> list[dict[str, Any]]:
        """What is published for a request until the kernel is idle again."""
        found = []
        while True:
            message = self.kernel.get_iopub_msg(timeout=LIMIT)
            if message["parent_header"].get("msg_id") != of:
                continue
            if message["msg_type"] == "status":
                if message["content"]["execution_state"] == "idle":
                    return found
                continue
            found.append({"type": message["msg_type"], **message["content"]})

    def run(self, code: str, cell: str | None = None, **options: Any) -> dict[str, Any]:
        """The reply, with the printed text as `text` and all that was published as `shown`."""
        request = self.send(code, cell, **options)
        shown = self.outputs(request)
        text = "".join(each["text"] for each in shown if each["type"] == "stream")
        return {**self.reply(request), "text": text, "shown": shown}

    def until_running(self, request: str) -> None:
        """Waits until the cell has printed something."""
        while True:
            message = self.kernel.get_iopub_msg(timeout=LIMIT)
            if message["msg_type"] == "stream" and message["parent_header"]["msg_id"] == request:
                return

    def state(self) -> str:
        return str(self.run("%state")["text"].split()[1])

    def notebook(self) -> Notebook:
        return Notebook("Säulen - Kurven", directory=self.directory)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    client.kernel.stop_channels()
    client.manager.shutdown_kernel()
    assert not client.manager.is_alive()


def test_silent_and_unstored_cells_leave_no_state(client: Client) -> None:
    client.run("x = [1]")
    before = client.state()
    silent = client.run("x.append(2); print(x)", silent=True)
    assert (silent["status"], silent["shown"]) == ("ok", [])
    unstored = client.run("x.append(3); print(x)\nlen(x)", store_history=False)
    kinds = [each["type"] for each in unstored["shown"]]
    assert kinds == ["execute_input", "stream", "execute_result"]
    assert unstored["text"] == "[1, 3]\n" and unstored["shown"][2]["data"]["text/plain"] == "2"
    asked = client.run("", silent=True, user_expressions={"n": "len(x)", "no": "nothing"})
    assert asked["user_expressions"]["n"]["data"]["text/plain"] == "1"
    assert asked["user_expressions"]["no"]["ename"] == "NameError"
    assert client.state() == before
    assert client.run("x")["execution_count"] == 2
    assert len(client.notebook().states()) == 3


def test_a_failed_cell_keeps_its_variables_and_aborts_those_that_wait(client: Client) -> None:
    requests = [client.send(code) for code in ("a = 1\n1/0", "b = 2")]
    assert [client.reply(each)["status"] for each in requests] == ["error", "aborted"]
    assert client.run("a")["shown"][1]["data"]["text/plain"] == "1"
    assert client.run("import os; os._exit(3)", stop_on_error=False)["ename"] == "KernelDied"
    assert client.run("a")["shown"][1]["data"]["text/plain"] == "1"
    assert [state.partial for state in client.notebook().states()][1] is True


def test_cells_are_interrupted_by_message_and_by_signal(client: Client) -> None:
    forever = "import time\nprint('on')\nwhile True: time.sleep(0.01)"
    request = client.send(forever)
    client.until_running(request)
    message = client.kernel.session.msg("interrupt_request", {})
    client.kernel.control_channel.send(message)
    assert client.reply(message["header"]["msg_id"], "control") == {"status": "ok"}
    assert client.reply(request)["ename"] == "KeyboardInterrupt"
    request = client.send(forever)
    client.until_running(request)
    os.kill(client.manager.provisioner.pid, signal.SIGINT)
    assert client.reply(request)["ename"] == "KeyboardInterrupt"
    assert client.run("'alive'")["status"] == "ok"


def test_input_is_asked_from_the_front_end_that_runs_the_cell(client: Client) -> None:
    request = client.send("name = input('Who? ')\nprint('hi', name)", allow_stdin=True)
    question = client.kernel.get_stdin_msg(timeout=LIMIT)
    assert question["content"] == {"prompt": "Who? ", "password": False}
    client.kernel.input("Ada")
    assert client.reply(request)["status"] == "ok"
    assert client.run("name")["shown"][1]["data"]["text/plain"] == "'Ada'"
    # A question whose cell was interrupted does not get the answer to the next one.
    request = client.send("input('first')", allow_stdin=True)
    client.kernel.get_stdin_msg(timeout=LIMIT)
    client.manager.interrupt_kernel()
    assert client.reply(request)["ename"] == "KeyboardInterrupt"
    request = client.send("print(input('second'))", allow_stdin=True)
    assert client.kernel.get_stdin_msg(timeout=LIMIT)["content"]["prompt"] == "second"
    client.kernel.input("later")
    assert client.reply(request)["status"] == "ok"
    assert client.run("input()")["ename"] == "StdinNotImplementedError"


def test_comms_are_declined_and_displays_are_updated(client: Client) -> None:
    opened = {"comm_id": "c", "target_name": "jupyter.widget", "data": {}}
    message = client.kernel.session.msg("comm_open", opened)
    client.kernel.shell_channel.send(message)
    (closed,) = client.outputs(message["header"]["msg_id"])
    assert (closed["type"], closed["comm_id"]) == ("comm_close", "c")
    assert client.reply(client.kernel.comm_info())["comms"] == {}
    code = "from IPython.display import *\nh = display('a', display_id='d')\nh.update('b')\nclear_output(True)"
    shown = client.run(code)["shown"]
    assert [each["type"] for each in shown[1:]] == [
        "display_data",
        "update_display_data",
        "clear_output",
    ]
    assert shown[1]["transient"] == shown[2]["transient"] == {"display_id": "d"}
    assert shown[3]["wait"] is True


def test_malformed_messages_do_not_end_the_kernel(client: Client) -> None:
    for kind, content in (
        ("execute_request", {}),
        ("complete_request", {"code": 1, "cursor_pos": "x"}),
    ):
        message = client.kernel.session.msg(kind, content)
        client.kernel.shell_channel.send(message)
        assert client.reply(message["header"]["msg_id"])["status"] == "error"
    # No one without the key can run code, or end the kernel.
    socket = client.kernel.shell_channel.socket
    run = client.kernel.session.msg("execute_request", {"code": "x = 1", "silent": False})
    parts = client.kernel.session.serialize(run)
    parts[1] = b"0" * len(parts[1])
    for sent in ([b"garbage"], parts, [b"<IDS|MSG>", b"", b"{", b"{", b"{", b"{"]):
        socket.send_multipart(sent)
    assert client.run("x")["ename"] == "NameError"


def test_the_front_end_moves_through_the_tree(client: Client) -> None:
    client.run("x = 1")
    first = client.state()
    client.run("x = 2")
    second = client.state()
    moved = client.run(f"%checkout {first[:12]}")
    assert moved["status"] == "ok" and f"state {first}\nafter In[1]" in moved["text"]
    assert client.run("x")["shown"][1]["data"]["text/plain"] == "1"
    assert client.run("%fork 1")["text"].startswith("state initial\n")
    assert client.run("x")["ename"] == "NameError"
    notebook = client.notebook()
    notebook.label(second, "two")
    assert client.run("%checkout two")["status"] == "ok"
    assert (
        client.run("%checkout nothing")["evalue"] == "no state has the id, name or label 'nothing'"
    )
    assert client.run("%fork 9")["ename"] == client.run("%fork x")["ename"] == "LookupError"
    # What others run is there, too, and the page sees what the kernel runs.
    other = notebook.run("x *= 100", at=second)
    client.run(f"%checkout {other.state}")
    assert client.run("x")["shown"][1]["data"]["text/plain"] == "200"
    assert notebook.history()[-1].code == "x"


def test_a_cell_that_runs_again_branches_from_the_state_before_it(client: Client) -> None:
    cells = {"a": "data = [1]", "b": "data.append(2)", "c": "data.append(3)\ndata"}

    def run(cell: str) -> Any:
        return client.run(cells[cell], cell)

    assert client.run("%branching on")["text"] == "branching is on\n"
    for cell in cells:
        last = run(cell)
    assert last["shown"][1]["data"]["text/plain"] == "[1, 2, 3]"
    tip = client.state()
    cells["b"] = "data.append(20)"
    assert run("b")["execution_count"] == 2
    assert run("c")["shown"][1]["data"]["text/plain"] == "[1, 20, 3]"
    assert run("c")["shown"][1]["data"]["text/plain"] == "[1, 20, 3]"
    notebook = client.notebook()
    assert notebook.evaluate("data", at=tip)[0].text == "[1, 2, 3]"
    states = notebook.states()
    children = [state.parent for state in states]
    assert children.count(states.lineage(tip)[1].id) == 2
    # Without it, a cell continues from where the front end is, as in Jupyter.
    client.run("%branching off")
    assert run("c")["shown"][1]["data"]["text/plain"] == "[1, 20, 3, 3]"


def test_a_restarted_kernel_is_empty_and_the_states_stay(client: Client) -> None:
    client.run("x = 1")
    client.manager.restart_kernel()
    client.kernel.wait_for_ready(timeout=LIMIT)
    assert client.run("x")["ename"] == "NameError"
    assert client.run("y = 1")["execution_count"] == 2
    assert [state.parent for state in client.notebook().states()].count("initial") == 2


def example(name: str) -> Any:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ratoon-tests"
    with tarfile.open(sdist.fetch("scikit-learn", SCIKIT_LEARN, str(cache))) as tar:
        root = tar.next().name.split("/")[0]
        program = tar.extractfile(f"{root}/examples/{name}").read().decode()
    cells = list(gallery.cells_of(program))
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    seed = new_code_cell("import numpy\nnumpy.random.seed(20)")
    return new_notebook(cells=[cells[0], seed, *cells[1:]])


SCIKIT_LEARN = __import__("sklearn").__version__


@pytest.mark.parametrize("name", EXAMPLES)
def test_gallery_notebooks_have_the_outputs_of_ipykernel(name: str, tmp_path: Path) -> None:
    results = []
    for kernel in ("python3", "ratoon"):
        notebook = example(name)
        resources = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, kernel_name=kernel, timeout=600, resources=resources).execute()
        results.append([without_times(c) for c in notebook.cells if c.cell_type == "code"])
    ours, theirs = results[1], results[0]
    assert len(ours) > 2 and any(outputs for _, outputs in theirs)
    assert ours == theirs


def without_times(cell: Any) -> Any:
    """The number and the outputs of a cell, without the durations that examples print. Slow prints
    are several outputs, which front ends join."""
    outputs: list[Any] = []
    for output in cell.outputs:
        if outputs and output.get("name", "") == outputs[-1].get("name"):
            outputs[-1]["text"] += output["text"]
        else:
            outputs.append(output)
    text = json.dumps(outputs, sort_keys=True)
    return cell.execution_count, json.loads(re.sub(r"\d+\.\d+ ?s(econds)?\b", "TIME", text))


@pytest.fixture
def notebook_file(tmp_path: Path) -> Path:
    cells = [
        new_code_cell("n = 2", metadata={"tags": ["parameters"]}),
        new_code_cell("print(n * 10)"),
    ]
    spec = {"name": "ratoon", "display_name": "Ratoon", "language": "python"}
    path = tmp_path / "in.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": spec}), path)
    return path


def printed(path: Path) -> str:
    notebook = nbformat.read(path, as_version=4)
    return str(notebook.cells[-1].outputs[0].text).strip()


def test_papermill_and_nbconvert_execute_notebooks(notebook_file: Path) -> None:
    out = notebook_file.with_name("out.ipynb")
    python = [sys.executable, "-m"]
    quiet = {"check": True, "timeout": LIMIT, "cwd": notebook_file.parent}
    command = ["papermill", str(notebook_file), str(out), "-p", "n", "7", "--no-progress-bar"]
    subprocess.run([*python, *command], **quiet)
    assert printed(out) == "70"
    command = [
        "nbconvert",
        "--to",
        "notebook",
        "--execute",
        str(notebook_file),
        "--output",
        str(out),
    ]
    subprocess.run([*python, "jupyter", *command], **quiet)
    assert printed(out) == "20"


@contextlib.contextmanager
def jupyter_lab(directory: Path) -> Iterator[str]:
    """A server of JupyterLab; its address, with the token."""
    port, token = free_port(), "token-of-jupyterlab"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={directory}"]
    command += ["--LabApp.news_url=", "--ServerApp.log_level=ERROR"]
    with open(directory / "lab.log", "w+") as log:
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log)
        try:
            until(lambda: process.poll() is not None or answers(f"http://127.0.0.1:{port}/api"))
            yield f"http://127.0.0.1:{port}/lab/tree/branching.ipynb?token={token}"
        finally:
            process.terminate()
            process.wait(LIMIT)


def answers(address: str) -> bool:
    try:
        return bool(urllib.request.urlopen(address, timeout=LIMIT))
    except OSError:
        return False


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_jupyterlab_drives_it_and_branches_from_an_early_cell(tmp_path: Path) -> None:
    codes = ["data = [1]", "data.append(2)", "data.append(3)\ndata"]
    spec = {"name": "ratoon", "display_name": "Python 3 (Ratoon)", "language": "python"}
    content = new_notebook(cells=list(map(new_code_cell, codes)), metadata={"kernelspec": spec})
    nbformat.write(content, tmp_path / "branching.ipynb")
    script = REPOSITORY / "tests/doors/jupyterlab.mjs"
    with jupyter_lab(tmp_path) as address:
        command = ["node", str(script), address]
        done = subprocess.run(command, timeout=240, capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, f"{done.stderr}\n{(tmp_path / 'lab.log').read_text()}"
    assert json.loads(done.stdout) == ["[1, 2, 3]", "[1, 20, 3]", "branching is on"]
    with Notebook("branching", directory=tmp_path) as notebook:
        states = notebook.states()
        tips = [s.id for s in states if s.code == "data.append(3)\ndata"]
        values = sorted(notebook.evaluate("data", at=tip)[0].text for tip in tips)
        assert values == ["[1, 2, 3]", "[1, 20, 3]"]
