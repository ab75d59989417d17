"""Starts the bridge. The first line of the input has the package, for environments without it."""

import importlib.util
import json
import sys
import types

line = json.loads(sys.stdin.readline())
if importlib.util.find_spec("ratoon_worker") is None:
    for name, text in line["modules"]:
        module = types.ModuleType(name)
        if name == "ratoon_worker":
            module.__path__ = []
        sys.modules[name] = module
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)
from ratoon_worker.bridge import main

main(line["engine"], line["store"], line["modules"][0][1])
