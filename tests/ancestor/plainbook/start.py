"""Starts plainbook with a fake AI provider. The provider returns the description of a cell as the
code of the cell.

usage: start.py NOTEBOOK --port PORT     prints the token that plainbook's page uses
"""

import re
import signal
import sys
import types

# The interrupt that ends it, and its kernel with it. A shell that starts the tests in the
# background makes its processes ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Replaces the modules that plainbook needs only for real AI providers.
for name in ("anthropic", "openai", "google", "google.genai", "google.cloud", "google.oauth2"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["google"].genai = sys.modules["google.genai"]
sys.modules["google.genai"].types = types.ModuleType("types")
sys.modules["google.cloud"].storage = types.ModuleType("storage")
sys.modules["google.oauth2"].service_account = types.ModuleType("service_account")

import bottle
import plainbook.plainbook as plainbook

# Descriptions of the requests that the kernel refused.
refused = []
send = plainbook.Plainbook._sk_request


def sends(self, method, path, json_body=None):
    try:
        return send(self, method, path, json_body)
    except Exception as error:
        # Connection errors are normal while plainbook waits for the start of its kernel.
        if not isinstance(error, plainbook.requests.ConnectionError):
            refused.append(f"{method} {path}: {error}")
        raise


def name_of(_key, description, **_):
    return (re.findall(r"# name (\w+)", description) or ["unnamed"])[0]


plainbook.Plainbook._sk_request = sends
plainbook.AI_PROVIDERS["claude"].update(
    generate=lambda key, instructions="", **_: (instructions, []),
    generate_test=lambda key, instructions="", **_: instructions,
    name=name_of,
)

import plainbook.main as main

main.settings["active_ai_provider"] = "none"
main.AI_PROVIDER_REGISTRY[:] = [
    {"id": "none", "name": "None", "major": "claude", "model": "none", "key_setting": None}
]
main.open_browser_tab = lambda url: None


@bottle.get("/counters")
def counters():
    return {
        "ran": main.notebook._performed_executions,
        "generated": main.notebook._performed_generations,
        "refused": refused,
    }


main.main()
