"""Prints the modules that the kernel needs but the user's environment lacks, and the pip that is
available there.

Ratoon runs this script with the user's Python. The script imports no package of the environment,
because an import could take seconds or fail.
"""

import sys

# Ignores the working directory: a file IPython.py in it is not a package of the environment.
sys.path = [entry for entry in sys.path if entry]

import glob  # noqa: E402
import importlib.metadata  # noqa: E402
import importlib.util  # noqa: E402
import os  # noqa: E402
import sysconfig  # noqa: E402


def has(module):
    try:
        spec = importlib.util.find_spec(module)
    except Exception:
        return False  # a finder of the environment fails, and would fail at the import, too
    # Uninstalling a package can leave an empty directory. Python finds it as a namespace package,
    # which has no origin.
    return spec is not None and spec.origin is not None


needed = "IPython cloudpickle jedi matplotlib_inline prompt_toolkit pygments stack_data traitlets"
for module in needed.split():
    if not has(module):
        print("missing", module)

# The kernel checks these versions as well (python_versions.py), for environments that change later.
for module, package, oldest in (("IPython", "ipython", 8), ("cloudpickle", "cloudpickle", 2)):
    if has(module):
        try:
            version = importlib.metadata.version(package) or ""
        except Exception:
            continue  # a source tree on the path, or damaged metadata
        major = version.split(".")[0]
        if major.isdigit() and int(major) < oldest:
            print("too-old", package, version, oldest)

if has("pip"):
    print("pip yes")

# The directories in which ensurepip finds pip's wheel. Debian's is set in sysconfig.
folders = [os.path.join(os.path.dirname(os.__file__), "ensurepip", "_bundled")]
folders.append(sysconfig.get_config_var("WHEEL_PKG_DIR"))
for folder in filter(None, folders):
    for wheel in glob.glob(os.path.join(folder, "pip-*.whl")):
        print("bundled-pip", wheel)
