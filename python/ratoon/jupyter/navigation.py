"""At which state a Jupyter front end is: a front end runs cells one after another, while a notebook
is a tree. Pure."""

from dataclasses import dataclass, field

from ..values import ROOT, State, States


@dataclass(frozen=True, slots=True)
class Place:
    """A state on the way of the front end: the state before a cell, or the one that a cell left."""

    state: str
    count: int
    """The number of cells on its lineage: the `n` of `In[n]`."""
    cell: str | None = None
    """The front end's id of the cell that left it."""


@dataclass(slots=True)
class Navigation:
    """The way of a front end through the notebook. It begins at the first state, which is empty."""

    way: list[Place] = field(default_factory=lambda: [Place(ROOT, 0)])
    branches: bool = False
    """Whether a cell that runs again runs at the state before it, as a branch."""

    @property
    def here(self) -> Place:
        return self.way[-1]

    def before(self, cell: str | None) -> Place:
        """Where a cell runs."""
        return self.way[self.index(cell)]

    def left(self, cell: str | None, state: str) -> None:
        """Notes that a cell has left a state: the front end is there now."""
        at = self.index(cell)
        del self.way[at + 1 :]
        self.way.append(Place(state, self.way[at].count + 1, cell))

    def index(self, cell: str | None) -> int:
        if self.branches and cell is not None:
            for at in range(len(self.way) - 1, 0, -1):
                if self.way[at].cell == cell:
                    return at - 1
        return len(self.way) - 1

    def go_to(self, states: States, to: State) -> None:
        """Goes to a state. Cells of its lineage that the front end ran keep their ids."""
        cells = {place.state: place.cell for place in self.way}
        self.way = [
            Place(state.id, state.exec_count, cells.get(state.id))
            for state in states.lineage(to.id)
        ]

    def fork(self, count: int | None) -> Place:
        """Goes to the state before the cell `In[count]` of the lineage; by default before the last
        one. Raises `LookupError` if there is no such cell."""
        wanted = self.here.count if count is None else count
        for at in range(1, len(self.way)):
            if self.way[at].count == wanted:
                del self.way[at:]
                return self.here
        raise LookupError(f"no cell of this lineage is In[{wanted}]")
