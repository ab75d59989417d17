"""Runs at the workers of a Dask cluster: two nodes with directories and environments of their own, and
a real S3 server."""

import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import time
import unittest
import venv

# The bridge runs in the notebook's Python, which needs the engine's client.
os.environ["RATOON_TEST_PYTHON"] = sys.executable

from machines import RATOON, S3, Machine, Room, wait_for
from ratoon_client import free_port

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
STATE_BYTES = 200 << 20
API = "/api/notebooks/main"


class Node:
    """A node of the cluster: a directory, an environment, a worker of Dask and the agent."""

    def __init__(self, room, name, scheduler, environment):
        self.home = room.path / name
        self.home.mkdir()
        venv.create(self.home / "venv", with_pip=False)
        own = next((self.home / "venv/lib").iterdir()) / "site-packages"
        shared = pathlib.Path(sys.prefix, "lib", own.parent.name, "site-packages")
        (own / "tests.pth").write_text(f"{shared}\n")
        self.environment = {
            **os.environ,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "RATOON_BIN": RATOON,
            "RATOON_WORKER_DIR": str(self.home / "agents"),
            "RATOON_WORKER_NAME": name,
            "RATOON_WORKER_IDLE": "60",
            **environment,
        }
        self.name, self.scheduler = name, scheduler
        self.log = open(room.path / f"{name}.log", "a")
        self.worker = None

    def start(self, slots=2):
        command = [
            self.home / "venv/bin/python",
            "-m",
            "distributed.cli.dask_worker",
            self.scheduler,
        ]
        command += ["--nthreads", str(slots), "--no-nanny", "--no-dashboard", "--name", self.name]
        command += ["--local-directory", str(self.home / "dask"), "--death-timeout", "120"]
        self.worker = subprocess.Popen(
            command, env=self.environment, cwd=self.home, stdout=self.log, stderr=self.log
        )

    def agent(self):
        """The process id of the agent; none if there is none."""
        for known in self.home.glob("agents/*/agent.json"):
            return json.loads(known.read_text())["pid"]
        return None

    def kill(self):
        """Kills the worker and the agent, as a node that loses its power."""
        agent = self.agent()
        if agent:
            try:
                os.kill(agent, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for known in self.home.glob("agents/*/agent.json"):
            known.unlink()
        if self.worker:
            self.worker.kill()
            self.worker.wait()
            self.worker = None


class Cluster(unittest.TestCase):
    def setUp(self):
        self.room = self.enterContext(Room())
        self.s3 = self.enterContext(S3(self.room))
        self.key = secrets.token_hex(32)
        self.nodes = []
        self.port = free_port()
        self.scheduler = None
        self.addCleanup(self.stop)
        self.start_scheduler()
        self.machine = Machine(self.room, "home")
        workers = ["--workers", f"dask://127.0.0.1:{self.port}", "--store", self.store()]
        environment = {"RATOON_WORKERS_KEY": self.key, **self.s3.credentials()}
        self.server = self.enterContext(self.machine.server(*workers, **environment))
        self.rest = self.server.rest()
        wait_for("the client is connected", lambda: self.ask("GET", "/api/workers")["is_connected"])

    def store(self):
        """The address of the store."""
        return self.s3.url

    def start_scheduler(self):
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--no-dashboard"]
        log = open(self.room.path / "scheduler.log", "a")
        self.scheduler = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self):
        for node in self.nodes:
            node.kill()
        if self.scheduler:
            self.scheduler.kill()
            self.scheduler.wait()

    def node(self, name, **environment):
        environment = {"RATOON_WORKERS_KEY": self.key, **self.s3.credentials(), **environment}
        node = Node(self.room, name, f"tcp://127.0.0.1:{self.port}", environment)
        self.nodes.append(node)
        node.start()
        return node

    def ask(self, method, path, body=None):
        return self.rest.ask(method, path, body)

    def run_code(self, code, state="initial", **more):
        return self.rest.run(code, state, **more)

    def sweep(self, state, code, values, **more):
        body = {
            "at": state,
            "code": code,
            "metric": "score",
            "grid": {"k": values},
            "where": "workers",
            **more,
        }
        return self.ask("POST", f"{API}/sweeps", body)["id"]

    def table(self, sweep):
        return self.ask("GET", f"{API}/sweeps/{sweep}")

    def ended(self, sweep):
        try:
            wait_for("the sweep ends", lambda: self.table(sweep)["status"] != "running")
        except TimeoutError:
            self.fail(f"the sweep does not end\n{self.said(sweep)}")
        return self.table(sweep)["rows"]

    def said(self, sweep):
        """What the parts say about a sweep that does not end."""
        lines = [str(self.ask("GET", "/api/workers")), *map(str, self.table(sweep)["rows"][:5])]
        for path in [*self.room.path.glob("*.log"), *self.room.path.glob("n*/agents/*/log")]:
            lines += [f"-- {path}", *path.read_text(errors="replace").splitlines()[-15:]]
        return "\n".join([*lines, *map(str, self.objects())])

    def runs(self):
        return {run["exec_id"]: run for run in self.ask("GET", API)["runs"]}

    def objects(self, part=""):
        found = (self.s3.objects / "tasks").rglob("*")
        return [path for path in found if path.is_file() and part in path.name]


class LargeState(Cluster):
    def store(self):
        # rclone writes a debug build's requests at two megabytes a second.
        return f"file://{self.room.path}/s3/bucket/ratoon"

    def test_a_sweep_of_a_large_state_moves_it_once_to_each_node(self):
        for name in ("n1", "n2"):
            self.node(name)
        made = f"import os\ndata = os.urandom({STATE_BYTES})"
        base = self.run_code(made)["state_name"]
        check = self.ask("POST", f"{API}/workers/check", {"at": base, "code": "x = data[0]"})
        self.assertEqual(check["refusals"], [])
        code = "k = 0\nscore = sum(data[k * 1000 : k * 1000 + 1000])\nprint(k, score)"
        began = time.monotonic()
        sweep = self.sweep(base, code, list(range(40)))
        rows = self.ended(sweep)
        seconds = time.monotonic() - began
        self.assertEqual([row["status"] for row in rows], ["ok"] * 40)
        here = self.run_code(
            "print([sum(data[k * 1000 : k * 1000 + 1000]) for k in range(40)])", base
        )
        local = json.loads(here["output"][0]["text"])
        self.assertEqual([row["metric"] for row in rows], local)
        # The bytes of the state, once to each node.
        state_bytes = self.ask("POST", f"{API}/workers/check", {"at": base})["bytes_per_node"]
        runs, fetched = self.runs(), {}
        for row in rows:
            worker = runs[row["exec_id"]]["worker"]
            fetched.setdefault(worker["node"], []).append(worker["fetched_bytes"])
        self.assertEqual(set(fetched), {"n1", "n2"})
        for node, bytes_of_rows in fetched.items():
            with self.subTest(node):
                self.assertEqual(sum(count > 1 << 20 for count in bytes_of_rows), 1, bytes_of_rows)
                self.assertLess(sum(bytes_of_rows), state_bytes * 1.02)
        pushed = [runs[row["exec_id"]]["worker"]["pushed_bytes"] for row in rows]
        self.assertLess(max(pushed), 1 << 20, pushed)
        print(
            f"\n40 rows of {STATE_BYTES >> 20} MB: {seconds:.1f} s, deltas of {max(pushed)} bytes at most"
        )
        for row in (0, 17, 39):
            answer = self.run_code("print(k, score, len(data))", rows[row]["state"])
            self.assertEqual(answer["output"][0]["text"], f"{row} {local[row]} {STATE_BYTES}\n")
        wait_for("nothing of the runs is left in the store", lambda: not self.objects())


class Faults(Cluster):
    def test_a_worker_that_is_killed_mid_run_loses_nothing(self):
        go = self.room.path / "go"
        one, two = self.node("n1"), self.node("n2")
        code = f"import os, time\nk = 0\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\nscore = k"
        sweep = self.sweep("initial", code, [1, 2, 3, 4, 5, 6])
        wait_for("both nodes run rows", lambda: len(self.objects(".out.")) >= 4)
        two.kill()
        go.touch()
        rows = self.ended(sweep)
        self.assertEqual([row["metric"] for row in rows], [1, 2, 3, 4, 5, 6])
        self.assertEqual({row["node"] for row in rows}, {"n1"})
        self.assertEqual(len(self.ask("GET", API)["states"]), 7, "each row has one state")
        self.assertIsNotNone(one.agent())

    def test_work_waits_while_the_store_or_the_scheduler_is_gone(self):
        go = self.room.path / "go"
        self.node("n1")
        code = f"import os, time\nk = 0\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\nscore = k"
        sweep = self.sweep("initial", code, [1, 2, 3, 4])
        wait_for("rows run", lambda: len(self.objects(".out.")) >= 2)
        self.s3.stop()
        wait_for("the server says so", lambda: self.ask("GET", "/api/workers")["problem"])
        go.touch()
        time.sleep(1)
        self.assertEqual(self.table(sweep)["status"], "running")
        self.s3.start()
        self.assertEqual([row["metric"] for row in self.ended(sweep)], [1, 2, 3, 4])
        # The scheduler, too.
        go.unlink()
        sweep = self.sweep("initial", code, [5, 6, 7])
        wait_for("rows run", lambda: len(self.objects(".out.")) >= 2)
        self.scheduler.kill()
        self.scheduler.wait()
        wait_for("the server says so", lambda: not self.ask("GET", "/api/workers")["is_connected"])
        self.start_scheduler()
        for node in self.nodes:
            # The worker of Dask ends with its scheduler. The agent stays.
            node.worker.kill()
            node.worker.wait()
            node.start()
        go.touch()
        self.assertEqual([row["metric"] for row in self.ended(sweep)], [5, 6, 7])

    def test_an_altered_blob_is_refused_and_the_next_run_stores_it_again(self):
        base = self.run_code("import os\ndata = os.urandom(9 << 20)")["state_name"]
        sweep = self.sweep(base, "k = 0\nscore = k + len(data)", [1])
        wait_for("the task is in the store", lambda: self.objects(".task"))
        blob = max((self.s3.objects / "blobs").rglob("*"), key=lambda path: path.stat().st_size)
        content = blob.read_bytes()
        blob.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        self.node("n1")
        (row,) = self.ended(sweep)
        self.assertEqual(row["status"], "error")
        self.assertIn(blob.name, row["error"])
        again = self.sweep(base, "k = 0\nscore = k + len(data)", [1])
        self.assertEqual(self.ended(again)[0]["metric"], 1 + (9 << 20))

    def test_a_task_that_is_delivered_twice_leaves_one_state(self):
        from distributed import Client

        go = self.room.path / "go"
        self.node("n1"), self.node("n2")
        code = f"import os, time\nk = 0\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\nscore = k"
        sweep = self.sweep("initial", code, [1])
        (task,) = wait_for("the task is in the store", lambda: self.objects(".task"))
        name = {
            "store": self.s3.url,
            "notebook": task.parent.name,
            "task": task.name.removesuffix(".task"),
        }
        sys.path.insert(0, str(PYTHON))
        from ratoon_worker import engines

        source = (PYTHON / "ratoon_worker/__init__.py").read_text()
        what = (engines.travelling(), name, "run", source)
        with Client(f"tcp://127.0.0.1:{self.port}", set_as_default=False) as client:
            twice = [client.submit(*what, pure=False, workers=[node]) for node in ("n1", "n2")]
            wait_for("it runs at both nodes", lambda: len(self.objects(".out.")) >= 2)
            go.touch()
            self.assertEqual(self.ended(sweep)[0]["metric"], 1)
            ends = {future.result(timeout=120)["end"] for future in twice}
            self.assertLessEqual(ends, {"stored", "withdrawn"})
            wait_for("the task is recalled", lambda: not self.objects(".task"))
            late = client.submit(*what, pure=False)
            self.assertEqual(late.result(timeout=120)["end"], "withdrawn")
        self.assertEqual(len(self.ask("GET", API)["states"]), 2)
        wait_for("nothing of the runs is left in the store", lambda: not self.objects())


class Trust(Cluster):
    def store(self):
        # rclone does not list a file that a test adds to its directory.
        return f"file://{self.room.path}/s3/bucket/ratoon"

    def test_a_copied_result_and_a_foreign_key_are_refused_and_told(self):
        go = self.room.path / "go"
        self.node("n1")
        wait = f"while not os.path.exists({str(go)!r}): time.sleep(0.02)"
        code = f"import os, time\nk = 0\nif k == 2:\n    {wait}\nscore = k"
        sweep = self.sweep("initial", code, [1, 2], parallel=2)
        wait_for("both rows are sent", lambda: len(self.objects(".task")) == 2)
        # Until the copy is there, the server must not take the result of row 1 and remove it.
        os.kill(self.server.process.pid, signal.SIGSTOP)
        (result,) = wait_for("row 1 has a result", lambda: self.objects(".result"))
        (waiting,) = [path for path in self.objects(".task") if path.stem != result.stem]
        waiting.with_suffix(".result").write_bytes(result.read_bytes())
        os.kill(self.server.process.pid, signal.SIGCONT)
        rows = self.ended(sweep)
        self.assertEqual(rows[0]["metric"], 1)
        self.assertIn("copied", rows[1]["error"])
        go.touch()
        # A node with another key.
        for node in self.nodes:
            node.kill()
        self.node("n3", RATOON_WORKERS_KEY=secrets.token_hex(32))
        check = wait_for(
            "the node answers", lambda: self.ask("POST", f"{API}/workers/check", {"at": "initial"})
        )
        self.assertIn("does not have this server's key", " ".join(check["refusals"]))
        failed = self.run_code("1 + 1", where="workers")
        self.assertEqual(failed["error"]["ename"], "WorkerFailed")
        self.assertIn("RATOON_WORKERS_KEY", failed["error"]["evalue"])


if __name__ == "__main__":
    unittest.main()
