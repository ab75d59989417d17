"""Draws rows of a sweep with Optuna, if the user's environment contains it.

Nothing is kept between two calls: each call makes a study from the rows so far.
"""

from __future__ import annotations

import importlib.util
import json
import math
import random
import warnings
from typing import Any

from .classes import name_of
from .text import short, text_of, to_json

# Maximum length of the text of an error, in characters.
_MAX_ERROR_CHARACTERS = 500
# Optuna draws the first rows at random: a quarter of the rows, at most and at least this many.
_RANDOM_ROWS = range(4, 10)
# Number of significant digits of a number that is drawn.
_DIGITS = 6
_MISSING = "Optuna is not installed in the environment of this notebook"


def draw(request: str) -> str:
    """Answers `Question::Draw`, as JSON. Returns JSON: {"rows": a list of lists of Python sources},
    or {"why", "how"}."""
    asked = json.loads(request)["draw"]
    try:
        import optuna
    except ModuleNotFoundError as error:
        if error.name == "optuna":
            return _refused(
                _MISSING, "install it with `%pip install optuna`, or use the sampler `random`"
            )
        return _failed_import(error)
    except BaseException as error:  # the code of a module may raise anything
        return _failed_import(error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optuna.logging.set_verbosity(optuna.logging.CRITICAL)
            return to_json({"rows": _draw(optuna, **asked)})
    except BaseException as error:  # Optuna may be of any version
        why = f"Optuna raised {_told(error)}"
        return _refused(why, "correct the ranges of the sampler, or use the sampler `random`")


def why_missing() -> str | None:
    """Returns why rows cannot be drawn, as a sentence; or None."""
    try:
        is_there = importlib.util.find_spec("optuna") is not None
    except Exception:  # a finder of the user may raise anything
        is_there = True
    return None if is_there else _MISSING


def _failed_import(error: BaseException) -> str:
    how = "repair it with `%pip install --force-reinstall optuna`, or use the sampler `random`"
    return _refused(f"Optuna cannot be imported: {_told(error)}", how)


def _refused(why: str, how: str) -> str:
    return to_json({"why": why, "how": how})


def _told(error: BaseException) -> str:
    return short(f"{name_of(type(error))}: {text_of(error)}", _MAX_ERROR_CHARACTERS)


def _draw(
    optuna: Any, sampler: dict[str, Any], goal: str, known: list[Any], count: int
) -> list[list[str]]:
    space = sampler["space"]
    ranges = {name: _Range(optuna.distributions, space[name]) for name in sorted(space)}
    distributions = {name: one.distribution for name, one in ranges.items()}
    study = optuna.create_study(
        direction="maximize" if goal == "max" else "minimize",
        sampler=optuna.samplers.TPESampler(
            # With one seed for all calls, each call would draw the same rows again.
            seed=random.Random(f"{sampler['seed']} {len(known)}").getrandbits(32),
            n_startup_trials=min(
                max(sampler["trials"] // 4, _RANDOM_ROWS.start), _RANDOM_ROWS.stop
            ),
            constant_liar=True,
        ),
    )
    states = optuna.trial.TrialState
    for sources, metric in known:
        values = {name: ranges[name].value(source) for name, source in zip(ranges, sources)}
        if None in values.values():
            continue
        study.add_trial(
            optuna.trial.create_trial(
                # A row without a metric runs or has failed. Optuna avoids its neighbourhood, as it
                # does for trials that run.
                state=states.RUNNING if metric is None else states.COMPLETE,
                value=metric,
                params=values,
                distributions=distributions,
            )
        )
    rows = []
    for _ in range(count):
        drawn = study.ask(distributions).params
        rows.append([one.source(drawn[name]) for name, one in ranges.items()])
    return rows


class _Range:
    """The values of one parameter (`Range` in sweep.rs), as a distribution of Optuna."""

    def __init__(self, distributions: Any, values: Any) -> None:
        self._choices: list[str] = []
        if isinstance(values, list):
            # Optuna draws the index, because it accepts only some types as choices, and takes 1,
            # 1.0 and True for the same choice.
            self._choices = [source_of(value) for value in values]
            self.distribution = distributions.CategoricalDistribution(range(len(values)))
            return
        self._low, self._high = values["low"], values["high"]
        self._is_int, is_log = values.get("int", False), values.get("log", False)
        if self._is_int:
            self._low, self._high = math.ceil(self._low), math.floor(self._high)
            self.distribution = distributions.IntDistribution(self._low, self._high, log=is_log)
        else:
            self.distribution = distributions.FloatDistribution(self._low, self._high, log=is_log)

    def value(self, source: str) -> Any:
        """Returns Optuna's value for a source. Returns None if it is not in the range."""
        if self._choices:
            return self._choices.index(source) if source in self._choices else None
        try:
            number = int(source) if self._is_int else float(source)
        except ValueError:
            return None
        return number if self._low <= number <= self._high else None

    def source(self, value: Any) -> str:
        if self._choices:
            return self._choices[int(value)]
        if self._is_int:
            return repr(int(value))
        rounded = float(f"{value:.{_DIGITS}g}")
        return repr(float(min(max(rounded, self._low), self._high)))


def source_of(value: Any) -> str:
    """Returns the Python source of a value in JSON, as `source_of` in sweep.rs does. {"code": …}
    contains the source itself."""
    if isinstance(value, dict) and list(value) == ["code"] and isinstance(value["code"], str):
        return value["code"].strip()
    if isinstance(value, dict):
        items = (f"{source_of(key)}: {source_of(one)}" for key, one in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(source_of, value))}]"
    # JSON's escapes are also Python's.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
