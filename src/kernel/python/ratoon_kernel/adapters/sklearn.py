"""Saves and restores settings of scikit-learn."""

from __future__ import annotations

import sys
from typing import Any

from ..adapter import Adapter, Setting


def _changed_config() -> dict[str, Any] | None:
    sklearn = sys.modules.get("sklearn")
    if sklearn is None:
        return None
    usual = sklearn._config._global_config
    return {key: now for key, now in sklearn.get_config().items() if usual.get(key) != now} or None


def _restore_config(config: dict[str, Any]) -> None:
    import sklearn

    sklearn.set_config(**config)


class Sklearn(Adapter):
    library = "sklearn"
    loses_nothing = True
    settings = {"sklearn": Setting(_changed_config, _restore_config)}
