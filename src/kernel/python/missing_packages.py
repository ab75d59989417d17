# Run by provision.rs in the user's environment: says which modules that the kernel needs are missing there, and which
# pip could be used. Nothing is imported from the environment: that could take seconds, or fail.
import sys

# A file in the working directory that happens to be called IPython.py is not a package of the environment.
sys.path = [entry for entry in sys.path if entry]

import glob
import importlib.metadata
import importlib.util
import os
import sysconfig


def has(module):
    spec = importlib.util.find_spec(module)
    # An empty directory of that name, left by an uninstall, is found as a namespace package without an origin.
    return spec is not None and spec.origin is not None


needed = "IPython cloudpickle jedi matplotlib_inline prompt_toolkit pygments stack_data traitlets"
for module in needed.split():
    if not has(module):
        print("missing", module)

if has("IPython"):
    try:
        version = importlib.metadata.version("ipython")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"  # a source tree on the path: its owner knows what he does
    if version.split(".")[0] in ("0", "1", "2", "3", "4", "5", "6", "7"):
        print("too-old IPython", version)

if has("pip"):
    print("pip yes")

# Where ensurepip takes it from; Debian keeps the wheels elsewhere and says where in sysconfig.
folders = [os.path.join(os.path.dirname(os.__file__), "ensurepip", "_bundled")]
folders.append(sysconfig.get_config_var("WHEEL_PKG_DIR"))
for folder in filter(None, folders):
    for wheel in glob.glob(os.path.join(folder, "pip-*.whl")):
        print("bundled-pip", wheel)
