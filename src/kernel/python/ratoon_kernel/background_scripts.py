"""Programs that `%%script --bg` runs in the background.

IPython communicates with them in an event loop in a thread of its own. The thread does not exist in
a branch, so what waits for this loop would wait for ever. The lineage that started a program
continues to read it; a branch gets an error at once.
"""

from __future__ import annotations

from typing import Any, NoReturn


def is_loop_of_scripts(shell: Any, target: Any) -> bool:
    """Whether a thread with this function runs the event loop of scripts."""
    loop = _loop(shell)
    return loop is not None and target == loop.run_forever


def names(shell: Any) -> list[str]:
    """The variables through which cells communicate with programs in the background."""
    if _loop(shell) is None:
        return []
    return [
        name
        for name, value in list(shell.user_ns.items())
        if type(name) is str and type(value).__name__ == "_AsyncIOProxy"
    ]


def after_fork_in_child(shell: Any) -> None:
    """Without its loop, IPython starts a new thread for the next script instead of waiting for
    ever."""
    loop = _loop(shell)
    if loop is None:
        return
    loop.call_soon_threadsafe = _refuse
    magics = _magics(shell)
    magics.event_loop = None
    # IPython would end these programs, and the loop, at the end of this process.
    magics.bg_processes = []
    finalizer = getattr(magics, "_event_loop_finalizer", None)
    if finalizer is not None:
        finalizer.detach()


def _magics(shell: Any) -> Any:
    """The magics that run scripts. IPython 9 makes them when a cell first uses them."""
    return shell.magics_manager.registry.get("ScriptMagics")


def _loop(shell: Any) -> Any:
    return getattr(_magics(shell), "event_loop", None)


def _refuse(*_: object, **__: object) -> NoReturn:
    raise RuntimeError(
        "this program in the background belongs to the lineage that started it, not to its"
        " branches: start it again in this branch"
    )
