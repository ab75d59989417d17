"""Runs tasks of a Ratoon server on this node: `run` is what an engine (Dask, Ray, …) calls.

`run` starts a Ratoon without a page on this node, or finds the one that runs, and gives it the
task. That agent ends by itself when it has had no task for ten minutes. There is one for each user,
environment and object store. It takes what it needs from the object store, with the credentials
that this process has, and puts the result there. Nothing but the names of tasks goes through the
engine.

Needs only the standard library, and the program `ratoon`, which `pip install ratoon` brings.
"""

import fcntl
import hashlib
import hmac
import http.client
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from typing import Any

__all__ = ["probe", "run"]

# How long an agent may take to start. It may have to install IPython first.
START_TIMEOUT = 180.0
# How many times a task is given to an agent that ends meanwhile.
ATTEMPTS = 3
# After how many seconds without a task an agent ends.
IDLE_SECONDS = os.environ.get("RATOON_WORKER_IDLE", "600")


class Refused(Exception):
    """No worker like this one can run the task. The engine need not try again."""


def run(task: dict[str, str]) -> dict[str, str]:
    """Runs a task. Returns when its result is in the object store, or when it is not wanted."""
    try:
        return _run(task)
    except Refused as refused:
        return {"end": "refused", "why": str(refused)}


def _run(task: dict[str, str]) -> dict[str, str]:
    for attempt in range(ATTEMPTS):
        port, token = _agent(task)
        try:
            answer = _post(port, token, task)
            break
        except (OSError, http.client.HTTPException):
            # The agent has ended: it was idle when it got the task, or was killed.
            if attempt == ATTEMPTS - 1:
                raise
    if answer["end"] == "failed":
        raise RuntimeError(answer["why"])
    return answer


def probe(store: str) -> dict[str, Any]:
    """What this worker's environment has, for the check before a sweep."""
    from importlib import metadata

    packages: dict[str, str] = {}
    for found in metadata.distributions():
        name = (found.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")
        if name:
            packages.setdefault(name, found.version)
    program, version = _program(), None
    if program:
        shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        version = shown.stdout.strip().removeprefix("ratoon ") or None
    return {
        "node": _node(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": packages,
        "ratoon": version,
        "key": _key_id(),
    }


def _node() -> str:
    """The name of this node in tables. Several agents on one machine have different directories."""
    own = os.environ.get("RATOON_WORKER_NAME")
    return own or os.uname().nodename


def _program() -> str | None:
    """The program of Ratoon: of this environment's package, on the path, or that of the server that
    has started this process."""
    given = os.environ.get("RATOON_BIN")
    if given:
        return given
    try:
        from ratoon.__main__ import PROGRAM

        if os.access(PROGRAM, os.X_OK):
            return PROGRAM
    except ImportError:
        pass
    return shutil.which("ratoon") or os.environ.get("RATOON_PROGRAM")


def _config_dir() -> str:
    config = os.environ.get("XDG_CONFIG_HOME")
    return os.path.join(config or os.path.expanduser("~/.config"), "ratoon")


def _key_id() -> str | None:
    """The id of the key that this worker's agent would use. Says nothing about the key."""
    try:
        given = os.environ.get("RATOON_WORKERS_KEY")
        if given:
            key = bytes.fromhex(given)
        else:
            with open(os.path.join(_config_dir(), "workers-key"), "rb") as file:
                key = file.read()
    except (OSError, ValueError):
        return None
    purpose = b"ratoon-key-id-v1"
    text = len(purpose).to_bytes(8, "little") + purpose
    return hmac.new(key, text, hashlib.sha256).hexdigest()[:8]


def _directory(store: str) -> str:
    """The directory of the agent: for this user, environment and object store."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    base = os.environ.get("RATOON_WORKER_DIR") or os.path.join(cache, "ratoon")
    what = "\0".join([sys.prefix, sys.executable, store, os.uname().nodename])
    name = "worker-" + hashlib.sha256(what.encode()).hexdigest()[:16]
    directory = os.path.join(os.path.abspath(base), name)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    known = os.stat(directory)
    if known.st_uid != os.getuid() or known.st_mode & 0o077:
        raise Refused(
            f"the directory {directory} can be read by others: "
            f"run `chmod 700` on it, or set RATOON_WORKER_DIR"
        )
    return directory


def _agent(task: dict[str, str]) -> tuple[int, str]:
    """The port and the token of the agent. Starts it if it does not run."""
    directory = _directory(task["store"])
    where = os.path.join(directory, "agent.json")
    lock = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Ends with this process, so a killed worker blocks no other.
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _found(where)
        return found or _started(task, directory, where)
    finally:
        os.close(lock)


def _found(where: str) -> tuple[int, str] | None:
    """The agent that has written the file, if it answers."""
    try:
        with open(where, encoding="utf-8") as file:
            known = json.load(file)
        port, token = int(known["port"]), str(known["token"])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", "/api/node", headers={"Authorization": f"Bearer {token}"})
            return (port, token) if connection.getresponse().status == 200 else None
        finally:
            connection.close()
    except (OSError, ValueError, KeyError, http.client.HTTPException):
        return None


def _started(task: dict[str, str], directory: str, where: str) -> tuple[int, str]:
    program = _program()
    if program is None:
        raise Refused("the worker has no Ratoon: run `pip install ratoon` in its environment")
    if os.path.lexists(where):
        os.unlink(where)
    notebooks = os.path.join(directory, "notebooks")
    # An agent that was killed has left it. An agent that ends removes it.
    shutil.rmtree(notebooks, ignore_errors=True)
    os.makedirs(notebooks, mode=0o700)
    token = secrets.token_urlsafe(32)
    command = [program, "--agent", where, "--agent-name", _node(), "--agent-idle", IDLE_SECONDS]
    command += ["--store", task["store"], "--python", sys.executable, "--dir", notebooks]
    command += [
        "--bind",
        "127.0.0.1:0",
        "--no-checkpoints",
        "--token",
        token,
        "--",
        task["notebook"],
    ]
    with open(os.path.join(directory, "log"), "wb") as log:
        agent = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            # It prints its token there.
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    limit = time.monotonic() + START_TIMEOUT
    while time.monotonic() < limit:
        found = _found(where)
        if found:
            return found
        if agent.poll() is not None:
            break
        time.sleep(0.05)
    agent.kill()
    with open(os.path.join(directory, "log"), encoding="utf-8", errors="replace") as said:
        raise RuntimeError(f"Ratoon did not start at the worker: {said.read()[-2000:].strip()}")


def _post(port: int, token: str, task: dict[str, str]) -> dict[str, str]:
    # Without a timeout: a run may take days. If the agent dies, the connection ends.
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"notebook": task["notebook"], "task": task["task"]})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/node/tasks", body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
    finally:
        connection.close()
    if response.status != 200:
        raise RuntimeError(f"Ratoon at the worker refused the task: {answer}")
    return {"end": str(answer["end"]), "why": str(answer.get("why") or "")}
