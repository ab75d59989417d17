"""What can go wrong: each error says what failed, why, and how to fix it."""

from collections.abc import Mapping
from typing import Any


class RatoonError(Exception):
    """A request that failed. `code` is one of the codes in docs/api.md, such as `not_found`."""

    def __init__(self, what: str, why: str, how: str, code: str = "client") -> None:
        super().__init__(f"cannot {what}: {why}\n  {how}")
        self.what, self.why, self.how, self.code = what, why, how, code

    @classmethod
    def from_problem(cls, problem: Mapping[str, Any]) -> "RatoonError":
        """The error for a server's refusal."""
        what, why, how = (str(problem.get(key, "")) for key in ("what", "why", "how"))
        code = str(problem.get("code", "internal"))
        return (NotFound if code == "not_found" else cls)(what, why, how, code)


class NotFound(RatoonError):
    """The request names something that does not exist."""


class ConnectionLost(RatoonError):
    """The connection to the server ended before the answer came. A cell may have run on."""

    def __init__(self, what: str, why: str) -> None:
        how = "call again: this connects again; runs that have ended are in history()"
        super().__init__(what, why, how, "connection_lost")


class CellFailed(Exception):
    """A cell that raised, was interrupted or crashed, and whose result is needed."""

    def __init__(self, ename: str, evalue: str, traceback: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join(traceback) or f"{ename}: {evalue}")
        self.ename, self.evalue, self.traceback = ename, evalue, traceback
