"""What takes the place of a result that a step could not give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Work = Callable[[], Any]
Attempt = Callable[[str, Work], Any]
"""Called with a step's label and its work: gives the result, or what stands in its place."""


@dataclass(frozen=True)
class Failure:
    """What took the place of a result: the step, the kind of error and its message."""

    step: str
    kind: str
    message: str


def let_through(_: str, work: Work) -> Any:
    """What `work` returns; its errors are raised, as anywhere outside a run."""
    return work()
