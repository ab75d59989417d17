"""Analyses the code around a cursor: the expression before the cursor, the value of this
expression, and the call that contains the cursor.

The functions read the text character by character. The parser parso would be exact, but 20 to 50
times slower: 1 s instead of 30 ms for a cell of 5,000 lines.
"""

import builtins
import keyword
import re
from typing import Any

from . import shell as kernel_shell

# Returned instead of a value that is unknown.
MISSING: Any = object()
# Maximum distance between a closing and an opening bracket, in characters.
_MAX_BRACKET_CHARACTERS = 10_000


def owner_at(code: str, begin: int) -> Any:
    """Returns the object whose attribute begins at `begin`. Returns None if there is no dot before
    `begin`, and MISSING if the object is unknown."""
    if begin == 0 or code[begin - 1] != ".":
        return None
    expression = expression_before(code, begin - 1)
    return value_of(expression) if expression else MISSING


def named(name: str) -> Any:
    namespace = kernel_shell.shell.user_ns
    return namespace[name] if name in namespace else getattr(builtins, name, MISSING)


def value_of(expression: str) -> Any:
    """Returns the value of an expression, or MISSING. IPython's guarded evaluation calls no
    functions and reads no properties of the user's classes."""
    if expression.isidentifier():
        return named(expression)
    try:
        from IPython.core.guarded_eval import EvaluationContext, guarded_eval

        spaces = {
            "globals": kernel_shell.shell.user_global_ns,
            "locals": kernel_shell.shell.user_ns,
        }
        return guarded_eval(expression, EvaluationContext(evaluation="limited", **spaces))
    except Exception:
        return MISSING


def expression_before(code: str, end: int) -> str:
    """Returns the expression that ends at `end`. It consists of names, dots and bracketed parts."""
    at = end
    while at > 0:
        letter = code[at - 1]
        if letter.isalnum() or letter in "_.":
            at -= 1
        elif letter in "\"'":
            quote = code.rfind(letter, 0, at - 1)
            if quote < 0 or "\n" in code[quote:at]:
                break
            at = quote
            break
        elif letter in ")]":
            opening = _opening(code, at - 1)
            if opening is None:
                break
            at = opening
        else:
            break
    return code[at:end].strip().lstrip(".")


def _opening(code: str, closing: int) -> int | None:
    """Returns the position of the opening bracket that belongs to the closing bracket at
    `closing`."""
    depth = 0
    for at in range(closing, max(-1, closing - _MAX_BRACKET_CHARACTERS), -1):
        if code[at] in ")]}":
            depth += 1
        elif code[at] in "([{":
            depth -= 1
            if depth == 0:
                return at
    return None


def call_around(code: str, cursor: int) -> Any:
    """Returns the innermost call around the cursor: the expression of the function, and the texts
    of the arguments before the cursor. Returns None if there is no call."""
    # For each bracket that is open: its position, and the positions where its arguments begin.
    brackets: list[tuple[int, list[int]]] = []
    quote, at = "", 0
    while at < cursor:
        letter = code[at]
        if quote:
            if letter == "\\":
                at += 1
            elif code.startswith(quote, at):
                at += len(quote) - 1
                quote = ""
            elif letter == "\n" and len(quote) == 1:
                quote = ""
        elif letter in "\"'":
            quote = letter * 3 if code.startswith(letter * 3, at) else letter
            at += len(quote) - 1
        elif letter == "#":
            at = code.find("\n", at)
            if at < 0:
                break
        elif letter in "([{":
            brackets.append((at, [at + 1]))
        elif letter in ")]}" and brackets:
            brackets.pop()
        elif letter == "," and brackets:
            brackets[-1][1].append(at + 1)
        at += 1
    for opening, starts in reversed(brackets):
        if code[opening] != "(":
            continue
        name = expression_before(code, opening)
        before = code[:opening].rstrip()[: -len(name) or None].rstrip()
        if not name or keyword.iskeyword(name) or re.search(r"\b(def|class)$", before):
            continue
        ends = [*(start - 1 for start in starts[1:]), cursor]
        return name, [code[a:b] for a, b in zip(starts, ends)]
    return None
