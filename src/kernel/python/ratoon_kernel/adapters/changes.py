"""What cells changed in objects that belong to libraries: attributes of modules, accessors of pandas, how IPython shows
objects of a type, handlers of loggers.

Each is a part of a checkpoint, known by an expression that a person understands. One that cannot be saved is missing
under that expression.
"""

import re
import sys
import types

from . import databases
from . import logs
from .. import pickling
from .. import shell as kernel_shell

# How IPython shows objects of a type in the root, by format.
_shown_in_root = {}
_ASSIGNED = r"\s*(?:\*\*|//|<<|>>|[-+*/%&|^@])?=(?!=)"


def note_root():
    for kind, formatter in _formatters():
        _shown_in_root[kind] = dict(formatter.type_printers)


def collect(shell):
    """{expression: (kind, …)} of everything that was changed."""
    found = {}
    for name, of_kind in (
        ("attribute", lambda: _attributes(shell)),
        ("accessor", _accessors),
        ("dtype", _dtypes),
        ("printers", _printers),
        ("handlers", logs.handlers),
        ("default connection", databases.default_connection),
    ):
        try:
            found.update((expression, (name, *parts)) for expression, parts in of_kind().items())
        except Exception:  # a library that is not as expected
            continue
    return found


def restore(parts):
    """Answers why a part could not be restored, by its expression."""
    failed = {}
    for expression, (kind, *part) in parts.items():
        try:
            _restorers[kind](*part)
        except Exception as error:
            failed[expression] = f"{type(error).__name__}: {error}"
    return failed


# -- attributes of modules --------------------------------------------------------------------------------------------


def _attributes(shell):
    """Attributes that a cell of the lineage assigns to, by what is written there: `module.attribute = …`, also of something
    in a module, and `setattr(module, "attribute", …)`."""
    modules = {name: one for name, one in shell.user_ns.items() if type(one) is types.ModuleType}
    modules = {name: one for name, one in modules.items() if pickling.can_be_imported(one)}
    if not modules:
        return {}
    roots = "|".join(map(re.escape, modules))
    assigned = re.compile(rf"(?<![\w.])((?:{roots})(?:\.\w+)*)\.(\w+){_ASSIGNED}")
    by_name = re.compile(rf"\bsetattr\(\s*((?:{roots})(?:\.\w+)*)\s*,\s*['\"](\w+)['\"]")
    found = {}
    for text in shell.history_manager.input_hist_parsed:
        for pattern in (assigned, by_name):
            for place, name in pattern.findall(str(text)):
                part = _attribute(modules, place.split("."), name)
                if part is not None:
                    found[f"{place}.{name}"] = part
    return found


def _attribute(modules, place, name):
    root, *steps = place
    owner = modules[root]
    try:
        for step in steps:
            owner = getattr(owner, step)
        own = isinstance(owner, (types.ModuleType, type))
        value = vars(owner)[name] if own else getattr(owner, name)
    except Exception:  # it is not there any more, or the line never ran
        return None
    if name.startswith("__") or owner is sys and type(value) not in (bool, int, float, str, type(None)):
        return None
    return modules[root].__name__, steps, name, value


def _restore_attribute(module, steps, name, value):
    owner = pickling.import_module(module)
    for step in steps:
        owner = getattr(owner, step)
    setattr(owner, name, value)


# -- pandas -----------------------------------------------------------------------------------------------------------


def _accessors():
    pandas = sys.modules.get("pandas")
    found = {}
    for kind in ("DataFrame", "Series", "Index") if pandas is not None else ():
        owner = getattr(pandas, kind)
        for name in owner._accessors:
            accessor = getattr(vars(owner).get(name), "_accessor", None)
            if getattr(accessor, "__module__", None) == "__main__":
                found[f"pandas.{kind}.{name}"] = (kind, name, accessor)
    return found


def _restore_accessor(kind, name, accessor):
    extensions = pickling.import_module("pandas.api.extensions")
    register = getattr(extensions, f"register_{kind.lower()}_accessor")
    register(name)(accessor)


def _dtypes():
    base = sys.modules.get("pandas.core.dtypes.base")
    known = base._registry.dtypes if base is not None else ()
    return {
        f"pandas.api.extensions.register_extension_dtype({kind.__qualname__})": (kind,)
        for kind in known
        if kind.__module__ == "__main__"
    }


def _restore_dtype(kind):
    pickling.import_module("pandas.api.extensions").register_extension_dtype(kind)


# -- how IPython shows objects ----------------------------------------------------------------------------------------


def _formatters():
    return kernel_shell.shell.display_formatter.formatters.items()


def _printers():
    found = {}
    for kind, formatter in _formatters():
        then = _shown_in_root.get(kind, {})
        now = {one: shows for one, shows in formatter.type_printers.items() if then.get(one) is not shows}
        if now:
            found[f"get_ipython().display_formatter.formatters[{kind!r}]"] = (kind, now)
    return found


def _restore_printers(kind, printers):
    dict(_formatters())[kind].type_printers.update(printers)


_restorers = {
    "attribute": _restore_attribute,
    "accessor": _restore_accessor,
    "dtype": _restore_dtype,
    "printers": _restore_printers,
    "handlers": logs.restore_handlers,
    "default connection": databases.restore_default_connection,
}
