"""Values of operators over paths: ranked paths, explorations, reasoning steps, routes."""

from dataclasses import dataclass

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.values import FloatArray, IntArray, Path, value


@value("paths")
@dataclass(frozen=True)
class RankedPaths:
    """Paths with their scores, the best first; an operator that orders otherwise says so."""

    paths: tuple[Path, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class ChosenRelation:
    """A relation to follow from a topic node; `forward` when the topic is its subject."""

    topic: int
    relation: str
    forward: bool
    score: float


@dataclass(frozen=True)
class Hop:
    """A relationship row that was followed; `forward` when from its source to its target."""

    relationship: int
    forward: bool
    score: float

    def end(self, graph: Graph) -> int:
        """The node that the hop leads to."""
        return int((graph.target if self.forward else graph.source)[self.relationship])


@value("exploration")
@dataclass(frozen=True)
class Exploration:
    """Relations chosen and not yet followed, and the hops of every round, each best first.

    A triple is the row of its hop, with the direction that is stored there.
    """

    chosen: tuple[ChosenRelation, ...] = ()
    rounds: tuple[tuple[Hop, ...], ...] = ()

    def __len__(self) -> int:
        return sum(len(hops) for hops in self.rounds)

    @property
    def last(self) -> tuple[Hop, ...]:
        """The hops of the last round; none before the first."""
        return self.rounds[-1] if self.rounds else ()

    @property
    def relationships(self) -> tuple[int, ...]:
        """The relationship rows found, each once, first found first."""
        return tuple(dict.fromkeys(hop.relationship for hops in self.rounds for hop in hops))


@value("reasoning_steps")
@dataclass(frozen=True)
class ReasoningSteps:
    """The steps of an answer in order, and the extended queries of each, one tuple for a step."""

    steps: tuple[str, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()

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

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, step: int) -> tuple[IntArray, FloatArray]:
        """The nodes of one step and their scores."""
        here = self.steps == step
        return self.ids[here], self.scores[here]

    @classmethod
    def empty(cls) -> "StepNodes":
        """No node and no step."""
        none = np.zeros(0, np.int64)
        return cls(none, none, np.zeros(0), 0)


@dataclass(frozen=True)
class Route:
    """A sentence of the chunk `parent` that names the chunk `child`, and what that adds to it."""

    parent: int
    child: int
    sentence: str
    score: float


@value("routes")
@dataclass(frozen=True)
class Routes:
    """The best route to each ranked chunk that has one, in the order of the chunks."""

    routes: tuple[Route, ...] = ()

    def __len__(self) -> int:
        return len(self.routes)
