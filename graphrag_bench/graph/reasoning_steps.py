"""PathCoRAG's reasoning steps for a question, and which step each retrieved node belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphrag_bench.values import FloatArray, IntArray, value


@value("reasoning_steps")
@dataclass(frozen=True)
class ReasoningSteps:
    """The steps of an answer in order, and the extended queries of each, one tuple for a step."""

    steps: tuple[str, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(self.steps) != len(self.queries):
            raise ValueError(f"{len(self.steps)} steps have {len(self.queries)} lists of queries")

    def __len__(self) -> int:
        return len(self.steps)


@value("step_nodes")
@dataclass(frozen=True, eq=False)
class StepNodes:
    """Nodes, each once, with the step that each belongs to.

    `ids` int64 (n,), `steps` int64 (n,) counted from 1, `scores` float64 (n,), -1..1, how similar a
    node is to the query of its step that it is most similar to; `n_steps` counts the steps, those
    without a node included.
    """

    ids: IntArray
    steps: IntArray
    scores: FloatArray
    n_steps: int

    def __post_init__(self) -> None:
        if not self.ids.shape == self.steps.shape == self.scores.shape == (len(self.ids),):
            raise ValueError("ids, steps and scores must be one list each, of the same length")

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, step: int) -> tuple[IntArray, FloatArray]:
        """The nodes of one step and their scores."""
        here = self.steps == step
        return self.ids[here], self.scores[here]

    @classmethod
    def empty(cls) -> StepNodes:
        """No node and no step."""
        none = np.zeros(0, np.int64)
        return cls(none, none, np.zeros(0), 0)
