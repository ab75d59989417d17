# A kernel of Ratoon (lists of processes show this line).
#
# Loads the extension module and calls its `run`. The server starts Python with this text (`-c`) and
# a call of `start` below it. The arguments are in the text, and the socket is not standard input,
# because `.pth` files run before: they may change `sys.argv` and read standard input. No import can
# find a file of the working directory, because all of these modules are loaded before this text
# runs.


def start(path, hash_seed, socket):
    """Arguments: the path of the extension module, the value that PYTHONHASHSEED has for cells
    (empty: it is not set), and the descriptor of the socket to the server."""
    import os
    import sys
    from _frozen_importlib import ModuleSpec, module_from_spec
    from _frozen_importlib_external import ExtensionFileLoader

    if not sys.flags.safe_path:
        del sys.path[0]  # `-c` has put the working directory there.
    if hash_seed:
        os.environ["PYTHONHASHSEED"] = hash_seed
    else:
        os.environ.pop("PYTHONHASHSEED", None)
    name = "ratoon_kernel._native"
    native = module_from_spec(ModuleSpec(name, ExtensionFileLoader(name, path), origin=path))
    ExtensionFileLoader(name, path).exec_module(native)
    if path.startswith("/proc/self/fd/"):
        os.close(int(path.rpartition("/")[2]))  # It was inherited to be loaded.
    del globals()["start"]
    native.run(socket)
