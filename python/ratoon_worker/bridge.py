"""The server's end of an engine: makes its client and submits tasks. See `src/workers/bridge.rs`.

Lines of JSON come on stdin and go to stdout. The program ends when stdin ends, so it does not
outlive the server. It also ends when the engine is gone: the server then starts it again.
"""

import json
import os
import sys
import threading
from concurrent.futures import CancelledError, Future
from typing import Any

import ratoon_worker
from ratoon_worker import engines

# How often the bridge checks whether the engine is still there, in seconds.
CHECK_EVERY = 5.0


class Bridge:
    """The tasks at one engine."""

    def __init__(self, engine: engines.Engine, store: str, out: Any) -> None:
        self.engine = engine
        self.store = store
        self.out = out
        self.lock = threading.Lock()
        self.futures: dict[str, Future[Any]] = {}
        self.number = 0

    def say(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, **fields})
        with self.lock:
            self.out.write(line + "\n")
            self.out.flush()

    def handle(self, line: dict[str, Any]) -> None:
        match line["do"]:
            case "submit":
                self.submit(line, attempt=1)
            case "cancel":
                future = self.futures.pop(line["task"], None)
                if future is not None:
                    future.cancel()
            case "probe":
                self.probe()

    def submit(self, line: dict[str, Any], attempt: int) -> None:
        task = line["task"]
        self.number += 1
        # A name of its own each time: engines answer an old name with the old result.
        key = f"ratoon-{task[:16]}-{os.getpid()}-{self.number}"
        what = {"store": self.store, "notebook": line["notebook"], "task": task}
        try:
            future = self.engine.submit(ratoon_worker.run, what, key, line.get("resources") or {})
        except Exception as error:
            self.lost()
            self.say("failed", task=task, why=in_words(error))
            return
        self.futures[task] = future
        future.add_done_callback(lambda done: self.ended(line, done, attempt))

    def ended(self, line: dict[str, Any], future: "Future[Any]", attempt: int) -> None:
        task = line["task"]
        if self.futures.get(task) is not future:
            return
        try:
            answer = future.result()
        except (CancelledError, Exception) as error:
            if is_cancelled(error):
                # Nobody here has cancelled it, so the engine has lost it.
                self.gone(f"the engine has cancelled a task ({in_words(error)})")
            self.lost()
            if attempt < engines.RETRIES and not self.engine.retries():
                return self.submit(line, attempt + 1)
            self.over(task, "failed", why=in_words(error))
        else:
            if answer["end"] == "refused":
                self.over(task, "failed", why=answer["why"])
            else:
                self.over(task, "ended")

    def over(self, task: str, event: str, **fields: Any) -> None:
        self.futures.pop(task, None)
        self.say(event, task=task, **fields)

    def probe(self) -> None:
        try:
            future = self.engine.submit(
                ratoon_worker.probe, self.store, f"ratoon-probe-{os.urandom(4).hex()}", {}
            )
        except Exception as error:
            return self.say("probed", probe=None, why=in_words(error))

        def answer(done: "Future[Any]") -> None:
            try:
                self.say(
                    "probed", probe=done.result(), own=ratoon_worker.probe(self.store), why=None
                )
            except BaseException as error:
                self.say("probed", probe=None, why=in_words(error))

        future.add_done_callback(answer)

    def lost(self) -> None:
        """Ends the program if the engine is gone."""
        why = self.engine.is_gone()
        if why:
            self.gone(why)

    def gone(self, why: str) -> None:
        self.say("gone", why=why)
        os._exit(1)

    def watch(self) -> None:
        while True:
            threading.Event().wait(CHECK_EVERY)
            self.lost()


def is_cancelled(error: BaseException) -> bool:
    # distributed has a class of its own, which is not importable without it.
    return isinstance(error, CancelledError) or type(error).__name__ in (
        "CancelledError",
        "FutureCancelledError",
        "TaskCancelledError",
    )


def in_words(error: BaseException) -> str:
    text = str(error).strip()
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.startswith("ratoon"):
        return f"the worker has no Ratoon: run `pip install ratoon` in its environment ({text})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def main(engine: str, store: str, source: str) -> None:
    # What libraries print must not come between the lines.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        made = engines.connect(engine)
        made.source = source
    except BaseException as error:
        name = "distributed" if engine.startswith("dask") else engine.partition(":")[0]
        why = in_words(error)
        if isinstance(error, ModuleNotFoundError):
            why = f"{why}: run `pip install {name}` in the environment of the notebook"
        out.write(json.dumps({"event": "gone", "why": why}) + "\n")
        out.flush()
        os._exit(1)
    bridge = Bridge(made, store, out)
    bridge.say("ready", description=made.description(), slots=made.slots())
    threading.Thread(target=bridge.watch, daemon=True).start()
    for line in sys.stdin:
        bridge.handle(json.loads(line))
    # The server has ended. The tasks stay at the engine, so nothing is waited for.
    os._exit(0)
