"""Makes plots, charts and progress bars of the well-known libraries appear under their cell.

Each library is set right just when it is imported, and only where the user has not chosen otherwise; none of it is imported
here. Not by environment variables (MPLBACKEND, PLOTLY_RENDERER), which scripts started from a cell would inherit.
"""

import functools
import os
import sys
import types
import weakref

INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


# All of concurrent.futures that this process or one that it comes from has made.
process_pools = weakref.WeakSet()


def prepare():
    """Waits for the imports."""
    sys.meta_path.insert(0, _Prepared())


class _Prepared:
    """Finds a module as the others do, and does something before or after it is loaded."""

    def __init__(self):
        self._before = {"matplotlib.pyplot": _plot_inline, "grpc._cython.cygrpc": _leave_forks_alone}
        self._after = {
            "grpc._cython.cygrpc": _allow_forks_again,
            "plotly.io._renderers": _plotly,
            "bokeh.io.notebook": _bokeh,
            "tqdm.std": _tqdm,
            "tqdm.notebook": _tqdm_notebook,
            "ipywidgets.widgets.interaction": _interaction,
            "concurrent.futures.process": _note_process_pools,
        }

    def find_spec(self, name, path=None, target=None):
        before = self._before.pop(name, None)
        if before is not None:
            before()
        after = self._after.pop(name, None)
        if after is None:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, after)
                return spec
        return None


class _Loader:
    """A module's own loader, and what comes after it."""

    def __init__(self, own, after):
        self._own = own
        self._after = after

    def __getattr__(self, name):
        return getattr(self._own, name)

    def create_module(self, spec):
        return self._own.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._own
        self._own.exec_module(module)
        try:
            self._after(module)
        except Exception:
            pass  # a version that is built otherwise: it shows what it shows elsewhere


def _plot_inline():
    import matplotlib

    # What the user already chose by `matplotlib.use` is a text.
    own = dict.__getitem__(matplotlib.rcParams, "backend")
    if "MPLBACKEND" not in os.environ and not (isinstance(own, str) and own):
        matplotlib.use(INLINE_BACKEND)


def _leave_forks_alone():
    """gRPC's handlers for forks start its threads in each child. States have one thread, and with these some crash when they
    are made. gRPC reads the variable once, while it is imported."""
    if _GRPC not in os.environ:
        os.environ[_GRPC] = _OFF


def _allow_forks_again(module):
    if os.environ.get(_GRPC) == _OFF:
        del os.environ[_GRPC]


# A value that no user would write, so that it is known again.
_GRPC, _OFF = "GRPC_ENABLE_FORK_SUPPORT", "0 "


def _plotly(module):
    """Each figure is HTML that stands by itself and names plotly.js by its public address. The page gives the frame the
    plotly.js of this very package instead: nothing is loaded from there, and an output holds no 5 MB of library."""
    if "PLOTLY_RENDERER" not in os.environ:
        module.renderers.default = "colab"
    if module.nbformat is None:
        # It only asks whether a notebook is there to take the figure.
        module.nbformat = types.SimpleNamespace(__version__="5.0.0")


def _bokeh(module):
    """`show` shows below the cell, as after `output_notebook()`; each plot stands by itself, as plotly's do."""
    from bokeh.io.state import curstate

    def load(resources, verbose, hide_banner, load_timeout):
        pass

    def show(obj, state, notebook_handle):
        from bokeh.embed import file_html
        from bokeh.resources import CDN
        from IPython.display import display

        display({"text/html": file_html(obj, CDN), "text/plain": repr(obj)}, raw=True)

    def application(app, state, notebook_url, **_):
        raise NotImplementedError("a Bokeh application needs a server of its own: `bokeh serve`")

    # What bokeh.io is about to install for notebooks.
    module.load_notebook, module.show_doc, module.show_app = load, show, application
    curstate().output_notebook()


def _note_process_pools(module):
    """A pool that has not begun is in no list of the library's."""
    make = module.ProcessPoolExecutor.__init__

    @functools.wraps(make)
    def make_and_note(self, *args, **kwargs):
        make(self, *args, **kwargs)
        process_pools.add(self)

    module.ProcessPoolExecutor.__init__ = make_and_note


def _tqdm(module):
    """Without its monitor: that is a thread, which no branch has, and all that it does is to redraw bars that stand still."""
    module.tqdm.monitor_interval = 0


def _tqdm_notebook(module):
    """Bars of text: those of widgets would stand still on the page."""
    from tqdm.std import tqdm

    class Bar(tqdm):
        def __init__(self, *args, display=True, **kwargs):
            # What only bars of widgets know: whether they are shown at once, and widths like "100%".
            if isinstance(kwargs.get("ncols"), str):
                del kwargs["ncols"]
            super().__init__(*args, **kwargs)

    # A checkpoint finds it where the library has its own, and so does its `trange`.
    Bar.__module__, Bar.__name__, Bar.__qualname__ = "tqdm.notebook", "tqdm_notebook", "tqdm_notebook"
    module.tqdm = module.tqdm_notebook = Bar


def _interaction(module):
    """`interact` clears its own widget before each call. That widget takes no output here, so the cell's would be cleared."""
    module.clear_output = lambda wait=False: None
