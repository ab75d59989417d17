"""The names that checkpoints of earlier versions use for these modules: `_ratoon_NAME`."""

import contextlib
import sys

_MODULES = {
    "_ratoon_asking": "introspect",
    "_ratoon_changes": "adapters.changes",
    "_ratoon_checkpoint": "checkpoint",
    "_ratoon_databases": "adapters.databases",
    "_ratoon_fingerprint": "fingerprint",
    "_ratoon_learning": "adapters.learning",
    "_ratoon_libraries": "import_hooks",
    "_ratoon_locks": "adapters.locks",
    "_ratoon_logs": "adapters.logs",
    "_ratoon_looking": "variables",
    "_ratoon_observers": "adapters.observers",
    "_ratoon_pickling": "pickling",
    "_ratoon_pools": "adapters.pools",
    "_ratoon_settings": "settings",
    "_ratoon_sharing": "sharing",
    "_ratoon_shell": "shell",
    "_ratoon_symbols": "symbols",
    "_ratoon_transfer": "transfer",
    "_ratoon_values": "data_form",
    "_ratoon_web": "adapters.web",
}


@contextlib.contextmanager
def resolved():
    """While a checkpoint is loaded, these names lead to the modules."""
    known = {former: sys.modules[f"{__package__}.{name}"] for former, name in _MODULES.items()}
    sys.modules.update(known)
    try:
        yield
    finally:
        for former in known:
            sys.modules.pop(former, None)
