"""The notebook as programs see it: `AsyncNotebook`, and `Notebook`, which waits for its answers.

All logic is in `AsyncNotebook`. `Notebook` runs it in the event loop of a thread, so it works in
scripts, in other notebooks and in several threads.
"""

import asyncio
import atexit
import functools
import json
import os
import threading
import uuid
import weakref
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from html import escape
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar
from urllib.parse import quote, urlencode

from . import values
from .connection import Connection, Event, Live
from .errors import NotFound, RatoonError
from .servers import Server, find_or_start
from .values import ROOT, Evaluated, Output, Run, State, States, Sweep, Variable, Variables

At = State | Run | str
"""A state: itself, the run that left it, or its id."""
P = ParamSpec("P")
T = TypeVar("T")
OnConflict = Literal["refuse", "ours", "theirs", "rename"]
SWEEP_POLL_SECONDS = 0.2


def id_of(at: At) -> str:
    """The id of a state.

    Raises `CellFailed` for a run that left none.
    """
    if isinstance(at, State):
        return at.id
    if isinstance(at, str):
        return at
    if at.state is None:
        at.raise_for_error()
        why = f"the run ended with the status {at.status}"
        raise RatoonError(f"continue from run {at.exec_id}", why, "continue from another state")
    return at.state


def new_id(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


def locate(
    name: str | None,
    url: str | None,
    token: str | None,
    directory: str | os.PathLike[str] | None,
    python: str | os.PathLike[str] | None,
) -> tuple[Server, str]:
    """The server and the name of a notebook."""
    server = Server.at(url, token) if url else None
    if server is None and directory is None:
        server = Server.from_environment()
    if server is None:
        return find_or_start(directory, name or "main", python), name or "main"
    return server, name or server.notebook


def given(**what: Any) -> dict[str, Any]:
    """The arguments that are not null."""
    return {name: value for name, value in what.items() if value is not None}


class AsyncLiveRun:
    """A run that has not ended. Iterate over it for its outputs; `wait()` waits for its end."""

    def __init__(self, notebook: "AsyncNotebook", live: Live, task: "asyncio.Task[Run]") -> None:
        self._notebook, self._live, self._task = notebook, live, task
        self.exec_id = live.exec_id

    async def events(self) -> AsyncIterator[Event]:
        """All that happens to the outputs: `Added`, `Cleared`, `Updated`, and `Prompt`."""
        seen = 0
        while True:
            self._live.changed.clear()
            while seen < len(self._live.events):
                seen += 1
                yield self._live.events[seen - 1]
            if self._task.done():
                return
            changed = asyncio.ensure_future(self._live.changed.wait())
            await asyncio.wait((changed, self._task), return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()

    async def __aiter__(self) -> AsyncIterator[Output]:
        async for event in self.events():
            new = getattr(event, "output", None)
            if new is not None:
                yield new

    async def wait(self) -> Run:
        """Waits until the cell has ended."""
        return await asyncio.shield(self._task)

    async def interrupt(self) -> None:
        """Stops the cell."""
        await self._notebook.interrupt(self.exec_id)

    async def answer(self, text: str) -> None:
        """Answers the cell's `input()`."""
        await self._notebook._ask("answer_input", exec_id=self.exec_id, text=text)


class AsyncNotebook:
    """A notebook of a server. Each method of `Notebook` is here, to be awaited."""

    def __init__(
        self,
        name: str | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        directory: str | os.PathLike[str] | None = None,
        python: str | os.PathLike[str] | None = None,
    ) -> None:
        self._where = functools.partial(locate, name, url, token, directory, python)
        self._read_variables: Callable[[str], Variables] | None = None
        self._opening = asyncio.Lock()
        self._open: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The connection, once the notebook is open."""
        if self._open is None:
            how = "await its open(), or use `async with`"
            raise RatoonError("use the notebook", "it is not open yet", how)
        return self._open

    @property
    def name(self) -> str:
        return self.connection.notebook

    @property
    def server(self) -> Server:
        return self.connection.server

    @property
    def url(self) -> str:
        """The address of the notebook's page. The browser asks for the token once."""
        return self.server.page(self.name)

    async def open(self) -> Self:
        """Finds or starts the server and connects; makes the notebook if there is none of its name.
        All other methods do this first."""
        async with self._opening:
            if self._open is None:
                self._open = Connection(*await asyncio.to_thread(self._where))
        try:
            await self._open.open()
        except NotFound:
            body = {"name": self.name}
            await asyncio.to_thread(self.server.request, "POST", "/api/notebooks", body)
            await self._open.open()
        return self

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection. The notebook, its states and running cells stay."""
        if self._open is not None:
            await self._open.close()

    async def run(
        self,
        code: str,
        at: At = ROOT,
        *,
        timeout: float | None = None,
        memory: int | None = None,
        replay: bool = False,
        keep_partial: bool = False,
        passing: bool = False,
    ) -> Run:
        """Runs a cell against a state, and returns how it ended. A cell that raises is no exception
        here: see `Run.status` and `Run.raise_for_error()`.

        at: the state, a run (for the state that it left), or an id; by default the first state.
        timeout: seconds after which the cell is interrupted.
        memory: bytes that the cell may use in addition to its state.
        replay: run the cells of the state again if its variables are lost.
        keep_partial: if the cell fails, keep the variables that it had set, as a state.
        passing: leave no state and no record of the run.

        If the caller is interrupted or cancelled, the cell is interrupted.
        """
        live = await self.start(
            code,
            at,
            timeout=timeout,
            memory=memory,
            replay=replay,
            keep_partial=keep_partial,
            passing=passing,
        )
        try:
            return await live.wait()
        except asyncio.CancelledError:
            await asyncio.shield(live.interrupt())
            raise

    async def start(
        self,
        code: str,
        at: At = ROOT,
        *,
        exec_id: str | None = None,
        timeout: float | None = None,
        memory: int | None = None,
        replay: bool = False,
        keep_partial: bool = False,
        passing: bool = False,
        allow_stdin: bool = False,
    ) -> AsyncLiveRun:
        """Like `run`, but returns at once. Iterate over the result for the outputs as they come;
        it has `wait()`, `interrupt()` and `answer()`."""
        live = Live(exec_id or new_id("run"), code, id_of(at))
        command = {
            "exec_id": live.exec_id,
            "code": code,
            "on": {"state": live.at},
            "replay": replay,
            "on_error": "keep" if keep_partial else "discard",
            "passing": passing,
            "allow_stdin": allow_stdin,
            **given(timeout=timeout, run_memory=memory),
        }
        await self.open()
        task = asyncio.create_task(self._ended(live, command))
        # Nobody may wait for it.
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return AsyncLiveRun(self, live, task)

    async def _ended(self, live: Live, command: dict[str, Any]) -> Run:
        return self._bound(await self.connection.run(live, command))

    async def run_many(
        self,
        codes: Sequence[str],
        at: At = ROOT,
        *,
        parallel: int | None = None,
        timeout: float | None = None,
        memory: int | None = None,
        replay: bool = False,
    ) -> list[Run]:
        """Runs several cells against one state, each as a branch, and returns how each ended.

        parallel: how many run at the same time; by default the number of cores here.
        """
        at_once = asyncio.Semaphore(parallel or os.cpu_count() or 1)

        async def one(code: str) -> Run:
            async with at_once:
                return await self.run(code, at, timeout=timeout, memory=memory, replay=replay)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(code)) for code in codes]
        return [task.result() for task in tasks]

    async def sweep(
        self,
        code: str,
        grid: Mapping[str, Sequence[Any]] | None = None,
        at: At = ROOT,
        *,
        rows: Sequence[Mapping[str, Any]] | None = None,
        sampler: Mapping[str, Any] | None = None,
        metric: str | None = None,
        goal: Literal["max", "min"] = "max",
        parallel: int | None = None,
        keep: int | None = None,
        rungs: Mapping[str, Any] | None = None,
        stop: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        memory: int | None = None,
        label: str | None = None,
        wait: bool = True,
    ) -> Sweep:
        """Runs a cell with many values of its parameters, each time as a branch (docs/sweep.md).

        grid: the values of each parameter; every combination is a row.
        metric: an expression for the result of a row; `goal` says which are better.
        wait: return when all rows have ended; else at once. `sweep_of(id)` has the rows so far.

        If the caller is interrupted or cancelled, the sweep stops.
        """
        body = {
            "at": id_of(at),
            "code": code,
            "goal": goal,
            **given(grid=grid, rows=rows, sampler=sampler, metric=metric, parallel=parallel),
            **given(keep=keep, rungs=rungs, stop=stop, timeout=timeout, run_memory=memory),
            **given(label=label),
        }
        answer = await self._request("POST", "/sweeps", body)
        sweep = await self.sweep_of(answer["id"])
        try:
            while wait and sweep.status == "running":
                await asyncio.sleep(SWEEP_POLL_SECONDS)
                sweep = await self.sweep_of(sweep.id)
        except asyncio.CancelledError:
            await asyncio.shield(self.stop_sweep(sweep.id))
            raise
        return sweep

    async def sweep_of(self, id: str) -> Sweep:
        """A sweep with its rows so far."""
        return Sweep.from_json(await self._request("GET", f"/sweeps/{quote(id, safe='')}"))

    async def stop_sweep(self, id: str) -> None:
        """Begins no further row, and interrupts those that run."""
        await self._ask("stop_sweep", sweep=id)

    async def collapse(self, id: str, row: int | None = None, label: str | None = None) -> str:
        """Keeps one row of a sweep (the best one by default), deletes the states of the others, and
        returns the id of its state."""
        answer = await self._ask("collapse", sweep=id, row=row, label=label)
        return str(answer["kept"])

    async def take(
        self,
        names: Sequence[str] | Literal["changed"],
        from_: At,
        into: At,
        *,
        on_conflict: OnConflict = "refuse",
        resolve: Mapping[str, OnConflict] | None = None,
    ) -> Run:
        """Takes variables of one state into a new child of another (docs/merge.md).

        names: the variables, or `"changed"` for all that `from_` has changed since the nearest
        common ancestor.
        """
        exec_id, base = new_id("take"), id_of(into)
        wanted = names if isinstance(names, str) else list(names)
        live = Live(exec_id, "", base)
        reply = await self._ask(
            "merge",
            exec_id=exec_id,
            into=base,
            **{"from": id_of(from_)},
            take=wanted,
            on_conflict=on_conflict,
            resolve=dict(resolve or {}),
        )
        return self._bound(live.finish(reply)).raise_for_error()

    async def states(self) -> States:
        """All states, in the order of their creation."""
        snapshot = await self._snapshot()
        codes = {run["exec_id"]: run["code"] for run in snapshot["runs"]}
        return States(
            State.from_json(item, codes.get(item["exec_id"])) for item in snapshot["states"]
        )

    async def history(self, at: At | None = None) -> list[Run]:
        """The runs in the order in which they were requested, with their outputs.

        at: only those that made this state, from the first state on.
        """
        snapshot = await self._snapshot()
        runs = [self._bound(values.run(item)) for item in snapshot["runs"]]
        if at is None:
            return runs
        by_state = {each.state: each for each in runs}
        states = States(State.from_json(item, None) for item in snapshot["states"])
        return [by_state[s.id] for s in states.lineage(id_of(at)) if s.id in by_state]

    async def variables(self, at: At) -> Variables:
        """The variables of a state, as text."""
        reply = await self._ask("look_at_variables", state=id_of(at))
        return Variables({item["name"]: Variable.from_json(item) for item in reply["variables"]})

    async def evaluate(self, *expressions: str, at: At) -> list[Evaluated]:
        """Evaluates expressions against a state, without changing it."""
        reply = await self._ask("evaluate", state=id_of(at), expressions=list(expressions))
        return [Evaluated(**value) for value in reply["values"]]

    async def interrupt(self, exec_id: str) -> bool:
        """Stops a run. False if there is no such run, or it has ended."""
        return bool((await self._ask("interrupt", exec_id=exec_id))["interrupted"])

    async def keep_partial(self, run: Run | str) -> str:
        """Makes a state of the variables that a failed cell had set, and returns its id."""
        exec_id = run if isinstance(run, str) else run.exec_id
        return str((await self._ask("keep_partial", exec_id=exec_id))["state"])

    async def label(self, at: At, label: str | None) -> None:
        """Sets the label of a state; null removes it."""
        await self._ask("label", state=id_of(at), label=label)

    async def pin(self, at: At, pinned: bool = True) -> None:
        """Keeps a state in memory as long as possible, or stops that."""
        await self._ask("pin", state=id_of(at), pinned=pinned)

    async def checkpoint(self, at: At, label: str | None = None) -> str:
        """Writes a state's checkpoint now, and returns the checkpoint's id."""
        reply = await self._ask("checkpoint", state=id_of(at), label=label)
        return str(reply["checkpoint"]["checkpoint_id"])

    async def replay(self, at: At) -> None:
        """Restores a state by running the cells of its lineage again."""
        await self._ask("replay", state=id_of(at))

    async def delete(self, at: At, *, descendants: bool = False) -> None:
        """Deletes a state. `restore` brings it back for 30 days."""
        await self._ask("delete_state", state=id_of(at), subtree=descendants)

    async def restore(self, at: At) -> None:
        """Restores a deleted state, with all that was deleted with it."""
        await self._ask("restore", deleted=id_of(at))

    async def reset(self) -> None:
        """Stops all cells and deletes all states except the first."""
        await self._ask("reset")

    async def export(self, at: At, form: Literal["ipynb", "py", "html"] = "ipynb") -> bytes:
        """The line that ends in a state, as a file."""
        query = urlencode({"as": form})
        return await self._raw("GET", f"/states/{quote(id_of(at), safe='')}/document?{query}")

    async def complete(self, code: str, cursor: int, at: At) -> dict[str, Any]:
        """Completions at a cursor, in code points: `from`, `to` and `items`."""
        return await self._ask("complete", state=id_of(at), code=code, cursor=cursor)

    async def inspect(self, code: str, cursor: int, at: At) -> dict[str, Any] | None:
        """Describes the object at a cursor; null if there is none."""
        reply = await self._ask("inspect", state=id_of(at), code=code, cursor=cursor)
        found: dict[str, Any] | None = reply["object"]
        return found

    async def check(self, code: str, at: At) -> dict[str, Any] | None:
        """The first syntax error of a cell: `from`, `to` and `message`; null if there is none."""
        reply = await self._ask("check", state=id_of(at), code=code)
        found: dict[str, Any] | None = reply["error"]
        return found

    def _bound(self, run: Run) -> Run:
        return replace(run, read_variables=self._read_variables)

    async def _ask(self, do: str, **what: Any) -> dict[str, Any]:
        await self.open()
        return await self.connection.ask(do, **what)

    async def _snapshot(self) -> dict[str, Any]:
        snapshot: dict[str, Any] = await self._request("GET", "")
        return snapshot

    async def _request(self, method: str, path: str, body: object = None) -> Any:
        return json.loads(await self._raw(method, path, body))

    async def _raw(self, method: str, path: str, body: object = None) -> bytes:
        await self.open()
        path = f"/api/notebooks/{quote(self.name, safe='')}{path}"
        return await asyncio.to_thread(self.server.request, method, path, body)


class Loop:
    """The event loop of the thread that serves all `Notebook`s of this process."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.pid = 0
        self.lock = threading.Lock()

    def running(self) -> asyncio.AbstractEventLoop:
        with self.lock:
            # A thread does not survive a fork of its process.
            if self.loop is None or self.pid != os.getpid():
                self.loop, self.pid = asyncio.new_event_loop(), os.getpid()
                self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
                self.thread.start()
                atexit.register(self.stop)
            return self.loop

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs a coroutine in the thread, without waiting for it."""
        if self.loop is not None and self.pid == os.getpid():
            asyncio.run_coroutine_threadsafe(work(), self.loop)

    def stop(self) -> None:
        """Ends what still waits, when the interpreter ends."""
        if self.loop is None or self.pid != os.getpid():
            return
        loop = self.loop

        def cancel() -> None:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.call_soon(loop.stop)

        loop.call_soon_threadsafe(cancel)
        self.thread.join()
        loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread, and waits for its result."""
        future = asyncio.run_coroutine_threadsafe(work, self.running())
        try:
            return future.result()
        except (KeyboardInterrupt, SystemExit):
            future.cancel()
            raise


LOOP = Loop()


def waiting(
    method: Callable[Concatenate[AsyncNotebook, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Notebook", P], T]:
    """The same method, which waits for its result."""

    @functools.wraps(method)
    def call(self: "Notebook", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return LOOP.call(method(self._core, *args, **kwargs))

    return call


def starting(
    method: Callable[Concatenate[AsyncNotebook, P], Coroutine[Any, Any, AsyncLiveRun]],
) -> Callable[Concatenate["Notebook", P], "LiveRun"]:
    @functools.wraps(method)
    def call(self: "Notebook", /, *args: P.args, **kwargs: P.kwargs) -> "LiveRun":
        return LiveRun(self, LOOP.call(method(self._core, *args, **kwargs)))

    return call


class LiveRun:
    """A run that has not ended. Iterate over it for its outputs; `wait()` waits for its end."""

    def __init__(self, notebook: "Notebook", core: AsyncLiveRun) -> None:
        # The notebook's connection closes with it.
        self._notebook, self._core = notebook, core
        self.exec_id = core.exec_id

    def events(self) -> Iterator[Event]:
        """All that happens to the outputs: `Added`, `Cleared`, `Updated`, and `Prompt`."""
        return iterate(self._core.events())

    def __iter__(self) -> Iterator[Output]:
        return iterate(aiter(self._core))

    def wait(self) -> Run:
        """Waits until the cell has ended."""
        return LOOP.call(self._core.wait())

    def interrupt(self) -> None:
        """Stops the cell."""
        LOOP.call(self._core.interrupt())

    def answer(self, text: str) -> None:
        """Answers the cell's `input()`."""
        LOOP.call(self._core.answer(text))


def iterate(items: AsyncIterator[T]) -> Iterator[T]:
    async def following() -> T | None:
        return await anext(items, None)

    while (item := LOOP.call(following())) is not None:
        yield item


class Notebook:
    """A notebook of a server.

    `Notebook("analysis")` is the notebook of this name in the current directory. It uses the user's
    server for this directory, or starts one, which ends when it was unused for a minute.
    `Notebook("analysis", url=…, token=…)` uses another server, as do the environment variables
    `RATOON_URL` and `RATOON_TOKEN`. `directory` and `python` are for a server that is started:
    where cells run, and in which Python (this one by default).
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        directory: str | os.PathLike[str] | None = None,
        python: str | os.PathLike[str] | None = None,
    ) -> None:
        self._core = AsyncNotebook(name, url=url, token=token, directory=directory, python=python)
        LOOP.call(self._core.open())
        core = self._core
        core._read_variables = lambda state: LOOP.call(core.variables(state))
        # Neither the core nor a run refers to this object.
        weakref.finalize(self, LOOP.begin, core.close).atexit = False

    def __repr__(self) -> str:
        return f"<Notebook {self.name!r} at {self.server.url}>"

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.url)}">{escape(self.name)}</a>{self.states()._repr_html_()}'

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def server(self) -> Server:
        return self._core.server

    @property
    def url(self) -> str:
        """The address of the notebook's page. The browser asks for the token once."""
        return self._core.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    start = starting(AsyncNotebook.start)
    close = waiting(AsyncNotebook.close)
    run = waiting(AsyncNotebook.run)
    run_many = waiting(AsyncNotebook.run_many)
    sweep = waiting(AsyncNotebook.sweep)
    sweep_of = waiting(AsyncNotebook.sweep_of)
    stop_sweep = waiting(AsyncNotebook.stop_sweep)
    collapse = waiting(AsyncNotebook.collapse)
    take = waiting(AsyncNotebook.take)
    states = waiting(AsyncNotebook.states)
    history = waiting(AsyncNotebook.history)
    variables = waiting(AsyncNotebook.variables)
    evaluate = waiting(AsyncNotebook.evaluate)
    interrupt = waiting(AsyncNotebook.interrupt)
    keep_partial = waiting(AsyncNotebook.keep_partial)
    label = waiting(AsyncNotebook.label)
    pin = waiting(AsyncNotebook.pin)
    checkpoint = waiting(AsyncNotebook.checkpoint)
    replay = waiting(AsyncNotebook.replay)
    delete = waiting(AsyncNotebook.delete)
    restore = waiting(AsyncNotebook.restore)
    reset = waiting(AsyncNotebook.reset)
    export = waiting(AsyncNotebook.export)
    complete = waiting(AsyncNotebook.complete)
    inspect = waiting(AsyncNotebook.inspect)
    check = waiting(AsyncNotebook.check)
