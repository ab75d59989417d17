"""Saves and restores the global random generators of PyTorch and TensorFlow, and whether TensorFlow
runs functions eagerly."""

from __future__ import annotations

import sys
from typing import Any

from ..adapter import Adapter, Setting
from ..rebuilding import import_module


def _state_of_torch() -> tuple[int, bytes | None] | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    seed, state = torch.initial_seed(), torch.get_rng_state()
    fresh = torch.Generator().manual_seed(seed).get_state()
    return seed, None if torch.equal(state, fresh) else bytes(state.tolist())


def _restore_torch(found: tuple[int, bytes | None]) -> None:
    torch: Any = import_module("torch")
    seed, state = found
    torch.manual_seed(seed)
    if state is not None:
        torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


def _state_of_tensorflow() -> tuple[int, Any] | None:
    """The seed, and the state of the generator of the seeds of single operations. Without a seed,
    each operation draws its own seed from the system."""
    module = sys.modules.get("tensorflow.python.eager.context")
    # Not `context()`, which would make one.
    context = getattr(module, "_context", None)
    if context is None or context._seed is None:
        return None
    return context._seed, context._rng.getstate()


def _restore_tensorflow(found: tuple[int, Any]) -> None:
    seed, state = found
    import_module("tensorflow").random.set_seed(seed)
    import_module("tensorflow.python.eager.context").context()._rng.setstate(state)


def _runs_eagerly() -> bool | None:
    return sys.modules["tensorflow"].config.functions_run_eagerly() or None


def _restore_eagerly(runs: bool) -> None:
    import_module("tensorflow").config.run_functions_eagerly(runs)


class Torch(Adapter):
    library = "torch"
    settings = {"torch": Setting(_state_of_torch, _restore_torch)}

    def hazard(self) -> str | None:
        cuda = getattr(sys.modules["torch"], "cuda", None)
        try:
            uses_cuda = bool(cuda and cuda.is_initialized())
        except Exception:
            return None
        return (
            "CUDA does not survive a fork: branches come from the checkpoint" if uses_cuda else None
        )


class Tensorflow(Adapter):
    library = "tensorflow"
    settings = {
        "tensorflow": Setting(_state_of_tensorflow, _restore_tensorflow),
        "tensorflow.functions": Setting(_runs_eagerly, _restore_eagerly),
    }
