"""Values as bytes: each comes back as it was, and what is no value has no bytes."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from graphrag_bench.graph.exploration import Exploration
from graphrag_bench.graph.ranked_paths import RankedPaths
from graphrag_bench.pipeline.packed import Unpackable, compressed, decompressed, packed, unpacked
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
    RowScores,
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


def same(one: Any, other: Any) -> bool:
    if isinstance(one, RowScores):
        rows = (one.some_rows, other.some_rows)
        some = all(map(np.array_equal, *rows)) if one.some_rows and other.some_rows else True
        whole = np.array_equal(one.values, other.values, equal_nan=True)
        return type(one) is type(other) and len(one) == len(other) and whole and some
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        pairs = ((getattr(one, name), getattr(other, name)) for name in names)
        return type(one) is type(other) and all(same(*pair) for pair in pairs)
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was(name: str) -> None:
    value = VALUES[name]
    assert same(unpacked(packed(value)), value)
    assert same(decompressed(compressed(value)), value)
    assert packed(unpacked(packed(value))) == packed(value)


def test_random_values_come_back_as_they_were() -> None:
    rng = np.random.default_rng(0)
    for n in range(200):
        ids = rng.permutation(50)[: rng.integers(0, 20)]
        scores = rng.normal(size=len(ids)).round(int(rng.integers(0, 9)))
        for value in (Ranked[Chunk](ids, scores), NodeScores.sparse(ids, scores, 50)):
            assert same(unpacked(packed(value)), value), n


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


def test_damaged_bytes_are_no_value_or_another_one() -> None:
    rng = random.Random(0)
    held = packed(VALUES["context"])
    for _ in range(300):
        broken = bytearray(held)
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        try:
            unpacked(bytes(broken[: rng.randrange(1, len(broken) + 1)]))
        except ValueError:
            continue
    named = packed(Answer("x")).replace(
        b"graphrag_bench.values:Answer", b"graphrag_bench.values:Unkown"
    )
    with pytest.raises(ValueError, match="no value"):
        unpacked(named)
    with pytest.raises(ValueError, match="no value"):
        decompressed(b"not compressed")
