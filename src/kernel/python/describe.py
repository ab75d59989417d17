"""Prints one line that describes this Python, for `interpreter.rs`: its implementation, version,
bits, whether it is free-threaded, whether it uses glibc, its process id, its executable, and its
environment.

Runs in Python 2 as well. Imports only what every start of Python has imported.
"""

import os
import sys

try:
    libc = os.confstr("CS_GNU_LIBC_VERSION")
except (OSError, ValueError):
    libc = None
description = (
    getattr(getattr(sys, "implementation", None), "name", "cpython"),
    ".".join(map(str, sys.version_info[:3])),
    64 if sys.maxsize > 2**32 else 32,
    "t" in getattr(sys, "abiflags", ""),
    bool(libc),
    os.getpid(),
    sys.executable,
    sys.prefix,
)
line = "\nratoon-python {} {} {} {:d} {:d} {} {}\t{}\n".format(*description)
# Written as bytes: code of the environment may have changed `sys.stdout`, and the paths may not be
# valid UTF-8.
os.write(1, line if isinstance(line, bytes) else os.fsencode(line))
