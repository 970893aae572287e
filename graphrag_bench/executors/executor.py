"""Where blocks of work are done: in this process, in processes of this machine, or on Ray."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol, TypeVar

from graphrag_bench.errors import UserError

T = TypeVar("T")
R = TypeVar("R")
H = TypeVar("H")
BLOCKS_AHEAD = 2
"""Blocks that each worker has or waits for: it never idles, and few results wait in memory."""
MOST_LOSSES = 3
"""Workers that one block or call may lose; then the run stops."""
_TOLD = (
    "The worker of one block ended {} times without a result ({}): it was killed, or this machine "
    "has too little memory for so many workers. What was done is kept; run the same command again "
    "with fewer workers."
)


class Executor(Protocol):
    """Workers that are given blocks."""

    @property
    def n_workers(self) -> int:
        """How many blocks are worked on at a time."""
        ...

    def map(self, work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """What `work` returns for each block, in the order of the blocks.

        Blocks are taken and results given as workers are free: `BLOCKS_AHEAD` for each worker are
        held at a time. A block whose worker died is worked on again. Raises what `work` raises, and
        UserError for a block whose workers die again and again.
        """
        ...


class WorkerDied(Exception):
    """A worker ended without a result."""


def in_order(
    blocks: Iterable[T],
    n_ahead: int,
    submit: Callable[[T], H],
    result: Callable[[H], R],
    drop: Callable[[H], None],
) -> Iterator[R]:
    """The results of blocks in order, `n_ahead` of them under way or waiting.

    `submit` hands a block to a worker and returns what `result` waits for; a block whose `result`
    raises WorkerDied is submitted again. What is under way when the results are no longer read, or
    one raises, is dropped.
    """
    left = iter(blocks)
    pending: deque[tuple[T, H]] = deque()
    n_losses = 0
    try:
        while True:
            for block in islice(left, n_ahead - len(pending)):
                pending.append((block, submit(block)))
            if not pending:
                return
            first, handle = pending[0]
            try:
                found = result(handle)
            except WorkerDied as death:
                n_losses += 1
                if n_losses == MOST_LOSSES:
                    raise UserError(_TOLD.format(n_losses, death)) from None
                pending[0] = first, submit(first)
                continue
            n_losses = 0
            pending.popleft()
            yield found
    finally:
        for _, handle in pending:
            drop(handle)
