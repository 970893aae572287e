"""The part of a graph that a language model has explored so far, hop by hop (Think-on-Graph)."""

from __future__ import annotations

from dataclasses import dataclass

from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import value


@dataclass(frozen=True)
class Choice:
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

    chosen: tuple[Choice, ...] = ()
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
