"""Checks that plain cells have the same effects as IPython's `run_cell`."""

import json
import os
import re
import subprocess
import sys

from run_cells import run_cells

HERE = os.path.dirname(os.path.abspath(__file__))
# Of long lists every STEP-th is compared: in CI every twelfth, in `tests/run nightly` all.
STEP = 1 if os.environ.get("RATOON_TEST_ALL") else 24

# Lists of cells that run one after the other, by title.
SCENARIOS = {
    "assignments and results": [
        "x = 1",
        "x",
        "x + 1",
        "_",
        "_ + __",
        "_2, _i2, _ii, _iii",
        "Out[2]",
    ],
    "simple values": [
        "True",
        "1.5",
        "1e300 * 10",
        "-0.0",
        "'a\\tb'",
        "b'x'",
        "1j",
        "10 ** 30",
        "''",
    ],
    "other values": [
        "None",
        "[1, 2]",
        "{'a': 1}",
        "(1,)",
        "...",
        "int",
        "range(3)",
        "{1}",
        "object",
    ],
    "long values": [
        "'x' * 9000",
        "'x' * 20000",
        "10 ** 5000",
        "list(range(2000))",
        "'é\\n😀\\ud800'",
    ],
    "subclasses": ["class I(int):\n    def __repr__(self):\n        return 'mine'", "I(3)", "I"],
    "semicolons": [
        "1;",
        "1; 2",
        "1; # c",
        "x = 1; x",
        "';'",
        "'a;b'",
        "1 # ;",
        "2;\n",
        "3;  \n# end",
    ],
    "several statements": [
        "a = 1\nb = 2\na + b",
        "a\nb",
        "if a:\n    b",
        "for i in range(3): i",
        "\na",
    ],
    "empty": ["", " ", "\n", "# only a comment", "pass", "   \n  "],
    "white space": [
        " x = 1",
        "\n\nx = 2\n\n",
        "x = 3\n",
        "\tx = 4",
        "x = 5  ",
        "x\n\n",
        "\x0cx = 1",
    ],
    "printing": [
        "print(1)",
        "print('a', end='')",
        "import sys; sys.stderr.write('e\\n')",
        "print(1); 2",
    ],
    "errors": [
        "1 / 0",
        "raise ValueError('x')",
        "def f():\n    1 / 0\nf()",
        "f()",
        "nothing",
        "x = 1",
    ],
    "errors after output": ["print('a')\nx = 1\n1 / 0\nprint('b')", "x", "assert False, 'why'"],
    "causes": [
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
        "try:\n    1 / 0\nfinally:\n    nothing",
        "class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E()",
        "raise ExceptionGroup('g', [ValueError(1), KeyError(2)])",
        "e = ValueError('noted'); e.add_note('a note'); raise e",
    ],
    "syntax": [
        "x = ",
        "return",
        "print(1)\nreturn 2",
        "x = 1\nbreak",
        "def f(:",
        "a b",
        "'open",
        "(1",
    ],
    "indentation": ["if 1:\nx", "  if 1:\n  x = 1\n  x", "if 1:\n    x = 1\n  y = 2"],
    "nonlocal": ["nonlocal x", "x = 1\nglobal x", "yield 1", "print(1)\nyield"],
    "exit": [
        "exit",
        "x = 1",
        "quit()",
        "raise SystemExit",
        "raise SystemExit(3)",
        "import sys; sys.exit('w')",
    ],
    "own exit": ["exit = 3", "exit", "quit = 4\nquit"],
    "interrupts": [
        "raise KeyboardInterrupt",
        "import signal; signal.raise_signal(signal.SIGINT)",
        "1",
    ],
    "magics": ["%who_ls", "who_ls", "pwd;", "ls = 3", "ls", "%%capture c\nprint(1)", "c.stdout"],
    "names of magics": [
        "time = 3",
        "time",
        "history = [1]",
        "history",
        "history[0]",
        "cd",
        "pwd = 1",
        "pwd",
    ],
    "macros": ["x = 1", "%macro m 1", "m", "x"],
    "shell": ["!echo a", "v = !echo b", "v", "print?", "print??", "len?\n"],
    "autocall": ["%autocall 1", "len 'abc'", "%autocall 0", "len"],
    "prompts": [
        ">>> 1 + 1",
        ">>> x = 1\n... x",
        "In [1]: x = 3",
        "...",
        "x = ...",
        "def f():\n    ...\nf",
    ],
    "await": [
        "import asyncio",
        "await asyncio.sleep(0, 3)",
        "async def f():\n    return 1",
        "await f()",
    ],
    "future": [
        "from __future__ import annotations",
        "def f(a: nothing): pass\nf.__annotations__",
        "x: int = 1",
    ],
    "future in one cell": [
        "from __future__ import annotations\ndef f(a: nothing): pass",
        "f.__annotations__",
    ],
    "interactivity": [
        "get_ipython().ast_node_interactivity = 'all'",
        "1\n2",
        "get_ipython().ast_node_interactivity = 'last_expr_or_assign'",
        "x = 3",
        "get_ipython().ast_node_interactivity = 'none'",
        "4",
        "get_ipython().ast_node_interactivity = 'last_expr'",
        "5",
    ],
    "interactivity of the class": [
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.ast_node_interactivity = 'all'",
        "1\n2",
    ],
    "warnings of several cells": [
        "import warnings\ndef f(): warnings.warn('careful')\nf()",
        "f()",
        "warnings.warn('once')\nwarnings.warn('twice')",
        "warnings.warn('once')\nwarnings.warn('twice')",
    ],
    "precision": ["%precision 3", "3.14159265", "[3.14159265]"],
    "underscores": [
        "_ = 5",
        "7",
        "_",
        "del _",
        "8",
        "_",
        "import builtins\nbuiltins._ = 3",
        "9",
        "_",
    ],
    "hidden names": ["_i3 = 1", "In.append('x')", "Out[9] = 1", "10", "__ = 1", "11", "_, __"],
    "sources": [
        "def f():\n    return 1\n\ndef g(): return f()",
        "import inspect\ninspect.getsource(f)",
        "f()",
    ],
    "warnings": [
        "import warnings\nwarnings.warn('w')",
        "def f():\n    warnings.warn('in', stacklevel=2)\nf()",
        "'\\d'",
        "x = '\\d'\n!echo a",
        "1 is 1",
        "assert (1, 2)",
        "warnings.simplefilter('error')",
        "warnings.warn('x')",
    ],
    "hooks": [
        "def before(info): print('before', info.raw_cell)\n"
        "def after(result): print('after', result.result, result.success, result.execution_count)\n"
        "e = get_ipython().events\n"
        "e.register('pre_run_cell', before); e.register('post_run_cell', after)\n"
        "e.register('pre_execute', lambda: print('pre'))\n"
        "e.register('post_execute', lambda: print('post'))",
        "1",
        "x = 1",
        "1 / 0",
        "e.unregister('post_run_cell', after)",
        "def bad(*_): 1 / 0\ne.register('post_execute', bad)",
        "2",
    ],
    "transformers": [
        "import ast\n"
        "class T(ast.NodeTransformer):\n"
        "    def visit_Constant(self, node):\n"
        "        return ast.copy_location(ast.Constant(7), node)\n"
        "get_ipython().ast_transformers.append(T())",
        "1",
        "x = 2\nx",
    ],
    "input transformers": [
        "get_ipython().input_transformers_post.append(lambda lines: [s.replace('a', 'b') for s in lines])",
        "'a'",
    ],
    "cleanup transformers": [
        "get_ipython().input_transformers_cleanup.append(lambda lines: [s.replace('a', 'c') for s in lines])",
        "'a'",
    ],
    "printers": [
        "f = get_ipython().display_formatter.formatters['text/plain']",
        "f.for_type(int, lambda v, p, c: p.text(f'int {v}'))",
        "3",
        "get_ipython().display_formatter.formatters['text/html'].for_type(str, lambda v: f'<b>{v}</b>')",
        "'s'",
        "%precision 2",
        "3.14159",
    ],
    "rich values": [
        "class R:\n    def _repr_html_(self): return '<b>r</b>'\n    def __repr__(self): return 'r'",
        "R()",
        "class D:\n    def _ipython_display_(self): print('shown')",
        "D()",
        "class M:\n    def _repr_mimebundle_(self, **k): return {'text/plain': 'm', 'a/b': 'c'}",
        "M()",
        "from IPython.display import display, HTML\ndisplay(1, HTML('<i>'))\n2",
        "class B:\n    def __repr__(self): return 1 / 0",
        "B()",
    ],
    "display hook": [
        "import sys\nsys.displayhook = lambda v: print('mine', v)\n1",
        "2",
        "sys.displayhook is get_ipython().displayhook",
        "sys.displayhook = sys.__displayhook__\n3",
        "4",
    ],
    "excepthook": [
        "import sys\nkept = sys.excepthook\nsys.excepthook is get_ipython().excepthook",
        "sys.excepthook = lambda *a: print('mine')",
        "sys.excepthook is kept",
        "1 / 0",
    ],
    "custom errors": [
        "def handler(shell, etype, value, tb, tb_offset=None):\n    print('handled', etype.__name__)\n"
        "get_ipython().set_custom_exc((ValueError,), handler)",
        "raise ValueError(1)",
        "int('x')",
        "1 / 0",
    ],
    "shell from code": [
        "get_ipython().run_cell('y = 1\\ny')",
        "y",
        "get_ipython().run_line_magic('who_ls', '')",
        "get_ipython().execution_count",
        "get_ipython().ev('1 + 1')",
        "get_ipython().ex('z = 3')",
        "z",
        "get_ipython().push({'pushed': 1})",
        "pushed",
        "get_ipython().last_execution_result.result",
        "get_ipython().last_execution_succeeded",
    ],
    "a changed shell": [
        "s = get_ipython(); run = s.run_cell\n"
        "def mine(code, *a, **k):\n    print('mine', code)\n    return run(code, *a, **k)\n"
        "s.run_cell = mine",
        "1",
        "del s.run_cell",
        "2",
    ],
    "a changed class": [
        "from IPython.core.interactiveshell import InteractiveShell as S\n"
        "ran = S.run_code\n"
        "def mine(self, code, *a, **k):\n    print('mine')\n    return ran(self, code, *a, **k)\n"
        "S.run_code = mine",
        "1",
    ],
    "logging": [
        "%logstart -o log.py rotate",
        "1",
        "x = 2",
        "%logstop",
        "print(open('log.py').read())",
    ],
    "reset": ["x = 1", "x", "%reset -f", "x", "1", "_", "%reset -f out", "2", "In"],
    "history": ["x = 1", "y = 2", "%history", "%history -n 1-2", "%recall 1", "%rerun 1"],
    "debugger": [
        "def f():\n    y = 1\n    1 / 0",
        "f()",
        "%tb",
        "%xmode Minimal",
        "f()",
        "%xmode Context",
        "f()",
    ],
    "stacks": [
        "import sys\nsys._getframe().f_code.co_name, sys._getframe().f_code.co_filename",
        "__name__, '__file__' in globals(), globals() is get_ipython().user_ns",
        "def f(): return sys._getframe(1).f_lineno\nx = 1\nf()",
    ],
    "annotations": ["x: int = 1", "__annotations__", "y: str", "'y' in globals()"],
    "classes": [
        "class A:\n    '''doc'''\n    x = 1",
        "A.__module__, A.__qualname__, A.__doc__",
        "A().x",
    ],
    "strings alone": ["'''a doc'''\nx = 1", "__doc__", "'''\nlines\n'''", "f'{1 + 1}'", "r'\\d'"],
    "unicode": ["é = 1\né", "'ä' * 3", "print('😀')", "ß", "ﬁ = 1\nfi"],
    "line ends": ["x = 1\r\nx", "x = 2\rx", "print('a\\\n b')", "x = (1,\n\n2)\nx"],
    "lambda and scope": [
        "f = lambda: x",
        "x = 3",
        "f()",
        "[x for x in range(3)]",
        "x",
        "(y := 4)",
        "y",
    ],
    "deleting": ["x = 1", "del x", "x", "del nothing"],
    "input": ["input('? ')", "x = input()", "x", "import getpass\ngetpass.getpass()"],
    "generators": ["g = (i for i in range(3))", "next(g)", "list(g)", "def h():\n    yield 1", "h"],
    "match": ["match 3:\n    case 3: x = 'three'", "x", "match = 1", "match"],
    "threads": [
        "import threading\nt = threading.Thread(target=lambda: print('t')); t.start(); t.join()",
        "1",
    ],
    "many results": ["for i in range(3):\n    display(i)", "i", "_oh"],
    "comments and text": ["# a\nx = 1  # b\n# c", "x  # d", "'#'", "x\n# after"],
}


def differences(scenarios, room):
    """Runs scenarios both ways. Returns {"differing": scenarios with different effects, "plain":
    number of plain cells, "cells": number of all cells}."""
    command = [sys.executable, os.path.join(HERE, "two_roads.py")]
    ended = subprocess.run(
        command,
        input=json.dumps(scenarios),
        capture_output=True,
        text=True,
        cwd=room,
        env={**os.environ, "IPYTHONDIR": str(room)},
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def check(scenarios, room):
    found = differences(scenarios, room)
    for one in found["differing"]:
        for plain, other in zip(one["plain"]["cells"], one["IPython"]["cells"], strict=True):
            assert plain == other
        assert one["plain"]["found"] == one["IPython"]["found"], one["cells"]
    assert not found["differing"]
    # If few cells were plain, the comparison would show little.
    assert found["plain"] > found["cells"] / 2


def test_plain_cells_have_the_same_effects_as_ipython(tmp_path):
    check(list(SCENARIOS.values()), tmp_path)


# Lists the traits of the shell and of what shows values, as [place, module and name of the class,
# trait, whether it can be configured, other values].
TRAITS = """
import json
from traitlets import Bool, Enum, Float, Int, List, Unicode
shell = get_ipython()
display = shell.display_formatter
owners = {"get_ipython()": shell, "get_ipython().displayhook": shell.displayhook,
          "get_ipython().display_formatter": display}
for kind in display.formatters:
    owners[f"get_ipython().display_formatter.formatters[{kind!r}]"] = display.formatters[kind]
found = []
for place, owner in owners.items():
    for name, trait in owner.traits().items():
        value = getattr(owner, name)
        if isinstance(trait, Enum):
            others = [one for one in trait.values if one != value]
        elif isinstance(trait, Bool):
            others = [not value]
        elif isinstance(trait, (Int, Float)):
            others = [3]
        elif isinstance(trait, Unicode):
            others = ["%.2f" if name.startswith("float") else "x"]
        else:
            continue
        base = next(one for one in type(owner).__mro__ if one.__module__.startswith("IPython"))
        is_option = bool(trait.metadata.get("config"))
        found.append([place, base.__module__, base.__name__, name, is_option, others])
print(json.dumps(found))
"""
# Cells that show what the traits change.
SHOWN = ["1\n2", "x = 3", "x", "[3.14159265]", "3.14159265", "'a' * 100", "1 / 0", "print(4)\n5"]
# It starts a debugger, which asks for commands until the scenario's time is up.
UNTRIED = ("pdb",)


def setters(room):
    """Yields cells that each set one trait: on an instance, on its class, by configuration, by magic."""
    (ran,) = run_cells(room, [TRAITS, True, False])
    for place, module, base, name, is_option, others in json.loads(ran["sent"][0][1]):
        for other in others if name not in UNTRIED else ():
            yield f"{place}.{name} = {other!r}"
            yield f"from {module} import {base}\n{base}.{name} = {other!r}"
            if is_option:
                owner = f"c = type(get_ipython().config)()\nc.{base}.{name} = {other!r}"
                yield f"{owner}\n{place}.update_config(c)"
                yield f"%config {base}.{name} = {other!r}"


def test_no_trait_of_the_shell_is_ignored(tmp_path):
    scenarios = [[setter, *SHOWN] for setter in [*setters(tmp_path), *MAGICS]]
    assert len(scenarios) > 100
    # The first are those of the shell.
    found = differences(scenarios[::STEP], tmp_path)
    assert not [
        (one["cells"][0], plain, other)
        for one in found["differing"]
        for plain, other in zip(one["plain"]["cells"], one["IPython"]["cells"], strict=True)
        if plain != other
    ]


def test_no_configuration_of_the_shell_is_ignored(tmp_path):
    profile = tmp_path / "profile_default"
    profile.mkdir()
    for line in (
        "c.InteractiveShell.ast_node_interactivity = 'all'",
        "c.PlainTextFormatter.float_precision = '%.2f'",
        "c.BaseFormatter.enabled = False",
    ):
        (profile / "ipython_config.py").write_text(line)
        assert not differences([SHOWN], tmp_path)["differing"], line
    (profile / "ipython_config.py").write_text("c.Completer.use_jedi = False")
    assert differences([SHOWN], tmp_path)["plain"] > 0


# Magics that change how cells run or how values are shown.
MAGICS = [
    "%precision 3",
    "%pprint",
    "%xmode Minimal",
    "%colors NoColor",
    "%autocall 2",
    "%automagic",
    "%config InteractiveShell.ast_node_interactivity = 'all'",
]

# Cells of the server's tests that contain one of these words are not compared. They end processes,
# run forever, or print different text in each run.
NOT_HERE = (
    "kill fork _exit abort exit setsid Popen subprocess system rmtree unlink while sleep socket pid time"
    " ctypes thread signal resource spawn Pool random urandom id( /proc /dev range(10 0_0 000 ** import"
    " setrecursionlimit settrace breakpoint debug pdb %%bash writefile display_id=True << quit("
).split()


def cells_of(name):
    """Yields the string literals of a Rust file that contain Python code."""
    with open(os.path.join(HERE, "..", "it", f"{name}.rs")) as file:
        text = file.read()
    for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', text, re.DOTALL):
        cell = re.sub(r"\\\n\s*", "", literal)
        cell = re.sub(r"\\u\{([0-9a-f]+)\}", lambda found: chr(int(found[1], 16)), cell)
        cell = (
            cell.replace(r"\n", "\n").replace(r"\"", '"').replace(r"\t", "\t").replace(r"\\", "\\")
        )
        is_code = re.search(r"[=(\n]", cell) and not cell.startswith("/")
        if is_code and not any(word in cell for word in NOT_HERE):
            yield cell


FILES = ["asking", "branches", "cells", "floods", "hostile", "outputs", "survival"]


def test_cells_of_the_servers_tests_have_the_same_effects_as_ipython(tmp_path):
    cells = [cell for name in FILES for cell in cells_of(name)]
    found = differences([[cell] for cell in cells[::STEP]], tmp_path)
    assert not [
        (plain, other)
        for one in found["differing"]
        for plain, other in zip(one["plain"]["cells"], one["IPython"]["cells"], strict=True)
        if plain != other
    ]
    assert found["cells"] > 20
