"""The differences between Ratoon and snapshot-kernel that are meant, with the reason for each."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Allowed:
    """Each place of it must be met in a run."""

    reason: str
    fields: str
    # The case, or "*" for all.
    case: str = "*"
    # The steps; without them, any.
    steps: tuple = ()
    # What the two values are.
    when: object = field(default=lambda theirs, ours: True, compare=False)

    def covers(self, case, step, name, theirs, ours):
        is_here = fnmatchcase(case, self.case) and (not self.steps or step in self.steps)
        return is_here and any(fnmatchcase(name, one) for one in self.fields.split("|")) and self.when(theirs, ours)

    def places(self, case, step):
        return [step] if self.steps else [self.case]

    def all_places(self):
        return list(self.steps) or [self.case]


ALLOWED = ()
