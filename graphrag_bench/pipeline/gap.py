"""What replaces an invalid step, so that the others can still be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_bench.pipeline.checker import Checker
from graphrag_bench.pipeline.steps import Execution, OperatorStep, Outcome
from graphrag_bench.values import RetrievalState


@dataclass(frozen=True)
class Gap:
    """A place where a step was expected; a method with one is refused before anything runs."""

    label: str

    def run(self, states: Sequence[RetrievalState], execution: Execution) -> list[Outcome]:
        """Raises LookupError."""
        raise LookupError(f"{self.label} is not a step")

    def check(self, checker: Checker) -> None:
        """Says nothing: what is wrong was said where it was read."""
        checker.gaps.append(self.label)

    def describe(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def operators(self) -> list[OperatorStep]:
        """None."""
        return []

    def bound(self) -> int:
        """0."""
        return 0
