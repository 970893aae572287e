"""Values as bytes: the same bytes for the same value; what is no value has no bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from graphrag_bench.graph.exploration import Exploration
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.pipeline.packed import Unpackable, packed
from graphrag_bench.values import (
    Answer,
    Chunk,
    ChunkScores,
    Context,
    Mentions,
    Node,
    NodeScores,
    Path,
    Piece,
    Query,
    Question,
    Ranked,
    Subgraph,
)

ROWS = np.array([3, 1, 7])
VALUES: dict[str, Any] = {
    "ranked": Ranked[Chunk]([3, 1, 2], [0.5, 0.25, -1.0]),
    "none ranked": Ranked[Node].empty(),
    "vector": NodeScores([0.0, 0.5, np.nan, -np.inf]),
    "some rows": ChunkScores.sparse(ROWS, np.array([0.1, 0.0, 0.3]), 9),
    "later": NodeScores.later(lambda: np.arange(5.0), 5),
    "mentions": Mentions(("Ada", "Zoë \u2028 \ud800")),
    "query": Query(("a",)),
    "question": Question("q1", "Who?", scope=None, entities=("Ada",), form="paragraph"),
    "subgraph": Subgraph((1, 2), (0,), (Path((1, 2), (0,), 0.5, 1),), ("a b c",)),
    "context": Context((Piece("chunk", "d1", "text", 0.5, 3, ("d2",)),), (("chunk", "d3"),), 0.4),
    "answer": Answer("yes"),
    "slots": {"chunks": Ranked[Chunk]([1], [1.0]), "answer": Answer("no")},
    "plain": (1, 2.5, True, None, "x", [1], frozenset({"b", "a"}), {"k": (1,)}),
}


def test_equal_values_have_equal_bytes_and_others_have_not() -> None:
    assert packed(Ranked[Chunk]([1], [0.5])) == packed(Ranked[Chunk](np.array([1]), [0.5]))
    assert packed(Ranked[Chunk]([1], [0.5])) != packed(Ranked[Chunk]([1], [0.25]))
    assert packed(NodeScores([1.0])) != packed(ChunkScores([1.0]))
    assert len({packed(value) for value in VALUES.values()}) == len(VALUES)


@dataclass(frozen=True)
class Stranger:
    """No value type."""

    text: str = ""


def test_what_is_no_value_has_no_bytes() -> None:
    for value in (Stranger(), object(), lambda: 0, np.array([object()]), {"a": Stranger()}):
        with pytest.raises(Unpackable):
            packed(value)
    assert packed(Exploration()) and packed(RankedPaths(()))
