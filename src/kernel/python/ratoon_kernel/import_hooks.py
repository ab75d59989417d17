"""Adapts well-known libraries to notebooks and forks when cells import these libraries.

Plots and progress bars then appear below their cell, and need no network. Settings of the user take
precedence. This module does not set MPLBACKEND or PLOTLY_RENDERER, because scripts started from a
cell would inherit these variables.
"""

import functools
import importlib
import os
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from . import sqlite_files, widgets

INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


# All process pools of concurrent.futures that this process or its ancestors have made.
process_pools: "weakref.WeakSet[Any]" = weakref.WeakSet()


def prepare() -> None:
    """Installs the import hooks."""
    finders: list[Any] = sys.meta_path
    finders.insert(0, _Prepared())
    # IPython may have imported it.
    if "sqlite3" in sys.modules:
        sqlite_files.watch(sys.modules["sqlite3"])


class _Prepared:
    """An import finder that calls functions before or after certain modules are loaded. The other
    finders find and load the modules."""

    def __init__(self) -> None:
        self._before = {
            "matplotlib.pyplot": _plot_inline,
            "grpc._cython.cygrpc": _leave_forks_alone,
        }
        self._after = {
            "grpc._cython.cygrpc": _allow_forks_again,
            "plotly.io._renderers": _plotly,
            "bokeh.io.notebook": _bokeh,
            "numpy": _numpy,
            "tqdm.std": _tqdm,
            "tqdm.notebook": _tqdm_notebook,
            "comm": widgets.connect,
            "ipykernel.ipkernel": widgets.connect_again,
            "ipywidgets.widgets.widget": widgets.echo_always,
            "ipywidgets.widgets.widget_output": widgets.capture_here,
            "concurrent.futures.process": _note_process_pools,
            "sqlite3": sqlite_files.watch,
        }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        before = self._before.pop(name, None)
        if before is not None:
            before()
        after = self._after.pop(name, None)
        if after is None:
            return None
        finders: list[Any] = sys.meta_path
        for finder in finders:
            spec: Any = (
                finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            )
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, after)
                return spec
        return None


class _Loader:
    """Calls a function after a module's own loader has executed the module."""

    def __init__(self, own: Any, after: Callable[[Any], None]) -> None:
        self._own = own
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def create_module(self, spec: Any) -> Any:
        return self._own.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._own
        self._own.exec_module(module)
        try:
            self._after(module)
        except Exception:
            pass  # an unexpected version of the library, which is left unchanged


def _plot_inline() -> None:
    import matplotlib

    # The setting is a string if the user has called `matplotlib.use`. Reads it as from a plain
    # dictionary, because matplotlib's own access would load a backend.
    own = dict.__getitem__(matplotlib.rcParams, "backend")
    if "MPLBACKEND" not in os.environ and not (isinstance(own, str) and own):
        matplotlib.use(INLINE_BACKEND)


def _leave_forks_alone() -> None:
    """Switches off gRPC's fork handlers. These handlers start threads in each child, and sometimes
    a child crashes. gRPC reads the environment variable once, when it is imported."""
    if _GRPC not in os.environ:
        os.environ[_GRPC] = _OFF


def _allow_forks_again(module: Any) -> None:
    if os.environ.get(_GRPC) == _OFF:
        del os.environ[_GRPC]


# The space distinguishes our value from a value that the user has set.
_GRPC, _OFF = "GRPC_ENABLE_FORK_SUPPORT", "0 "


def _numpy(_: Any) -> None:
    """Makes numpy's global random generator a part of the state. Newer versions of numpy load it
    when it is first used, and each branch would then seed its own."""
    importlib.import_module("numpy.random")


def _plotly(module: Any) -> None:
    """Makes plotly show figures as HTML that loads plotly.js from its public address. For this
    address the page supplies plotly.js from the user's plotly package, so outputs need no network
    and do not contain 5 MB of JavaScript."""
    if "PLOTLY_RENDERER" not in os.environ:
        module.renderers.default = "colab"
    if module.nbformat is None:
        # plotly requires nbformat, but only checks whether it is installed.
        module.nbformat = types.SimpleNamespace(__version__="5.0.0")


def _bokeh(module: Any) -> None:
    """Makes bokeh's `show` display the plot below the cell, as if the user had called
    `output_notebook()`. Each plot is an HTML document that loads BokehJS from its public
    address."""
    from bokeh.io.state import curstate

    def load(resources: Any, verbose: Any, hide_banner: Any, load_timeout: Any) -> None:
        pass

    def show(obj: Any, state: Any, notebook_handle: Any) -> None:
        from bokeh.embed import file_html
        from bokeh.resources import CDN
        from IPython.display import display

        display({"text/html": file_html(obj, CDN), "text/plain": repr(obj)}, raw=True)

    def application(app: Any, state: Any, notebook_url: Any, **_: Any) -> None:
        raise NotImplementedError("a Bokeh application needs a server of its own: `bokeh serve`")

    # `bokeh.io` installs these three functions for notebooks after this module has been loaded.
    module.load_notebook, module.show_doc, module.show_app = load, show, application
    curstate().output_notebook()


def _note_process_pools(module: Any) -> None:
    """Adds each new process pool to `process_pools`. concurrent.futures itself lists a pool only
    after its first task."""
    make = module.ProcessPoolExecutor.__init__

    @functools.wraps(make)
    def make_and_note(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        process_pools.add(self)

    module.ProcessPoolExecutor.__init__ = make_and_note


def _tqdm(module: Any) -> None:
    """Switches off tqdm's monitor thread, because a thread would prevent forks of the state. The
    monitor only redraws bars that were not updated for a while."""
    module.tqdm.monitor_interval = 0


def _tqdm_notebook(module: Any) -> None:
    """Replaces widget bars by text bars where ipywidgets is not installed."""
    from tqdm.std import tqdm

    if module.IProgress is not None:
        return

    class Bar(tqdm):
        def __init__(self, *args: Any, display: Any = True, **kwargs: Any) -> None:
            # Text bars have no parameter `display` and accept no widths like "100%".
            if isinstance(kwargs.get("ncols"), str):
                del kwargs["ncols"]
            super().__init__(*args, **kwargs)

    # Gives the class the name of tqdm's own class, because checkpoints and `trange` look it up by
    # that name.
    Bar.__module__, Bar.__name__, Bar.__qualname__ = (
        "tqdm.notebook",
        "tqdm_notebook",
        "tqdm_notebook",
    )
    module.tqdm = module.tqdm_notebook = Bar
