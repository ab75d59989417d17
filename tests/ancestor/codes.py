"""The cells and names that the requests of cases.py contain."""

# Each entry: a name of a state, and the same name encoded for a URL path.
NAMES = (
    ("plain", "plain"),
    ("Zelle 1", "Zelle%201"),
    ("ä", "%C3%A4"),
    ("a:b", "a:b"),
    ("a.b", "a.b"),
    ("-", "-"),
    ("100%", "100%25"),
    ("a?b#c", "a%3Fb%23c"),
    ("🌱", "%F0%9F%8C%B1"),
    ("x" * 128, "x" * 128),
    ("0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
)
NO_NAMES = ("x" * 129, "a/b", ".a", " ", "a\nb", "a\x00b")

OUTPUTS_BASE = """\
class Html:
    def _repr_html_(self): return '<b>h</b>'
class NoHtml:
    def _repr_html_(self): return None
class BadHtml:
    def _repr_html_(self): raise ValueError('no')
class Png:
    def _repr_png_(self): return b'\\x89PNG'
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/plain': 'p', 'text/html': '<i>i</i>', 'application/json': {'a': 1}}
class Pair:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/html': 'x'}, {'text/html': {'k': 1}}
class Many:
    def _repr_html_(self): return 'h'
    def _repr_markdown_(self): return '**m**'
    def _repr_latex_(self): return '$l$'
    def _repr_svg_(self): return '<svg/>'
    def _repr_json_(self): return {'j': 1}
class Own:
    def _ipython_display_(self, **kwargs): print('own')
class BadRepr:
    def __repr__(self): raise ValueError('no')
class Huge:
    def _repr_html_(self): return 'h' * 2_000_000
    def __repr__(self): return 'r' * 2_000_000
class Plain:
    def __repr__(self): return 'as it says'
class Bare: pass
def f(a, b=1): pass
"""

OUTPUTS = (
    "",
    "# nothing",
    "print(1)",
    "print()",
    "print(1, end='')",
    "print('ä🌱')",
    "print(1)\nprint(2)",
    "import sys; print(1, file=sys.stderr)",
    "import sys\nprint(1); print(2, file=sys.stderr)",
    "import sys\nprint(1, file=sys.stderr); print(2); print(3, file=sys.stderr)",
    "import sys; sys.stdout.write('w')",
    "import sys; sys.stdout.write('w');",
    "print('x' * 200_000)",
    "print('a\\rb\\x08c\\x1b[31mred\\x1b[0m')",
    "import warnings; warnings.warn('careful')",
    "import logging; logging.warning('log')",
    "1",
    "1.5",
    "-0.0",
    "1 + 2j",
    "'text'",
    "'ä\\n'",
    "b'bytes'",
    "True",
    "None",
    "...",
    "x = 5",
    "x = 5; x",
    "5;",
    "5; 6",
    "(y := 3)",
    "[1, 2]",
    "(1,)",
    "()",
    "{3, 1, 2}",
    "frozenset({1})",
    "{'b': 1, 'a': [2, {'c': None}]}",
    "range(3)",
    "list(range(50))",
    "list(range(2000))",
    "{n: str(n) * 10 for n in range(20)}",
    "float('nan')",
    "int",
    "print",
    "len",
    "f",
    "Html",
    "lambda: 1",
    "type(1)",
    "import math; math",
    "Bare()",
    "Plain()",
    "[Plain()]",
    "iter([])",
    "(n for n in [])",
    "ValueError('x')",
    "'x' * 1_500_000",
    "Html()",
    "NoHtml()",
    "BadHtml()",
    "Png()",
    "Bundle()",
    "Pair()",
    "Many()",
    "Own()",
    "BadRepr()",
    "Huge()",
    "display(1)",
    "display('a', 'b')",
    "display(Html())",
    "display(Own())",
    "display(Bundle(), 2)",
    "display()",
    "display(Huge())",
    "print(1); display(2); print(3)",
    "for n in range(3): display(n)",
    "display(1)\n2",
    "if True:\n    5",
    "for n in [1]: n",
    "def g(): return 1\ng()",
    "class K: pass\nK().__class__.__name__",
    "K = type('K', (), {}); K.__module__",
    "__name__",
    "import datetime; datetime.date(2020, 1, 2)",
    "import re; re.compile('a')",
    "import collections; collections.OrderedDict(a=1), collections.Counter('aab'), "
    "collections.deque([1])",
    "import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: int = 1\nD()",
    "import decimal, fractions, uuid, pathlib\n"
    "decimal.Decimal('1.5'), fractions.Fraction(1, 2), uuid.UUID(int=5), pathlib.Path('a')",
    "import enum\nclass E(enum.Enum): A = 1\nE.A",
    "x = 1\n\n\n",
    "  x = 1",
    "\tx = 1",
    "x = 1 # comment\nx # comment",
    "x = '''a\n  b'''\nx",
    "import threading\n"
    "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join(); print('main')",
    "import contextlib, io\n"
    "with contextlib.redirect_stdout(io.StringIO()) as s: print(1)\n"
    "s.getvalue()",
    "help(len)",
    "_",
    "%time 1",
    "!echo shell",
    "await __import__('asyncio').sleep(0, 5)",
    "import os; os.write(1, b'raw')",
)

LIBRARIES_BASE = "import numpy, pandas, polars, sympy\nimport matplotlib.pyplot as plt"

LIBRARIES = (
    "numpy.arange(3)",
    "numpy.float64(1.5)",
    "numpy.zeros((30, 30))",
    "pandas.DataFrame({'a': [1, 2], 'b': ['x', None]})",
    "pandas.Series([1, 2])",
    "pandas.DataFrame({'a': range(100)})",
    "polars.DataFrame({'a': [1, 2]})",
    "plt.plot([1, 2])",
    "plt.plot([1, 2]);\nplt.show()",
    "for n in range(2):\n    plt.figure(); plt.plot([n])",
    "fig, ax = plt.subplots(); ax.plot([1]); fig",
    "plt.plot([1]); plt.close()",
    "sympy.Symbol('x') ** 2",
)

ERRORS_BASE = """\
class Empty(Exception): pass
class Args(Exception):
    def __init__(self, a, b): super().__init__(a, b)
class Text(Exception):
    def __str__(self): return 'as it says'
def fails(): return 1 / 0
def deep(n): return deep(n + 1)
x = 1
"""

ERRORS = (
    "1/0",
    "fails()",
    "x = 2; print(x); 1/0",
    "print(1)\ndisplay(2)\n1/0",
    "nothing",
    "nothing.x",
    "x.nothing",
    "x()",
    "x['a']",
    "[][1]",
    "{}['k']",
    "{}[('a', 1)]",
    "int('a')",
    "import nothing_at_all",
    "from math import nothing",
    "raise ValueError",
    "raise ValueError()",
    "raise ValueError('a', 'b')",
    "raise ValueError('line\\nline')",
    "raise ValueError('ä🌱')",
    "raise Empty",
    "raise Args(1, 'b')",
    "raise Text",
    "raise KeyError('k')",
    "raise OSError(2, 'No such file', 'name')",
    "open('/nothing/at/all')",
    "raise StopIteration(5)",
    "raise AssertionError",
    "assert x == 2, 'not two'",
    "assert x == 2",
    "raise NotImplementedError",
    "raise Exception('a') from ValueError('b')",
    "try:\n    1/0\nexcept Exception:\n    raise ValueError('second')",
    "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
    "raise",
    "raise 5",
    "deep(0)",
    "b'\\xff'.decode()",
    "'a' + 1",
    "1 +",
    "def",
    "x ==== 1",
    "if True:\nx = 1",
    "  x = 1\n x = 2",
    "'open",
    "(",
    "return 1",
    "yield 1",
    "break",
    "x = = 1\nprint(1)",
    "exec('1 +')",
    "eval('1/0')",
    "class B:\n    1/0",
    "[1/0 for n in [1]]",
    "(lambda: 1/0)()",
    "raise Warning('w')",
    "import warnings\n"
    "with warnings.catch_warnings():\n"
    "    warnings.simplefilter('error'); warnings.warn('as an error')",
    "raise KeyboardInterrupt",
    "raise KeyboardInterrupt('text')",
    "del nothing",
    "del x; x",
    "import matplotlib.pyplot as plt; plt.plot([1]); 1/0",
    "print(1)",
)

BASE = """\
import math
import functools
x, y, z, n, flag = 1, [2], {'a': 3}, 1000, True
table = 'rows'
_private = 1
s = {1, 2}
nested = [[1], [2]]
def f(): return x
def g(): return f() + n
def adds(value): y.append(value)
def sets():
    global n
    n = 5
class C:
    k = 1
    def m(self): return y
c = C()
part = functools.partial(f)
counter = iter([1, 2, 3])
"""

SYMBOLS = (
    "",
    "1 + 1",
    "x",
    "a = x + 1",
    "a = b = x",
    "a, (b, *rest) = x, (y, z, n)",
    "x = 5",
    "x = x",
    "x = 1",
    "flag = True",
    "x += 1",
    "y += [1]",
    "y[0] = 5",
    "y[0] += x",
    "z['b'] = x",
    "c.k = x",
    "y.append(1)",
    "del y",
    "del y[0]",
    "del y\ny = 1",
    "t = 1\ndel t",
    "del x, y",
    "x = 2\nprint(x)",
    "print(x)\nx = 2",
    "print(x, table)",
    "f'{x} {y!r} {n:>5}'",
    "f'{x=}'",
    "import os",
    "import os.path as p, sys",
    "from math import pi, e as euler",
    "from math import *",
    "math.pi",
    "math = 5",
    "for i in y: q = i",
    "for x in y: pass",
    "for i in []: q = i",
    "while n > 999: n -= 1",
    "if flag: a = x",
    "if not flag: a = x",
    "x if flag else n",
    "n if not flag else x",
    "flag or n",
    "flag and n",
    "0 < x < n",
    "[i + n for i in y]",
    "[x for w in y]",
    "[x for x in y]",
    "{i: n for i in y}",
    "{x for i in y}",
    "sum(i * n for i in y)",
    "(x for i in y)",
    "[i for i in y if i > n]",
    "lambda: x",
    "h = lambda: x",
    "(lambda v: v + n)(1)",
    "list(map(lambda v: v + n, y))",
    "sorted(y, key=lambda v: n)",
    "def h(): return x",
    "def h(): return x\nh()",
    "def h(x): return x\nh(1)",
    "def h(v=x): return v",
    "def h(v: x) -> y: return v",
    "def h():\n    x = 1\n    return x\nh()",
    "def h():\n    def k(): return x\n    return k()\nh()",
    "def h():\n    global x\n    x = 9\nh()",
    "def h():\n    global new\n    new = 9\nh()",
    "def h():\n    global x\n    del x\nh()",
    "global x\nx = 2",
    "f",
    "f()",
    "g()",
    "adds(1)",
    "adds(n)",
    "sets()",
    "part()",
    "C",
    "C()",
    "c",
    "c.m()",
    "c.k",
    "functools.reduce(lambda a, b: a + b, y)",
    "next(counter)",
    "class T: x = 3",
    "class T: v = x",
    "class T(C): pass",
    "class T:\n    def m(self): return x",
    "class T:\n    def m(self): return x\nT().m()",
    "@functools.lru_cache\ndef h(): return x",
    "@functools.lru_cache\ndef h(): return x\nh()",
    "try:\n    x\nexcept Exception as error:\n    n",
    "try:\n    1/0\nexcept ZeroDivisionError as error:\n    a = x",
    "try:\n    a = x\nfinally:\n    b = n",
    "with open('/dev/null') as file: a = file.read(x)",
    "match x:\n    case 1: a = n\n    case _: b = y",
    "match y:\n    case [first, *others]: pass",
    "(w := x)",
    "[w := i for i in y]",
    "a: int = x",
    "a: x",
    "a: table = 1",
    "assert x == 1, n",
    "print(*y, **{'sep': table})",
    "y[x:n]",
    "not flag",
    "-x",
    "x, y",
    "_private",
    "_private = 2",
    "__dunder__ = 1",
    "__dunder__ = x\n__dunder__",
    "display(x)",
    "display = 5",
    "print = 5",
    "print = print",
    "len = x\ndel len",
    "type(x)",
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
    "getattr(c, 'k')",
    "setattr(c, 'k', 2)",
    "sys = 1\nsys",
    "k = x\n1/0\nj = y",
    "y.append(1)\n1/0",
    "x = 2; nothing",
    "1/0; x",
    "import numpy as np; np.array(y) + x",
    "import pandas as pd; frame = pd.DataFrame({'a': y}); frame.query('a > @x')",
    "async def h(): return x",
    "async def h(): return x\nimport asyncio\nasyncio.new_event_loop().run_until_complete(h())",
    "def h():\n    yield x\nlist(h())",
    "def h():\n    yield x\nstarted = h()",
    "it = (x for i in [1])\nlist(it)",
    "import copy; copy.deepcopy(y)",
    "copy = y[:]",
    "ü = x\nü",
    "x = y = z = n = flag = None",
    "table = table.upper()",
    "s.add(5)",
    "nested[0].append(1); nested.pop()",
    "def f(): return 7\nf()",
    "f = 5",
    "C.k = 7",
    "f.attribute = 1",
    "super",
    "x;",
    "if x: pass",
    "import threading\nt = threading.Thread(target=f); t.start(); t.join(); del t",
    "type('T', (), {'v': x})",
    "try:\n    nothing\nexcept NameError:\n    a = 1",
    "nonexistent = x if flag else nonexistent",
    "for i in range(2):\n    if i: continue\n    a = i",
    "print(f'{(lambda: x)()}')",
    "exec('def h(): return x')\nh()",
    "str(c)",
    "x.real",
    "x is n",
    "a = [x]; a[0]",
    "import functools as ft; ft.partial(g)()",
)

SHARING_BASE = "import numpy, pandas"

SHARING = (
    "a = 1",
    "a = [1]\nb = a\nc = [1]",
    "a = [1]\nb = {'in': (0, [a])}\nc = 5",
    "a = b = 'text'\nc = d = 1000",
    "a = b = (1, 'x')",
    "a = (1, [2])\nb = a",
    "l = [1]\na = (l,)\nb = (l,)",
    "a = b = None\nc = d = True\ne = f = 1.5\ng = h = b'x'",
    "a = b = frozenset({1})",
    "a = b = range(3)",
    "import math as a, math as b",
    "import math\na = [math]\nb = [math]",
    "a = b = len",
    "a = b = int",
    "def f(): pass\ng = f",
    "def f(): pass\na = [f]\nb = [f]",
    "x = 1\ndef f(): return x\ndef g(): return f()",
    "x = [1]\ndef f(v=x): return v",
    "def make():\n    n = [0]\n    return (lambda: n), (lambda: n)\nf, g = make()",
    "class C: pass\nc = C()\nd = 1",
    "class C: pass\nc = C()\nd = C()",
    "class C: pass\nc = C()\nd = [c]",
    "class C:\n    def m(self): pass\nc = C()\nm = c.m",
    "class C: shared = []\nc = C.shared",
    "a = [1]\nb = [a]\nc = [b]\nd = [2]",
    "a = []\na.append(a)\nb = []",
    "a = []\nb = [a]\na.append(b)",
    "_p = [1]\nq = _p",
    "a = {1: 2}\nb = a.keys()",
    "a = [1]\nb = iter(a)",
    "a = [0]\ng = (x for x in a)\nnext(g)\nb = 1",
    "import threading\na = threading.Lock()\nb = a\nc = [a]",
    "import datetime\na = b = datetime.date(2020, 1, 1)",
    "import decimal\na = b = decimal.Decimal(1)",
    "import re\na = b = re.compile('a')",
    "import pathlib\na = b = pathlib.Path('a')",
    "import collections\na = collections.deque([1])\nb = a",
    "import functools\na = [1]\np = functools.partial(print, a)",
    "a = numpy.zeros(3)\nb = a",
    "a = numpy.zeros(3)\nb = a[1:]",
    "a = numpy.zeros(3)\nb = a.copy()",
    "a = numpy.zeros(3)\nb = [a]\nc = numpy.zeros(3)",
    "a = pandas.DataFrame({'x': [1]})\nb = a",
    "a = pandas.DataFrame({'x': [1]})\nb = a['x']",
    "a = pandas.DataFrame({'x': [1]})\nb = a.copy()",
    "a = bytearray(3)\nb = memoryview(a)",
    "a = 'x' * 50\nb = a",
    "a = [10 ** 30]\nb = [a[0]]",
    "e = ValueError([1])\na = e.args",
    "import enum\nclass E(enum.Enum): A = 1\na = b = E.A",
    "import types\na = types.SimpleNamespace(x=[1])\nb = a.x",
    "a, b = [1], [1]\na[0] = b[0] = []",
    "a = a2 = [1]\ndel a2",
    "a = b = object()",
    "import weakref\nclass C: pass\nc = C()\nw = weakref.ref(c)",
    "import io\na = io.StringIO('x')\nb = a",
    "a = print\nb = [print]",
    "import random\na = random.Random(1)\nb = a",
    "__a = [1]\nb = __a",
    "__a__ = [1]\nb = __a__",
)

# Each entry: a kind of value, a cell that makes such a value, and a cell that makes another value.
VALUES = (
    ("int", "v = 1", "v = 2"),
    ("big int", "v = 10 ** 50", "v = 10 ** 50 + 1"),
    ("float", "v = 1.5", "v = 1.25"),
    ("nan", "v = float('nan')", "v = 0.0"),
    ("bool", "v = True", "v = 1"),
    ("none", "v = None", "v = 0"),
    ("text", "v = 'a'", "v = 'b'"),
    ("list", "v = [1, [2]]", "v = [1, [3]]"),
    ("tuple", "v = (1, 2)", "v = [1, 2]"),
    ("dict", "v = {'a': 1, 'b': 2}", "v = {'b': 2, 'a': 1}"),
    ("set", "v = {'a', 'b', 'c'}", "v = {'a', 'b'}"),
    ("bytes", "v = b'a'", "v = b'b'"),
    ("array", "v = numpy.arange(1000)", "v = numpy.arange(1000) + 1"),
    ("frame", "v = pandas.DataFrame({'a': [1, 2]})", "v = pandas.DataFrame({'a': [1, 3]})"),
    (
        "dates",
        "import datetime; v = datetime.datetime(2020, 1, 1)",
        "import datetime; v = datetime.datetime(2020, 1, 2)",
    ),
    ("function", "def v(): return 1", "def v(): return 2"),
    ("lambda", "v = lambda: 1", "v = lambda: 2"),
    ("class", "class v: x = 1", "class v: x = 2"),
    ("object", "class C: pass\nv = C(); v.x = 1", "class C: pass\nv = C(); v.x = 2"),
    ("default", "def v(a=1): pass", "def v(a=2): pass"),
    ("module", "import math as v", "import cmath as v"),
    ("lock", "import threading; v = threading.Lock()", "import threading; v = threading.RLock()"),
    ("generator", "v = (i for i in [1])", "v = (i for i in [2])"),
    (
        "partial",
        "import functools; v = functools.partial(print, 1)",
        "import functools; v = functools.partial(print, 2)",
    ),
    ("iterator", "v = iter([1, 2])", "v = iter([1, 2]); next(v)"),
    ("shared inside", "l = [1]\nv = [l, l]", "v = [[1], [1]]"),
    ("recursive", "v = []; v.append(v)", "v = [[]]"),
    (
        "bad repr",
        "class C:\n"
        "    def __repr__(self): raise ValueError\n"
        "    def __reduce__(self): raise ValueError\n"
        "v = C()",
        "v = 1",
    ),
)

ONE = """\
x, shared = 1, [1]
alias = shared
def f(): return x + 10
class C:
    def m(self): return f()
c = C()
__hidden__ = 5
_private = 6
import math
"""
TWO = "x, y = 2, 5\nother = {'k': [1]}\ndef f(): return x\n"
_BOTH = {"a": "one", "b": "two"}
SEVERAL = (
    ("a.x, b.x", _BOTH, None),
    ("a.x", {"a": "one"}, "one"),
    ("x + a.x", _BOTH, "two"),
    ("a.f()", _BOTH, None),
    ("a.f() + x", _BOTH, "two"),
    ("f()", _BOTH, "two"),
    ("a.c.m()", _BOTH, None),
    ("a.shared is a.alias", _BOTH, None),
    ("a.shared.append(2); print(a.alias)", _BOTH, None),
    ("a.x = 7; print(a.x)", _BOTH, None),
    ("print(a.x); b.other", _BOTH, None),
    ("sorted(name for name in vars(a) if not name.startswith('__'))", _BOTH, None),
    ("hasattr(a, 'nothing'), hasattr(b, 'x')", _BOTH, None),
    ("a.nothing", _BOTH, None),
    ("x", _BOTH, None),
    ("nothing", _BOTH, "two"),
    ("a = 5; a", _BOTH, None),
    ("new = a.x + y", _BOTH, "two"),
    ("del y", {}, "two"),
    ("display(a.x)", _BOTH, None),
    ("import sys; print(a.x, file=sys.stderr); 1/0", _BOTH, None),
    ("a._private", _BOTH, None),
    ("a.math.pi > 3", _BOTH, None),
    ("assert a.shared == [1] and b.x == 2", _BOTH, None),
    ("assert a.x == 2, 'not two'", _BOTH, None),
    ("getattr(a, 'x')", _BOTH, None),
    ("[s.x for s in (a, b)]", _BOTH, None),
    ("type(a).__name__", _BOTH, None),
    ("__state__first.x", {"__state__first": "one"}, "two"),
    ("x.x", {"x": "one"}, "two"),
    ("a.x is b.x, a.shared is b.shared", {"a": "one", "b": "one"}, None),
    ("1", {"a": "none"}, None),
    ("1", {"a": "one"}, "none"),
    ("1", {"a": "none"}, "none too"),
    ("", {}, None),
    ("1 + 1", {}, None),
    ("1 +", {}, None),
)

SOURCE = """\
p = [1]
q = {'p': p}
x = 1
def f(): return x
import math
class C:
    k = 1
c = C()
only = 'source'
"""
INPUT = "p = q = [0]\nr = [8]\nx = 2\nonly_here = (1, r)\ndef g(): return x\n"
# Each entry: names taken from the source, names kept from the input, and a cell to run afterwards.
REBUILDS = (
    ("p q", "r", "print(p, q['p'] is p, r)"),
    ("x", "r only_here", "print(x, only_here[1] is r)"),
    ("", "p q r x", "print(p is q, x)"),
    ("p q x f math C c only", "", "print(c.k, math.pi > 3, isinstance(c, C), only)"),
    ("p", "p r", "print(p)"),
    ("none", "none_either", "print(sorted(n for n in globals() if n in ('p', 'q', 'r', 'x')))"),
    ("f", "x", "print(x)"),
    ("f x", "", "print(f())"),
    ("", "g x", "print(g())"),
    ("", "", "1"),
)

BEGIN = "import os, time\nprint('before')\n"
# Creates the file at which the code is interrupted: where a `try` already catches it.
MARK = "open('began', 'w').close()"
INTERRUPTED = (
    ("a loop", f"{MARK}\nwhile True: time.sleep(0.01)"),
    ("a loop without sleep", f"{MARK}\nwhile True: pass"),
    ("in a function", f"def wait():\n    while True: time.sleep(0.01)\n{MARK}\nwait()"),
    (
        "one that catches it",
        "try:\n"
        f"    {MARK}\n"
        "    while True: time.sleep(0.01)\n"
        "except KeyboardInterrupt:\n"
        "    print('caught')\n"
        "x = 1",
    ),
    (
        "one that cleans up",
        f"try:\n    {MARK}\n    while True: time.sleep(0.01)\nfinally:\n    print('clean')",
    ),
    ("in the last expression", f"{MARK}\n[time.sleep(0.01) for n in range(100_000)]"),
)
