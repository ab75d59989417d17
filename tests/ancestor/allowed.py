"""The differences between Ratoon and snapshot-kernel that are meant, with the reason for each.

docs/api.md tells clients of those that they may notice.
"""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from shapes import MISSING

# Which names snapshot-kernel sees differs between Pythons. With this one each entry must be met;
# with others one that is not is printed.
PYTHON = (3, 11)


@dataclass(frozen=True)
class Allowed:
    """Each of its steps must be met in a run; without steps, any one."""

    reason: str
    # Patterns of fields, with "|" between them.
    fields: str
    case: str = "*"
    steps: tuple = ()
    # Whether two values are those that are meant.
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
    """The two values, as they are."""
    return lambda *pair: pair == values


def only_here(theirs, ours):
    return theirs == MISSING


def more(theirs, ours):
    """Here there are the same names and others."""
    return set(theirs.split()) < set(ours.split())


def but_for(pattern, by=""):
    """There it is the same where a part of ours is left out, or something else stands in its
    place.
    """
    return lambda theirs, ours: theirs == re.sub(pattern, by, ours)


# A step differs as a whole: here it succeeds, and there it does not, so nothing of it can be
# compared.
WHOLE = "state_name|error|error.*|traceback*|order|stdout|result*|modified_symbols|accessed_symbols"

ALLOWED = (
    # -- what is refused
    # ----------------------------------------------------------------------------------------------
    Allowed(
        "a body that is no object is refused; there the server fails",
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
        "another Content-Type than JSON is named as the fault",
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
        "a name or an id is a text that is not empty",
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
        "the same, where there no state has such a name",
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
        "code is a text",
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
        "which of two keys is meant is not guessed",
        "status",
        "bodies",
        ("code twice",),
        are(200, 400),
    ),
    Allowed(
        "names have a limit, stand in paths and are read by people",
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
        "an exec_id means one request",
        "status",
        "repeats",
        (
            "n = 1; print(n) with another code",
            "print(1); 1/0 with another code",
        ),
        are(200, 409),
    ),
    Allowed(
        "the same request again gets the first answer, and does not run twice",
        "stdout",
        "repeats",
        ("count again",),
    ),
    # -- more is told
    # -----------------------------------------------------------------------------------------------
    Allowed(
        "the item in outputs of a failed cell, as nbformat has it", "item error", when=only_here
    ),
    Allowed("what nbformat requires", "result's execution_count", when=only_here),
    Allowed(
        "a cell that failed and had set something can be kept, and a field that is missing "
        "is named",
        "field warnings",
        when=only_here,
    ),
    Allowed("tracebacks are IPython's", "traceback's colours", when=are(False, True)),
    # -- states
    # -----------------------------------------------------------------------------------------------
    Allowed(
        "a state keeps its id when its name is bound again: what has lost the name is the "
        "root, whose id it is",
        f"{WHOLE}|states",
        "states",
        ("run on initial that is gone", "without initial"),
    ),
    # -- outputs: IPython's, in their true order
    # ----------------------------------------------------------------------
    Allowed(
        "outputs are in the order in which they came",
        "order",
        when=lambda theirs, ours: theirs != ours and set(theirs.split()) == set(ours.split()),
    ),
    Allowed(
        "classes of a cell are in the module __main__, where pickle and repr look for them",
        "*.repr|result.text/plain|display*.text/plain",
        when=but_for("__main__\\."),
    ),
    Allowed(
        "text/plain is what IPython's printer makes",
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
        "what IPython knows beside Python: indented cells, `_`, magics, await",
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
        "write() says how many characters it wrote, as it does everywhere",
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
        "what an object prints when it is shown is not lost", "stdout|order", "outputs", ("Own()",)
    ),
    Allowed(
        "a repr that raises is shown as what it raised", "result*|order", "outputs", ("BadRepr()",)
    ),
    Allowed(
        "only text is cut at a million characters; plots are larger",
        "*.text/html",
        "outputs",
        ("Huge()", "display(Huge())"),
        only_here,
    ),
    Allowed(
        "what threads print belongs to the cell",
        "stdout",
        "outputs",
        (
            "import threading\n"
            "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join(); "
            "print('main')",
        ),
    ),
    Allowed(
        "what goes to descriptor 1 belongs to the cell",
        "stdout|order",
        "outputs",
        ("import os; os.write(1, b'raw')",),
    ),
    Allowed(
        "pandas is left as the user has set it",
        "result.text/*",
        "libraries",
        ("pandas.DataFrame({'a': range(100)})",),
    ),
    Allowed(
        "a figure says its size",
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
        "a figure that is the cell's value is a picture",
        "result.image/png",
        "libraries",
        ("fig, ax = plt.subplots(); ax.plot([1]); fig",),
        only_here,
    ),
    # -- errors
    # -----------------------------------------------------------------------------------------------
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
        "how deep Python is when it gives up",
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
        "a figure that a failed cell had drawn is shown; there the next cell shows it",
        "display 0.*|order",
        "errors",
        (
            "import matplotlib.pyplot as plt; plt.plot([1]); 1/0",
            "print(1)",
        ),
    ),
    Allowed(
        "a cell ends its own process alone",
        "status",
        "ends",
        (
            "SystemExit",
            "the end of the process",
            "after the end of the process",
        ),
        are("no answer", 200),
    ),
    # -- symbols: rather too many than too few
    # ------------------------------------------------------------------------
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
        "what functions and classes behind the names read counts as read; there a function "
        "sees only its old variables",
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
        "with code that can read any name all count as read",
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
        "the body of a class reads too; and pandas reads what a text names",
        "accessed_symbols",
        "symbols",
        (
            "class T: v = x",
            "import pandas as pd; frame = pd.DataFrame({'a': y}); frame.query('a > @x')",
        ),
        more,
    ),
    Allowed(
        "`global` and what does not go through the namespace's methods assigns too",
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
        "and deletes",
        "deleted_symbols",
        "symbols",
        ("def h():\n    global x\n    del x\nh()",),
        are("", "x"),
    ),
    Allowed(
        "`display` is a name like others",
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
    # -- what is shared: rather too much than too little
    # --------------------------------------------------------------
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
        "what cannot be changed can be shared without harm",
        "group *",
        "sharing",
        (
            "groups after a = b = frozenset({1})",
            "groups after import datetime\na = b = datetime.date(2020, 1, 1)",
        ),
    ),
    # -- digests
    # -----------------------------------------------------------------------------------------------
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
        "equal values have equal digests where there an address or the order of memory counts",
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
        "a class is what it does; there it is its name",
        "* is *",
        "values",
        ("class: hash of other", "class: groups of other"),
        are(True, False),
    ),
    Allowed(
        "what a value shares inside itself is in its fingerprint, not in its hash",
        "hash of v is *",
        "values",
        ("shared inside: hash of other",),
        are(False, True),
    ),
)
