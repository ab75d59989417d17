"""A chain of cells without Ratoon: IPython runs each, and then the process forks a child that does
nothing but stay.

What grows here with depth is the operating system's. Reads a line for each cell, and answers one
when the child is there.
"""

import os
import signal
import sys

from IPython.core.interactiveshell import InteractiveShell


def fork():
    """A child that is left standing, as a frozen process is. It ends with its parent, by the
    pipe that only that holds.
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
