"""Cells that the kernel carries out itself, and that leave no state. Pure."""

import re
from dataclasses import dataclass

OWN = re.compile(r"%(state|checkout|fork|branching)(?:[ \t]+(\S.*?))?\s*\Z")
QUESTION = re.compile(r"(?:\?{1,2}([\w.]+)|([\w.]+)\?{1,2})\s*\Z")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `%state`, `%checkout ID`, `%fork [N]`, `%branching [on|off]`, or `name?`."""

    name: str
    argument: str = ""


def command_of(code: str) -> Command | None:
    """The command that a cell consists of; null for a cell of Python."""
    text = code.strip()
    if found := OWN.match(text):
        return Command(found[1], found[2] or "")
    if found := QUESTION.match(text):
        return Command("?", found[1] or found[2])
    return None
