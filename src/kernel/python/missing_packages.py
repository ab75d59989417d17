"""Prints the modules that the kernel needs and the environment does not have, and its pip.

Ratoon runs this with the user's Python. It imports no package of the environment, because that
could take seconds or fail.
"""

import sys

# Ignores the working directory: a file IPython.py there is no package of the environment.
sys.path = [entry for entry in sys.path if entry]

import glob  # noqa: E402
import importlib.metadata  # noqa: E402
import importlib.util  # noqa: E402
import os  # noqa: E402
import sysconfig  # noqa: E402


def has(module):
    spec = importlib.util.find_spec(module)
    # An empty directory that an uninstall has left is a namespace package without an origin.
    return spec is not None and spec.origin is not None


needed = "IPython cloudpickle jedi matplotlib_inline prompt_toolkit pygments stack_data traitlets"
for module in needed.split():
    if not has(module):
        print("missing", module)

if has("IPython"):
    try:
        version = importlib.metadata.version("ipython")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"  # a source tree on the path
    if version.split(".")[0] in ("0", "1", "2", "3", "4", "5", "6", "7"):
        print("too-old IPython", version)

if has("pip"):
    print("pip yes")

# Where ensurepip finds pip's wheel. Debian names another directory in sysconfig.
folders = [os.path.join(os.path.dirname(os.__file__), "ensurepip", "_bundled")]
folders.append(sysconfig.get_config_var("WHEEL_PKG_DIR"))
for folder in filter(None, folders):
    for wheel in glob.glob(os.path.join(folder, "pip-*.whl")):
        print("bundled-pip", wheel)
