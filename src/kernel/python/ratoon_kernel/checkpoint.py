"""Saves and loads checkpoints. A throw-away fork of a state's frozen process writes the state to
blobs, and a fork of the root loads the state.

Rust calls these functions (checkpoint.rs). The argument `keeper` stores and reads the bytes
(keeper.py).
"""

from __future__ import annotations

import gc
import os
import sys
from json import dumps, loads

# Imported here so that the adapters are registered before values are pickled or read.
from . import adapters as adapters
from . import cell_sources, missing, pickling, python_versions
from .adapters import builtins
from .keeper import LimitedSource, Sink
from .loading import Loading
from .missing import still_lacking as still_lacking
from .saving import FORMAT, Saving, refuse_exits


def boot() -> None:
    """Prepares the root for saving and loading. Must be called before the root is forked."""
    python_versions.check()
    cell_sources.find_classes_of_cells()
    pickling.own_stream(type(sys.stdout))


def save(keeper: Sink, form: str) -> str:
    """Writes the state of this process. Returns JSON: the manifest, and a summary of the manifest
    for the server."""
    builtins.put_back()
    umask = os.umask(0o077)
    refuse_exits()
    return Saving(keeper).run(form, umask)


def load(keeper: LimitedSource, text: str, form: str) -> str:
    """Loads a checkpoint into this fork of the root. Returns JSON: the names that could not be
    restored. After an error, this process must not become a state.
    """
    manifest = loads(text)
    if manifest.get("format") != FORMAT:
        raise ValueError("this checkpoint has a format that this version of Ratoon does not know")
    is_environment = form == "environment"
    if is_environment and "environment" not in manifest:
        raise ValueError("this checkpoint holds only values, not the environment")
    ours = "{}.{}".format(*sys.version_info)
    theirs = manifest["python"] if is_environment else ours
    loading = Loading(keeper, manifest)
    if not is_environment:
        lacks = loading.data()
    elif theirs == ours:
        lacks = loading.environment()
    else:
        # The pickles contain compiled functions, which Python of another version cannot run.
        reason = f"Python {theirs} saved it, and Python {ours} can load only plain values of that"
        lacks = loading.data(f"{reason}: replay the cells to restore it")
    missing.take_note(lacks)
    # Exempts the loaded objects from garbage collection, as in the root. Otherwise a collection in
    # a later state would write to their memory pages and so copy them.
    gc.freeze()
    return dumps(list(lacks.values()))
