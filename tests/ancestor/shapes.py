"""Converts an answer to {field: value} for comparison. Removes the parts that differ between
runs."""

import json
import re
import struct
from base64 import b64decode

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_NEW_NAME = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
_SYMBOLS = ("accessed_symbols", "modified_symbols", "deleted_symbols")
# The value of a field that an answer does not have.
MISSING = "<missing>"


def fields(path, status, text):
    """Returns the fields of an answer to a request for `path`."""
    found = {"status": status}
    # Clients read only the status of an HTTP error.
    if status != 200:
        return found
    try:
        body = json.loads(text)
    except ValueError:
        return {**found, "body": "<no JSON>"}
    shape = {
        "/execute": _executed,
        "/multistate_execute": _executed,
        "/alias_groups": _groups,
        "/rebuild_state": _groups,
    }
    return {**found, **shape.get(path, _plain)(body)}


def digests(path, status, text):
    """Returns the digests in an answer as {description: digest}."""
    if status != 200:
        return {}
    body = json.loads(text)
    if path == "/symbol_hashes":
        return {f"hash of {name}": digest for name, digest in body["hashes"].items() if digest}
    if path in ("/alias_groups", "/rebuild_state"):
        together = zip(body["groups"], body["fingerprints"], strict=True)
        return {
            f"fingerprint of {' '.join(sorted(group))}": digest
            for group, digest in together
            if digest
        }
    return {}


def _plain(body, path=""):
    """Returns the leaves of a JSON object by their path."""
    if not isinstance(body, dict) or not body:
        return {path: [_steady(item) for item in body] if isinstance(body, list) else _steady(body)}
    found = {}
    for name, value in body.items():
        found |= _plain(value, f"{path}.{name}" if path else name)
    return found


def _groups(body):
    groups = {f"group {' '.join(sorted(group))}": "is there" for group in body["groups"]}
    whole = all(digest is None or _DIGEST.fullmatch(digest) for digest in body["fingerprints"])
    name = {"state_name": _steady(body["state_name"])} if "state_name" in body else {}
    return {
        **groups,
        "fingerprints": whole and len(body["fingerprints"]) == len(body["groups"]),
        **name,
    }


def _executed(body):
    found = {f"field {name}": "is there" for name in body}
    found["state_name"] = _steady(body["state_name"])
    found |= {name: " ".join(body[name]) for name in _SYMBOLS}
    error = body["error"]
    found["error"] = error and error["ename"]
    if error:
        found["error.evalue"] = _steady(error["evalue"])
        found |= _traceback(error["traceback"])
    return {**found, **_output(body["output"])}


def _traceback(lines):
    whole = "".join(lines)
    return {
        "traceback": "has lines"
        if lines and all(isinstance(line, str) for line in lines)
        else lines,
        # Clients join the lines without a separator.
        "traceback's ends of lines": all(line.endswith("\n") for line in lines[:-1]),
        "traceback's colours": "\x1b[" in whole,
    }


def _output(items):
    """Returns the text of each stream, each displayed object, and separately the order of all
    outputs.
    """
    found, order, shown = {}, [], 0
    for item in items:
        kind = item["output_type"]
        if kind == "stream":
            kind = item["name"]
            found[kind] = found.get(kind, "") + _steady(item["text"])
        elif kind in ("display_data", "execute_result"):
            where = "result" if kind == "execute_result" else f"display {shown}"
            shown += kind == "display_data"
            found |= {
                f"{where}.{mime}": _content(mime, content) for mime, content in item["data"].items()
            }
            found[f"{where}.metadata"] = json.dumps(item["metadata"], sort_keys=True)
            found |= {
                f"{where}'s {name}": "is there"
                for name in item
                if name not in ("output_type", "data", "metadata")
            }
        else:
            found[f"item {kind}"] = "is there"
        order.append(kind)
    return {**found, "order": " ".join(kind for kind in order if kind != "error")}


def _content(mime, content):
    if mime == "image/png":
        data = b64decode(content)
        return (
            "PNG of {}x{}".format(*struct.unpack(">II", data[16:24]))
            if data[:4] == b"\x89PNG" and len(data) > 24
            else content
        )
    return _steady(content)


def _steady(value):
    """Returns a value without addresses, random names, digests and times."""
    if not isinstance(value, str):
        return value
    for pattern, name in (
        (_NEW_NAME, "<a new name>"),
        (_DIGEST, "<a digest>"),
        (_TIME, "<a time>"),
    ):
        if pattern.fullmatch(value):
            return name
    if len(value) > 10_000:
        return f"{value[:100]}… {len(value)} characters …{value[-100:]}"
    return _ADDRESS.sub("0x…", value)
