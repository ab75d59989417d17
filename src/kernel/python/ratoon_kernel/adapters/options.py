"""Saves and restores the options of libraries that have nothing else to be handled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..adapter import Adapter, Setting

# Returns the options of a library, by name.
Read = Callable[[Any], Mapping[str, Any]]
# Sets those options of a library that differ.
Write = Callable[[Any, dict[str, Any]], Any]


class Options(Adapter):
    """The options of a library. `module` is where they are kept."""

    def __init__(
        self, module: str, read: Read, write: Write, named: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.library = module.partition(".")[0]
        self.module, self.read, self.write, self.named = module, read, write, named
        self.settings = {f"options of {module}": Setting(self._collect, self._restore)}

    def _options(self) -> dict[str, Any]:
        module = sys.modules.get(self.module)
        options = {} if module is None else dict(self.read(module))
        return {name: value for name, value in options.items() if _is_plain(value)}

    def _collect(self) -> dict[str, Any] | None:
        return self._options() or None

    def _restore(self, options: dict[str, Any]) -> None:
        now = self._options()
        changed = {name: value for name, value in options.items() if now.get(name) != value}
        if changed:
            self.write(sys.modules[self.module], changed)


def _is_plain(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(_is_plain(part) for pair in value.items() for part in pair)
    return value is None or type(value) in (bool, int, float, str)


def _assign(owner: Any, changed: dict[str, Any]) -> None:
    for name, value in changed.items():
        setattr(owner, name, value)


_REGISTRIES = ("data_transformers", "renderers", "theme")
_KERAS = ("epsilon", "floatx", "image_data_format")
_MPMATH = ("prec", "pretty", "trap_complex")


def _registries_of_altair(module: Any) -> dict[str, Any]:
    return {
        name: [getattr(module, name).active, dict(getattr(module, name).options)]
        for name in _REGISTRIES
        if name in vars(module)
    }


def _enable_in_altair(module: Any, changed: dict[str, Any]) -> None:
    for name, (active, options) in changed.items():
        getattr(module, name).enable(active, **options)


def _options_of_keras(keras: Any) -> dict[str, Any]:
    options = {name: getattr(keras.config, name)() for name in _KERAS}
    return {**options, "dtype_policy": keras.config.dtype_policy().name}


def _set_in_keras(keras: Any, changed: dict[str, Any]) -> None:
    for name, value in changed.items():
        getattr(keras.config, f"set_{name}")(value)


class Named(Adapter):
    """A library that has only objects to be pickled by name."""

    def __init__(self, library: str, *named: tuple[str, str]) -> None:
        self.library, self.named = library, named


def all_options() -> list[Adapter]:
    return [
        Named(
            "plotly", ("plotly.io._renderers", "renderers"), ("plotly.io._templates", "templates")
        ),
        Options(
            "altair",
            _registries_of_altair,
            _enable_in_altair,
            (("altair", "data_transformers"), ("altair", "renderers")),
        ),
        Options(
            "arviz",
            lambda arviz: dict(arviz.rcParams),
            lambda arviz, changed: arviz.rcParams.update(changed),
            (("arviz", "rcParams"),),
        ),
        Options(
            "dask.config",
            # A client of a cluster sets itself as the scheduler, and ends with its process.
            lambda config: {k: v for k, v in config.config.items() if v != "dask.distributed"},
            lambda config, changed: config.set(changed),
            (("dask.config", "config"),),
        ),
        Options(
            "jax",
            lambda jax: jax.config.values,
            lambda jax, changed: [jax.config.update(*pair) for pair in changed.items()],
            (("jax", "config"),),
        ),
        Options("keras", _options_of_keras, _set_in_keras),
        Options(
            "mpmath",
            lambda mpmath: {name: getattr(mpmath.mp, name) for name in _MPMATH},
            lambda mpmath, changed: _assign(mpmath.mp, changed),
            (("mpmath", "mp"), ("mpmath", "fp"), ("mpmath", "iv")),
        ),
        Options(
            "xarray.core.options",
            lambda options: options.OPTIONS,
            lambda options, changed: options.set_options(**changed),
            (("xarray.core.options", "OPTIONS"),),
        ),
        Options(
            "zarr.core.config",
            lambda module: module.config.config,
            lambda module, changed: module.config.set(changed),
            (("zarr", "config"),),
        ),
    ]
