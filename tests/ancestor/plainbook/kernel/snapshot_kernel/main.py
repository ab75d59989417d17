"""Is Ratoon, when plainbook starts its kernel with `python -m snapshot_kernel.main --bind …
--token …`.
"""

import os
import sys

# What is installed for plainbook is not for cells.
os.environ.pop("PYTHONPATH", None)
program = os.environ["RATOON_BIN"]
os.execv(program, [program, *sys.argv[1:], "--python", sys.executable])
