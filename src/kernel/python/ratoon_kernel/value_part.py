"""Shows what is in a variable: the entries of a dict, list, tuple or set, or a picture.

The process is a fork that ends with its answer, because a `__repr__` may change objects. Containers
are read with the methods of the built-in classes. Nothing is imported that the notebook has not
imported, except the PNG writer of Pillow.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from . import shell as kernel_shell
from .classes import name_of
from .text import short, text_of, to_json
from .variables import short_repr, type_name

# Maximum number of entries in an answer.
MAX_ENTRIES = 100
# Maximum length of the repr of a key or value, in characters.
MAX_TEXT_CHARACTERS = 300
# Time limit of one repr and of all together, in seconds. Later entries have no text.
REPR_SECONDS = 0.3
ALL_REPRS_SECONDS = 2
# Maximum width and height of a picture, in pixels, and its maximum size as PNG, in bytes.
MAX_PIXELS = 640
MAX_PICTURE_BYTES = 2_000_000
# Maximum number of pixels of an image that is shown as a picture. It is copied.
MAX_IMAGE_PIXELS = 50_000_000

_SEQUENCES = (list, tuple)
_SETS = (set, frozenset)


def view(request: str) -> str:
    """Answers a request (`ValuePartView` as JSON). Returns JSON: {count, entries, picture}."""
    wanted = json.loads(request)
    nothing: dict[str, Any] = {"count": None, "entries": [], "picture": None}
    try:
        value = kernel_shell.shell.user_ns[wanted["name"]]
        for at in wanted["path"]:
            value = next(_entries(value, at))[1]
        if _count(value) is None:
            return to_json({**nothing, "picture": _picture(value)})
        return to_json(
            {**nothing, "count": _count(value), "entries": _page(value, wanted["offset"])}
        )
    except BaseException:  # the user's classes may raise anything
        return to_json(nothing)


def _count(value: Any) -> int | None:
    """The number of entries; None if the value is no container."""
    for kind in (dict, *_SEQUENCES, *_SETS):
        if issubclass(type(value), kind):
            return int(kind.__len__(value))
    return None


def _entries(value: Any, offset: int) -> Iterator[tuple[Any, Any]]:
    """The keys and values from a position on. The key of an element of a set is None."""
    kind = type(value)
    pairs: Any
    if issubclass(kind, dict):
        pairs = dict.items(value)
    elif issubclass(kind, _SETS):
        pairs = (
            (None, one) for one in (set if issubclass(kind, set) else frozenset).__iter__(value)
        )
    else:
        base: Any = list if issubclass(kind, list) else tuple
        pairs = ((at, base.__getitem__(value, at)) for at in range(offset, base.__len__(value)))
        return iter(pairs)
    return itertools.islice(pairs, offset, None)


def _page(value: Any, offset: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + ALL_REPRS_SECONDS
    return [
        {
            "key": None if issubclass(type(value), _SETS) else _text(key, deadline),
            "type": type_name(one),
            "text": _text(one, deadline),
            "count": _count(one),
        }
        for key, one in itertools.islice(_entries(value, offset), MAX_ENTRIES)
    ]


def _text(value: Any, deadline: float) -> str:
    if time.monotonic() > deadline:
        return "…"
    try:
        return short_repr(value, REPR_SECONDS, MAX_TEXT_CHARACTERS)
    except BaseException as error:  # a hostile __repr__ may raise anything
        return short(
            f"<repr failed: {name_of(type(error))}: {text_of(error)}>", MAX_TEXT_CHARACTERS
        )


def _picture(value: Any) -> str | None:
    """The picture of an image of Pillow, a figure of matplotlib or an array of colours: PNG as
    base64."""
    pillow, numpy = sys.modules.get("PIL.Image"), sys.modules.get("numpy")
    figures = sys.modules.get("matplotlib.figure")
    png = io.BytesIO()
    if figures is not None and issubclass(type(value), figures.Figure):
        value.savefig(png, format="png", dpi=80)
    elif pillow is not None:
        if numpy is not None and _is_of_colours(numpy, value):
            step = 1 + max(value.shape) // (2 * MAX_PIXELS)
            value = pillow.fromarray(numpy.ascontiguousarray(value[::step, ::step]))
        if not issubclass(type(value), pillow.Image) or not _is_loaded(value):
            return None
        if value.width * value.height > MAX_IMAGE_PIXELS:
            return None
        picture = pillow.Image.copy(value)
        picture.thumbnail((MAX_PIXELS, MAX_PIXELS))
        if picture.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
            picture = picture.convert("RGB")
        picture.save(png, format="png")
    if not 0 < png.tell() <= MAX_PICTURE_BYTES:
        return None
    return base64.b64encode(png.getvalue()).decode()


def _is_of_colours(numpy: Any, value: Any) -> bool:
    if type(value) is not numpy.ndarray or value.dtype != numpy.uint8 or value.ndim != 3:
        return False
    return value.shape[2] in (3, 4) and value.size > 0


def _is_loaded(image: Any) -> bool:
    """Whether the pixels are in memory. Loading them would move the position in a file that the
    state shares."""
    return any(image.__dict__.get(name) is not None for name in ("im", "_im"))
