"""Starts the user's Python as Jupyter's kernel does: the working directory on `sys.path`, IPython's
configuration, and the user's startup files.

All of it happens once, in the root. So a startup file runs once for a notebook, not in each state,
and its variables belong to the first state. It prints to the server's standard error.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from . import outputs

# Jupyter's kernel reads these two files, the second one last.
_CONFIG_FILES = ("ipython_config.py", "ipython_kernel_config.py")
# The extensions that IPython loads unless it is configured otherwise: `%store`.
_DEFAULT_EXTENSIONS = ("storemagic",)
# The directories with IPython's files for all users of an environment and of the machine.
_FOR_ALL = (os.path.join(sys.prefix, "etc", "ipython"), "/etc/ipython", "/usr/local/etc/ipython")

# The variables that the startup files have set.
_names: set[str] = set()


def add_working_directory() -> None:
    """Adds the working directory to `sys.path` where IPython adds it: before the packages, and
    after the standard library. Called after our own imports, so that no file of the notebooks'
    directory replaces a module that we need."""
    if "" in sys.path or sys.flags.safe_path:
        return
    packages = ("site-packages", "dist-packages")
    at = (i for i, path in enumerate(sys.path) if os.path.basename(path) in packages)
    sys.path.insert(next(at, 0), "")


def config() -> Any:
    """Returns the user's configuration of IPython. Without configuration files it is empty."""
    from traitlets.config.loader import Config, PyFileConfigLoader

    merged = Config()
    for directory in (*reversed(_FOR_ALL), _profile()):
        for name in _CONFIG_FILES:
            path = os.path.join(directory, name)
            if os.path.exists(path):
                with _reporting(path):
                    merged.merge(PyFileConfigLoader(name, path=directory).load_config())
    return merged


def run(shell: Any) -> None:
    """Loads the configured extensions, then runs the startup files and the configured lines and
    files, in IPython's order. An error is printed, and ends only what raised it."""
    before = set(shell.user_ns)
    with _printing_to_the_log():
        extensions = _configured(shell.config, "default_extensions", _DEFAULT_EXTENSIONS)
        for extension in [*extensions, *_configured(shell.config, "extensions")]:
            with _reporting(f"the extension {extension}"):
                shell.extension_manager.load_extension(extension)
        for path in _startup_files():
            _run_file(shell, path)
        for line in _configured(shell.config, "exec_lines"):
            with _reporting(f"the line {line!r} of IPython's configuration"):
                result = shell.run_cell(line, store_history=False, silent=True)
                result.raise_error()
        for path in _configured(shell.config, "exec_files"):
            _run_file(shell, path)
    _names.update(name for name in shell.user_ns if name not in before)


def _configured(config: Any, name: str, default: Sequence[str] = ()) -> list[str]:
    """Returns a list that the configuration sets for IPython or only for its kernel."""
    found: list[str] = []
    sections = [one for one in (config.InteractiveShellApp, config.IPKernelApp) if name in one]
    for value in [section[name] for section in sections]:
        # `c.InteractiveShellApp.extensions.append(…)` leaves a lazy value, which has `get_value`.
        found += value.get_value([*default]) if hasattr(value, "get_value") else value
    return found if sections else [*default]


def forget(namespace: dict[str, Any]) -> None:
    """Removes the variables of the startup files before a checkpoint is loaded, which has those
    that cells have kept."""
    for name in _names:
        namespace.pop(name, None)


def _profile() -> str:
    from IPython.paths import get_ipython_dir

    return os.path.join(get_ipython_dir(), "profile_default")


def _startup_files() -> list[str]:
    python_startup = os.environ.get("PYTHONSTARTUP")
    found: list[str] = []
    for directory in (*_FOR_ALL, _profile()):
        for kind in ("*.py", "*.ipy"):
            found += glob.glob(os.path.join(glob.escape(directory), "startup", kind))
    return [*([python_startup] if python_startup else []), *sorted(found)]


def _run_file(shell: Any, path: str) -> None:
    path = os.path.abspath(os.path.expanduser(path))
    with _reporting(path):
        shell.user_ns["__file__"] = path
        try:
            if path.endswith((".ipy", ".ipynb")):
                shell.safe_execfile_ipy(path, raise_exceptions=True)
            else:
                shell.safe_execfile(path, shell.user_ns, shell_futures=True, raise_exceptions=True)
        finally:
            shell.user_ns.pop("__file__", None)


@contextlib.contextmanager
def _reporting(what: str) -> Any:
    """Prints an error to the server's standard error, and continues."""
    try:
        yield
    except BaseException:
        with open(2, "w", errors="backslashreplace", closefd=False) as log:
            log.write(f"ratoon: {what} failed when Python started:\n{traceback.format_exc()}")


class _NoChannel:
    """Drops displayed objects. No cell runs, so there is no output that could show them."""

    def report(self, json: str) -> None:
        pass


@contextlib.contextmanager
def _printing_to_the_log() -> Any:
    channel, outputs.channel = outputs.channel, _NoChannel()
    try:
        with (
            open(2, "w", errors="backslashreplace", closefd=False) as log,
            contextlib.redirect_stdout(log),
            contextlib.redirect_stderr(log),
        ):
            yield
    finally:
        outputs.channel = channel
        outputs.errors_sent.clear()
