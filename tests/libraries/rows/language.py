"""Rows with features of the Python language, Python's settings, and IPython's magics."""

from model import row

ROWS = (
    row(
        "generator kept",
        """
        def count():
            for number in range(10):
                yield number
        g = count()
        print(next(g))
        """,
        "print(next(g), next(g))",
    ),
    row(
        "closure/nonlocal counter",
        """
        def counter():
            n = 0
            def up():
                nonlocal n
                n += 1
                return n
            return up
        up = counter()
        print(up())
        """,
        "print(up(), up())",
    ),
    row(
        "recursive structures",
        "a = [1]; a.append(a); d = {'a': a}; d['d'] = d\nprint(a[1] is a, d['d'] is d)",
        "print(a[1] is a, d['d'] is d, d['a'] is a, a, d)",
    ),
    row(
        "property/descriptor/slots",
        """
        class Positive:
            def __set_name__(self, owner, name): self.name = '_' + name
            def __get__(self, it, owner=None): return self if it is None else getattr(it, self.name)
            def __set__(self, it, value):
                if value < 0: raise ValueError('negative')
                setattr(it, self.name, value)
        class Box:
            __slots__ = ('_size', 'tag')
            size = Positive()
            make = staticmethod(lambda: 7)
            @property
            def area(self): return self.size ** 2
        b = Box(); b.size = 3; b.tag = 't'
        print(b.area, Box.make())
        """,
        """
        try: b.size = -1
        except ValueError as e: print(e)
        try: b.other = 1
        except AttributeError: print('slots')
        print(b.area, b.tag, Box.make())
        """,
    ),
    row(
        "Enum/Flag/pattern subclass + super()",
        """
        import enum, re
        class Colour(enum.Enum):
            RED = 1
            BLUE = 2
        class Rights(enum.Flag):
            R = enum.auto()
            W = enum.auto()
        class Base:
            def who(self): return 'base'
        class Child(Base):
            def who(self): return 'child of ' + super().who()
        pattern, c, rights = re.compile(r'(\\w+)@'), Child(), Rights.R | Rights.W
        print(Colour.RED, rights, c.who(), pattern.findall('a@b'))
        """,
        "print(Colour(2), Rights.R in rights, c.who(), isinstance(c, Base), "
        "pattern.findall('x@y'), Colour['RED'] is Colour.RED)",
    ),
    row(
        "abc/dataclass/namedtuple/enum/typing",
        """
        import abc, collections, dataclasses, typing
        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self): ...
        @dataclasses.dataclass(frozen=True, order=True)
        class Square(Shape):
            side: float = 2.0
            def area(self): return self.side ** 2
        Point = collections.namedtuple('Point', 'x y')
        class Movie(typing.NamedTuple):
            title: str
            year: int = 1999
        T = typing.TypeVar('T')
        class Stack(typing.Generic[T]):
            def __init__(self): self.items = []
        s, p, m, st = Square(3), Point(1, 2), Movie('M'), Stack[int]()
        print(s, p, m, s.area())
        """,
        """
        try: Shape()
        except TypeError: print('abstract')
        print(s == Square(3), p._replace(x=5), m.year, dataclasses.asdict(s), type(st).__name__,
              Square(1) < s)
        """,
    ),
    row(
        "weakref/gc/metaclass",
        """
        import gc, weakref
        class Meta(type):
            made = []
            def __new__(m, name, bases, d):
                made = super().__new__(m, name, bases, d)
                Meta.made.append(name)
                return made
        class A(metaclass=Meta): pass
        a = A(); r = weakref.ref(a); cache = weakref.WeakValueDictionary(a=a)
        print(r() is a, Meta.made)
        """,
        "gc.collect(); print(r() is a, dict(cache) == {'a': a}, Meta.made, "
        "type(A).__name__)\n"
        "class B(A): pass\n"
        "print(Meta.made)",
    ),
    row(
        "functools lru_cache/singledispatch",
        """
        import functools
        @functools.lru_cache
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        @functools.singledispatch
        def kind(x): return 'any'
        @kind.register
        def _(x: int): return 'int'
        add = functools.partial(lambda a, b: a + b, 1)
        print(fib(30), kind(1), kind('a'), add(2))
        """,
        "print(fib(31), kind(1), kind('a'), add(5))\n"
        "@kind.register\n"
        "def _(x: str): return 'str'\n"
        "print(kind('a'))",
    ),
    row(
        "contextvars/decimal/locale",
        """
        import contextvars, decimal, locale
        v = contextvars.ContextVar('v', default=0); v.set(5)
        decimal.getcontext().prec = 6
        locale.setlocale(locale.LC_ALL, 'C')
        print(v.get(), decimal.Decimal(1) / 7)
        """,
        "print(v.get(), decimal.Decimal(1) / 7, locale.setlocale(locale.LC_ALL))",
    ),
    row(
        "os.environ/cwd",
        "import os, tempfile\n"
        "os.environ['ROW'] = 'x'; os.makedirs('inside', exist_ok=True); os.chdir('inside')\n"
        "print(os.path.basename(os.getcwd()))",
        "import subprocess\n"
        "print(os.environ['ROW'], os.path.basename(os.getcwd()), subprocess.run(['sh', '-c', "
        "'echo $ROW'], capture_output=True, text=True).stdout)",
    ),
    row(
        "sys.setrecursionlimit/gc/locale",
        "import sys, gc\n"
        "sys.setrecursionlimit(2500); gc.set_threshold(500, 5, 5)\n"
        "print(sys.getrecursionlimit())",
        "print(sys.getrecursionlimit(), gc.get_threshold())",
    ),
    row(
        "module attribute monkeypatch",
        "import math, statistics\n"
        "math.tau2 = 12.5\n"
        "statistics.mean = lambda data: 'patched'\n"
        "print(math.tau2, statistics.mean([1]))",
        "print(getattr(math, 'tau2', None), statistics.mean([1]))",
    ),
    row(
        "asyncio background task",
        """
        import asyncio
        ticks = []
        async def tick():
            for n in range(1000):
                ticks.append(n)
                await asyncio.sleep(0)
        task = asyncio.ensure_future(tick())
        await asyncio.sleep(0)
        print(ticks[0], task.done())
        """,
        "await task\nprint(len(ticks), task.done())",
        told=("tasks",),
    ),
    row(
        "%%writefile/%run, own module",
        """
        open('mine.py', 'w').write('def f(): return 41\\nclass K:\\n    n = 2\\n')
        import sys, os; sys.path.insert(0, os.getcwd())
        import mine
        k = mine.K()
        get_ipython().run_cell_magic('writefile', 'script.py', 'y = 6 * 7\\nprint("ran", y)')
        get_ipython().run_line_magic('run', 'script.py')
        print(mine.f())
        """,
        "get_ipython().run_line_magic('run', 'script.py')\n"
        "print(mine.f(), k.n, isinstance(k, mine.K), y)",
    ),
    row(
        "%autoreload + own module",
        """
        open('again.py', 'w').write('def f(): return 1\\n')
        import sys, os; sys.path.insert(0, os.getcwd()); sys.dont_write_bytecode = True
        %load_ext autoreload
        %autoreload 2
        import again
        print(again.f())
        """,
        "print(again.f())",
    ),
    row(
        "%%capture/%%timeit/%%bash",
        """
        get_ipython().run_cell_magic('capture', 'cap', 'print(5)')
        t = get_ipython().run_line_magic('timeit', '-o -q -n 1 -r 1 pass')
        get_ipython().run_cell_magic('bash', '', 'echo from bash')
        print(cap.stdout, t.loops)
        """,
        "print(cap.stdout, t.loops)\n"
        "get_ipython().run_cell_magic('bash', '', 'echo again')\n"
        "files = !echo one\n"
        "print(files)",
    ),
    row(
        "pip install",
        """
        import sys, os, zipfile
        with zipfile.ZipFile('tiny_of_row-1-py3-none-any.whl', 'w') as wheel:
            wheel.writestr('tiny_of_row.py', 'answer = 42')
            about = 'tiny_of_row-1.dist-info/'
            wheel.writestr(about + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny-of-row\\nVersion: 1\\n')
            wheel.writestr(about + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: row\\n'
                           'Root-Is-Purelib: true\\nTag: py3-none-any\\n')
            wheel.writestr(about + 'RECORD', '')
        wheel = './tiny_of_row-1-py3-none-any.whl'
        get_ipython().run_line_magic('pip', f'install -q --no-index --target there {wheel}')
        sys.path.insert(0, os.path.abspath('there'))
        import tiny_of_row
        """,
        "from tiny_of_row import answer\nprint(answer, tiny_of_row.__name__)",
    ),
)
