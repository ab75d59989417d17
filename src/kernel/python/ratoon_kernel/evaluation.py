"""Evaluates expressions against the user's variables: for the table of branches, and for the metric
of a sweep."""

import math
import numbers
import warnings
from typing import Any

from . import outputs
from . import shell as kernel_shell
from .classes import name_of
from .text import short, text_of, to_json
from .variables import short_repr, type_name

# Time limit of one `__repr__`, in seconds.
REPR_SECONDS = 0.5
MAX_REPR_CHARACTERS = 1000


def evaluate(expressions: list[str]) -> str:
    """Returns JSON: a list of {text, number, failed}, one for each expression.

    An expression may change objects, so the caller must be a process that ends with the answer.
    """
    return to_json([_evaluated(expression) for expression in expressions])


def metric(expression: str) -> dict[str, Any]:
    """Returns {value, problem} of an expression: a finite number, or why there is none.

    The process becomes a state. So the prints of the expression are dropped, and it sets no names.
    """
    outputs.sink, sink = _drop, outputs.sink
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            number, problem = _number(_value_of(expression, {}))
    except KeyboardInterrupt:
        number, problem = None, "was interrupted"
    except BaseException as error:  # an expression may raise anything
        number, problem = None, f"raised {name_of(type(error))}: {text_of(error)}"
    finally:
        outputs.sink = sink
    if problem is not None:
        problem = short(f"the metric {problem}", MAX_REPR_CHARACTERS)
    return {"value": number, "problem": problem}


def _drop(_: Any) -> None:
    pass


def _value_of(expression: str, assigned: dict[str, Any]) -> Any:
    """Returns the value of an expression. Stores the names that it assigns in `assigned`."""
    # Spaces at the beginning would be an unexpected indent.
    code = compile(expression.strip(), "<expression>", "eval")
    return eval(code, kernel_shell.shell.user_ns, assigned)


def _evaluated(expression: str) -> dict[str, Any]:
    try:
        value = _value_of(expression, kernel_shell.shell.user_ns)
        text = short_repr(value, REPR_SECONDS, MAX_REPR_CHARACTERS)
        return {"text": text, "number": _number(value)[0], "failed": False}
    except BaseException as error:  # an expression may raise anything, also SystemExit
        text = f"{name_of(type(error))}: {text_of(error)}"
        return {"text": short(text, MAX_REPR_CHARACTERS), "number": None, "failed": True}


def _number(value: Any) -> tuple[float | None, str | None]:
    """Returns a number that JSON can hold, also of NumPy's scalars and of arrays without
    dimensions; or why there is none, as a part of a sentence."""
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        # NumPy would leave out the imaginary part.
        return None, "is a complex number"
    no_number = "is None" if value is None else f"is a {type_name(value)}, not a number"
    if isinstance(value, (str, bytes, bytearray)):
        return None, no_number
    try:
        number = float(value)
    except KeyboardInterrupt:
        raise
    except OverflowError:
        return None, "is too large for a float"
    except BaseException:  # __float__ may raise anything
        return None, no_number
    if math.isnan(number):
        return None, "is NaN"
    return (number, None) if math.isfinite(number) else (None, "is infinite")
