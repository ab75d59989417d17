"""The shell of this process, and the cell that runs in it.

Checkpoints name `shell` of this module.
"""

from typing import Any

# The instance of IPython's shell.
shell: Any = None


class RunningCell:
    """The state of the running cell, or of the running code of a widget."""

    allow_stdin = False
    # Whether the code of a widget runs, and not a cell.
    is_widget = False
    # The error that the debugger got when it could not ask the user for input.
    refused: BaseException | None = None
    # Records the variables that the cell reads and assigns. None if the client does not want them.
    tracker: Any = None

    def begin(self, allow_stdin: bool, is_widget: bool) -> None:
        """Notes that a cell or the code of a widget begins."""
        self.allow_stdin, self.is_widget, self.refused = allow_stdin, is_widget, None

    def nobody_to_ask(self, who: str) -> str:
        """Returns a sentence that says why `who` gets no input from the user."""
        if self.is_widget:
            return f"{who} cannot ask anybody in the code of a widget: call it in a cell."
        return (
            f"{who} cannot ask anybody: this run was started over REST. Pass the value in the code, or"
            " run the cell on the page."
        )


running = RunningCell()
