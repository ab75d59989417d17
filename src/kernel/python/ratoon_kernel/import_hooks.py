"""Adapts well-known libraries to notebooks and forks when they are imported.

Plots, charts and progress bars appear below their cell without a network. User settings take
precedence, and this module imports no library. It does not set MPLBACKEND or PLOTLY_RENDERER,
because scripts started from a cell would inherit these variables.
"""

import functools
import os
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


# All process pools of concurrent.futures that this process or an ancestor has made.
process_pools: "weakref.WeakSet[Any]" = weakref.WeakSet()


def prepare() -> None:
    """Installs the hooks."""
    finders: list[Any] = sys.meta_path
    finders.insert(0, _Prepared())


class _Prepared:
    """A finder that acts before or after a module is loaded by the other finders."""

    def __init__(self) -> None:
        self._before = {
            "matplotlib.pyplot": _plot_inline,
            "grpc._cython.cygrpc": _leave_forks_alone,
        }
        self._after = {
            "grpc._cython.cygrpc": _allow_forks_again,
            "plotly.io._renderers": _plotly,
            "bokeh.io.notebook": _bokeh,
            "tqdm.std": _tqdm,
            "tqdm.notebook": _tqdm_notebook,
            "ipywidgets.widgets.interaction": _interaction,
            "concurrent.futures.process": _note_process_pools,
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
    """A module's own loader, and a function to call after it."""

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
            pass  # an unexpected version of the library: it behaves as outside Ratoon


def _plot_inline() -> None:
    import matplotlib

    # This is a string if the user has called `matplotlib.use`.
    own = dict.__getitem__(matplotlib.rcParams, "backend")
    if "MPLBACKEND" not in os.environ and not (isinstance(own, str) and own):
        matplotlib.use(INLINE_BACKEND)


def _leave_forks_alone() -> None:
    """Switches off gRPC's fork handlers, which start threads in each child. With them, states would
    have several threads, and some states would crash. gRPC reads the variable once, during its
    import."""
    if _GRPC not in os.environ:
        os.environ[_GRPC] = _OFF


def _allow_forks_again(module: Any) -> None:
    if os.environ.get(_GRPC) == _OFF:
        del os.environ[_GRPC]


# The value has a space, so that it differs from a value that the user has set.
_GRPC, _OFF = "GRPC_ENABLE_FORK_SUPPORT", "0 "


def _plotly(module: Any) -> None:
    """Makes figures self-contained HTML that names plotly.js by its public address. The page
    answers this address with plotly.js from the user's package, so outputs need no network and do
    not hold 5 MB of library."""
    if "PLOTLY_RENDERER" not in os.environ:
        module.renderers.default = "colab"
    if module.nbformat is None:
        # plotly only checks whether nbformat is installed.
        module.nbformat = types.SimpleNamespace(__version__="5.0.0")


def _bokeh(module: Any) -> None:
    """Makes `show` show below the cell, as after `output_notebook()`. Each plot is self-contained,
    like those of plotly."""
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

    # bokeh.io is about to install these for notebooks.
    module.load_notebook, module.show_doc, module.show_app = load, show, application
    curstate().output_notebook()


def _note_process_pools(module: Any) -> None:
    """Remembers process pools. The library does not list a pool before its first task."""
    make = module.ProcessPoolExecutor.__init__

    @functools.wraps(make)
    def make_and_note(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        process_pools.add(self)

    module.ProcessPoolExecutor.__init__ = make_and_note


def _tqdm(module: Any) -> None:
    """Switches off tqdm's monitor, a thread that only redraws bars that do not move. The thread
    would prevent forks of the state."""
    module.tqdm.monitor_interval = 0


def _tqdm_notebook(module: Any) -> None:
    """Uses text bars. Widget bars would not move on the page."""
    from tqdm.std import tqdm

    class Bar(tqdm):
        def __init__(self, *args: Any, display: Any = True, **kwargs: Any) -> None:
            # Only widget bars take `display` and widths like "100%".
            if isinstance(kwargs.get("ncols"), str):
                del kwargs["ncols"]
            super().__init__(*args, **kwargs)

    # Gets the name of the library's own class, under which checkpoints and `trange` find it.
    Bar.__module__, Bar.__name__, Bar.__qualname__ = (
        "tqdm.notebook",
        "tqdm_notebook",
        "tqdm_notebook",
    )
    module.tqdm = module.tqdm_notebook = Bar


def _interaction(module: Any) -> None:
    """Keeps `interact` from clearing outputs. It would clear its own widget elsewhere, but on the
    page the cell's outputs."""
    module.clear_output = lambda wait=False: None
