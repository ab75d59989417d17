"""Finds the syntax error of a cell, without running anything."""

import ast
import warnings
from typing import Any

from . import shell as kernel_shell
from .compiler_flags import FEATURES
from .text import MAX_NAME_CHARACTERS, short, to_json


def check(code: str) -> str:
    """Returns `problem` as JSON."""
    return to_json(problem(code))


def problem(code: str) -> dict[str, Any] | None:
    """Returns {from, to, message} of the first syntax error, in code points; or None.

    Code is checked as IPython would run it: magics, `!commands`, `?` and top-level `await` are not
    errors, and neither is the body of a cell magic."""
    try:
        transformed = kernel_shell.shell.input_transformer_manager.transform_cell(code)
    except SyntaxError as error:
        return _place(code, code, error)
    except Exception:  # a transformer of the user may raise anything
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(transformed, "<cell>", "exec", flags(), dont_inherit=True)
    except SyntaxError as error:
        return _place(code, transformed, error)
    except (ValueError, OverflowError, RecursionError, MemoryError):
        pass  # Python cannot say where
    return None


def flags() -> int:
    """Returns the compiler flags with which the shell compiles cells."""
    features: int = kernel_shell.shell.compile.flags & FEATURES
    return ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | features


def _place(code: str, transformed: str, error: SyntaxError) -> dict[str, Any] | None:
    """Returns the message of an error and its range in the code. Returns None if the line was
    written by a transformer of IPython."""
    line, column = error.lineno or 1, max(0, (error.offset or 1) - 1)
    end_line, end_column = error.end_lineno or line, max(0, (error.end_offset or 0) - 1)
    lines, shown_lines = code.split("\n"), transformed.split("\n")
    originals = original_lines(lines, shown_lines)
    index = originals[line - 1] if line <= len(originals) else len(lines) - 1
    if index is None:
        return None
    # IPython removes the indentation that all lines have in common.
    shown = shown_lines[line - 1 : line]
    indent = max(0, len(lines[index]) - len(shown[0])) if shown else 0
    start = sum(len(one) + 1 for one in lines[:index])
    begin = min(start + indent + column, start + len(lines[index]))
    end = start + indent + end_column if end_line == line else start + len(lines[index])
    end = min(end, start + len(lines[index]))
    if end <= begin:
        # One character is marked: at the end of a line, the last of its text.
        text_end = start + len(lines[index].rstrip())
        begin = max(start, min(begin, text_end - 1))
        end = begin + 1
    message = short(error.msg or "invalid syntax", MAX_NAME_CHARACTERS)
    return {"from": min(begin, len(code)), "to": min(end, len(code)), "message": message}


def original_lines(lines: list[str], transformed: list[str]) -> list[int | None]:
    """Returns, for each transformed line, the index of the line that became it; None if IPython
    wrote it. IPython drops empty lines at the beginning, and joins the lines of a magic."""
    if lines == transformed or transformed == [*lines, ""]:
        last = len(lines) - 1
        return [min(index, last) for index in range(len(transformed))]
    same: dict[str, list[int]] = {}
    for index in reversed(range(len(lines))):
        same.setdefault(lines[index].strip(), []).append(index)
    found: list[int | None] = []
    for line in transformed:
        rest = same.get(line.strip())
        found.append(rest.pop() if rest else None)
    return found
