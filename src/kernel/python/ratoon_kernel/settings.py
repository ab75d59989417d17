"""What a state is besides its names: settings of Python and of well-known libraries, imports, sources of cells.

Changes are told against the root process, so that a notebook can move to another place. Each setting is saved and
restored alone: one that fails costs nothing else.
"""

import ast
import decimal
import functools
import gc
import inspect
import itertools
import linecache
import locale
import os
import random
import re
import sys
import time
import warnings
from json import dumps, loads

from .adapters import changes
from .adapters import logs
from . import pickling
from . import shell as kernel_shell
from .shell import _clean

CELL_PREFIX = "<ipython-input-"

# The full pieces of a history are blobs of this size.
HISTORY_PIECE_BYTES = 16 * 1024

root = {}


def note_root():
    """Remembers how things stand in the root."""
    root.update(
        environ=dict(os.environ),
        path=list(sys.path),
        argv=list(sys.argv),
        cwd=_cwd(),
        filters=list(warnings.filters),
        recursion=sys.getrecursionlimit(),
        locale=locale.setlocale(locale.LC_ALL),
        umask=_umask(),
        gc=(gc.isenabled(), gc.get_threshold()),
        decimal=repr(decimal.getcontext()),
        digits=_digits(),
        ipython={key: getattr(one, key[1], None) for key, one in _configured()},
    )
    inspect.getfile = _getfile
    changes.note_root()


def _cwd():
    try:
        return os.getcwd()
    except OSError:
        return None


def _digits():
    return sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else None


def _umask():
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


# -- saving -----------------------------------------------------------------------------------------------------------


def collect(shell, umask, keep_buffer):
    """Everything that differs from the root, by name. `keep_buffer` takes bytes and answers their number."""
    found = {}
    for name, collect_one in _collectors.items():
        try:
            value = collect_one()
        except Exception:  # a library that is not as expected: its settings are left out
            continue
        if value is not None:
            found[name] = value
    if umask != root["umask"]:
        found["umask"] = umask
    found["history"] = _history(shell, keep_buffer)
    unders = {name: shell.user_ns[name] for name in ("_", "__", "___") if name in shell.user_ns}
    for name, value in unders.items():
        found["under" + name] = (value, getattr(shell.displayhook, name, ""))
    return found


def early():
    """What must be there before anything is loaded, as JSON."""
    found = {}
    if _cwd() != root["cwd"]:
        found["cwd"] = _cwd()
    if sys.path != root["path"]:
        found["path"] = [root["path"].index(one) if one in root["path"] else one for one in sys.path if _is_text(one)]
    if sys.argv != root["argv"]:
        found["argv"] = [one for one in sys.argv if _is_text(one)]
    pyplot = sys.modules.get("matplotlib.pyplot")
    if getattr(pyplot, "_backend_mod", None) is not None:
        found["pyplot"] = sys.modules["matplotlib"].get_backend()
    return found


def _is_text(one):
    return isinstance(one, str) and one == _clean(one)


def _filters():
    return None if warnings.filters == root["filters"] else list(warnings.filters)


def _numpy_random():
    numpy = sys.modules.get("numpy")
    return numpy.random.get_state(legacy=False) if numpy and "numpy.random" in sys.modules else None


def _numpy_errors():
    numpy = sys.modules.get("numpy")
    if numpy is None or numpy.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}:
        return None
    return numpy.geterr()


def _numpy_print():
    numpy = sys.modules.get("numpy")
    return numpy.get_printoptions() if numpy else None


def _decimal():
    context = decimal.getcontext()
    return None if repr(context) == root["decimal"] else context


def _recursion():
    limit = sys.getrecursionlimit()
    return None if limit == root["recursion"] else limit


def _int_digits():
    now = _digits()
    return None if now == root["digits"] else now


def _configurable():
    shell = kernel_shell.shell
    return {"shell": shell, "text": shell.display_formatter.formatters["text/plain"]}


def _configured():
    """What of IPython, and of how it shows text, can be configured."""
    for kind, one in _configurable().items():
        for name in type(one).class_trait_names(config=True):
            yield (kind, name), one


def _ipython():
    found = {}
    for (kind, name), then in root["ipython"].items():
        now = getattr(_configurable()[kind], name, None)
        if type(now) in (bool, int, float, str) and (type(now), now) != (type(then), then):
            found[kind, name] = now
    return found or None


def _locale():
    now = locale.setlocale(locale.LC_ALL)
    return None if now == root["locale"] else now


def _gc():
    now = (gc.isenabled(), gc.get_threshold())
    return None if now == root["gc"] else now


def _matplotlib():
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None:
        return None
    default = matplotlib.rcParamsDefault
    now = {key: dict.__getitem__(matplotlib.rcParams, key) for key in dict.keys(matplotlib.rcParams)}
    return {key: value for key, value in now.items() if value != dict.get(default, key)}


def _inline():
    """How figures are shown below their cell."""
    config = sys.modules.get("matplotlib_inline.config")
    if config is None or not config.InlineBackend.initialized():
        return None
    now, usual = config.InlineBackend.instance(), config.InlineBackend()
    names = [name for name in now.trait_names(config=True) if getattr(now, name) != getattr(usual, name)]
    return {name: getattr(now, name) for name in names} or None


def _sklearn():
    sklearn = sys.modules.get("sklearn")
    if sklearn is None:
        return None
    usual = sklearn._config._global_config
    return {key: now for key, now in sklearn.get_config().items() if usual.get(key) != now} or None


def _pandas():
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    config = pandas._config.config
    found = {}
    for key, option in config._registered_options.items():
        now = config._global_config
        for part in key.split("."):
            now = now[part]
        if now != option.defval:
            found[key] = now
    return found or None


_collectors = {
    "random": random.getstate,
    "warnings": _filters,
    "numpy.random": _numpy_random,
    "numpy.errors": _numpy_errors,
    "numpy.print": _numpy_print,
    "decimal": _decimal,
    "recursion": _recursion,
    "digits": _int_digits,
    "ipython": _ipython,
    "locale": _locale,
    "gc": _gc,
    "matplotlib": _matplotlib,
    "inline": _inline,
    "sklearn": _sklearn,
    "pandas": _pandas,
    "logging": logs.levels,
}


def _history(shell, keep_buffer):
    """A line of JSON for each cell, cut from the beginning: what is full stays the same while the history grows, so that a
    state does not cost all of it anew."""
    manager, lines = shell.history_manager, []
    for parsed, raw in itertools.zip_longest(manager.input_hist_parsed, manager.input_hist_raw):
        both = [None if one is None else str(one) for one in (parsed, raw)]
        lines.append(dumps(both[:1] if both[0] == both[1] else both) + "\n")
    text = "".join(lines).encode()
    full = len(text) - len(text) % HISTORY_PIECE_BYTES
    pieces = [text[at : at + HISTORY_PIECE_BYTES] for at in range(0, full, HISTORY_PIECE_BYTES)]
    return {
        "count": shell.execution_count,
        "pieces": [(len(piece), pickling.Filled(keep_buffer(piece))) for piece in pieces],
        "rest": text[full:],
    }


def environ_changes():
    """{"set": …, "unset": […]} against the root's environment."""
    now, then = dict(os.environ), root["environ"]
    changed = {name: value for name, value in now.items() if then.get(name) != value}
    return {"set": changed, "unset": [name for name in then if name not in now]}


@functools.lru_cache(None)
def _imports_in(text):
    if "import" not in text:
        return []
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    except (SyntaxError, ValueError, RecursionError):
        return []


def imports(shell):
    """The import statements of the lineage's cells, and the modules that they named and that are loaded."""
    statements, modules = {}, {}
    for text in shell.history_manager.input_hist_parsed:
        for node in _imports_in(str(text)):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            statements[ast.unparse(node)] = None
            modules.update((name, None) for name in named if name in sys.modules and _has_spec(sys.modules[name]))
    return list(statements), list(modules)


def imported_from(shell, names):
    """For each name that an import statement took out of a module, and that still is what is there: [module, attribute]."""
    found = {}
    for text in shell.history_manager.input_hist_parsed:
        for node in _imports_in(str(text)):
            module = sys.modules.get(node.module) if isinstance(node, ast.ImportFrom) and node.module else None
            if module is None or node.level or not _has_spec(module):
                continue
            taken = {alias.asname or alias.name: alias.name for alias in node.names}
            if "*" in taken:
                taken = {name: name for name in names if name in vars(module)}
            for name, attribute in taken.items():
                if name in names and vars(module).get(attribute, found) is names[name]:
                    found[name] = [node.module, attribute]
    return found


def _has_spec(module):
    return getattr(module, "__spec__", None) is not None


def packages(modules):
    """The versions of the packages that the cells use, for a person who wonders why something cannot be loaded."""
    found = {}
    for name in modules:
        top = name.split(".")[0]
        version = getattr(sys.modules.get(top), "__version__", None)
        if isinstance(version, str):
            found[top] = version
    return found


# -- sources of cells -------------------------------------------------------------------------------------------------


def cells_of(files, defined):
    """The sources of the cells in which something was defined that is kept: {file: (number of its cell, text)}."""
    files = set(files)
    for one in defined:
        if isinstance(one, type):
            files.add(_cell_of_class(one))
    numbers = getattr(kernel_shell.shell.compile, "_filename_map", {})
    found = {}
    for file in files:
        entry = linecache.cache.get(file)
        if file and file.startswith(CELL_PREFIX) and entry and len(entry) == 4:
            found[file] = (numbers.get(file), "".join(entry[2]))
    return dict(sorted(found.items()))


def sources(defined):
    """The source of each function and class, by its name, for people and for other programs."""
    found = {}
    for name, value in defined.items():
        try:
            found[_clean(name)] = _clean(inspect.getsource(value))
        except Exception:  # made by exec, or its cell is not known any more
            continue
    return found


_real_getfile = inspect.getfile


def _getfile(object):
    """As inspect's, which refuses classes of `__main__`: a notebook's classes have a source, too."""
    if isinstance(object, type) and getattr(object, "__module__", None) == "__main__":
        file = _cell_of_class(object)
        if file:
            return file
    return _real_getfile(object)


def _cell_of_class(kind):
    """The file name of the cell that defines a class; None when it is not known."""
    for value in vars(kind).values():
        function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        function = getattr(function, "__wrapped__", function)
        code = getattr(function, "__code__", None)
        if code and getattr(function, "__qualname__", "").startswith(kind.__qualname__ + "."):
            if code.co_filename.startswith(CELL_PREFIX) and code.co_filename in linecache.cache:
                return code.co_filename
    pattern = re.compile(rf"^\s*class\s+{re.escape(kind.__name__)}\b", re.MULTILINE)
    for file in reversed([name for name in linecache.cache if name.startswith(CELL_PREFIX)]):
        entry = linecache.cache[file]
        if len(entry) == 4 and pattern.search("".join(entry[2])):
            return file
    return None


# -- restoring --------------------------------------------------------------------------------------------------------


def restore_environ(changes):
    os.environ.update(changes.get("set", {}))
    for name in changes.get("unset", []):
        os.environ.pop(name, None)
    if changes:
        time.tzset()


def restore_early(found):
    if "cwd" in found:
        try:
            os.chdir(found["cwd"])
        except OSError:  # it is not there any more: relative paths will say so
            pass
    if "path" in found:
        sys.path[:] = [root["path"][one] if isinstance(one, int) else one for one in found["path"]]
    if "argv" in found:
        sys.argv[:] = found["argv"]


def import_all(modules, early):
    for name in modules:
        try:
            __import__(name)
        except Exception:  # whatever needs it will say so
            continue
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and "pyplot" in early:
        # Until then no figure is shown, and what shows them below their cell is not there.
        try:
            pyplot.switch_backend(early["pyplot"])
        except Exception:  # it needs a screen: pyplot looks again for itself
            return


def restore_late(shell, late, outs):
    for name, value in late.items():
        restore_one = _restorers.get(name)
        try:
            if restore_one is not None:
                restore_one(value)
        except Exception:  # of another version of a library: the rest is restored all the same
            continue
    _restore_history(shell, late, outs)


def _restore_numpy_errors(value):
    import numpy

    numpy.seterr(**value)


def _restore_numpy_random(value):
    import numpy

    numpy.random.set_state(value)


def _restore_numpy_print(value):
    import numpy

    if value != numpy.get_printoptions():
        value.pop("override_repr", None)
        numpy.set_printoptions(**value)


def _restore_matplotlib(value):
    import matplotlib

    for key, one in value.items():
        if not key.startswith("backend"):
            dict.__setitem__(matplotlib.rcParams, key, one)


def _restore_inline(value):
    from matplotlib_inline.config import InlineBackend

    for name, one in value.items():
        setattr(InlineBackend.instance(), name, one)


def _restore_sklearn(value):
    import sklearn

    sklearn.set_config(**value)


def _restore_pandas(value):
    import pandas

    for key, one in value.items():
        pandas.set_option(key, one)


def _restore_filters(value):
    warnings.filters[:] = value
    warnings._filters_mutated() if hasattr(warnings, "_filters_mutated") else warnings._filters_mutated_lock_held()


def _restore_digits(value):
    sys.set_int_max_str_digits(value)


def _restore_ipython(value):
    for (kind, name), one in value.items():
        setattr(_configurable()[kind], name, one)


def _restore_gc(value):
    (gc.enable if value[0] else gc.disable)()
    gc.set_threshold(*value[1])


def _restore_cells(value):
    numbers = getattr(kernel_shell.shell.compile, "_filename_map", None)
    for file, (number, text) in value.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        if numbers is not None and number is not None:
            numbers[file] = number


_restorers = {
    "random": random.setstate,
    "warnings": _restore_filters,
    "numpy.random": _restore_numpy_random,
    "numpy.errors": _restore_numpy_errors,
    "numpy.print": _restore_numpy_print,
    "decimal": decimal.setcontext,
    "recursion": sys.setrecursionlimit,
    "digits": _restore_digits,
    "ipython": _restore_ipython,
    "locale": lambda value: locale.setlocale(locale.LC_ALL, value),
    "gc": _restore_gc,
    "matplotlib": _restore_matplotlib,
    "inline": _restore_inline,
    "sklearn": _restore_sklearn,
    "pandas": _restore_pandas,
    "logging": logs.restore_levels,
    "cells": _restore_cells,
    "umask": os.umask,
}


def _text_of(history):
    text = bytearray()
    for count, fill in history["pieces"]:
        piece = bytearray(count)
        fill(piece)
        text += piece
    return (text + history["rest"]).decode()


def _restore_history(shell, late, outs):
    """In, Out, _ and their like, so that the next cell is In[n+1]."""
    history = late.get("history")
    if history is None:
        return
    manager, names = shell.history_manager, shell.user_ns
    shell.execution_count = history["count"]
    lines = [loads(line) for line in _text_of(history).splitlines()]
    raw = [line[-1] for line in lines if line[-1] is not None]
    manager.input_hist_parsed[:] = [line[0] for line in lines if line[0] is not None]
    manager.input_hist_raw[:] = raw
    manager.output_hist.update(outs)
    hidden = {f"_i{number}": text for number, text in enumerate(raw) if number}
    last = [""] * 4 + raw[1:]
    hidden.update(_i=last[-2], _ii=last[-3], _iii=last[-4])
    for name, text in (("_i", last[-2]), ("_ii", last[-3]), ("_iii", last[-4]), ("_i00", last[-1])):
        if hasattr(manager, name):
            setattr(manager, name, text)
    hidden.update((f"_{number}", value) for number, value in outs.items())
    for name in ("_", "__", "___"):
        if "under" + name in late:
            hidden[name], of_hook = late["under" + name]
            setattr(shell.displayhook, name, of_hook)
    names.update(hidden)
    shell.user_ns_hidden.update(hidden)
