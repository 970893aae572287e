"""PathCoRAG's kept paths: those between adjacent reasoning steps that the question is most like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.k_shortest_paths import (
    MOST_HOPS,
    PairPaths,
    cheapest,
    fewest_hops,
    hop_rows,
)
from graphrag_bench.values import DECIMALS, FloatArray, IntArray, Path

EdgeCost = Literal["unit", "inverse_strength", "one_minus_sim"]
Scope = Literal["pair", "stage"]


class Search(NamedTuple):
    """How many paths are looked for, how long they may be, and what is counted as their length."""

    k: int
    most: int
    cost: EdgeCost
    scope: Scope


def step_paths(
    graph: Graph,
    transitions: Sequence[IntArray],
    similarity: FloatArray,
    search: Search,
    final_k: int | None,
) -> list[Path]:
    """The `final_k` best paths over all transitions: the k shortest of each pair, by their score.

    A transition is the pairs (source, target) from one step to the next, int64 (n, 2); pairs of
    one node are left out. Score: the mean similarity, -1..1, of the relationships of the path to
    the question. Order: score (by six decimals), fewer hops, transition, node tuple. With the scope
    `stage` the k shortest of each whole transition are kept instead of each pair's.
    Source: PathCoRAG, section 4.3 and appendix B.
    """
    apart = [pairs[pairs[:, 0] != pairs[:, 1]].reshape(-1, 2) for pairs in transitions]
    stages = np.repeat(np.arange(1, len(apart) + 1), [len(pairs) for pairs in apart])
    pairs = np.concatenate(apart) if apart else np.zeros((0, 2), np.int64)
    if not len(pairs):
        return []
    if search.cost == "unit" and search.most <= MOST_HOPS:
        keep = final_k if search.scope == "pair" else None
        found = fewest_hops(graph, pairs, similarity, k=search.k, most=search.most, keep=keep)
    else:
        found = cheapest(graph, pairs, similarity, cost=search.cost, k=search.k, most=search.most)
    stage = stages[found.pair]
    rounded = np.round(found.scores, DECIMALS)
    rows = np.arange(len(stage))
    if search.scope == "stage":
        rows = _best_of_stages(found, stage, rounded, search.k)
    columns = (*found.nodes[rows].T[::-1], stage[rows], found.hops[rows], -rounded[rows])
    rows = rows[np.lexsort(columns)][:final_k]
    walks = [tuple(found.nodes[row, : found.hops[row] + 1].tolist()) for row in rows.tolist()]
    return [
        Path(walk, hop_rows(graph, walk, similarity), float(found.scores[row]), int(stage[row]))
        for walk, row in zip(walks, rows.tolist(), strict=True)
    ]


def _best_of_stages(found: PairPaths, stage: IntArray, rounded: FloatArray, k: int) -> IntArray:
    """The rows of the k shortest paths of each transition; ties by score, then node tuple."""
    order = np.lexsort((*found.nodes.T[::-1], -rounded, found.costs, stage))
    begins = np.searchsorted(stage[order], stage[order])
    return np.asarray(order[np.arange(len(order)) - begins < k], np.int64)


def likely_pairs(
    sources: IntArray, targets: IntArray, source_scores: FloatArray, target_scores: FloatArray,
    most: int | None,
) -> IntArray:  # fmt: skip
    """The `most` pairs (source, target) with the highest product of scores, int64 (n, 2).

    All of them for None. Ties by lower source, then lower target; a score below 0 counts as 0.
    """
    product = np.clip(source_scores, 0, None)[:, None] * np.clip(target_scores, 0, None)[None]
    pairs = np.stack(np.meshgrid(sources, targets, indexing="ij"), axis=-1).reshape(-1, 2)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -np.round(product.ravel(), DECIMALS)))
    return np.asarray(pairs[order[:most]], np.int64)
