"""Blocks of work in processes of this machine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from typing import Any

from graphrag_bench.executors.executor import BLOCKS_AHEAD, R, T, WorkerDied, in_order

_IDLE_SECONDS = 30.0
"""A process that is given nothing for so long ends, and its memory is free."""
_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


class Processes:
    """Processes that start with the first block; each computes in one thread.

    They end when a block raises, on Ctrl-C, and when the results are not read to their end: then
    no other block begins, and those that have begun are finished and thrown away.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pool: Any = None

    def map(self, work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """The results in the order of the blocks, as `Executor.map` says."""

        def submit(block: T) -> Any:
            try:
                return self._processes().submit(work, block)
            except BrokenExecutor:
                self.close()
                return self._processes().submit(work, block)

        def result(future: Any) -> R:
            try:
                found: R = future.result()
            except BrokenExecutor as error:
                raise WorkerDied(_first_line(error)) from None
            return found

        ended, n_ahead = False, BLOCKS_AHEAD * self.n_workers
        try:
            yield from in_order(blocks, n_ahead, submit, result, lambda future: future.cancel())
            ended = True
        finally:
            if not ended:
                self.close()

    def close(self) -> None:
        """End the processes once they have done what they are at."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)

    def _processes(self) -> Any:
        from joblib.externals.loky import ProcessPoolExecutor

        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.n_workers,
                timeout=_IDLE_SECONDS,
                env=_ONE_THREAD,
                initializer=_leave_signals_to_the_parent,
            )
        return self._pool


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
