"""Blocks of work as tasks of Ray, on this machine or on a cluster."""

from __future__ import annotations

import math
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from typing import Any

from graphrag_bench.errors import UserError
from graphrag_bench.executors.executor import BLOCKS_AHEAD, R, T, WorkerDied, in_order

_FUNCTIONS_HELD = 4
_held: dict[str, Callable[[Any], Any]] = {}
"""In a worker: what it was given to do last, with the models and artifacts that it has loaded."""
_numbers = count()


class OnRay:
    """Workers of a Ray cluster, joined or started with the first block.

    Workers see the folders of this process at the same paths and read keys of services from their
    own environment: no task has a key in it.
    """

    def __init__(
        self, address: str | None = None, workers: int | None = None, gpus: float = 0.0
    ) -> None:
        """`address` is that of a cluster; without one a cluster is started on this machine.

        `workers` is how many tasks run at a time, by default one for each CPU of the cluster; a
        task takes one CPU and so many `gpus`. Raises UserError where Ray is not installed.
        """
        if find_spec("ray") is None:
            raise UserError("executor=ray needs Ray: pip install 'graphrag-bench[ray]'.")
        self.address = address
        self._workers = workers
        self._gpus = gpus
        self._joining = threading.Lock()

    @property
    def n_workers(self) -> int:
        """As many as were asked for, else the CPUs of the cluster."""
        return self._workers or max(int(self.ray.cluster_resources().get("CPU", 1)), 1)

    def n_servers(self, asked: int | None, gpus: float) -> int:
        """How many servers to start, each with so many `gpus`: `asked`, or as many as workers.

        No more than the GPUs have room for; raises UserError where that is none.
        """
        wanted = asked or self.n_workers
        if not gpus:
            return wanted
        found = [node["Resources"].get("GPU", 0.0) for node in self.ray.nodes() if node["Alive"]]
        if room := room_on_gpus(found, gpus):
            return min(wanted, room)
        raise UserError(
            f"A model server takes ray.llm_gpus={gpus:g} (by default as ray.gpus) of one machine, "
            f"and the machines of the cluster have {', '.join(f'{n:g}' for n in found)} GPUs: "
            "ray.llm_gpus=0 is the CPUs."
        )

    def map(self, work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """The results in the order of the blocks, as `Executor.map` says."""
        ray = self.ray
        token = f"{ray.get_runtime_context().get_job_id()}-{os.getpid()}-{next(_numbers)}"
        function = ray.put(ray.cloudpickle.dumps(work))
        here = folders()
        task = ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=0)(_done)

        def result(reference: Any) -> R:
            try:
                found: R = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                raise (error.cause or error) from None
            except deaths(ray) as error:
                raise WorkerDied(str(error).strip().splitlines()[0]) from None
            return found

        def submit(block: T) -> Any:
            return task.remote(token, function, here, block)

        def drop(reference: Any) -> None:
            ray.cancel(reference, force=True)

        yield from in_order(blocks, BLOCKS_AHEAD * self.n_workers, submit, result, drop)

    @cached_property
    def ray(self) -> Any:
        """The library, connected."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        with self._joining:
            if not ray.is_initialized():
                own = {"num_cpus": self._workers, "include_dashboard": False}
                try:
                    ray.init(
                        address=self.address or "local",
                        log_to_driver=False,
                        configure_logging=False,
                        **({} if self.address else own),
                    )
                except (ConnectionError, ValueError, RuntimeError) as error:
                    first = (str(error).splitlines() or [""])[0]
                    raise UserError(f"ray.address={self.address}: {first}") from None
        return ray


def folders() -> tuple[str, ...]:
    """The working folder, and the folders where modules are found."""
    return os.getcwd(), *filter(None, sys.path)


def enter(places: tuple[str, ...]) -> None:
    """In a worker: begin relative paths, and find modules, where the process that asks does.

    Raises UserError where the working folder is not there.
    """
    folder = places[0]
    if not os.path.isdir(folder):
        raise UserError(
            f"A worker of Ray has no folder '{folder}': executor=ray needs the folder of the "
            "run at the same path on every machine."
        )
    os.chdir(folder)
    sys.path += [path for path in places[1:] if path not in sys.path]


def deaths(ray: Any) -> tuple[type[Exception], ...]:
    """The errors that say that a worker ended without a result."""
    errors = ray.exceptions
    return (
        errors.WorkerCrashedError,
        errors.RayActorError,
        errors.OutOfMemoryError,
        errors.NodeDiedError,
        errors.ObjectLostError,
    )


def room_on_gpus(gpus: Sequence[float], share: float) -> int:
    """How many servers fit on machines with so many GPUs; a `share` below 1 is of one GPU."""
    if share > 1:
        return sum(int(n / share) for n in gpus)
    return sum(map(int, gpus)) * math.floor(1 / share + 1e-9)


def _done(token: str, function: bytes, places: tuple[str, ...], block: Any) -> Any:
    if token not in _held:
        enter(places)
        while len(_held) >= _FUNCTIONS_HELD:
            del _held[next(iter(_held))]
        _held[token] = pickle.loads(function)
    return _held[token](block)
