"""Cleans and cuts text, so that every JSON reader accepts it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .classes import name_of

# Maximum length of the name of a class, a thread or a display, in characters.
MAX_NAME_CHARACTERS = 200
TRUNCATED = "\n... [truncated]"
# Maximum number of names that a sentence lists.
MAX_LISTED = 5

# The original function, because cells may replace `json.dumps`.
_dumps = json.dumps


def clean(text: str) -> str:
    """Replaces lone surrogates by escapes. Many JSON readers refuse lone surrogates."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()


def is_clean(text: str) -> bool:
    return text == clean(text)


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + TRUNCATED


def short(text: str, length: int) -> str:
    """Returns the beginning of a text, without lone surrogates. Cuts the text before cleaning it,
    because the text may be a gigabyte long."""
    return cut(clean(text[: length + 1]), length)


def listed(names: Sequence[Any]) -> str:
    """Returns text for a sentence: the first names, and the number of the others."""
    more = f", and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(cut(str(name), MAX_NAME_CHARACTERS) for name in names[:MAX_LISTED]) + more


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as second:
        return f"<str failed: {name_of(type(second))}>"


def to_json(value: Any) -> str:
    text = _dumps(value, ensure_ascii=False)
    try:
        text.encode()
        return text
    except UnicodeEncodeError:  # lone surrogates, deep inside
        return text.encode(errors="replace").decode()
