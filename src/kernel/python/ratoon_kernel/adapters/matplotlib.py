"""Saves and restores settings of matplotlib and of its inline backend."""

from __future__ import annotations

import sys
from typing import Any

from .. import pickling
from ..adapter import Adapter, Change, Reduced, Setting


def backend_in_use() -> str | None:
    """Returns the name of the backend that pyplot has loaded, or None."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if getattr(pyplot, "_backend_mod", None) is None:
        return None
    name: str = sys.modules["matplotlib"].get_backend()
    return name


def use_backend(name: str) -> None:
    """Loads a backend. Figures appear below their cell only after their backend is loaded."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        try:
            pyplot.switch_backend(name)
        except Exception:  # for example a backend that needs a screen: pyplot chooses another
            return


def _changed_parameters() -> dict[str, Any] | None:
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None:
        return None
    default, now = matplotlib.rcParamsDefault, matplotlib.rcParams
    # Reads the values as from a plain dictionary. matplotlib's own access would load a backend.
    values = {key: dict.__getitem__(now, key) for key in dict.keys(now)}
    return {key: value for key, value in values.items() if value != dict.get(default, key)}


def _restore_parameters(parameters: dict[str, Any]) -> None:
    import matplotlib

    for key, value in parameters.items():
        if not key.startswith("backend"):
            dict.__setitem__(matplotlib.rcParams, key, value)


def _inline_options() -> dict[str, Any] | None:
    config = sys.modules.get("matplotlib_inline.config")
    if config is None or not config.InlineBackend.initialized():
        return None
    now, usual = config.InlineBackend.instance(), config.InlineBackend()
    options = {name: getattr(now, name) for name in now.trait_names(config=True)}
    return {name: one for name, one in options.items() if one != getattr(usual, name)} or None


def _restore_inline_options(options: dict[str, Any]) -> None:
    from matplotlib_inline.config import InlineBackend

    for name, value in options.items():
        setattr(InlineBackend.instance(), name, value)


def _colormaps() -> dict[str, tuple[Any, ...]]:
    """Returns the colormaps that cells have registered, by an expression for each."""
    known = getattr(sys.modules.get("matplotlib"), "colormaps", None)
    builtin = getattr(known, "_builtin_cmaps", None)
    if known is None or builtin is None:
        return {}
    return {
        f"matplotlib.colormaps[{name!r}]": (name, known[name])
        for name in known
        if name not in builtin
    }


def _restore_colormap(name: str, colormap: Any) -> None:
    import matplotlib

    matplotlib.colormaps.register(colormap, name=name, force=True)


# Modules whose callbacks belong to the window of a figure, which each process makes itself.
_OF_WINDOWS = ("matplotlib._pylab_helpers", "matplotlib.backend")


def _reduce_callbacks(value: Any) -> Reduced:
    """matplotlib's own pickling leaves the callbacks out: a colorbar would no longer follow its
    image."""
    make, arguments, state = value.__reduce_ex__(pickling.PROTOCOL)[:3]
    callbacks = {
        signal: {number: one for number, kept in several.items() if _is_kept(one := kept())}
        for signal, several in value.callbacks.items()
    }
    return make, arguments, {**state, "callbacks": callbacks}


def _is_kept(callback: Any) -> bool:
    if callback is None:
        return False
    owner = getattr(callback, "__self__", None)
    if owner is None:
        # A new figure connects functions of its module by itself.
        return not _module_of(callback).startswith((*_OF_WINDOWS, "matplotlib.figure"))
    return not any(_module_of(kind).startswith(_OF_WINDOWS) for kind in type(owner).__mro__)


def _module_of(value: Any) -> str:
    return str(getattr(value, "__module__", ""))


class Matplotlib(Adapter):
    library = "matplotlib"
    loses_nothing = True
    families = {("matplotlib.cbook", "CallbackRegistry"): _reduce_callbacks}
    named = (
        ("matplotlib", "rcParams"),
        ("matplotlib", "colormaps"),
        ("matplotlib.style", "library"),
    )
    changes = {"colormap": Change(_colormaps, _restore_colormap)}
    settings = {
        "matplotlib": Setting(_changed_parameters, _restore_parameters),
        "inline": Setting(_inline_options, _restore_inline_options),
    }
