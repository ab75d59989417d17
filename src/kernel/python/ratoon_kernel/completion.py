"""Completes code at a cursor.

IPython's completer finds the names, without Jedi. This completer inspects live objects, takes a
millisecond, and runs no user code except `__dir__`. Names that code above the cursor defines are
found in its text. Import statements are completed without an import (`module_names.py`). Jedi is
used only if IPython finds nothing after a dot, for names that only the text defines. Loading Jedi
takes a second, so its time is limited."""

import contextlib
import gc
import inspect
import io
import itertools
import keyword
import os
import pickle
import re
import signal
import time
import tokenize
import types
from typing import Any

from . import shell as kernel_shell
from .code_position import MISSING, call_around, expression_before, named, owner_at, value_of
from .module_names import complete_import
from .names_of_the_cell import names_of_the_cell
from .signatures import kind_of_value, short_signature, signature_of
from .text import clean, to_json

MAX_ITEMS = 500
# Maximum length of one completion, in characters. A longer completion is usually a dictionary key
# that is not meant to be typed.
MAX_ITEM_CHARACTERS = 1000
# Time limit of Jedi, in seconds.
JEDI_SECONDS = 0.4
# Maximum number of signatures in a list of completions, and the time limit to find all of them.
MAX_SIGNATURES = 200
SIGNATURES_SECONDS = 0.03

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
# Kinds of completions that IPython assigns too broadly. The exact kind is found from the object.
_VAGUE_KINDS = ("variable", "attribute", "instance", "function", "<unknown>", "")


def prime(step: int) -> bool:
    """Loads some of the modules that the completer needs. Called in the root with step 0, 1, 2, …
    until it returns False."""
    for code in ("pri", "ratoon = ''\nratoon.", "import ra")[step : step + 1]:
        complete(code, len(code))
        return True
    # As in `cells.settle`: later garbage collections write to no pages of the loaded objects.
    gc.collect()
    gc.freeze()
    return False


def complete(code: str, cursor: int, above: str = "") -> str:
    """Returns JSON: {from, to, items: [{text, kind, signature}]}. `above` is code that runs before
    this code and has not run yet: that of the drafts above the cell."""
    cursor = max(0, min(cursor, len(code)))
    if (found := complete_import(code, cursor)) is not None:
        begin, items = found
        shown = [{"text": clean(text), "kind": kind, "signature": None} for text, kind in items]
        return to_json({"from": begin, "to": cursor, "items": shown[:MAX_ITEMS]})
    before = f"{above}\n" if above else ""
    with names_of_the_cell(before + code, len(before) + cursor):
        return _completions(code, cursor, before)


def _completions(code: str, cursor: int, before: str) -> str:
    begin, end, items = _found_by_ipython(code, cursor)
    items = _parameters(code, begin, cursor) + items
    words: list[tuple[str, str]] = []
    if _is_name_at(code, begin):
        words = _words_of_the_cell(before, code, begin, cursor)
        # The text knows functions and classes that do not exist yet.
        defined = {text: kind for text, kind in words if kind in ("function", "class")}
        items = [(text, defined.get(text, kind)) for text, kind in items]
        known = {text for text, _ in items}
        items += [(text, kind) for text, kind in words if text not in known]
    if not items:
        items = _attributes(code, begin, cursor)
    is_by_jedi = not items and _is_of_the_text_alone(before + code, len(before) + cursor)
    if is_by_jedi:
        begin, end, items = _found_by_jedi(before + code, len(before) + cursor)
        begin, end = begin - len(before), end - len(before)
    owner = owner_at(code, begin)
    shown: list[dict[str, Any]] = []
    deadline, signatures = time.monotonic() + SIGNATURES_SECONDS, 0
    items = [(text, kind) for text, kind in items if len(text) <= MAX_ITEM_CHARACTERS]
    items = _ranked(items, {text for text, _ in words}, owner is None)
    for text, kind in items[:MAX_ITEMS]:
        signature = None
        if not is_by_jedi and kind in _VAGUE_KINDS:
            kind, value, is_bound = _kind_of(owner, text, kind)
            if kind == "function" and signatures < MAX_SIGNATURES and time.monotonic() < deadline:
                signatures += 1
                signature = short_signature(value, is_bound)
        shown.append({"text": clean(text), "kind": kind, "signature": signature})
    return to_json({"from": begin, "to": end, "items": shown})


def _ranked(items: Any, words: set[str], are_names: bool) -> Any:
    """Sorts names: first parameters of the call, then names that the code around uses, then other
    variables, then Python's own names. Within these, and among attributes, those that begin with an
    underscore are last."""
    namespace = kernel_shell.shell.user_ns

    def rank(item: Any) -> tuple[int, int]:
        text, kind = item
        underscores = len(text) - len(text.lstrip("_"))
        if not are_names or kind == "param":
            return 0, underscores
        if text in words and not keyword.iskeyword(text):
            return 1, underscores
        return (2 if text in namespace else 3), underscores

    return sorted(items, key=rank)


def _found_by_ipython(code: str, cursor: int) -> Any:
    """Returns the completions of IPython's completer: the range of code that they replace, and a
    list of (text, kind)."""
    from IPython.core.completer import provisionalcompleter, rectify_completions

    completer = kernel_shell.shell.Completer
    completer.use_jedi = False
    # These matchers would run user code, for example properties.
    left_out = ["IPCompleter.python_func_kw_matcher"]
    left_out += ["IPCompleter.dict_key_matcher"] if _makes_up_attributes(code, cursor) else []
    completer.disable_matchers = left_out
    try:
        with provisionalcompleter():
            offered = itertools.islice(completer.completions(code, cursor), 4 * MAX_ITEMS)
            found = list(rectify_completions(code, offered))
    except Exception:  # the completer itself fails for some code
        found = []
    if not found:
        begin = cursor
        while begin and (code[begin - 1].isalnum() or code[begin - 1] == "_"):
            begin -= 1
        return begin, cursor, []
    begin, end = found[0].start, found[0].end
    # Some matchers return the whole expression, others return only the part after the dot.
    typed = "".join(code[begin:cursor].rpartition(".")[:2])
    is_plain = not any(one.type in ("path", "dict key", "magic") for one in found)
    dot = len(typed) if is_plain and all(one.text.startswith(typed) for one in found) else 0
    # IPython also offers magics in the middle of code. They are shown only after `%`.
    is_magic = code[begin:cursor].startswith("%")
    seen = dict.fromkeys(
        (one.text[dot:], one.type) for one in found if is_magic or one.type != "magic"
    )
    return begin + dot, end, list(seen)


def _makes_up_attributes(code: str, cursor: int) -> bool:
    """Whether the cursor is in square brackets after an object whose class is defined by the user
    and has `__getattr__` or `__getattribute__`. Completing keys would run these methods."""
    opening = re.search(r"\[\s*[^\[\]]*$", code[:cursor])
    value = value_of(expression_before(code, opening.start())) if opening else MISSING
    if value is MISSING:
        return False
    bases = [
        vars(base)
        for base in type.__dict__["__mro__"].__get__(type(value))
        if base.__module__ == "__main__"
    ]
    return any("__getattr__" in base or "__getattribute__" in base for base in bases)


def _parameters(code: str, begin: int, cursor: int) -> Any:
    """Returns completions for parameters of the call around the cursor that have no argument
    yet."""
    call = call_around(code, cursor)
    typed = code[begin:cursor]
    if call is None or (typed and not typed.isidentifier()) or call[1][-1].strip() != typed:
        return []
    value = value_of(call[0])
    signature = None if value is MISSING else signature_of(value)
    named = (
        [p.name for p in signature.parameters.values() if p.kind in _BY_NAME] if signature else []
    )
    given = {match[1] for one in call[1] if (match := re.match(r"\s*(\w+)\s*=(?!=)", one))}
    return [(f"{name}=", "param") for name in named if name.startswith(typed) and name not in given]


def _attributes(code: str, begin: int, cursor: int) -> Any:
    """Returns the attributes of the object before the dot. Needed for literals, whose attributes
    older versions of IPython do not find."""
    owner = owner_at(code, begin)
    if owner is None or owner is MISSING:
        return []
    typed = code[begin:cursor]
    try:
        names = dir(owner)
    except Exception:  # a hostile __dir__ may raise anything
        return []
    names = [
        n
        for n in names
        if type(n) is str and n.startswith(typed) and (typed.startswith("_") or n[:1] != "_")
    ]
    return [(name, "attribute") for name in names]


def _is_of_the_text_alone(code: str, cursor: int) -> bool:
    """Whether an attribute is typed, and the expression before the dot begins with a name that
    occurs in the code before and is not a variable of the state."""
    typed = re.search(r"[\w\])\"']\.\w*$", code[:cursor])
    if typed is None:
        return False
    first = re.match(r"[^\W\d]\w*", expression_before(code, cursor))
    return (
        first is not None
        and first[0] not in kernel_shell.shell.user_ns
        and first[0] in code[: typed.start()]
    )


def _is_name_at(code: str, begin: int) -> bool:
    """Whether a plain name is typed: not an attribute, and not in a string, comment, import or
    magic."""
    line = code[:begin].rpartition("\n")[2]
    if line.lstrip().startswith(("%", "!", "import ", "from ")) or line.rstrip().endswith("."):
        return False
    return line.count('"') % 2 == 0 and line.count("'") % 2 == 0 and "#" not in line


def _words_of_the_cell(before: str, code: str, begin: int, cursor: int) -> Any:
    """Returns completions for names that occur in the cell, and for names that the code before it
    defines."""
    typed = code[begin:cursor]
    if not typed.isidentifier():
        return []
    found: dict[str, str] = {}
    for text, is_cell in ((before, False), (code[:begin] + " " + code[cursor:], True)):
        last = ""
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                name = token.string
                if token.type == tokenize.NAME and last != "." and name.startswith(typed):
                    kind = "function" if last == "def" else "class" if last == "class" else None
                    if is_cell or kind or found.get(name) is None:
                        found[name] = kind or found.get(name) or "statement"
                last = name
        except (tokenize.TokenError, SyntaxError, ValueError):
            pass  # the code is incomplete
    return [
        (n, kind) for n, kind in sorted(found.items()) if n != typed and not keyword.iskeyword(n)
    ]


def _found_by_jedi(code: str, cursor: int) -> Any:
    """Returns the completions that Jedi finds in the text of the cell. Jedi does not get the
    variables of the state, because it would run user code to inspect them."""
    begin = cursor
    while begin and (code[begin - 1].isalnum() or code[begin - 1] == "_"):
        begin -= 1
    signal.signal(signal.SIGALRM, _too_slow)
    # Repeats, because Jedi may treat the first TimeoutError as an error in the analysed code.
    signal.setitimer(signal.ITIMER_REAL, JEDI_SECONDS, JEDI_SECONDS / 10)
    try:
        import jedi

        _keep_parso_cache_whole()
        line = code.count("\n", 0, cursor) + 1
        column = cursor - (code.rfind("\n", 0, cursor) + 1)
        found = jedi.Script(code, environment=jedi.InterpreterEnvironment()).complete(line, column)
        typed = code[begin:cursor]
        shown = [f for f in found if typed.startswith("_") or not f.name.startswith("_")]
        return begin, cursor, [(f.name, f.type) for f in shown[:MAX_ITEMS]]
    except Exception:
        return begin, cursor, []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _keep_parso_cache_whole() -> None:
    """Makes parso write each cache file under a temporary name and then rename it.

    All programs of the user share these files. We interrupt Jedi when it takes too long. If that
    left a half-written file, Jedi would fail in all these programs.
    """
    import parso.cache as cache

    save, load, path_of = (
        getattr(cache, f"_{name}", None)
        for name in ("save_to_file_system", "load_from_file_system", "get_hashed_path")
    )
    if save is None or load is None or path_of is None or getattr(cache, "_ratoon_is_whole", False):
        return

    def save_whole(hashed_grammar: Any, path: Any, item: Any, cache_path: Any = None) -> None:
        place = path_of(hashed_grammar, path, cache_path=cache_path)
        new = f"{place}.{os.getpid()}"
        try:
            with open(new, "wb") as file:
                pickle.dump(item, file, pickle.HIGHEST_PROTOCOL)
            os.replace(new, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise

    def load_whole(*args: Any, **more: Any) -> Any:
        try:
            return load(*args, **more)
        except (EOFError, pickle.UnpicklingError):
            return None  # means that there is no cache file, so parso writes it again

    cache._save_to_file_system, cache._load_from_file_system, cache._ratoon_is_whole = (
        save_whole,
        load_whole,
        True,
    )


def _too_slow(_signal: int, _frame: Any) -> None:
    raise TimeoutError("it took too long")


def _kind_of(owner: Any, name: str, kind: Any) -> Any:
    """Returns the kind of a name's value, the value, and whether the value is a bound method."""
    if owner is MISSING:
        return (
            ("instance" if kind in ("attribute", "variable", "<unknown>", "") else kind),
            None,
            False,
        )
    if owner is None:
        if keyword.iskeyword(name):
            return "keyword", None, False
        value = named(name)
        return (
            kind_of_value(value)
            if value is not MISSING
            else (kind if kind == "function" else "statement", None, False)
        )
    try:
        value = inspect.getattr_static(owner, name)
    except Exception:
        return "instance", None, False
    is_bound = not issubclass(type(owner), (type, types.ModuleType))
    if isinstance(value, (staticmethod, classmethod)):
        value, is_bound = value.__func__, isinstance(value, classmethod)
    found, value, _ = kind_of_value(value)
    return found, value, is_bound
