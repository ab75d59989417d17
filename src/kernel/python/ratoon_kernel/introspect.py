"""What could be typed on at a place in code, and what the object there is: answers of a process that is thrown away later.

IPython's completer does the finding, without Jedi: it looks at what is there, takes a millisecond, and runs no code of the
user's but `__dir__`. Jedi is asked when nothing is found behind a dot, for things that only the cell itself says; it needs its own
second to warm up, so its time is limited.
"""

import ast
import builtins
import contextlib
import gc
import importlib
import importlib.util
import inspect as inspection
import io
import itertools
import keyword
import os
import pickle
import re
import signal
import sys
import sysconfig
import time
import tokenize
import types

from . import variables
from . import shell as own
from .classes import name_of
from .text import clean, short, to_json

MAX_ITEMS = 500
# How long one may be, in characters.
MAX_ITEM_CHARACTERS = 1000
# How long Jedi may think, in seconds.
JEDI_SECONDS = 0.4
# How many signatures are told, for how long they are looked for, in seconds, and how long one is, in characters.
MAX_SIGNATURES = 200
SIGNATURES_SECONDS = 0.03
MAX_SIGNATURE_CHARACTERS = 300
MAX_PARAMETERS = 100
# How long an object may take to represent itself, in seconds; sizes in characters.
REPR_SECONDS = 0.3
MAX_REPR_CHARACTERS = 2000
MAX_DOC_CHARACTERS = 16_000

_FUNCTIONS = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.WrapperDescriptorType, types.MethodWrapperType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType,
)  # fmt: skip
# Functions of numpy, Cython and functools: their kinds cannot be imported everywhere.
_LIKE_FUNCTIONS = frozenset({
    "ufunc", "_ArrayFunctionDispatcher", "cython_function_or_method", "fused_cython_function", "_lru_cache_wrapper", "partial",
})  # fmt: skip
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|.\x08")
_BY_NAME = (inspection.Parameter.POSITIONAL_OR_KEYWORD, inspection.Parameter.KEYWORD_ONLY)
_MISSING = object()
# Where Python's own modules are, and those of them that do something when they are imported.
_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")
_LOUD = frozenset({"antigravity", "this", "idlelib", "turtledemo", "turtle", "__main__"})


def prime(step):
    """Lets the completer load what it needs, in the root, in steps; answers whether there is another."""
    code = ("pri", "ratoon = ''\nratoon.", "import ra")[step : step + 1]
    if code:
        complete(*code, len(code[0]))
        return True
    # As the shell does when it has settled: no state is to copy what was loaded here.
    gc.collect()
    gc.freeze()
    return False


# -- completing -------------------------------------------------------------------------------------------------------


def complete(code, cursor):
    """Answers JSON: {from, to, items: [{text, kind, signature}]}."""
    with _told_by_the_cell(code, cursor):
        return _complete(code, cursor)


def _complete(code, cursor):
    cursor = max(0, min(cursor, len(code)))
    begin, end, items = _found(code, cursor)
    items = _parameters(code, begin, cursor) + items
    if _is_name_at(code, begin):
        items += _of_the_cell(code, begin, cursor, {text for text, _ in items})
    if not items:
        items = _attributes(code, begin, cursor)
    is_by_jedi = not items and _is_of_the_cell_alone(code, cursor)
    if is_by_jedi:
        begin, end, items = _by_jedi(code, cursor)
    is_import = re.match(r"\s*(import|from)\s", code[:begin].rpartition("\n")[2]) is not None
    owner = _owner(code, begin)
    told, by, signatures = [], time.monotonic() + SIGNATURES_SECONDS, 0
    # What is longer nobody chooses from a list: mostly it is a key that is a text of its own.
    items = [(text, kind) for text, kind in items if len(text) <= MAX_ITEM_CHARACTERS]
    for text, kind in items[:MAX_ITEMS]:
        signature = None
        if is_import and not is_by_jedi:
            kind = "module"
        elif not is_by_jedi and kind in ("variable", "attribute", "instance", "function", "<unknown>", ""):
            kind, value, is_bound = _kind_of(owner, text, kind)
            if kind == "function" and signatures < MAX_SIGNATURES and time.monotonic() < by:
                signatures += 1
                signature = _short_signature(value, is_bound)
        told.append({"text": clean(text), "kind": kind, "signature": signature})
    return to_json({"from": begin, "to": end, "items": told})


@contextlib.contextmanager
def _told_by_the_cell(code, cursor):
    """Meanwhile the names are there that the lines above the cursor make: modules that are loaded or Python's own, and literals.
    Only those that are no variables yet, and nothing of the user's is run for it."""
    namespace, made = own.shell.user_ns, []
    for line in code[:cursor].split("\n")[:-1]:
        try:
            statements = ast.parse(line).body if line and not line[0].isspace() else []
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for name, value in itertools.chain.from_iterable(_made_by(one) for one in statements[:20]):
            if name not in namespace:
                namespace[name] = value
                made.append(name)
    try:
        yield
    finally:
        for name in made:
            del namespace[name]


def _made_by(statement):
    """The names that a statement makes, with their values, as far as they can be known without running it."""
    if isinstance(statement, ast.Import):
        for one in statement.names:
            module = _module(one.name if one.asname else one.name.partition(".")[0])
            if module is not None:
                yield one.asname or one.name.partition(".")[0], module
    elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        module = _module(statement.module)
        for one in statement.names if module is not None else ():
            value = vars(module).get(one.name, _MISSING)
            if value is not _MISSING:
                yield one.asname or one.name, value
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        with contextlib.suppress(ValueError, TypeError, MemoryError, RecursionError):
            yield statement.targets[0].id, ast.literal_eval(statement.value)


def _module(name):
    """A module that is loaded, or one of Python's own that is not hidden by a file of the user's."""
    if name in sys.modules:
        return sys.modules[name]
    top = name.partition(".")[0]
    if top not in getattr(sys, "stdlib_module_names", ()) or top in _LOUD:
        return None
    try:
        spec = importlib.util.find_spec(top)
        is_own = spec is not None and (spec.origin in ("built-in", "frozen") or str(spec.origin).startswith(_LIBRARY))
        return importlib.import_module(name) if is_own else None
    except Exception:
        return None


def _found(code, cursor):
    """What IPython's completer finds: where it begins and ends, and (text, kind)."""
    from IPython.core.completer import provisionalcompleter, rectify_completions

    completer = own.shell.Completer
    completer.use_jedi = False
    # They would run the user's code: a property that is called, an object that makes up its attributes.
    left_out = ["IPCompleter.python_func_kw_matcher"]
    left_out += ["IPCompleter.dict_key_matcher"] if _makes_up_attributes(code, cursor) else []
    completer.disable_matchers = left_out
    try:
        with provisionalcompleter():
            found = itertools.islice(completer.completions(code, cursor), 4 * MAX_ITEMS)
            found = list(rectify_completions(code, found))
    except Exception:  # the completer is not to fail because of what somebody types
        found = []
    if not found:
        begin = cursor
        while begin and (code[begin - 1].isalnum() or code[begin - 1] == "_"):
            begin -= 1
        return begin, cursor, []
    begin, end = found[0].start, found[0].end
    # Some give the whole expression, some begin at the dot.
    typed = "".join(code[begin:cursor].rpartition(".")[:2])
    is_plain = not any(one.type in ("path", "dict key", "magic") for one in found)
    dot = len(typed) if is_plain and all(one.text.startswith(typed) for one in found) else 0
    # Magics are offered to who begins one: IPython offers them in the middle of code, too.
    is_magic = code[begin:cursor].startswith("%")
    seen = dict.fromkeys((one.text[dot:], one.type) for one in found if is_magic or one.type != "magic")
    return begin + dot, end, list(seen)


def _makes_up_attributes(code, cursor):
    """Whether an item of an object is typed whose class, the user's, answers for attributes that are not there."""
    opening = re.search(r"\[\s*[^\[\]]*$", code[:cursor])
    value = _value_of(_expression_before(code, opening.start())) if opening else _MISSING
    if value is _MISSING:
        return False
    bases = [vars(base) for base in type.__dict__["__mro__"].__get__(type(value)) if base.__module__ == "__main__"]
    return any("__getattr__" in base or "__getattribute__" in base for base in bases)


def _parameters(code, begin, cursor):
    """The parameters of the call in whose parentheses a name is typed, which it has not been given yet."""
    call = _call_around(code, cursor)
    typed = code[begin:cursor]
    if call is None or typed and not typed.isidentifier() or call[1][-1].strip() != typed:
        return []
    value = _value_of(call[0])
    signature = None if value is _MISSING else _signature_of(value)
    named = [p.name for p in signature.parameters.values() if p.kind in _BY_NAME] if signature else []
    given = {match[1] for one in call[1] if (match := re.match(r"\s*(\w+)\s*=(?!=)", one))}
    return [(f"{name}=", "param") for name in named if name.startswith(typed) and name not in given]


def _attributes(code, begin, cursor):
    """The attributes of the object before the dot, which older completers do not find behind a text."""
    owner = _owner(code, begin)
    if owner is None or owner is _MISSING:
        return []
    typed = code[begin:cursor]
    try:
        names = dir(owner)
    except Exception:  # a hostile __dir__ may raise anything
        return []
    names = [n for n in names if type(n) is str and n.startswith(typed) and (typed.startswith("_") or n[:1] != "_")]
    return [(name, "attribute") for name in names]


def _is_of_the_cell_alone(code, cursor):
    """Whether an attribute is typed of something that begins with a name that is no variable yet."""
    typed = re.search(r"[\w\])\"']\.\w*$", code[:cursor])
    first = re.match(r"[^\W\d]\w*", _expression_before(code, cursor)) if typed else None
    return first is not None and first[0] not in own.shell.user_ns and first[0] in code[: typed.start()]


def _is_name_at(code, begin):
    """Whether what is typed there is a name that stands alone: neither an attribute nor inside a text nor a magic."""
    line = code[:begin].rpartition("\n")[2]
    if line.lstrip().startswith(("%", "!", "import ", "from ")) or line.rstrip().endswith("."):
        return False
    return line.count('"') % 2 == 0 and line.count("'") % 2 == 0 and "#" not in line


def _of_the_cell(code, begin, cursor, known):
    """The names that the cell itself speaks of."""
    typed = code[begin:cursor]
    if not typed.isidentifier():
        return []
    found, last = {}, ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(code[:begin] + " " + code[cursor:]).readline):
            if token.type == tokenize.NAME and last != "." and token.string.startswith(typed):
                found[token.string] = "function" if last == "def" else "class" if last == "class" else "statement"
            last = token.string
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # it is being written
    return [(n, kind) for n, kind in sorted(found.items()) if n not in known and n != typed and not keyword.iskeyword(n)]


def _by_jedi(code, cursor):
    """What Jedi makes of the text of the cell. It is not given the variables: it would ask them, and run the user's code."""
    begin = cursor
    while begin and (code[begin - 1].isalnum() or code[begin - 1] == "_"):
        begin -= 1
    signal.signal(signal.SIGALRM, _too_slow)
    # Again and again: Jedi may take the first for an error of the code that it looks at.
    signal.setitimer(signal.ITIMER_REAL, JEDI_SECONDS, JEDI_SECONDS / 10)
    try:
        import jedi

        _keep_its_files_whole()
        line = code.count("\n", 0, cursor) + 1
        column = cursor - (code.rfind("\n", 0, cursor) + 1)
        found = jedi.Script(code, environment=jedi.InterpreterEnvironment()).complete(line, column)
        typed = code[begin:cursor]
        shown = [f for f in found if typed.startswith("_") or not f.name.startswith("_")]
        return begin, cursor, [(f.name, f.type) for f in shown[:MAX_ITEMS]]
    except Exception:
        return begin, cursor, []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _keep_its_files_whole():
    """Jedi's parser keeps its trees in files that all programs of the user share. It writes into the file itself, so who is stopped
    while it writes, as we are when it takes too long, leaves a broken one, on which Jedi fails from then on, everywhere."""
    import parso.cache as cache

    save, load, path_of = (getattr(cache, f"_{name}", None) for name in ("save_to_file_system", "load_from_file_system", "get_hashed_path"))
    if save is None or load is None or path_of is None or getattr(cache, "_ratoon_is_whole", False):
        return

    def save_whole(hashed_grammar, path, item, cache_path=None):
        place = path_of(hashed_grammar, path, cache_path=cache_path)
        new = f"{place}.{os.getpid()}"
        try:
            with open(new, "wb") as file:
                pickle.dump(item, file, pickle.HIGHEST_PROTOCOL)
            os.replace(new, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise

    def load_whole(*args, **more):
        try:
            return load(*args, **more)
        except (EOFError, pickle.UnpicklingError):
            return None  # as if it were not there: it is written again

    cache._save_to_file_system, cache._load_from_file_system, cache._ratoon_is_whole = save_whole, load_whole, True


def _too_slow(_signal, _frame):
    raise TimeoutError("it took too long")


def _owner(code, begin):
    """The object whose attribute is typed there; none where a name is typed, or when the object is not known."""
    if begin == 0 or code[begin - 1] != ".":
        return None
    expression = _expression_before(code, begin - 1)
    return _value_of(expression) if expression else _MISSING


def _kind_of(owner, name, kind):
    """The kind of what a name means there, its value, and whether it is a method that comes with its object."""
    if owner is _MISSING:
        return ("instance" if kind in ("attribute", "variable", "<unknown>", "") else kind), None, False
    if owner is None:
        if keyword.iskeyword(name):
            return "keyword", None, False
        value = _named(name)
        return _kind_of_value(value) if value is not _MISSING else (kind if kind == "function" else "statement", None, False)
    try:
        value = inspection.getattr_static(owner, name)
    except Exception:
        return "instance", None, False
    is_bound = not issubclass(type(owner), (type, types.ModuleType))
    if isinstance(value, (staticmethod, classmethod)):
        value, is_bound = value.__func__, isinstance(value, classmethod)
    found, value, _ = _kind_of_value(value)
    return found, value, is_bound


def _kind_of_value(value):
    kind = type(value)
    if issubclass(kind, type):
        return "class", value, False
    if issubclass(kind, types.ModuleType):
        return "module", value, False
    if kind is property or name_of(kind) == "cached_property":
        return "property", value, False
    return ("function" if _is_function(kind) else "instance"), value, False


def _is_function(kind):
    return kind in _FUNCTIONS or kind.__module__ != "__main__" and name_of(kind) in _LIKE_FUNCTIONS


def _named(name):
    namespace = own.shell.user_ns
    return namespace[name] if name in namespace else getattr(builtins, name, _MISSING)


def _short_signature(value, is_bound):
    """The parameters of a function without their types, as `(a, b=1)`."""
    signature = _signature_of(value, is_bound)
    if signature is None:
        return None
    none = inspection.Parameter.empty
    try:
        parameters = [one.replace(annotation=none) for one in signature.parameters.values()]
        text = str(signature.replace(parameters=parameters, return_annotation=none))
    except Exception:
        return None
    return clean(text) if len(text) <= MAX_SIGNATURE_CHARACTERS else clean(text[: MAX_SIGNATURE_CHARACTERS - 1]) + "…"


def _signature_of(value, is_bound=False):
    """A function's signature, as Python knows it; none when it does not, or when asking would run the user's code."""
    try:
        if _is_function(type(value)):
            signature = inspection.signature(value)
        elif issubclass(type(value), type) and type(value).__getattribute__ is type.__getattribute__:
            signature = inspection.signature(value)
        else:
            call = inspection.getattr_static(type(value), "__call__", None)
            if type(call) is not types.FunctionType:
                return None
            signature, is_bound = inspection.signature(call), True
        parameters = list(signature.parameters.values())
        return signature.replace(parameters=parameters[1:]) if is_bound and parameters else signature
    except Exception:
        return None


# -- where in the code ------------------------------------------------------------------------------------------------


def _value_of(expression):
    """What an expression means, by IPython's guarded evaluation: no calls, no properties of the user's."""
    if expression.isidentifier():
        return _named(expression)
    try:
        from IPython.core.guarded_eval import EvaluationContext, guarded_eval

        spaces = {"globals": own.shell.user_global_ns, "locals": own.shell.user_ns}
        return guarded_eval(expression, EvaluationContext(evaluation="limited", **spaces))
    except Exception:
        return _MISSING


def _expression_before(code, end):
    """The expression that ends there: names with dots, and what stands in brackets behind them."""
    at = end
    while at > 0:
        letter = code[at - 1]
        if letter.isalnum() or letter in "_.":
            at -= 1
        elif letter in "\"'":
            opening = code.rfind(letter, 0, at - 1)
            if opening < 0 or "\n" in code[opening:at]:
                break
            at = opening
            if at == 0 or code[at - 1] not in "([{,. ":
                break
            break
        elif letter in ")]":
            opening = _opening(code, at - 1)
            if opening is None:
                break
            at = opening
        else:
            break
    return code[at:end].strip().lstrip(".")


def _opening(code, closing):
    """Where the bracket opens that closes there."""
    depth = 0
    for at in range(closing, max(-1, closing - 10_000), -1):
        if code[at] in ")]}":
            depth += 1
        elif code[at] in "([{":
            depth -= 1
            if depth == 0:
                return at
    return None


def _call_around(code, cursor):
    """The innermost call in whose parentheses the cursor stands: the function's expression, and the text of its arguments so
    far, cut at the commas between them."""
    brackets, quote, at, start = [], None, 0, 0
    while at < cursor:
        letter = code[at]
        if quote:
            if letter == "\\":
                at += 1
            elif code.startswith(quote, at):
                at += len(quote) - 1
                quote = None
            elif letter == "\n" and len(quote) == 1:
                quote = None
        elif letter in "\"'":
            quote = letter * 3 if code.startswith(letter * 3, at) else letter
            at += len(quote) - 1
        elif letter == "#":
            at = code.find("\n", at)
            if at < 0:
                break
        elif letter in "([{":
            brackets.append([at, [at + 1]])
        elif letter in ")]}" and brackets:
            brackets.pop()
        elif letter == "," and brackets:
            brackets[-1][1].append(at + 1)
        at += 1
    for opening, starts in reversed(brackets):
        if code[opening] != "(":
            continue
        name = _expression_before(code, opening)
        before = code[:opening].rstrip()[: -len(name) or None].rstrip()
        if not name or keyword.iskeyword(name) or re.search(r"\b(def|class)$", before):
            continue
        ends = [*(start - 1 for start in starts[1:]), cursor]
        return name, [code[a:b] for a, b in zip(starts, ends)]
    return None


# -- inspecting -------------------------------------------------------------------------------------------------------


def inspect(code, cursor):
    """Answers JSON: what is known of the object, or null.

    Within the parentheses of a call it is the function that is called, but where the cursor stands before or inside a name
    there: who points at it means it.
    """
    with _told_by_the_cell(code, cursor):
        return _inspect(code, cursor)


def _inspect(code, cursor):
    cursor = max(0, min(cursor, len(code)))
    call = _call_around(code, cursor)
    points = re.match(r"\w", code[cursor : cursor + 1]) is not None
    if call is None or points:
        told = _inspected(_name_at(code, cursor), None, code)
        if told is not None or call is None:
            return to_json(told)
    name, arguments = call
    return to_json(_inspected(name, arguments, code))


def _name_at(code, cursor):
    end = cursor
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    return _expression_before(code, end)


def _inspected(name, arguments, code):
    if not name or keyword.iskeyword(name) and name not in ("None", "True", "False") or name.isdigit():
        return None
    value, is_bound = _value_of(name), False
    if value is _MISSING and (owner := _owner(name, name.rfind(".") + 1)) is not None and owner is not _MISSING:
        try:
            # A property: what it is, not what it gives.
            value = inspection.getattr_static(owner, name.rpartition(".")[2])
            is_bound = type(value) is types.FunctionType and not issubclass(type(owner), (type, types.ModuleType))
        except Exception:
            value = _MISSING
    if value is _MISSING:
        return _in_the_cell(name, arguments, code)
    kind, _, _ = _kind_of_value(value)
    told = {"name": short(name, 200), "type": variables.type_name(value), "repr": None}
    if kind == "instance":
        told["repr"] = _repr(value)
    told["doc"] = _doc(value, kind)
    told["signature"] = _told_signature(_signature_of(value, is_bound), told["doc"], value, arguments)
    told["place"] = _place(value, kind)
    return told


def _repr(value):
    try:
        return variables.short_repr(value, REPR_SECONDS, MAX_REPR_CHARACTERS)
    except BaseException as error:  # a hostile __repr__ may raise anything
        return f"<repr failed: {name_of(type(error))}>"


def _doc(value, kind):
    of = value if kind in ("function", "class", "module") else value if kind == "property" else type(value)
    try:
        text = of.__dict__.get("__doc__") if kind == "module" else of.__doc__
    except Exception:
        return None
    if type(text) is not str or not text.strip():
        return None
    text = _ANSI.sub("", inspection.cleandoc(text[: 4 * MAX_DOC_CHARACTERS]))
    return clean(text if len(text) <= MAX_DOC_CHARACTERS else text[: MAX_DOC_CHARACTERS - 1] + "…")


def _told_signature(signature, doc, value, arguments):
    if signature is not None:
        parameters = list(signature.parameters.values())
        texts, places = _as_written(parameters)
        active = _active([(p.name, p.kind) for p in parameters], arguments)
        returns = signature.return_annotation
        if returns is not inspection.Signature.empty:
            returns = clean(inspection.formatannotation(_unquoted(returns)))[:MAX_SIGNATURE_CHARACTERS]
        else:
            returns = None
        active = places[active] if active is not None else None
        return {"parameters": texts[:MAX_PARAMETERS], "returns": returns, "active": active}
    # What C made often says it in the first line of its text.
    name = getattr(value, "__name__", None) if _is_function(type(value)) or issubclass(type(value), type) else None
    first = re.match(rf"{re.escape(name)}\(([^()]*)\)", doc) if type(name) is str and doc else None
    if first is None:
        return None
    texts = [one.strip() for one in first[1].split(",") if one.strip()]
    names = [(re.match(r"\**(\w*)", text)[1], inspection.Parameter.POSITIONAL_OR_KEYWORD) for text in texts]
    return {"parameters": texts[:MAX_PARAMETERS], "returns": None, "active": _active(names, arguments)}


def _as_written(parameters):
    """The parameters with `/` and `*` between them; where each of them stands there."""
    texts, places, last = [], [], None
    kinds = inspection.Parameter
    for one in parameters:
        if last is kinds.POSITIONAL_ONLY and one.kind is not last:
            texts.append("/")
        if one.kind is kinds.KEYWORD_ONLY and last not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
            texts.append("*")
        places.append(len(texts))
        text = clean(str(one.replace(annotation=_unquoted(one.annotation))))
        texts.append(text if len(text) <= MAX_SIGNATURE_CHARACTERS else text[: MAX_SIGNATURE_CHARACTERS - 1] + "…")
        last = one.kind
    return texts + ["/"] * (last is kinds.POSITIONAL_ONLY), places


def _unquoted(annotation):
    return _Written(annotation) if type(annotation) is str else annotation


def _active(parameters, arguments):
    """Which parameter is being typed: by its name, else by how many stand before it."""
    if not arguments:
        return None
    kinds = inspection.Parameter
    named = re.match(r"\s*(\w+)\s*=(?!=)", arguments[-1])
    if named:
        for at, (name, kind) in enumerate(parameters):
            if name == named[1] and kind not in (kinds.POSITIONAL_ONLY, kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD):
                return at
        return next((at for at, (_, kind) in enumerate(parameters) if kind is kinds.VAR_KEYWORD), None)
    if any(re.match(r"\s*\w+\s*=(?!=)", one) for one in arguments[:-1]):
        return None
    count = len(arguments) - 1
    for at, (_, kind) in enumerate(parameters):
        if kind is kinds.VAR_POSITIONAL:
            return at
        if kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD):
            if count == 0:
                return at
            count -= 1
    return None


def _place(value, kind):
    """Where something is written: the path, and the line where that is known at once."""
    try:
        if kind == "module":
            file = vars(value).get("__file__")
            return file if type(file) is str else None
        if kind == "class":
            return _place_of_class(value)
        value = value.fget if type(value) is property else value
        value = value.__func__ if type(value) is types.MethodType else value
        for _ in range(10):
            inner = vars(value).get("__wrapped__") if type(value) is types.FunctionType else None
            value = value if inner is None else inner
        if type(value) is not types.FunctionType:
            return None
        return _path(value.__code__.co_filename, value.__code__.co_firstlineno)
    except Exception:
        return None


def _place_of_class(value):
    written = type.__dict__["__dict__"].__get__(value)
    module = written.get("__module__")
    if module == "__main__":
        methods = [v.__code__ for v in written.values() if type(v) is types.FunctionType]
        first = min(methods, key=lambda code: code.co_firstlineno, default=None)
        return _path(first.co_filename, written.get("__firstlineno__", first.co_firstlineno)) if first else None
    file = vars(sys.modules[module]).get("__file__")
    return file if type(file) is str else None


def _path(file, line):
    number = getattr(own.shell.compile, "_filename_map", {}).get(file)
    if number is not None:
        return f"In[{number}], line {line}"
    return f"{file}:{line}" if os.path.isabs(file) else None


def _in_the_cell(name, arguments, code):
    """A function or class that the cell itself defines."""
    found = None
    for text in (code, code[: code.rfind("\n") + 1]):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        made = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = next((node for node in ast.walk(tree) if isinstance(node, made) and node.name == name), None)
        break
    if found is None:
        return None
    doc = ast.get_docstring(found)
    told = {"name": name, "repr": None, "doc": doc and clean(doc[:MAX_DOC_CHARACTERS]), "place": f"line {found.lineno}"}
    told["type"] = "type" if isinstance(found, ast.ClassDef) else "function"
    told["signature"] = None
    if not isinstance(found, ast.ClassDef):
        parameters = _parameters_in(found.args)
        texts, places = _as_written(parameters)
        active = _active([(p.name, p.kind) for p in parameters], arguments)
        returns = clean(ast.unparse(found.returns)) if found.returns else None
        told["signature"] = {
            "parameters": texts[:MAX_PARAMETERS],
            "returns": returns,
            "active": places[active] if active is not None else None,
        }
    return told


class _Written:
    """Code as it is written, where a signature shows a value."""

    def __init__(self, code):
        self.text = code if type(code) is str else ast.unparse(code)

    def __repr__(self):
        return self.text


def _parameters_in(arguments):
    make, kinds = inspection.Parameter, inspection.Parameter
    plain = [(one, kinds.POSITIONAL_ONLY) for one in arguments.posonlyargs]
    plain += [(one, kinds.POSITIONAL_OR_KEYWORD) for one in arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    all_of_them = [(one, kind, default) for (one, kind), default in zip(plain, defaults)]
    if arguments.vararg:
        all_of_them.append((arguments.vararg, kinds.VAR_POSITIONAL, None))
    all_of_them += [(one, kinds.KEYWORD_ONLY, d) for one, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        all_of_them.append((arguments.kwarg, kinds.VAR_KEYWORD, None))
    return [
        make(
            one.arg,
            kind,
            default=make.empty if default is None else _Written(default),
            annotation=make.empty if one.annotation is None else _Written(one.annotation),
        )
        for one, kind, default in all_of_them
    ]
