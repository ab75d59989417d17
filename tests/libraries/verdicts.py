"""Compares the outputs of a cell with those of plain IPython, and decides whether a difference was
announced to the user.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from model import Row

RIGHT, TOLD, REFUSED, WRONG, HANG = "right", "told", "refused", "WRONG", "HANG"
# Verdicts that fail the run.
FAULTS = (WRONG, HANG)

# Errors with which the server refuses to run a cell at a state. `KernelDied` is excluded, because a
# crash is a fault.
REFUSALS = {
    "StateLost",
    "RestoreFailed",
    "ForkFailed",
    "ForkRefused",
    "StateNotKept",
    "ReplayFailed",
    "Refused",
}


@dataclass
class Answer:
    """The result of running one cell. `outputs` is None if no answer came in time."""

    outputs: list[dict[str, Any]] | None
    seconds: float
    state: str | None = None
    error: dict[str, Any] | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass
class State:
    """The server's reports about the state of a row: its warnings, the names missing in its
    checkpoint, and its saving status."""

    warnings: list[str]
    missing: list[str]
    saving: str = ""


@dataclass
class Verdict:
    """The verdict about one run of a cell, and the reason."""

    word: str
    why: str
    seconds: float


def normal(outputs: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Returns the parts of outputs that are compared: texts, MIME types and names of errors."""
    found: list[tuple[str, ...]] = []
    for item in outputs:
        kind = item["output_type"]
        if kind == "stream" and item["name"] == "stdout":
            if found and found[-1][0] == "text":
                found[-1] = ("text", found[-1][1] + item["text"])
            else:
                found.append(("text", item["text"]))
        elif kind in ("display_data", "execute_result"):
            text = item["data"].get("text/plain", "")
            found.append(
                ("shown", *sorted(item["data"]), "".join(text) if isinstance(text, list) else text)
            )
        elif kind == "error":
            found.append(("error", item["ename"]))
    # Plain IPython captures text and displayed objects separately, so the order between text and
    # displayed objects is not compared.
    texts = "".join(item[1] for item in found if item[0] == "text")
    others = [tuple(map(without_addresses, item)) for item in found if item[0] != "text"]
    return [("text", without_addresses(texts)), *others]


def without_addresses(text: str) -> str:
    # Plain IPython prints these codes instead of clearing the output of a widget.
    text = text.replace("\x1b[2K\r", "")
    return re.sub(r"0x[0-9a-f]{6,}", "0xADDRESS", text)


def names_in(source: str) -> set[str]:
    """Returns the names that occur in a cell."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # magics
        return set(re.findall(r"\b[A-Za-z_]\w*\b", source))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def is_told(row: Row, column: str, state: State, answer: Answer) -> str | None:
    """Returns the missing name or the warning that announced a different output of `again`. Returns
    None if there is none."""
    names = names_in(row.again)
    # Names that a checkpoint lacks only affect branches that are loaded from the checkpoint.
    is_loaded = column == "restored" or any("checkpoint" in warning for warning in state.warnings)
    for name in state.missing:
        if is_loaded and name in names:
            return f"missing: {name}"
    for warning in [*answer.warnings, *state.warnings]:
        if any(word in warning for word in row.told) or any(
            re.search(rf"\b{re.escape(name)}\b", warning) for name in names if len(name) > 1
        ):
            return f"warning: {warning}"
    return None


def judge(
    row: Row, column: str, truth: list[dict[str, Any]], state: State, answer: Answer
) -> Verdict:
    def verdict(word: str, why: str = "") -> Verdict:
        return Verdict(word, why, answer.seconds)

    if answer.outputs is None:
        return verdict(HANG, f"no answer in {answer.seconds:.0f} s")
    got, wanted = normal(answer.outputs), normal(truth)
    if got == wanted:
        return verdict(RIGHT)
    difference = explain(answer, got, wanted)
    if answer.error is not None and answer.error["ename"] in REFUSALS:
        return verdict(REFUSED, difference)
    told = is_told(row, column, state, answer)
    return verdict(TOLD, f"{told} · {difference}") if told else verdict(WRONG, difference)


def explain(answer: Answer, got: list[tuple[str, ...]], wanted: list[tuple[str, ...]]) -> str:
    if answer.error is not None:
        return f"{answer.error['ename']}: {answer.error['evalue']}"[:400]
    return f"{got} instead of {wanted}"[:800]
