"""Runs a chain of cells without Ratoon. IPython runs each cell, then the process forks a child that
only waits.

Costs that grow with depth here are caused by the operating system. Reads a cell per line from
standard input, and writes a line when the child of the cell exists.
"""

import os
import signal
import sys

from IPython.core.interactiveshell import InteractiveShell


def fork():
    """Forks a child that waits, like a frozen process, until `main` ends it by a signal. Returns
    when the child runs.
    """
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, b"1")
        signal.pause()
        os._exit(0)
    os.read(read, 1)
    os.close(read)
    os.close(write)


def main():
    os.setpgid(0, 0)
    shell = InteractiveShell.instance()
    for number, code in enumerate(sys.stdin):
        shell.run_cell(code, store_history=True)
        fork()
        sys.__stdout__.write(f"{number}\n")
        sys.__stdout__.flush()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)


if __name__ == "__main__":
    main()
