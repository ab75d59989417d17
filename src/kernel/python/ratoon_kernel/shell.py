"""The shell of this process, and the cell that runs in it.

Checkpoints name `shell` of this module.
"""

from typing import Any

# The instance of IPython's shell.
shell: Any = None


class RunningCell:
    """The state of the running cell, or of the running code of a widget.

    Its fields are set without a call at the beginning of a cell: each function that is called
    writes to memory pages that would otherwise be shared with all states.
    """

    # How many cells this process and its ancestors have begun.
    number = 0
    # Whether the code of a cell runs.
    is_in_cell = False
    allow_stdin = False
    # Whether the code of a widget runs, and not a cell.
    is_widget = False
    # The error that the debugger got when it could not ask the user for input.
    refused: BaseException | None = None
    # Records the variables that the cell reads and assigns. None if the client does not want them.
    tracker: Any = None

    def nobody_to_ask(self, who: str) -> str:
        """Returns a sentence that says why `who` gets no input from the user."""
        if self.is_widget:
            return f"{who} cannot ask anybody in the code of a widget: call it in a cell."
        return (
            f"{who} cannot ask anybody: this run was started over REST, or replays a cell."
            " Pass the value in the code, or run the cell on the page."
        )


running = RunningCell()
