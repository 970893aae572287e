"""The one place where any error of a step is caught: a run outlives one bad question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from graphrag_bench.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """What took the place of a result: the step, the kind of error and its message."""

    step: str
    kind: str
    message: str


def attempt(step: str, work: Callable[[], T]) -> T | Failure:
    """What `work` returns, or the Failure that stands for its error.

    A UserError goes through: what the user must mend would fail every question alike.
    """
    try:
        return work()
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary: it becomes an error row, counted
        return Failure(step, type(error).__name__, str(error) or repr(error))
