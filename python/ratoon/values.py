"""What a notebook consists of, as plain values: runs and their outputs, states, variables, sweeps.

They are made from the server's JSON and hold no connection.
"""

import base64
import html as html_module
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Self

from .errors import CellFailed, RatoonError

RunStatus = Literal["queued", "running", "ok", "error", "interrupted", "crashed", "imported"]
Json = dict[str, Any]

ROOT = "initial"
"""The id of the first state, which has no variables."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Printed text."""

    name: Literal["stdout", "stderr"]
    text: str

    def to_json(self) -> Json:
        return {"output_type": "stream", "name": self.name, "text": self.text}

    def _repr_html_(self) -> str:
        return f"<pre>{html_module.escape(without_colours(self.text))}</pre>"


@dataclass(frozen=True, slots=True, repr=False)
class Display:
    """A displayed object, or the value of the last expression (then `execution_count` is set).

    `data` has the representations by mime type; images are base64 text.
    """

    data: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    display_id: str | None = None
    execution_count: int | None = None

    def __repr__(self) -> str:
        return f"<Display {', '.join(self.data)}: {self.text or ''}>"

    @property
    def text(self) -> str | None:
        return text_of(self.data.get("text/plain"))

    @property
    def html(self) -> str | None:
        return text_of(self.data.get("text/html"))

    @property
    def image(self) -> bytes | None:
        """The picture as PNG, JPEG, GIF or SVG."""
        for kind in ("image/png", "image/jpeg", "image/gif"):
            if isinstance(data := self.data.get(kind), str):
                return base64.b64decode(data)
        svg = text_of(self.data.get("image/svg+xml"))
        return svg.encode() if svg is not None else None

    def to_json(self) -> Json:
        shown: Json = {"data": dict(self.data), "metadata": dict(self.metadata)}
        if self.execution_count is None:
            return {"output_type": "display_data", **shown}
        count = self.execution_count
        return {"output_type": "execute_result", **shown, "execution_count": count}

    def _repr_mimebundle_(self, **_: object) -> tuple[Json, Json]:
        return dict(self.data), dict(self.metadata)


@dataclass(frozen=True, slots=True)
class CellError:
    """The exception that ended a run, or an error of Ratoon (`KernelDied`, `RunTimeout`, …)."""

    ename: str
    evalue: str
    traceback: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, error: Mapping[str, Any]) -> Self:
        return cls(error["ename"], error["evalue"], tuple(error["traceback"]))

    def to_json(self) -> Json:
        traceback = list(self.traceback)
        return {
            "output_type": "error",
            "ename": self.ename,
            "evalue": self.evalue,
            "traceback": traceback,
        }

    def to_exception(self) -> CellFailed:
        return CellFailed(self.ename, self.evalue, self.traceback)

    def __str__(self) -> str:
        return f"{self.ename}: {self.evalue}" if self.evalue else self.ename


Output = Stream | Display | CellError


def output(item: Mapping[str, Any]) -> Output:
    """Reads an output in nbformat's shape."""
    match item["output_type"]:
        case "stream":
            return Stream(item["name"], item["text"])
        case "error":
            return CellError.from_json(item)
        case _:
            count, display_id = item.get("execution_count"), item.get("display_id")
            return Display(item["data"], item.get("metadata", {}), display_id, count)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state, as text: its value stays in the notebook."""

    name: str
    type: str
    repr: str
    size: str | None = None
    bytes: int | None = None
    fingerprint: str | None = None

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        known = ("name", "type", "repr", "size", "bytes", "fingerprint")
        return cls(**{name: item[name] for name in known if name in item})


class Variables(dict[str, Variable]):
    """The variables of a state by name, in the order of their first assignment."""

    def _repr_html_(self) -> str:
        rows = [(each.name, each.type, each.size or "", each.repr) for each in self.values()]
        return table(("name", "type", "size", "value"), rows)


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """One execution of a cell.

    `state` is the id of the state that it left: null if it failed. `at` is the id of the state that
    it ran against; null while it waits for another run.
    """

    exec_id: str
    code: str
    at: str | None
    status: RunStatus
    state: str | None = None
    outputs: tuple[Output, ...] = ()
    error: CellError | None = None
    warnings: tuple[str, ...] = ()
    duration: float | None = None
    """Seconds."""
    keepable: bool = False
    """Whether `keep_partial` can still keep the variables that the failed cell had set."""
    read_variables: Callable[[str], Variables] | None = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        left = f", state {self.state}" if self.state else ""
        error = f", {self.error}" if self.error else ""
        return f"<Run {self.status}{left}{error}, {len(self.outputs)} outputs>"

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def text(self) -> str:
        """All that was printed to stdout."""
        return "".join(o.text for o in self.outputs if isinstance(o, Stream) and o.name == "stdout")

    @property
    def stderr(self) -> str:
        return "".join(o.text for o in self.outputs if isinstance(o, Stream) and o.name == "stderr")

    @property
    def displays(self) -> tuple[Display, ...]:
        """All displayed objects, including the result."""
        return tuple(o for o in self.outputs if isinstance(o, Display))

    @property
    def images(self) -> tuple[bytes, ...]:
        return tuple(image for o in self.displays if (image := o.image) is not None)

    @property
    def html(self) -> tuple[str, ...]:
        return tuple(html for o in self.displays if (html := o.html) is not None)

    @property
    def result(self) -> str | None:
        """The value of the last expression, as text; null if there is none."""
        results = [o for o in self.displays if o.execution_count is not None]
        return results[-1].text if results else None

    @property
    def variables(self) -> Variables:
        """The variables of the state that the run left. Asks the server."""
        if self.state is None:
            return Variables()
        if self.read_variables is None:
            what, why = (
                f"read the variables of run {self.exec_id}",
                "this run was read without them",
            )
            raise RatoonError(what, why, "call notebook.variables(run)")
        return self.read_variables(self.state)

    def raise_for_error(self) -> Self:
        """Raises `CellFailed` if the cell failed. Returns the run."""
        if self.error is not None and not self.ok:
            raise self.error.to_exception()
        return self

    def _repr_html_(self) -> str:
        shown = [html_of(each) for each in self.outputs]
        if self.error is not None and not any(isinstance(o, CellError) for o in self.outputs):
            shown.append(html_of(self.error))
        head = f"{self.status}, state {self.state}" if self.state else str(self.status)
        return f"<div>{''.join(shown)}<small>{html_module.escape(head)}</small></div>"


def run(item: Mapping[str, Any]) -> Run:
    """Reads a run of a snapshot."""
    error, milliseconds = item.get("error"), item.get("duration_ms")
    return Run(
        exec_id=item["exec_id"],
        code=item["code"],
        at=item["on"].get("state"),
        status=item["status"],
        state=item.get("state"),
        outputs=tuple(map(output, item["outputs"])),
        error=CellError.from_json(error) if error else None,
        warnings=tuple(item.get("warnings", ())),
        duration=None if milliseconds is None else milliseconds / 1000,
        keepable=item.get("keepable", False),
    )


@dataclass(frozen=True, slots=True)
class State:
    """A state: the variables after a cell ran. It never changes."""

    id: str
    name: str
    parent: str | None
    exec_id: str | None
    exec_count: int
    """The number in `In[n]`: how many cells ran on its lineage."""
    created_at: datetime
    label: str | None
    residency: Literal["freezing", "memory", "disk", "replay", "deleted"]
    """Where its variables are."""
    warnings: tuple[str, ...]
    partial: bool
    """Whether its cell failed: it has the variables that the cell had set before."""
    code: str | None
    """The cell that made it; null for the first state."""
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, item: Mapping[str, Any], code: str | None) -> Self:
        changes = item.get("changes") or {}
        names = {key: tuple(changes.get(key, ())) for key in ("added", "changed", "removed")}
        return cls(
            id=item["id"],
            name=item["name"],
            parent=item["parent"],
            exec_id=item["exec_id"],
            exec_count=item["exec_count"],
            created_at=datetime.fromtimestamp(item["created_at"] / 1000, UTC),
            label=item["label"],
            residency=item["living"],
            warnings=tuple(item["warnings"]),
            partial=item.get("partial", False),
            code=code,
            **names,
        )


class States(list[State]):
    """The states of a notebook in the order of their creation, the first one first."""

    def find(self, text: str) -> State:
        """The newest state with this id, name or label.

        Raises `KeyError` if there is none.
        """
        for state in reversed(self):
            if text in (state.id, state.name, state.label):
                return state
        raise KeyError(text)

    def lineage(self, state: str) -> list[State]:
        """The states from the first one to this one."""
        by_id = {each.id: each for each in self}
        found = [by_id[state]]
        while (parent := found[-1].parent) is not None:
            found.append(by_id[parent])
        return found[::-1]

    def _repr_html_(self) -> str:
        rows = [
            (f"In[{s.exec_count}]", s.label or "", first_line(s.code or ""), s.residency, s.id)
            for s in self
        ]
        return table(("", "label", "cell", "where", "id"), rows)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The value of an expression: its shortened `repr`, or the error if `failed`."""

    text: str
    number: float | None
    failed: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a sweep: the values of its parameters, and how it ended."""

    params: Mapping[str, Any]
    status: str
    metric: float | None
    state: str | None
    exec_id: str
    seconds: float | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """One cell, run with many values of its parameters."""

    id: str
    status: Literal["running", "done", "stopped"]
    rows: tuple[Row, ...]
    best: Row | None
    """The row with the best metric."""

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Self:
        names = ("params", "status", "metric", "state", "exec_id", "seconds", "error")
        rows = tuple(Row(**{name: row.get(name) for name in names}) for row in item["rows"])
        best = item.get("best")
        return cls(item["id"], item["status"], rows, None if best is None else rows[best])

    def _repr_html_(self) -> str:
        params = list(self.rows[0].params) if self.rows else []
        rows = [
            (*(str(row.params[name]) for name in params), "" if row.metric is None else row.metric)
            + (row.status, row.error or "")
            for row in self.rows
        ]
        return table((*params, "metric", "status", "error"), rows)


def text_of(value: object) -> str | None:
    """Text of a mime bundle: nbformat allows a list of lines."""
    if isinstance(value, list):
        return "".join(map(str, value))
    return None if value is None else str(value)


def without_colours(text: str) -> str:
    """Text without ANSI codes."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def first_line(code: str) -> str:
    line, _, rest = code.strip().partition("\n")
    return f"{line} …" if rest else line


def html_of(item: Output) -> str:
    if isinstance(item, Display):
        png = item.data.get("image/png")
        if isinstance(png, str):
            return f'<img src="data:image/png;base64,{html_module.escape(png)}">'
        return item.html or f"<pre>{html_module.escape(item.text or '')}</pre>"
    if isinstance(item, Stream):
        return item._repr_html_()
    lines = "\n".join(item.traceback) or str(item)
    return f"<pre>{html_module.escape(without_colours(lines))}</pre>"


def table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    def line(cells: Sequence[object], tag: str) -> str:
        cut = (str(cell)[:200] for cell in cells)
        return "<tr>" + "".join(f"<{tag}>{html_module.escape(c)}</{tag}>" for c in cut) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"
