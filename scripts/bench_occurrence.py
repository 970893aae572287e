"""Chunks of relationships, and relationships at nodes, and by dicts and lists of Python.

The graph is that of the suite `load`: 1,000,000 nodes, 5,000,000 relationships, 250,000 chunks. A
question gives 10,000 relationships to chunk.occurrence and chunk.fromrel (relationship.onehop of
many nodes gives as many), 10 nodes to relationship.onehop, and a score of every relationship to
chunk.aggregator, whose reference is SciPy's product with the bool matrix. `ours` and
`reference` are questions a second, the median of `N_QUESTIONS` that take turns; p50 and p95 are
ours in milliseconds. The plain side looks up ready lists of the chunks of each node and
relationship, and of the relationships and the degree of each node; other results are an error.
Making the graph, its views and the lists is not timed; the first question is not either.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from bench_load import N_CHUNKS, N_NODES, N_RELATIONSHIPS, power_law

from graphrag_bench.graph.graph import Graph
from graphrag_bench.values import DECIMALS, Ranked, RelationshipScores
from operators.chunk import aggregator, fromrel, occurrence
from operators.relationship.ranking import onehop

N_QUESTIONS, N_GIVEN, TOP_K = 10, 10_000, 20
N_AT = 10
"""Nodes of a question."""
Numbers = tuple[float, float, str, dict[str, float]]
Found = list[tuple[int, float]]


@cache
def graph() -> Graph:
    """The seeded graph."""
    return power_law(N_NODES, N_RELATIONSHIPS, N_CHUNKS)


def lists(matrix: Any) -> list[list[int]]:
    """The columns of each row of a CSR matrix."""
    starts, ids = matrix.indptr.tolist(), matrix.indices.tolist()
    return [ids[begin:end] for begin, end in zip(starts[:-1], starts[1:], strict=True)]


def given() -> list[Ranked[Any]]:
    """The relationships of each question, with falling scores."""
    chance = np.random.default_rng(1)
    scores = np.linspace(1.0, 0.1, N_GIVEN)
    drawn = (chance.choice(N_RELATIONSHIPS, N_GIVEN, replace=False) for _ in range(N_QUESTIONS + 1))
    return [Ranked(rows, scores) for rows in drawn]


def nodes() -> list[Ranked[Any]]:
    """The nodes of each question."""
    chance = np.random.default_rng(1)
    drawn = (chance.choice(N_NODES, N_AT, replace=False) for _ in range(N_QUESTIONS + 1))
    return [Ranked(ids, np.ones(N_AT)) for ids in drawn]


def scores() -> Iterator[RelationshipScores]:
    """The score of every relationship for each question."""
    chance = np.random.default_rng(1)
    return (RelationshipScores(chance.random(N_RELATIONSHIPS)) for _ in range(N_QUESTIONS + 1))


def compared(
    questions: Iterable[Any], ours: Callable[[Any], Any], plain: Callable[[Any], Found]
) -> Numbers:
    """Questions a second of both, which must give the same rows and scores."""
    mine, other = [], []
    for number, asked in enumerate(questions):
        began = time.perf_counter()
        found = ours(asked)
        between = time.perf_counter()
        expected = plain(asked)
        ended = time.perf_counter()
        if found.items() != expected:
            raise AssertionError("the rows differ from those of the reference")
        if number:
            mine.append(between - began)
            other.append(ended - between)
    p50, p95 = (1000 * float(np.percentile(mine, part)) for part in (50, 95))
    return 1000 / p50, 1 / statistics.median(other), "questions/s", {"p50": p50, "p95": p95}


def of_occurrence() -> Numbers:
    """The chunks in which both ends of the most relationships occur."""
    held = graph()
    chunks = lists(held.node_chunk)
    source, target = held.source.tolist(), held.target.tolist()

    def plain(ranked: Ranked[Any]) -> Found:
        counts: dict[int, int] = {}
        for row in ranked.ids.tolist():
            for chunk in set(chunks[source[row]]).intersection(chunks[target[row]]):
                counts[chunk] = counts.get(chunk, 0) + 1
        best = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:TOP_K]
        return [(chunk, float(count)) for chunk, count in best]

    return compared(given(), lambda ranked: occurrence(ranked, graph=held, top_k=TOP_K), plain)


def of_fromrel() -> Numbers:
    """The chunks that the relationships were read from, in their order."""
    held = graph()
    chunks = lists(held.relationship_chunk)

    def plain(ranked: Ranked[Any]) -> Found:
        scores: dict[int, float] = {}
        for row, score in ranked.items():
            for chunk in sorted(chunks[row]):
                scores.setdefault(chunk, score)
        return list(scores.items())

    return compared(given(), lambda ranked: fromrel(ranked, graph=held), plain)


def of_onehop() -> Numbers:
    """The relationships at some nodes, by the degrees of their ends, then weight, then id."""
    held = graph()
    rows_at, degree = lists(held.node_relationship), held.degree.tolist()
    source, target, weight = held.source.tolist(), held.target.tolist(), held.weight.tolist()

    def plain(ranked: Ranked[Any]) -> Found:
        rows = {row for node in ranked.ids.tolist() for row in rows_at[node]}
        degrees = {row: degree[source[row]] + degree[target[row]] for row in rows}
        order = sorted(rows, key=lambda row: (-degrees[row], -weight[row], row))
        return [(row, float(degrees[row])) for row in order]

    return compared(nodes(), lambda ranked: onehop(ranked, graph=held), plain)


def of_aggregator() -> Numbers:
    """The chunks with the highest sums over pairs of nodes, each by its best relationship."""
    held = graph()
    pairs, pair_chunk = held.pairs, held.pair_chunk

    def plain(asked: RelationshipScores) -> Found:
        best = np.full(len(pairs.source), -np.inf)
        np.maximum.at(best, pairs.of, asked.values)
        sums = pair_chunk.T @ best
        chunks = np.flatnonzero(sums)
        order = chunks[np.lexsort((chunks, -np.round(sums[chunks], DECIMALS)))[:TOP_K]]
        return list(zip(order.tolist(), sums[order].tolist(), strict=True))

    return compared(scores(), lambda asked: aggregator(asked, graph=held, top_k=TOP_K), plain)


CASES = {
    "1m": of_occurrence,
    "fromrel_1m": of_fromrel,
    "onehop_1m": of_onehop,
    "aggregator_1m": of_aggregator,
}
