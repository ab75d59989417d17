"""Saves and restores templates of Jinja, which pickle cannot make again. Figures of bokeh refer to
some when they have been exported as HTML."""

from __future__ import annotations

from typing import Any

from .. import rebuilding
from ..adapter import Adapter, Reduced


def _reduce_template(value: Any) -> Reduced:
    kept = dict(vars(value))
    return rebuilding.make_empty, (type(value),), kept, None, None, rebuilding.set_dict


class Jinja2(Adapter):
    library = "jinja2"
    reducers = {("jinja2.environment", "Template"): _reduce_template}
