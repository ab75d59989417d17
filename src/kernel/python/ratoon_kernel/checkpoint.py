"""Checkpoints: a throw-away fork of a state's frozen process writes the state to blobs, and a fork
of the root loads it.

Rust calls these functions (checkpoint.rs). `keeper` stores the bytes (keeper.py).
"""

from __future__ import annotations

import gc
import os
import sys
from json import dumps, loads

# Imported here so that the adapters are registered before values are pickled or read.
from . import adapters as adapters
from . import cell_sources, former_names, missing, pickling, private_layouts, settings
from .keeper import LimitedSource, Sink
from .loading import Loading
from .missing import still_lacking as still_lacking
from .saving import FORMAT, Saving, refuse_exits


def boot() -> None:
    """Called in the root, before it is forked."""
    private_layouts.check()
    settings.note_root()
    cell_sources.find_classes_of_cells()
    pickling.own_stream(type(sys.stdout))


def save(keeper: Sink, form: str) -> str:
    """Writes this process' state. Returns JSON: the manifest, and its summary for the server."""
    umask = os.umask(0o077)
    refuse_exits()
    return Saving(keeper).run(form, umask)


def load(keeper: LimitedSource, text: str, form: str) -> str:
    """Loads a checkpoint into this fork of the root. Returns JSON: what could not be restored.
    After an error, this process must not become a state.
    """
    manifest = loads(text)
    if manifest.get("format") != FORMAT:
        raise ValueError("this checkpoint has a format that this version of Ratoon does not know")
    is_environment = form == "environment"
    if is_environment and "environment" not in manifest:
        raise ValueError("this checkpoint holds only values, not the environment")
    ours = "{}.{}".format(*sys.version_info)
    theirs = manifest["python"] if is_environment else ours
    if theirs != ours:
        raise ValueError(
            f"this checkpoint was written by Python {theirs} and this is {ours}: start ratoon with "
            f"--python and a Python {theirs}, or replay the cells"
        )
    loading = Loading(keeper, manifest)
    with former_names.resolved():
        lacks = loading.environment() if is_environment else loading.data()
    missing.take_note(lacks)
    # As in the root: then a garbage collection in a later state copies no pages of these objects.
    gc.freeze()
    return dumps(list(lacks.values()))
