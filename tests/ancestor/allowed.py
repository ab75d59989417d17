"""The intended differences between Ratoon and snapshot-kernel, with the reason for each.

docs/api.md describes the differences that clients can notice.
"""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from shapes import MISSING

# With this version of Python, each entry below must occur, or the comparison fails. With others, a
# missing difference is only printed, because snapshot-kernel reports other names there.
PYTHON = (3, 11)


@dataclass(frozen=True)
class Allowed:
    """An intended difference. It must occur in each of its steps. Without steps, it must occur in
    at least one step of a matching case."""

    reason: str
    # Patterns of field names (shapes.py), separated by "|".
    fields: str
    case: str = "*"
    steps: tuple = ()
    # A function (theirs, ours) that tells whether this entry allows these two values.
    when: object = field(default=lambda theirs, ours: True, compare=False)

    def covers(self, case, step, name, theirs, ours):
        is_here = fnmatchcase(case, self.case) and (not self.steps or step in self.steps)
        return (
            is_here
            and any(fnmatchcase(name, one) for one in self.fields.split("|"))
            and self.when(theirs, ours)
        )

    def places(self, case, step):
        return [step] if self.steps else [self.case]

    def all_places(self):
        return list(self.steps) or [self.case]


def are(*values):
    """Returns a condition: the two values are equal to these."""
    return lambda *pair: pair == values


def only_here(theirs, ours):
    return theirs == MISSING


def more(theirs, ours):
    """A condition: Ratoon reports the same names as snapshot-kernel, and others."""
    return set(theirs.split()) < set(ours.split())


def but_for(pattern, by=""):
    """Returns a condition: the values are equal after `pattern` in Ratoon's value was replaced by
    `by`.
    """
    return lambda theirs, ours: theirs == re.sub(pattern, by, ours)


# All fields of an answer. Used for steps that succeed only on one of the servers, so that no field
# can be compared.
WHOLE = "state_name|error|error.*|traceback*|order|stdout|result*|modified_symbols|accessed_symbols"

ALLOWED = (
    # -- refused requests
    Allowed(
        "a body that is not an object is refused; snapshot-kernel fails with a 500",
        "status",
        "bodies",
        (
            *(
                f"{path} {body}"
                for body in ("[1]", '"text"', "5", "true")
                for path in (
                    "/execute",
                    "/multistate_execute",
                    "/symbol_hashes",
                    "/alias_groups",
                    "/rebuild_state",
                )
            ),
            "/interrupt 5",
            "/interrupt true",
        ),
        are(500, 400),
    ),
    Allowed(
        "a Content-Type other than JSON gets its own status",
        "status",
        "bodies",
        tuple(
            f"{path} as {kind}"
            for kind in ("text/plain", None)
            for path in (
                "/execute",
                "/interrupt",
                "/multistate_execute",
                "/symbol_hashes",
                "/alias_groups",
                "/rebuild_state",
            )
        ),
        are(400, 415),
    ),
    Allowed(
        "a name or an id must be a text that is not empty",
        "status",
        "bodies",
        (
            *(
                f"{path} with exec_id {what}"
                for what in ("5", "empty")
                for path in ("/execute", "/multistate_execute")
            ),
            "/interrupt with exec_id 5",
            "/interrupt with exec_id null",
            "/execute with state_name 5",
            "a new name that is 7",
            "a new name that is empty",
            "a state that is 1",
            '/symbol_hashes {"state_name": "initial", "symbols": [1]}',
            '/rebuild_state {"input_state": "initial", "source_state": "initial", '
            '"source_vars": [1], "input_vars": []}',
        ),
        are(200, 400),
    ),
    Allowed(
        "the same, where snapshot-kernel has no state of such a name",
        "status",
        "bodies",
        (
            "/symbol_hashes with state_name 5",
            "/alias_groups with state_name 5",
            "/rebuild_state with input_state 5",
            "/rebuild_state with source_state 5",
        ),
        are(404, 400),
    ),
    Allowed(
        "code must be a text",
        "status",
        "bodies",
        tuple(
            f"{path} with code {what}"
            for path in ("/execute", "/multistate_execute")
            for what in ("5", "null")
        ),
        are(200, 400),
    ),
    Allowed(
        "a body with a key twice is ambiguous",
        "status",
        "bodies",
        ("code twice",),
        are(200, 400),
    ),
    Allowed(
        "names have a maximum length, occur in paths and are read by people",
        "status",
        "names",
        (
            "make 'xxxxxxxxxxxxxxxxxxxx' of 129",
            "make 'a/b' of 3",
            "make '.a' of 2",
            "make ' ' of 1",
            "make 'a\\nb' of 3",
            "make 'a\\x00b' of 3",
        ),
        are(200, 400),
    ),
    Allowed(
        "an exec_id identifies one request",
        "status",
        "repeats",
        (
            "n = 1; print(n) with another code",
            "print(1); 1/0 with another code",
        ),
        are(200, 409),
    ),
    Allowed(
        "a repeated request gets the first answer, and does not run again",
        "stdout",
        "repeats",
        ("count again",),
    ),
    # -- additional fields
    Allowed(
        "outputs of a failed cell contain the error, as in nbformat", "item error", when=only_here
    ),
    Allowed("nbformat requires this field", "result's execution_count", when=only_here),
    Allowed(
        "a failed cell that set a variable can be kept, and a missing field is named in a warning",
        "field warnings",
        when=only_here,
    ),
    Allowed("tracebacks are IPython's", "traceback's colours", when=are(False, True)),
    # -- states
    Allowed(
        "a state keeps its id when its name refers to another state: the state that lost its "
        "name is the root, and the name is the root's id",
        f"{WHOLE}|states",
        "states",
        ("run on initial that is gone", "without initial"),
    ),
    # -- outputs: IPython's, in their actual order
    Allowed(
        "outputs are in the order in which they were made",
        "order",
        when=lambda theirs, ours: theirs != ours and set(theirs.split()) == set(ours.split()),
    ),
    Allowed(
        "classes of a cell are in the module __main__, where pickle and repr look for them",
        "*.repr|result.text/plain|display*.text/plain",
        when=but_for("__main__\\."),
    ),
    Allowed(
        "text/plain comes from IPython's printer",
        "result.text/plain|display*.text/plain",
        "*",
        (
            "int",
            "print",
            "len",
            "f",
            "Html",
            "lambda: 1",
            "type(1)",
            "Bare()",
            "iter([])",
            "Html()",
            "NoHtml()",
            "BadHtml()",
            "Png()",
            "Pair()",
            "Many()",
            "display(Html())",
            "list(range(50))",
            "list(range(2000))",
            "{n: str(n) * 10 for n in range(20)}",
            "import re; re.compile('a')",
            "import decimal, fractions, uuid, pathlib\n"
            "decimal.Decimal('1.5'), fractions.Fraction(1, 2), uuid.UUID(int=5), "
            "pathlib.Path('a')",
            "plt.plot([1, 2])",
            "lambda: x",
            "type(x)",
            "super",
            "C",
            "C()",
            "c",
            "type('T', (), {'v': x})",
            "globals()",
            "vars()",
            "dir()",
        ),
    ),
    Allowed("a semicolon at the end hides the value", "result*|order", "*", ("5;", "x;")),
    Allowed(
        "the module of a cell has a name",
        "result.text/plain",
        "outputs",
        ("__name__",),
        are("'builtins'", "'__main__'"),
    ),
    Allowed("the same", WHOLE, "outputs", ("K = type('K', (), {}); K.__module__",)),
    Allowed(
        "IPython's additions to Python work: indented cells, `_`, magics, await",
        WHOLE,
        "outputs",
        (
            "  x = 1",
            "\tx = 1",
            "_",
            "%time 1",
            "!echo shell",
            "await __import__('asyncio').sleep(0, 5)",
        ),
    ),
    Allowed(
        "write() returns the number of characters, as everywhere",
        "result*|order",
        "outputs",
        ("import sys; sys.stdout.write('w')",),
    ),
    Allowed(
        "warnings show their line",
        "stderr",
        "outputs",
        ("import warnings; warnings.warn('careful')",),
    ),
    Allowed(
        "text that an object prints when it is displayed is kept",
        "stdout|order",
        "outputs",
        ("Own()",),
    ),
    Allowed(
        "a repr that raises is shown as its exception", "result*|order", "outputs", ("BadRepr()",)
    ),
    Allowed(
        "only text/plain is cut at a million characters, because plots are larger",
        "*.text/html",
        "outputs",
        ("Huge()", "display(Huge())"),
        only_here,
    ),
    Allowed(
        "text that threads print belongs to the cell",
        "stdout",
        "outputs",
        (
            "import threading\n"
            "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join(); "
            "print('main')",
        ),
    ),
    Allowed(
        "bytes written to descriptor 1 belong to the cell",
        "stdout|order",
        "outputs",
        ("import os; os.write(1, b'raw')",),
    ),
    Allowed(
        "the display options of pandas are not changed",
        "result.text/*",
        "libraries",
        ("pandas.DataFrame({'a': range(100)})",),
    ),
    Allowed(
        "text/plain of a figure contains its size",
        "display*.text/plain",
        "libraries",
        (
            "plt.plot([1, 2])",
            "plt.plot([1, 2]);\nplt.show()",
            "for n in range(2):\n    plt.figure(); plt.plot([n])",
            "fig, ax = plt.subplots(); ax.plot([1]); fig",
        ),
    ),
    Allowed(
        "a figure that is the cell's value is also an image",
        "result.image/png",
        "libraries",
        ("fig, ax = plt.subplots(); ax.plot([1]); fig",),
        only_here,
    ),
    # -- errors
    Allowed(
        "the file in the text of a SyntaxError is IPython's name for the cell",
        "error.evalue",
        when=lambda theirs, ours: (
            re.sub("<(unknown|cell)>", "", theirs) == re.sub("<ipython-input-[^>]*>", "", ours)
        ),
    ),
    Allowed(
        "IPython prints the tree of an ExceptionGroup",
        "stderr|order",
        "errors",
        ("raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",),
    ),
    Allowed(
        "the recursion limit is reached at another depth",
        "error.evalue",
        "errors",
        ("deep(0)",),
        lambda theirs, ours: (
            theirs.startswith("maximum recursion depth exceeded")
            and ours.startswith("maximum recursion depth exceeded")
        ),
    ),
    Allowed(
        "the text of a KeyboardInterrupt that a cell raises is kept",
        "error.evalue",
        "errors",
        ("raise KeyboardInterrupt('text')",),
    ),
    Allowed(
        "a figure drawn by a failed cell is shown; in snapshot-kernel the next cell shows it",
        "display 0.*|order",
        "errors",
        (
            "import matplotlib.pyplot as plt; plt.plot([1]); 1/0",
            "print(1)",
        ),
    ),
    Allowed(
        "a cell that ends its process does not end the server",
        "status",
        "ends",
        (
            "SystemExit",
            "the end of the process",
            "after the end of the process",
        ),
        are("no answer", 200),
    ),
    # -- symbols: too many rather than too few
    Allowed(
        "names in a part of the code that did not run count as read",
        "accessed_symbols",
        "*",
        (
            "if not flag: a = x",
            "x if flag else n",
            "n if not flag else x",
            "flag or n",
            "(x for i in y)",
            "lambda: x",
            "@functools.lru_cache\ndef h(): return x",
            "try:\n    x\nexcept Exception as error:\n    n",
            "match x:\n    case 1: a = n\n    case _: b = y",
            "assert x == 1, n",
            "def h():\n    yield x\nstarted = h()",
            "del x; x",
        ),
        more,
    ),
    Allowed(
        "names that functions and classes read count as read; in snapshot-kernel a function "
        "reads only its old variables",
        "accessed_symbols",
        "*",
        (
            "f",
            "f()",
            "g()",
            "adds(1)",
            "adds(n)",
            "part()",
            "C",
            "C()",
            "c",
            "c.m()",
            "c.k",
            "c.k = x",
            "class T(C): pass",
            "getattr(c, 'k')",
            "setattr(c, 'k', 2)",
            "C.k = 7",
            "f.attribute = 1",
            "str(c)",
            "import functools as ft; ft.partial(g)()",
            "import threading\nt = threading.Thread(target=f); t.start(); t.join(); del t",
            "5: f()",
            "check of r7",
            "check of r8",
        ),
        more,
    ),
    Allowed(
        "if the code can read any name, all names count as read",
        "accessed_symbols",
        "*",
        (
            "globals()",
            "globals()['x']",
            "globals()['new'] = 1",
            "globals().update(new=1)",
            "locals()['x']",
            "vars()",
            "vars()['x']",
            "dir()",
            "eval('x')",
            "exec('a = x')",
            "exec('a = x', {'x': 1})",
            "exec(compile('a = n', 'f', 'exec'))",
            "'x' in globals()",
            "import __main__",
            "import sys; sys._getframe().f_globals['x']",
            "exec('def h(): return x')\nh()",
            "exec('1 +')",
            "eval('1/0')",
            "11: sorted(name for name in vars(a) if not name.startswith('__'))",
        ),
        more,
    ),
    Allowed(
        "names in the body of a class, and names in texts for pandas, count as read",
        "accessed_symbols",
        "symbols",
        (
            "class T: v = x",
            "import pandas as pd; frame = pd.DataFrame({'a': y}); frame.query('a > @x')",
        ),
        more,
    ),
    Allowed(
        "assignments by `global`, or past the namespace's methods, count as assigned",
        "modified_symbols",
        "symbols",
        (
            "the base",
            "def h():\n    global x\n    x = 9\nh()",
            "def h():\n    global new\n    new = 9\nh()",
            "global x\nx = 2",
            "sets()",
            "[w := i for i in y]",
            "globals().update(new=1)",
        ),
        more,
    ),
    Allowed(
        "deletions by `global` count as deleted",
        "deleted_symbols",
        "symbols",
        ("def h():\n    global x\n    del x\nh()",),
        are("", "x"),
    ),
    Allowed(
        "`display` is a variable like others",
        "modified_symbols|variables.display.*",
        "symbols",
        (
            "display = 5",
            "variables after display = 5",
        ),
    ),
    Allowed(
        "a function sees and changes the variables of the state that it runs in",
        "variables.?.repr|result.text/plain",
        "symbols",
        (
            "variables after adds(1)",
            "variables after adds(n)",
            "variables after sets()",
            "c.m()",
            "import functools as ft; ft.partial(g)()",
        ),
    ),
    # -- shared objects: too many rather than too few
    Allowed(
        "functions, classes, views and locks can be changed through each name",
        "group *",
        "*",
        (
            *(
                f"groups after {code}"
                for code in (
                    "def f(): pass\ng = f",
                    "def f(): pass\na = [f]\nb = [f]",
                    "x = [1]\ndef f(v=x): return v",
                    "def make():\n    n = [0]\n    return (lambda: n), (lambda: n)\nf, g = make()",
                    "class C: pass\nc = C()\nd = 1",
                    "class C: pass\nc = C()\nd = C()",
                    "class C: pass\nc = C()\nd = [c]",
                    "class C:\n    def m(self): pass\nc = C()\nm = c.m",
                    "class C: shared = []\nc = C.shared",
                    "a = {1: 2}\nb = a.keys()",
                    "a = [0]\ng = (x for x in a)\nnext(g)\nb = 1",
                    "import threading\na = threading.Lock()\nb = a\nc = [a]",
                    "a = bytearray(3)\nb = memoryview(a)",
                    "import enum\nclass E(enum.Enum): A = 1\na = b = E.A",
                    "import weakref\nclass C: pass\nc = C()\nw = weakref.ref(c)",
                )
            ),
            *(f"object: groups of {state}" for state in ("one", "same", "other")),
            *(f"bad repr: groups of {state}" for state in ("one", "same")),
            "rebuild r3 with p q x f math C c only",
        ),
    ),
    Allowed(
        "arrays share memory, and pandas copies it when it is written to",
        "group *",
        "sharing",
        (
            "groups after a = numpy.zeros(3)\nb = a[1:]",
            "groups after a = pandas.DataFrame({'x': [1]})\nb = a.copy()",
        ),
    ),
    Allowed(
        "sharing immutable objects has no effect",
        "group *",
        "sharing",
        (
            "groups after a = b = frozenset({1})",
            "groups after import datetime\na = b = datetime.date(2020, 1, 1)",
        ),
    ),
    # -- digests
    Allowed(
        "a value that cannot be read has a digest that no other state has",
        "hashes.v",
        "values",
        (
            "bad repr: hash of one",
            "bad repr: hash of same",
        ),
        lambda theirs, ours: theirs is None and ours == "<a digest>",
    ),
    Allowed(
        "equal values have equal digests; in snapshot-kernel addresses count for these values",
        "* is *",
        "values",
        (
            *(
                f"{kind}: {what} of same"
                for kind in ("function", "lambda", "default", "lock")
                for what in ("hash", "groups")
            ),
            "object: hash of same",
        ),
        are(False, True),
    ),
    Allowed(
        "the digest of a class depends on its code; in snapshot-kernel only on its name",
        "* is *",
        "values",
        ("class: hash of other", "class: groups of other"),
        are(True, False),
    ),
    Allowed(
        "sharing inside a value changes its fingerprint, but not its hash",
        "hash of v is *",
        "values",
        ("shared inside: hash of other",),
        are(False, True),
    ),
)
