"""Values that operators on paths exchange: paths, explorations, reasoning steps and routes."""

from dataclasses import dataclass

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import FloatArray, IntArray
from graphrag_bench.values import Path, value


@value("paths")
@dataclass(frozen=True)
class RankedPaths:
    """Paths with scores. The best path comes first, unless an operator documents another order."""

    paths: tuple[Path, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True)
class ChosenRelation:
    """Relation to follow from the node `topic`. If `forward` is true, the topic is its subject."""

    topic: int
    relation: str
    forward: bool
    score: float


@dataclass(frozen=True)
class Hop:
    """Relationship that an exploration followed, from source to target if `forward` is true."""

    relationship: int
    forward: bool
    score: float

    def end(self, graph: Graph) -> int:
        """Return the node to which the hop leads."""
        return int((graph.target if self.forward else graph.source)[self.relationship])


@value("exploration")
@dataclass(frozen=True)
class Exploration:
    """Relations to follow next (`chosen`), and the hops of each round, from best to worst."""

    chosen: tuple[ChosenRelation, ...] = ()
    rounds: tuple[tuple[Hop, ...], ...] = ()

    def __len__(self) -> int:
        return sum(len(hops) for hops in self.rounds)

    @property
    def last(self) -> tuple[Hop, ...]:
        """Hops of the last round, or () before the first round."""
        return self.rounds[-1] if self.rounds else ()

    @property
    def relationships(self) -> tuple[int, ...]:
        """Distinct relationships of all hops, in the order in which they were followed."""
        return tuple(dict.fromkeys(hop.relationship for hops in self.rounds for hop in hops))


@value("reasoning_steps")
@dataclass(frozen=True)
class ReasoningSteps:
    """Reasoning steps in order, and the search queries of each step."""

    steps: tuple[str, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.steps)


@value("step_nodes")
@dataclass(frozen=True, eq=False)
class StepNodes:
    """Distinct nodes, each with its step (1 to `n_steps`) and its highest cosine with a query."""

    ids: IntArray
    steps: IntArray
    scores: FloatArray
    n_steps: int

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, step: int) -> tuple[IntArray, FloatArray]:
        """Return the nodes assigned to a step, and their scores."""
        here = self.steps == step
        return self.ids[here], self.scores[here]


@dataclass(frozen=True)
class Route:
    """Link from a chunk to a chunk that `sentence` names. The child's score grows by `score`."""

    parent: int
    child: int
    sentence: str
    score: float


@value("routes")
@dataclass(frozen=True)
class Routes:
    """The best route to each ranked chunk, in rank order. Chunks without a route are left out."""

    routes: tuple[Route, ...] = ()

    def __len__(self) -> int:
        return len(self.routes)
