"""Starts Ratoon when plainbook starts its kernel with `python -m snapshot_kernel.main --bind …
--token …`.
"""

import os
import sys

# Hides the packages that are installed for plainbook from cells.
os.environ.pop("PYTHONPATH", None)
program = os.environ["RATOON_BIN"]
os.execv(program, [program, *sys.argv[1:], "--python", sys.executable])
