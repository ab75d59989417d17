"""Finds signatures of functions and classes, in live objects or in the code of a cell."""

import ast
import inspect
import re
import types
from typing import Any

from .classes import name_of
from .text import clean

# Maximum length of a signature in the list of completions, and of one parameter, in characters.
MAX_SIGNATURE_CHARACTERS = 300
MAX_PARAMETERS = 100

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
# Names of types of functions in numpy, Cython and functools. Types are compared by name, because
# these libraries may not be loaded.
_LIKE_FUNCTIONS = frozenset(
    "ufunc _ArrayFunctionDispatcher cython_function_or_method fused_cython_function"
    " _lru_cache_wrapper partial".split()
)
# The name and the kind of each parameter.
Kinds = list[tuple[str, Any]]


def kind_of_value(value: Any) -> Any:
    kind = type(value)
    if issubclass(kind, type):
        return "class", value, False
    if issubclass(kind, types.ModuleType):
        return "module", value, False
    if kind is property or name_of(kind) == "cached_property":
        return "property", value, False
    return ("function" if is_function(kind) else "instance"), value, False


def is_function(kind: Any) -> bool:
    return kind in _FUNCTIONS or (
        kind.__module__ != "__main__" and name_of(kind) in _LIKE_FUNCTIONS
    )


def signature_of(value: Any, is_bound: bool = False) -> inspect.Signature | None:
    """Returns the signature of a callable. Returns None if Python does not know the signature, or
    if finding it would run user code."""
    try:
        if is_function(type(value)):
            signature = inspect.signature(value)
        elif issubclass(type(value), type) and _has_plain_attributes(type(value)):
            signature = inspect.signature(value)
        else:
            call = inspect.getattr_static(type(value), "__call__", None)
            if type(call) is not types.FunctionType:
                return None
            signature, is_bound = inspect.signature(call), True
        parameters = list(signature.parameters.values())
        return (
            signature.replace(parameters=parameters[1:]) if is_bound and parameters else signature
        )
    except Exception:
        return None


def _has_plain_attributes(metaclass: Any) -> bool:
    """Whether reading attributes of a class runs no code of its metaclass."""
    return metaclass.__getattribute__ is type.__getattribute__


def short_signature(value: Any, is_bound: bool) -> str | None:
    """Returns the parameters without annotations, for example `(a, b=1)`."""
    signature = signature_of(value, is_bound)
    if signature is None:
        return None
    none = inspect.Parameter.empty
    try:
        parameters = [one.replace(annotation=none) for one in signature.parameters.values()]
        text = str(signature.replace(parameters=parameters, return_annotation=none))
    except Exception:
        return None
    return (
        clean(text)
        if len(text) <= MAX_SIGNATURE_CHARACTERS
        else clean(text[: MAX_SIGNATURE_CHARACTERS - 1]) + "…"
    )


def described_signature(
    signature: inspect.Signature | None, doc: str | None, value: Any, arguments: list[str] | None
) -> Any:
    if signature is not None:
        parameters = list(signature.parameters.values())
        texts, places = as_written(parameters)
        active = active_parameter([(p.name, p.kind) for p in parameters], arguments)
        returns = signature.return_annotation
        if returns is not inspect.Signature.empty:
            returns = clean(inspect.formatannotation(_unquoted(returns)))[:MAX_SIGNATURE_CHARACTERS]
        else:
            returns = None
        active = places[active] if active is not None else None
        return {"parameters": texts[:MAX_PARAMETERS], "returns": returns, "active": active}
    # The documentation of a C function often begins with the signature.
    name = (
        getattr(value, "__name__", None)
        if is_function(type(value)) or issubclass(type(value), type)
        else None
    )
    first = re.match(rf"{re.escape(name)}\(([^()]*)\)", doc) if type(name) is str and doc else None
    if first is None:
        return None
    texts = [one.strip() for one in first[1].split(",") if one.strip()]
    names = [
        (
            text.lstrip("*").partition("=")[0].partition(":")[0].strip(),
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        for text in texts
    ]
    return {
        "parameters": texts[:MAX_PARAMETERS],
        "returns": None,
        "active": active_parameter(names, arguments),
    }


def as_written(parameters: list[inspect.Parameter]) -> Any:
    """Returns (texts, positions). The texts are the source of the parameters, and of the separators
    `/` and `*`. The positions are the indices of the parameters among the texts."""
    texts, places, last = [], [], None
    kinds = inspect.Parameter
    for one in parameters:
        if last is kinds.POSITIONAL_ONLY and one.kind is not last:
            texts.append("/")
        if one.kind is kinds.KEYWORD_ONLY and last not in (
            kinds.KEYWORD_ONLY,
            kinds.VAR_POSITIONAL,
        ):
            texts.append("*")
        places.append(len(texts))
        text = clean(str(one.replace(annotation=_unquoted(one.annotation))))
        texts.append(
            text
            if len(text) <= MAX_SIGNATURE_CHARACTERS
            else text[: MAX_SIGNATURE_CHARACTERS - 1] + "…"
        )
        last = one.kind
    return texts + ["/"] * (last is kinds.POSITIONAL_ONLY), places


def _unquoted(annotation: Any) -> Any:
    return Written(annotation) if type(annotation) is str else annotation


def active_parameter(parameters: Kinds, arguments: list[str] | None) -> int | None:
    """Returns the index of the parameter whose argument is being typed. A keyword argument is found
    by its name, others by their position."""
    if not arguments:
        return None
    kinds = inspect.Parameter
    named = re.match(r"\s*(\w+)\s*=(?!=)", arguments[-1])
    if named:
        for at, (name, kind) in enumerate(parameters):
            if name == named[1] and kind not in (
                kinds.POSITIONAL_ONLY,
                kinds.VAR_POSITIONAL,
                kinds.VAR_KEYWORD,
            ):
                return at
        return next(
            (at for at, (_, kind) in enumerate(parameters) if kind is kinds.VAR_KEYWORD), None
        )
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


class Written:
    """A default value or an annotation in a signature. Its repr is the source code, because
    `inspect` shows it by `repr`."""

    def __init__(self, code: str | ast.AST) -> None:
        self.text = code if isinstance(code, str) else ast.unparse(code)

    def __repr__(self) -> str:
        return self.text


def parameters_in(arguments: ast.arguments) -> list[inspect.Parameter]:
    make, kinds = inspect.Parameter, inspect.Parameter
    plain: list[tuple[ast.arg, Any]] = [
        (one, kinds.POSITIONAL_ONLY) for one in arguments.posonlyargs
    ]
    plain += [(one, kinds.POSITIONAL_OR_KEYWORD) for one in arguments.args]
    defaults: list[Any] = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    all_of_them: list[tuple[ast.arg, Any, Any]] = [
        (one, kind, default) for (one, kind), default in zip(plain, defaults)
    ]
    if arguments.vararg:
        all_of_them.append((arguments.vararg, kinds.VAR_POSITIONAL, None))
    all_of_them += [
        (one, kinds.KEYWORD_ONLY, d) for one, d in zip(arguments.kwonlyargs, arguments.kw_defaults)
    ]
    if arguments.kwarg:
        all_of_them.append((arguments.kwarg, kinds.VAR_KEYWORD, None))
    return [
        make(
            one.arg,
            kind,
            default=make.empty if default is None else Written(default),
            annotation=make.empty if one.annotation is None else Written(one.annotation),
        )
        for one, kind, default in all_of_them
    ]
