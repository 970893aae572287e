"""Blocks in processes: in order, a few ahead, repeated when a worker dies, ended with the work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from dying_models import (
    MARK,
    PARENT,
    always_dying,
    refusing_seven,
    squared_but_dying_at_seven,
)

from graphrag_bench.errors import UserError
from graphrag_bench.executors.executor import BLOCKS_AHEAD
from graphrag_bench.executors.processes import Processes


@pytest.fixture
def two() -> Iterator[Processes]:
    made = Processes(2)
    yield made
    made.close()


def workers() -> set[int]:
    """The processes that work for this one."""
    children = psutil.Process().children(recursive=True)
    return {one.pid for one in children if "popen_loky" in " ".join(one.cmdline())}


def test_results_come_in_the_order_of_the_blocks_and_few_blocks_are_taken_ahead(
    two: Processes,
) -> None:
    taken: list[int] = []
    blocks = (taken.append(number) or number for number in range(40))  # type: ignore[func-returns-value]
    results = two.map(partial(pow, 2), blocks)
    for number in range(40):
        assert next(results) == 2**number
        assert len(taken) <= number + BLOCKS_AHEAD * 2
    assert next(results, None) is None


def test_no_blocks_start_no_process(two: Processes) -> None:
    before = workers()
    assert list(two.map(abs, [])) == []
    assert workers() == before


def test_a_block_whose_worker_was_killed_is_worked_on_again(
    two: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PARENT, str(os.getpid()))
    monkeypatch.setenv(MARK, str(tmp_path))
    found = list(two.map(squared_but_dying_at_seven, range(20)))
    assert found == [number * number for number in range(20)]
    assert (tmp_path / "seven").exists()


def test_a_block_that_kills_every_worker_is_one_clear_error(two: Processes) -> None:
    with pytest.raises(UserError, match=r"ended 3 times without a result.*fewer workers"):
        list(two.map(always_dying, [1]))


def test_an_error_of_the_work_is_raised_as_it_is_and_ends_the_processes(two: Processes) -> None:
    before = workers()
    results = two.map(refusing_seven, range(20))
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(UserError, match="seven is refused"):
        next(results)
    assert workers() <= before


def test_results_that_are_no_longer_read_end_the_processes(two: Processes) -> None:
    before = workers()
    results = two.map(abs, range(-20, 0))
    assert next(results) == 20
    assert workers() > before
    results.close()  # type: ignore[attr-defined]
    assert workers() <= before
