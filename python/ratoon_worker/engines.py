"""The engines that Ratoon can hand tasks to. Each is an executor in the sense of
`concurrent.futures`: an object with `submit`, which returns a future.
"""

import importlib
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

# A worker that dies takes its task with it. The engine runs the task again this many times.
RETRIES = 3


# A function that cloudpickle sends with its code, because its module is __main__. So neither the
# scheduler nor the workers need this package, only the program `ratoon`.
TRAVELLING = """
def ratoon_task(argument, name, source):
    import types

    module = types.ModuleType("ratoon_worker")
    exec(compile(source, "<ratoon_worker>", "exec"), module.__dict__)
    return getattr(module, name)(argument)
"""


def travelling() -> Callable[..., Any]:
    """A function that runs a function of `ratoon_worker` by its name, from the source."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(TRAVELLING, space)
    made: Callable[..., Any] = space["ratoon_task"]
    return made


class Engine:
    """An executor, with what differs between engines."""

    # The text of `ratoon_worker`.
    source = ""

    def __init__(self, executor: Any) -> None:
        self.executor = executor

    def submit(
        self, work: Callable[..., Any], argument: Any, key: str, resources: dict[str, Any]
    ) -> "Future[Any]":
        """Submits one call. `key` is a name for it."""
        if resources:
            what = " and ".join(sorted(resources))
            raise ValueError(
                f"this engine cannot be asked for {what}: leave it out, or use Dask, Ray or Slurm"
            )
        future: Future[Any] = self.executor.submit(work, argument)
        return future

    def slots(self) -> int | None:
        """How many calls may run at the same time."""
        most = getattr(self.executor, "_max_workers", None)
        return most if isinstance(most, int) else None

    def description(self) -> str | None:
        """What the user may want to know about the engine."""
        return type(self.executor).__qualname__

    def is_gone(self) -> str | None:
        """Why the engine cannot be reached any more, as a sentence."""
        if getattr(self.executor, "_broken", False):
            return "a process of the executor has died"
        return None

    def retries(self) -> bool:
        """Whether the engine itself runs a task again whose worker has died."""
        return False


class Dask(Engine):
    """`dask://HOST:PORT`, also of dask-jobqueue, dask-kubernetes and Coiled clusters."""

    def __init__(self, address: str) -> None:
        from distributed import Client

        # Waits longer for the scheduler than a restart of it takes.
        super().__init__(Client(address, set_as_default=False, timeout=30))

    def submit(
        self, work: Callable[..., Any], argument: Any, key: str, resources: dict[str, Any]
    ) -> "Future[Any]":
        wanted: dict[str, float] = {}
        if resources.get("gpus"):
            wanted["GPU"] = float(resources["gpus"])
        if resources.get("memory"):
            wanted["MEMORY"] = float(_bytes(resources["memory"]))
        what = (travelling(), argument, work.__name__, self.source)
        future = self.executor.submit(
            *what, key=key, pure=False, retries=RETRIES, resources=wanted or None
        )
        return future  # type: ignore[no-any-return]

    def slots(self) -> int | None:
        return int(sum(self.executor.nthreads().values()))

    def description(self) -> str | None:
        return f"Dask, dashboard at {self.executor.dashboard_link}"

    def is_gone(self) -> str | None:
        status = self.executor.status
        if status == "running":
            return None
        return f"the Dask scheduler cannot be reached (its client is {status})"

    def retries(self) -> bool:
        return True


class Ray(Engine):
    """`ray` (the cluster of this node) or `ray://HOST:PORT`."""

    def __init__(self, address: str) -> None:
        import ray

        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, ignore_reinit_error=True)
        super().__init__(ray)

    def submit(
        self, work: Callable[..., Any], argument: Any, key: str, resources: dict[str, Any]
    ) -> "Future[Any]":
        options: dict[str, Any] = {"max_retries": RETRIES, "num_cpus": 1, "name": key}
        if resources.get("gpus"):
            options["num_gpus"] = float(resources["gpus"])
        if resources.get("memory"):
            options["memory"] = _bytes(resources["memory"])
        remote = self.executor.remote(travelling()).options(**options)
        remote = remote.remote(argument, work.__name__, self.source)
        future: Future[Any] = remote.future()
        # Ray's own handle: a future of it cannot be cancelled there.
        future.cancel = lambda: bool(self.executor.cancel(remote)) or True  # type: ignore[method-assign]
        return future

    def slots(self) -> int | None:
        return int(self.executor.cluster_resources().get("CPU", 0)) or None

    def description(self) -> str | None:
        return "Ray"

    def is_gone(self) -> str | None:
        return None if self.executor.is_initialized() else "the Ray cluster cannot be reached"

    def retries(self) -> bool:
        return True


class Slurm(Engine):
    """`slurm`, `slurm://PARTITION`: each task is a job of its own, by submitit."""

    def __init__(self, partition: str) -> None:
        import submitit

        executor = submitit.AutoExecutor(folder=".ratoon-slurm", cluster="slurm")
        executor.update_parameters(timeout_min=24 * 60, cpus_per_task=1)
        if partition:
            executor.update_parameters(slurm_partition=partition)
        super().__init__(executor)

    def submit(
        self, work: Callable[..., Any], argument: Any, key: str, resources: dict[str, Any]
    ) -> "Future[Any]":
        options: dict[str, Any] = {"name": key[:32]}
        if resources.get("gpus"):
            options["gpus_per_node"] = int(resources["gpus"])
        if resources.get("memory"):
            options["mem_gb"] = max(1, _bytes(resources["memory"]) >> 30)
        self.executor.update_parameters(**options)
        what = (travelling(), argument, work.__name__, self.source)
        return _JobFuture(self.executor.submit(*what))

    def slots(self) -> int | None:
        return None

    def description(self) -> str | None:
        return "Slurm, by submitit"


class _JobFuture(Future):  # type: ignore[type-arg]
    """The job of Slurm as a future. A thread waits for the job."""

    def __init__(self, job: Any) -> None:
        import threading

        super().__init__()
        self.job = job
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        try:
            self.set_result(self.job.result())
        except BaseException as error:
            if not self.done():
                self.set_exception(error)

    def cancel(self) -> bool:
        self.job.cancel()
        return super().cancel()


def connect(name: str) -> Engine:
    """Makes the client of the engine that `--workers` names."""
    scheme, colon, rest = name.partition("://")
    if colon and scheme in ("dask", "tcp", "tls"):
        return Dask(f"tcp://{rest}" if scheme == "dask" else name)
    if name == "ray" or scheme == "ray":
        return Ray(name if colon else "auto")
    if name == "slurm" or scheme == "slurm":
        return Slurm(rest)
    module, colon, factory = name.partition(":")
    if not colon or not module or not factory:
        raise ValueError(
            f"{name!r} names no engine: give dask://HOST:PORT, ray, slurm, or module:factory"
        )
    made = getattr(importlib.import_module(module), factory)()
    if not (isinstance(made, Executor) or hasattr(made, "submit")):
        raise TypeError(f"{name} returned {type(made).__name__}, which has no `submit`")
    return Engine(made)


def _bytes(size: str) -> int:
    """A number of bytes, such as 800M or 16G."""
    text = size.upper().removesuffix("B").removesuffix("I")
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    unit = units.get(text[-1:], 0)
    digits = text[:-1] if unit else text
    if not digits.isdigit():
        raise ValueError(f"{size!r} is no size: give a number of bytes, or one with K, M, G or T")
    return int(digits) << unit
