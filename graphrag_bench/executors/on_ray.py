"""Blocks of work as tasks of Ray, on this machine or on a cluster."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
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
        return self._workers or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def map(self, work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """The results in the order of the blocks, as `Executor.map` says."""
        ray = self._ray
        errors = ray.exceptions
        token = f"{ray.get_runtime_context().get_job_id()}-{os.getpid()}-{next(_numbers)}"
        function = ray.put(ray.cloudpickle.dumps(work))
        here = (os.getcwd(), *filter(None, sys.path))
        task = ray.remote(num_cpus=1, num_gpus=self._gpus, max_retries=0)(_done)

        def result(reference: Any) -> R:
            try:
                found: R = ray.get(reference)
            except errors.RayTaskError as error:
                raise (error.cause or error) from None
            except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError,
                    errors.ObjectLostError) as error:  # fmt: skip
                raise WorkerDied(str(error).strip().splitlines()[0]) from None
            return found

        def submit(block: T) -> Any:
            return task.remote(token, function, here, block)

        def drop(reference: Any) -> None:
            ray.cancel(reference, force=True)

        yield from in_order(blocks, BLOCKS_AHEAD * self.n_workers, submit, result, drop)

    @cached_property
    def _ray(self) -> Any:
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


def _done(token: str, function: bytes, folders: tuple[str, ...], block: Any) -> Any:
    """In a worker: what the function returns for the block; it is unpickled once.

    The first of `folders` is where relative paths begin, the others are where modules are found.
    """
    if token not in _held:
        folder = folders[0]
        if not os.path.isdir(folder):
            raise UserError(
                f"A worker of Ray has no folder '{folder}': executor=ray needs the folder of the "
                "run at the same path on every machine."
            )
        os.chdir(folder)
        sys.path += [path for path in folders[1:] if path not in sys.path]
        while len(_held) >= _FUNCTIONS_HELD:
            del _held[next(iter(_held))]
        _held[token] = pickle.loads(function)
    return _held[token](block)
