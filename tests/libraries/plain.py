"""Runs cells in an ordinary IPython. The outputs of a row are compared with the outputs of this
program.

Reads a JSON list of sources from standard input. Writes the outputs of each cell, in the format of
nbformat, to the file that the argument names. Standard output is not used for this, because
programs that cells start may print to it.
"""

from __future__ import annotations

import json
import sys
from typing import Any, ClassVar

from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


class Shown(DisplayHook):
    """Collects the value of a cell's last line together with the objects that the cell displays, in
    order. The server's kernel also sends them in this order.
    """

    shown: ClassVar[list[dict[str, Any]]] = []

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        self.shown.append(format_dict)

    def finish_displayhook(self) -> None:
        sys.stdout.flush()


class Shell(InteractiveShell):
    displayhook_class = Shown


def outputs_of(shell: InteractiveShell, source: str) -> list[dict[str, Any]]:
    with capture_output() as captured:
        # Displayed objects and the last value share one list, so that their order is known.
        Shown.shown = shell.display_pub.outputs
        result = shell.run_cell(source)
    found: list[dict[str, Any]] = [
        {"output_type": "stream", "name": "stdout", "text": captured.stdout}
    ]
    found += [
        {"output_type": "display_data", "data": shown.get("data", shown)}
        for shown in captured._outputs
    ]
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        found.append({"output_type": "error", "ename": type(error).__name__, "evalue": str(error)})
    return found


def main() -> None:
    sources = json.load(sys.stdin)
    shell = Shell.instance()
    # Cells run in the module `__main__`, because other processes look up functions of cells there.
    sys.modules["__main__"].__dict__.update(shell.user_ns)
    shell.user_module = sys.modules["__main__"]
    shell.user_ns = shell.user_module.__dict__
    answers = [outputs_of(shell, source) for source in sources]
    with open(sys.argv[1], "w") as file:
        json.dump(answers, file, default=repr)


if __name__ == "__main__":
    main()
