"""Starts the server: `ratoon` and `python -m ratoon`. Installs the Jupyter kernel itself."""

import os
import signal
import sys
from typing import NoReturn

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ratoon")


def main() -> NoReturn:
    """Replaces this process with the server, so signals and the exit code are the server's."""
    if sys.argv[1:2] == ["kernelspec"]:
        from .jupyter.kernelspec import main as install

        install(sys.argv[2:])
        sys.exit()
    # Cells run in this Python, unless an option or an active environment names another one.
    if sys.executable:
        os.environ["RATOON_INSTALLED_IN"] = sys.executable
    # Python ignores these signals, and a program that it becomes would too.
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    try:
        os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
    except OSError as error:
        sys.exit(
            f"ratoon: cannot start {PROGRAM}: {error.strerror}\n"
            f"install its wheel again: {sys.executable} -m pip install --force-reinstall --no-deps"
            " ratoon-….whl"
        )


if __name__ == "__main__":
    main()
