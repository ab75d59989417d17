"""The contestants. All have the same interface: `run` runs a cell and returns its answer, and
`time_to` runs a cell and returns the seconds until the first output of a kind.
"""

import os
import queue
import subprocess
import sys
import tempfile
import time

import ratoon_client as ratoon
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import KernelManager

RESULT, STREAM = "execute_result", "stream"


class RatoonSocket:
    """Ratoon through its WebSocket. Each cell runs on the state of the previous one."""

    name = "Ratoon, WebSocket"

    def __init__(self, server):
        self.door = server.socket()
        self.state = "initial"

    def run(self, code, freeze=False):
        """Runs a cell on the newest state. With `freeze`, waits until the new state has a frozen
        process.
        """
        answer = self.door.run(code, self.state)
        check(answer["error"])
        self.state = answer["state_name"]
        if freeze:
            self.door.wait_for_frozen(self.state)
        return answer

    def time_to(self, kind, code):
        """Runs a cell. Returns the seconds until its first output of this kind."""
        started = time.perf_counter()
        exec_id = self.door.start(code, self.state)
        seen = None
        for event in self.door.events():
            if event.get("exec_id") == exec_id:
                if (
                    event["event"] == "output_added"
                    and event["output"]["output_type"] == kind
                    and not seen
                ):
                    seen = time.perf_counter() - started
                if event["event"] == "run_ended":
                    check(event["error"])
                    self.state = event["state"]
                    return seen

    def close(self):
        self.door.close()


class RestLine:
    """Ratoon or snapshot-kernel through REST. Both understand the same requests."""

    def __init__(self, name, server):
        self.name = name
        self.door = server.rest()
        self.state = "initial"
        self.keep = True

    def run(self, code):
        answer = self.door.run(code, self.state)
        check(answer["error"])
        left, self.state = self.state, answer["state_name"]
        if not self.keep:
            self.door.ask("DELETE", f"/states/{left}")
        return answer

    def time_to(self, _kind, code):
        """Runs a cell. Returns the seconds until the whole answer, because REST sends no parts."""
        started = time.perf_counter()
        answer = self.door.run(code, self.state)
        passed = time.perf_counter() - started
        check(answer["error"])
        left, self.state = self.state, answer["state_name"]
        if not self.keep:
            self.door.ask("DELETE", f"/states/{left}")
        return passed

    def close(self):
        self.door.close()


class SnapshotKernel(ratoon.Program):
    """The public program snapshot-kernel. Ratoon implements its REST API."""

    query = f"?token={ratoon.TOKEN}"

    def __init__(self):
        super().__init__(
            [
                sys.executable,
                "-m",
                "snapshot_kernel.main",
                "--bind",
                "{bind}",
                f"--token={ratoon.TOKEN}",
            ],
            MPLBACKEND="agg",
        )


class IPyKernel:
    """Jupyter's kernel through ZMQ, like Jupyter's own clients. It has one namespace and no states."""

    name = "ipykernel, ZMQ"

    def __init__(self, python=sys.executable, **environment):
        self.room = tempfile.TemporaryDirectory(prefix="ratoon-test-", ignore_cleanup_errors=True)
        self.specs = OnePython(python)
        # Keeps the history and settings of this IPython in its own directory. Set only for this
        # process, because Ratoon also runs IPython.
        own = {"IPYTHONDIR": self.room.name, **environment}
        self.environment = {
            **os.environ,
            **{name: text.format(room=self.room.name) for name, text in own.items()},
        }

    def __enter__(self):
        self.start()
        return self

    def start(self):
        # Kishu requires a file name of this form.
        connection = os.path.join(self.room.name, f"kernel-{ratoon.new_id()}.json")
        self.started = time.perf_counter()
        self.manager = KernelManager(kernel_spec_manager=self.specs, connection_file=connection)
        self.manager.start_kernel(
            cwd=self.room.name, env=self.environment, stderr=subprocess.DEVNULL
        )
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    def stop(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def __exit__(self, *_):
        self.stop()
        self.room.cleanup()

    def messages(self, request):
        """Yields the messages that the kernel publishes about a request, until it is idle again."""
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=300)
            except queue.Empty:
                raise RuntimeError("ipykernel does not answer") from None
            if message["parent_header"].get("msg_id") != request:
                continue
            yield message
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return

    def run(self, code):
        outputs = []
        for message in self.messages(self.client.execute(code, store_history=True)):
            if message["msg_type"] in ("stream", "execute_result", "display_data", "error"):
                outputs.append({"output_type": message["msg_type"], **message["content"]})
        check(next((o for o in outputs if o["output_type"] == "error"), None))
        self.client.get_shell_msg(timeout=300)
        return {"output": outputs}

    def time_to(self, kind, code):
        started = time.perf_counter()
        seen = None
        for message in self.messages(self.client.execute(code)):
            if message["msg_type"] == kind and not seen:
                seen = time.perf_counter() - started
        self.client.get_shell_msg(timeout=300)
        return seen


class OnePython(KernelSpecManager):
    """Provides only one kernel: ipykernel in a given Python."""

    def __init__(self, python):
        super().__init__()
        self.argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]

    def get_kernel_spec(self, _name):
        return KernelSpec(argv=self.argv, language="python")


def check(error):
    if error:
        raise RuntimeError(f"a cell failed: {error['ename']}: {error['evalue']}")
