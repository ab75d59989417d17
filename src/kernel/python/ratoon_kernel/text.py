"""Cleans and cuts text, so that every JSON reader accepts it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .classes import name_of

# Maximum length of the name of a class, thread or display.
MAX_NAME_CHARACTERS = 200
TRUNCATED = "\n... [truncated]"
# Maximum number of names that a sentence lists.
MAX_LISTED = 5

# Cells may replace `json.dumps`.
_dumps = json.dumps


def clean(text: str) -> str:
    """Replaces lone surrogates, which JSON readers refuse, by escapes."""
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
    """The beginning of a text, clean. The text may be a gigabyte, so it is cut before it is
    copied."""
    return cut(clean(text[: length + 1]), length)


def listed(names: Sequence[Any]) -> str:
    """The first names, and how many more there are, for a sentence."""
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
