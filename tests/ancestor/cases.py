"""The requests that are sent to both servers. They are grouped in cases. Each case begins with a
reset of the server."""

import itertools
import json
from dataclasses import dataclass, field

import codes
import ratoon_client as ratoon

# The name of a file that a cell creates in the server's working directory when it has begun.
MARKER = "began"


@dataclass(frozen=True)
class Step:
    name: str
    method: str
    path: str
    # An object that is sent as JSON, or bytes that are sent unchanged.
    body: object = None
    # Headers to set. The value None removes a default header.
    headers: dict = field(default_factory=dict)
    token: object = ratoon.TOKEN
    # Whether the run is interrupted as soon as its code has created the marker file.
    interrupt: bool = False


@dataclass(frozen=True)
class Case:
    name: str
    steps: list

    def __post_init__(self):
        names = [step.name for step in self.steps]
        twice = {name for name in names if names.count(name) > 1}
        assert not twice, f"{self.name}: two steps have the name {twice}"


_numbers = itertools.count()


def new_id():
    return f"run-{next(_numbers)}"


def run(code, on="initial", to=None, name=None, **more):
    body = {"code": code, "exec_id": new_id(), "state_name": on}
    return Step(
        name or code, "POST", "/execute", {**body, **({"new_state_name": to} if to else {})}, **more
    )


def multi(code, states, default=None, name=None, **more):
    body = {"code": code, "exec_id": new_id(), "state_mapping": states, "default_state": default}
    return Step(name or code, "POST", "/multistate_execute", body, **more)


def post(path, body, name=None, **more):
    return Step(name or f"{path} {json.dumps(body)[:200]}", "POST", path, body, **more)


def get(path, name=None, **more):
    return Step(name or f"GET {path}", "GET", path, **more)


def delete(path, name=None):
    return Step(name or f"DELETE {path}", "DELETE", path)


def look(state, name=None):
    return get(f"/states/{state}", name or f"variables of {state}")


def hashes(state, symbols, name=None):
    return post(
        "/symbol_hashes",
        {"state_name": state, "symbols": symbols.split()},
        name or f"hashes of {state}",
    )


def groups(state, name=None):
    return post("/alias_groups", {"state_name": state}, name or f"groups of {state}")


def rebuild(inp, source, take, keep, to, name=None):
    body = {
        "input_state": inp,
        "source_state": source,
        "source_vars": take.split(),
        "input_vars": keep.split(),
    }
    return post(
        "/rebuild_state", {**body, "new_state_name": to}, name or f"rebuild {to} with {take}"
    )


def who_may():
    """Sends all requests of the API, and some that do not exist, with and without a token."""
    calls = [
        ("GET", "/states"),
        ("GET", "/states/initial"),
        ("GET", "/states/none"),
        ("DELETE", "/states/none"),
    ]
    calls += [("POST", path) for path in ("/execute", "/interrupt", "/reset", *LATER)]
    calls += [
        ("GET", "/none"),
        ("POST", "/none"),
        ("PUT", "/states"),
        ("GET", "/execute"),
        ("GET", "/states/"),
    ]
    for method, path in calls:
        body = {} if method == "POST" else None
        for token in (None, "", "wrong", ratoon.TOKEN, ratoon.TOKEN + "x"):
            if (token, path) != (ratoon.TOKEN, "/reset"):
                yield Step(f"{method} {path} with {token!r}", method, path, body, token=token)


LATER = ("/multistate_execute", "/symbol_hashes", "/alias_groups", "/rebuild_state")
GOOD = {
    "/execute": {"code": "1", "exec_id": "good", "state_name": "initial"},
    "/interrupt": {"exec_id": "none"},
    "/multistate_execute": {"code": "1", "exec_id": "good", "state_mapping": {}},
    "/symbol_hashes": {"state_name": "initial", "symbols": []},
    "/alias_groups": {"state_name": "initial"},
    "/rebuild_state": {
        "input_state": "initial",
        "source_state": "initial",
        "source_vars": [],
        "input_vars": [],
    },
}


def bodies():
    """Sends valid and invalid request bodies."""
    for path, good in GOOD.items():
        # Each request gets its own id, as from real clients.
        def fresh(body):
            return {**body, "exec_id": new_id()} if body.get("exec_id") == "good" else body

        for body in (None, {}, [], [1], "text", 5, True):
            yield post(path, body)
        for name, body in (
            ("no JSON", b"{"),
            ("no UTF-8", b'{"exec_id": "\xff"}'),
            ("nothing", b""),
        ):
            yield post(path, body, f"{path} {name}")
        for missing in good:
            without = {name: value for name, value in good.items() if name != missing}
            yield post(path, fresh(without), f"{path} without {missing}")
            yield post(path, fresh({**good, missing: None}), f"{path} with {missing} null")
            yield post(path, fresh({**good, missing: 5}), f"{path} with {missing} 5")
            if isinstance(good[missing], str):
                yield post(path, fresh({**good, missing: ""}), f"{path} with {missing} empty")
        yield post(path, fresh({**good, "more": [1]}), f"{path} with more")
        for kind in ("application/json; charset=utf-8", "text/plain", None):
            yield post(path, fresh(good), f"{path} as {kind}", headers={"Content-Type": kind})
    yield post("/execute", {**GOOD["/execute"], "new_state_name": 7}, "a new name that is 7")
    yield post(
        "/execute",
        {**GOOD["/execute"], "exec_id": new_id(), "new_state_name": None},
        "a new name that is null",
    )
    yield post("/execute", {**GOOD["/execute"], "new_state_name": ""}, "a new name that is empty")
    yield post(
        "/execute",
        b'{"code": "1", "code": "2", "exec_id": "twice", "state_name": "initial"}',
        "code twice",
    )
    yield post(
        "/multistate_execute",
        {**GOOD["/multistate_execute"], "state_mapping": {"a": 1}},
        "a state that is 1",
    )
    for more in (
        {"hash_algo": None},
        {"hash_algo": "full"},
        {"hash_algo": "partial"},
        {"symbols": "x"},
        {"symbols": [1]},
    ):
        yield post("/symbol_hashes", {**GOOD["/symbol_hashes"], **more})
    yield post("/rebuild_state", {**GOOD["/rebuild_state"], "source_vars": [1]})


def names():
    """Sends names that a state may have, and names that Ratoon refuses."""
    for number, (name, path) in enumerate(codes.NAMES):
        title = f"{name[:20]!r} of {len(name)}"
        yield run(f"x = {number}", to=name, name=f"make {title}")
        yield get(f"/states/{path}", f"look at {title}")
        yield run("x", on=name, name=f"run on {title}")
        yield groups(name, f"groups of {title}")
        yield get("/states", f"list with {title}")
        yield delete(f"/states/{path}", f"delete {title}")
        yield get(f"/states/{path}", f"look for {title}")
    for name in codes.NO_NAMES:
        yield run("1", to=name, name=f"make {name[:20]!r} of {len(name)}")


def states():
    yield get("/states", "at first")
    yield look("initial")
    for name, on in (("a", "initial"), ("b", "a"), ("c", "a"), ("d", "initial")):
        yield run(f"{name} = 1", on, name, f"make {name}")
    yield get("/states", "made")
    for name in "abcd":
        yield look(name)
    yield run("a = 2", "a", "b", "b is bound again")
    yield get("/states", "bound again")
    yield look("b", "b as bound again")
    yield run("a += 1", "a", "a", "a is bound to its child")
    yield look("a", "a as bound to its child")
    yield run("a += 1; 1/0", "a", "a", "a failure binds no name")
    yield look("a", "a after the failure")
    yield delete("/states/a")
    yield delete("/states/a", "delete it again")
    yield look("a", "a is gone")
    yield run("1", "a", name="run on what is gone")
    yield look("c", "what grew from it is there")
    yield run("x = 1", "d", "a", "its name is used again")
    yield get("/states", "its name is there")
    yield run("x = 1", "none", "new", "run on what never was")
    yield run("x = 1", "initial", "initial", "initial is bound again")
    yield look("initial", "initial as bound again")
    yield get("/states", "initial is there")
    yield delete("/states/initial")
    yield run("1", "initial", name="run on initial that is gone")
    yield multi("1", {}, name="several states without initial")
    yield run("d", "d", "e", "run on another")
    yield get("/states", "without initial")
    yield post("/reset", None, "reset")
    yield get("/states", "after a reset")
    yield look("initial", "initial after a reset")
    yield run("1", "d", name="run on what was reset")


def repeats():
    """Sends requests with the same exec_id repeatedly."""
    for code in ("n = 1; print(n)", "print(1); 1/0"):
        body = {"code": code, "exec_id": new_id(), "state_name": "initial", "new_state_name": "r"}
        yield post("/execute", body, f"{code} at first")
        yield post("/execute", body, f"{code} again")
        yield post(
            "/execute",
            {**body, "code": "2", "new_state_name": "other"},
            f"{code} with another code",
        )
    body = {
        "code": "n = globals().get('n', 0) + 1; print(n)",
        "exec_id": new_id(),
        "state_name": "r",
        "new_state_name": "r",
    }
    yield post("/execute", body, "count at first")
    yield post("/execute", body, "count again")
    many = {"code": "print(1)", "exec_id": new_id(), "state_mapping": {}}
    yield post("/multistate_execute", many, "several states at first")
    yield post("/multistate_execute", many, "several states again")


def symbols():
    yield run(codes.BASE, to="base", name="the base")
    for number, code in enumerate(codes.SYMBOLS):
        yield run(code, "base", f"s{number}")
        yield look(f"s{number}", f"variables after {code}")


def kinds(table, base):
    """Runs each code of a table on the state after `base`."""
    yield run(base, to="base", name="the base")
    for code in table:
        yield run(code, "base")


def sharing():
    yield run(codes.SHARING_BASE, to="base", name="the base")
    for number, code in enumerate(codes.SHARING):
        yield run(code, "base", f"g{number}")
        yield groups(f"g{number}", f"groups after {code}")


def values():
    """Compares the digests of a value with those of an equal value and of a different value."""
    yield run(codes.SHARING_BASE, to="base", name="the base")
    for number, (name, one, other) in enumerate(codes.VALUES):
        for state, code in (("one", one), ("same", one), ("other", other)):
            yield run(code, "base", f"{state}{number}", f"{name}: {state}")
            yield hashes(f"{state}{number}", "v none", f"{name}: hash of {state}")
            yield groups(f"{state}{number}", f"{name}: groups of {state}")


def several():
    yield run(codes.ONE, to="one", name="one")
    yield run(codes.TWO, to="two", name="two")
    for number, (code, states, default) in enumerate(codes.SEVERAL):
        yield multi(code, states, default, f"{number}: {code}")
    yield get("/states", "nothing is left")
    yield run("print(x, shared)", "one", name="one is as it was")


def rebuilds():
    yield run(codes.SOURCE, to="source", name="source")
    yield run(codes.INPUT, to="input", name="input")
    for number, (take, keep, check) in enumerate(codes.REBUILDS):
        yield rebuild("input", "source", take, keep, f"r{number}")
        yield look(f"r{number}")
        yield run(check, f"r{number}", f"r{number}", f"check of r{number}")
    yield run("p.append(9); r.append(9)", "r0", "r0", "r0 is changed")
    yield run("print(p, q)", "source", name="the source is as it was")
    yield run("print(p, r)", "input", name="the input is as it was")
    yield rebuild("input", "source", "p", "r", "source", "it takes the source's name")
    yield run("print(p, r)", "source", name="under the source's name")
    yield rebuild("input", "input", "p", "r", "input", "it takes its own name")
    yield rebuild("none", "source", "p", "r", "new", "no input")
    yield rebuild("input", "none", "p", "r", "new", "no source")
    yield get("/states", "after all")


def interrupts():
    for name, code in codes.INTERRUPTED:
        yield run(f"{codes.BEGIN}{code}", name=name, interrupt=True)
    yield multi(
        f"{codes.BEGIN}{codes.INTERRUPTED[0][1]}", {}, name="several states", interrupt=True
    )
    ended = new_id()
    yield post(
        "/execute", {"code": "1", "exec_id": ended, "state_name": "initial"}, "one that ends"
    )
    yield post("/interrupt", {"exec_id": ended}, "after its end")
    yield post("/interrupt", {"exec_id": "none"}, "never begun")
    yield run("print(1)", name="the next")


def ends():
    """Runs cells that end their process. snapshot-kernel itself ends with such a cell, so this case
    is the last. After `SystemExit` it may still answer one request or not, so none is sent that it
    could answer.
    """
    yield run("x = 1", to="before", name="before")
    yield run("print(x)\nraise SystemExit(3)", "before", name="SystemExit")
    yield run("import os; os._exit(x)", "before", name="the end of the process")
    yield run("print(x)", "before", name="after the end of the process")


# The slowest cases run only in `tests/run nightly`, or by their names.
SLOW = ("libraries", "symbols", "values")

CASES = [
    Case("who may", list(who_may())),
    Case("bodies", list(bodies())),
    Case("names", list(names())),
    Case("states", list(states())),
    Case("repeats", list(repeats())),
    Case("outputs", list(kinds(codes.OUTPUTS, codes.OUTPUTS_BASE))),
    Case("libraries", list(kinds(codes.LIBRARIES, codes.LIBRARIES_BASE))),
    Case("errors", list(kinds(codes.ERRORS, codes.ERRORS_BASE))),
    Case("symbols", list(symbols())),
    Case("sharing", list(sharing())),
    Case("values", list(values())),
    Case("several", list(several())),
    Case("rebuilds", list(rebuilds())),
    Case("interrupts", list(interrupts())),
    Case("ends", list(ends())),
]
