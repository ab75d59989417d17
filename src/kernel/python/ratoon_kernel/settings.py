"""Saves and restores those settings of Python and of libraries that belong to a state. Only
differences from the root process are saved, so a notebook can move to another directory. If one
setting fails, the others are still saved and restored.
"""

from __future__ import annotations

import decimal
import gc
import locale
import os
import random
import sys
import time
import warnings
from typing import Any

from . import cell_sources, history
from .adapter import Setting, registry
from .adapters import matplotlib
from .rebuilding import import_module
from .text import is_clean

# The settings of the root process, before any cell ran.
root: dict[str, Any] = {}


def note_root() -> None:
    """Records the settings of the root. Must be called before any cell runs."""
    root.update(
        environ=dict(os.environ),
        path=list(sys.path),
        argv=list(sys.argv),
        cwd=_cwd(),
        filters=list(warnings.filters),
        recursion=sys.getrecursionlimit(),
        locale=locale.setlocale(locale.LC_ALL),
        umask=_umask(),
        gc=_gc(),
        decimal=repr(decimal.getcontext()),
        digits=_digits(),
    )
    root["time zone"] = _time_zone()
    for adapter in registry.adapters:
        adapter.note_root()


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _time_zone() -> tuple[Any, ...]:
    """Returns what `time.tzset` has set last. Setting the variable TZ alone changes nothing."""
    return time.tzname, time.timezone, time.altzone


def _digits() -> int | None:
    """Returns the maximum number of digits of an integer that is converted to or from text. Returns
    None if this Python has no such limit."""
    has_limit = hasattr(sys, "get_int_max_str_digits")
    return sys.get_int_max_str_digits() if has_limit else None


def _gc() -> tuple[bool, tuple[int, int, int]]:
    return gc.isenabled(), gc.get_threshold()


# -- saving ----------------------------------------------------------------------------------------


def collect(shell: Any, umask: int, keep_buffer: Any) -> dict[str, Any]:
    """Returns the settings to save, by name. `keep_buffer` stores bytes as a buffer and returns the
    number of the buffer."""
    found = {}
    for name, setting in {**_settings, **registry.settings}.items():
        try:
            value = setting.collect()
        except Exception:  # an unexpected version of a library: this setting is not saved
            continue
        if value is not None:
            found[name] = value
    if umask != root["umask"]:
        found["umask"] = umask
    found["history"] = history.collect(shell, keep_buffer)
    for name in ("_", "__", "___"):
        if name in shell.user_ns:
            found["under" + name] = (shell.user_ns[name], getattr(shell.displayhook, name, ""))
    return found


def early() -> dict[str, Any]:
    """Returns the settings that must be restored before modules are imported, as JSON types."""
    found: dict[str, Any] = {}
    cwd = _cwd()
    if cwd not in (root["cwd"], None):
        found["cwd"] = cwd
    if sys.path != root["path"]:
        then = root["path"]
        found["path"] = [then.index(one) if one in then else one for one in _texts(sys.path)]
    if sys.argv != root["argv"]:
        found["argv"] = _texts(sys.argv)
    backend = matplotlib.backend_in_use()
    if backend is not None:
        found["pyplot"] = backend
    return found


def _texts(found: list[Any]) -> list[Any]:
    return [one for one in found if isinstance(one, str) and is_clean(one)]


def environ_changes() -> dict[str, Any]:
    """Returns the differences from the environment variables of the root, as {"set": {name: value},
    "unset": [name], "tzset": whether the time zone is in use}."""
    now, then = dict(os.environ), root["environ"]
    changed = {name: value for name, value in now.items() if then.get(name) != value}
    unset = [name for name in then if name not in now]
    return {"set": changed, "unset": unset, "tzset": _time_zone() != root["time zone"]}


# -- restoring -------------------------------------------------------------------------------------


def restore_environ(changes: dict[str, Any]) -> None:
    os.environ.update(changes.get("set", {}))
    for name in changes.get("unset", []):
        os.environ.pop(name, None)
    if changes.get("tzset"):
        time.tzset()


def restore_early(found: dict[str, Any]) -> None:
    if "cwd" in found:
        try:
            os.chdir(found["cwd"])
        except OSError:  # the directory no longer exists: relative paths will fail
            pass
    if "path" in found:
        then = root["path"]
        sys.path[:] = [then[one] if isinstance(one, int) else one for one in found["path"]]
    if "argv" in found:
        sys.argv[:] = found["argv"]


def import_all(modules: list[str], early: dict[str, Any]) -> None:
    """Imports the modules that the cells had imported. Selects the plotting backend of a state that
    used pyplot."""
    for name in modules:
        try:
            import_module(name)
        except Exception:  # code that needs the module will fail
            continue
    if "pyplot" in early:
        matplotlib.use_backend(early["pyplot"])


def restore_late(shell: Any, late: dict[str, Any], outs: dict[Any, Any]) -> None:
    settings = {**_settings, **registry.settings, **_only_restored}
    for name, value in late.items():
        setting = settings.get(name)
        try:
            if setting is not None:
                setting.restore(value)
        except Exception:  # another version of a library: this setting is not restored
            continue
    history.restore(shell, late, outs)


# -- settings of Python ----------------------------------------------------------------------------


def _unless_as_in_root(name: str, now: Any) -> Any:
    return None if now == root[name] else now


def _changed_filters() -> Any:
    return _unless_as_in_root("filters", list(warnings.filters))


def _restore_filters(filters: list[Any]) -> None:
    module: Any = warnings
    module.filters[:] = filters
    if hasattr(module, "_filters_mutated"):
        module._filters_mutated()
    else:
        module._filters_mutated_lock_held()


def _changed_decimal() -> decimal.Context | None:
    context = decimal.getcontext()
    return None if repr(context) == root["decimal"] else context


def _restore_gc(found: tuple[bool, tuple[int, int, int]]) -> None:
    is_enabled, threshold = found
    (gc.enable if is_enabled else gc.disable)()
    gc.set_threshold(*threshold)


def _restore_locale(name: str) -> None:
    locale.setlocale(locale.LC_ALL, name)


def _restore_umask(umask: int) -> None:
    os.umask(umask)


_settings = {
    "random": Setting(random.getstate, random.setstate),
    "warnings": Setting(_changed_filters, _restore_filters),
    "decimal": Setting(_changed_decimal, decimal.setcontext),
    "recursion": Setting(
        lambda: _unless_as_in_root("recursion", sys.getrecursionlimit()), sys.setrecursionlimit
    ),
    "digits": Setting(
        lambda: _unless_as_in_root("digits", _digits()),
        lambda digits: sys.set_int_max_str_digits(digits),
    ),
    "locale": Setting(
        lambda: _unless_as_in_root("locale", locale.setlocale(locale.LC_ALL)), _restore_locale
    ),
    "gc": Setting(lambda: _unless_as_in_root("gc", _gc()), _restore_gc),
}
# Settings that are restored here but collected by other functions.
_only_restored = {
    "cells": Setting(lambda: None, cell_sources.restore),
    "umask": Setting(lambda: None, _restore_umask),
}
