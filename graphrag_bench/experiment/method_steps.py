"""The steps of a method as an editable list."""

from __future__ import annotations

import json
from collections.abc import MutableSequence
from typing import Any

from graphrag_bench.pipeline.build import STAGES

Step = dict[str, Any]


class Steps(MutableSequence[Step]):
    """The steps of a method in order; look, replace by assignment, insert, delete.

    An inserted step joins the stage of the step before it; at the front, of the step after it.
    """

    def __init__(self, method: dict[str, Any]) -> None:
        self._method = method

    def _places(self) -> list[tuple[str, int]]:
        return [(stage, row) for stage in STAGES for row in range(len(self._method.get(stage, ())))]

    def __len__(self) -> int:
        return len(self._places())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._method[stage][row] for stage, row in self._places()[index]]
        stage, row = self._places()[index]
        return self._method[stage][row]

    def __setitem__(self, index: Any, step: Any) -> None:
        stage, row = self._places()[index]
        self._method[stage][row] = dict(step)

    def __delitem__(self, index: Any) -> None:
        stage, row = self._places()[index]
        del self._method[stage][row]

    def insert(self, index: int, value: Step, stage: str | None = None) -> None:
        """Put a step before the one at `index`; `stage` overrides the stage it joins."""
        places = self._places()
        index = max(0, index + len(places)) if index < 0 else min(index, len(places))
        near, row = places[index - 1] if index else (places[0] if places else (STAGES[1], 0))
        row += 1 if index else 0
        if stage is not None:
            near, row = stage, sum(1 for s, _ in places[:index] if s == stage)
        self._method.setdefault(near, []).insert(row, dict(value))

    def __repr__(self) -> str:
        counts = [f"{len(self._method.get(stage) or ())} {stage}" for stage in STAGES]
        return f"<Steps: {', '.join(counts)}; print(steps) shows them>"

    def __str__(self) -> str:
        lines = [
            f"{index} {stage}: {json.dumps(self._method[stage][row], default=str)}"
            for index, (stage, row) in enumerate(self._places())
        ]
        return "\n".join(lines)
