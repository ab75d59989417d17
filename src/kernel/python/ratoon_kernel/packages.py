"""`%pip` and `%uv` in environments that lack the one or the other: those that uv makes have no pip,
and IPython's `%uv` needs uv as a package of the environment."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from typing import Any

from . import shell as kernel


def boot() -> None:
    for magic, name in ((_pip, "pip"), (_uv, "uv")):
        kernel.shell.register_magic_function(magic, "line", name)


def _pip(line: str) -> None:
    """Run pip, or `uv pip` if there is no pip, in the environment of this notebook.

    Usage:
      %pip install [pkgs]
    """
    if _is_installed("pip"):
        kernel.shell.system(f"{shlex.quote(sys.executable)} -m pip {line}")
    elif shutil.which("uv"):
        # uv takes the environment of the variable VIRTUAL_ENV, if there is no other word.
        command, _, rest = line.strip().partition(" ")
        python = shlex.quote(sys.executable)
        kernel.shell.system(f"uv --no-progress pip {command} --python {python} {rest}")
    else:
        raise _usage_error(
            "this environment has no pip, and uv is not on $PATH. Install one of them:"
            f" {sys.executable} -m ensurepip"
        )


def _uv(line: str) -> None:
    """Run uv for the environment of this notebook.

    Usage:
      %uv pip install [pkgs]
    """
    if _is_installed("uv"):
        kernel.shell.system(f"{shlex.quote(sys.executable)} -m uv --no-progress {line}")
    elif shutil.which("uv"):
        kernel.shell.system(f"uv --no-progress {line}")
    else:
        raise _usage_error("uv is neither in this environment nor on $PATH")


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _usage_error(why: str) -> Any:
    from IPython.core.error import UsageError

    return UsageError(why)
