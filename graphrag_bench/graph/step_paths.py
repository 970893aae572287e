"""PathCoRAG's kept paths: those between adjacent reasoning steps that the question is most like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from graphrag_bench.errors import UserError
from graphrag_bench.graph.graph import Graph
from graphrag_bench.graph.k_shortest_paths import (
    MOST_HOPS,
    PairPaths,
    any_length,
    cheapest,
    fewest_hops,
    hop_rows,
    hop_similarities,
)
from graphrag_bench.values import DECIMALS, FloatArray, IntArray, Path

EdgeCost = Literal["unit", "inverse_strength", "one_minus_sim"]
Scope = Literal["pair", "stage"]
Counted = Literal["all", "sorted"]
KeptOf = Literal["all", "transition"]


class Search(NamedTuple):
    """How many paths are looked for, how long they may be, and what is counted as their length."""

    k: int
    most: int | None
    cost: EdgeCost
    scope: Scope


class Scoring(NamedTuple):
    """Which relationships of a path its score counts, and whether the best are kept of all paths.

    `sorted` counts those walked from the lower name of their ends, in capitals, to the higher;
    `above` (None: no bound) those of a higher similarity. `kept_of` says what the best are of.
    """

    counted: Counted = "all"
    above: float | None = None
    kept_of: KeptOf = "all"


EQUATION_5 = Scoring()
"""Every relationship counts, and the best of all paths are kept."""


def step_paths(
    graph: Graph,
    transitions: Sequence[IntArray],
    similarity: FloatArray,
    search: Search,
    final_k: int | None,
    scoring: Scoring = EQUATION_5,
) -> list[Path]:
    """The `final_k` best paths of all transitions, or of each: the k shortest of pairs, by score.

    A transition is the pairs (source, target) from one step to the next, int64 (n, 2); pairs of
    one node are left out. Score: the mean similarity, -1..1, of the relationships of the path to
    the question that `scoring` counts; a path with none is dropped. Order: score (by six decimals),
    fewer hops, transition, node tuple. With the scope `stage` the k shortest of each whole
    transition are kept instead of each pair's. Raises UserError for paths of any length whose
    hops cost other than one.
    Source: PathCoRAG, section 4.3 and appendix B; `Scoring` as its released code.
    """
    apart = [pairs[pairs[:, 0] != pairs[:, 1]].reshape(-1, 2) for pairs in transitions]
    stages = np.repeat(np.arange(1, len(apart) + 1), [len(pairs) for pairs in apart])
    pairs = np.concatenate(apart) if apart else np.zeros((0, 2), np.int64)
    if not len(pairs):
        return []
    keep = final_k if search.scope == "pair" and scoring == EQUATION_5 else None
    found = _shortest(graph, pairs, similarity, search, keep)
    stage = stages[found.pair]
    rows = np.arange(len(stage))
    if search.scope == "stage":
        rows = _best_of_stages(found, stage, np.round(found.scores, DECIMALS), search.k)
    scores = _scores(graph, found, similarity, scoring)
    rows = rows[~np.isnan(scores[rows])]
    columns = (stage[rows], found.hops[rows], -np.round(scores[rows], DECIMALS))
    rows = rows[np.lexsort((*found.nodes[rows].T[::-1], *columns))]
    if scoring.kept_of == "transition":
        first = [np.flatnonzero(stage[rows] == one)[:final_k] for one in range(1, len(apart) + 1)]
        rows = rows[np.sort(np.concatenate(first))]
    else:
        rows = rows[:final_k]
    walks = [tuple(found.nodes[row, : found.hops[row] + 1].tolist()) for row in rows.tolist()]
    return [
        Path(walk, hop_rows(graph, walk, similarity), float(scores[row]), int(stage[row]))
        for walk, row in zip(walks, rows.tolist(), strict=True)
    ]


def _shortest(
    graph: Graph, pairs: IntArray, similarity: FloatArray, search: Search, keep: int | None
) -> PairPaths:
    k, most, cost = search.k, search.most, search.cost
    if most is None:
        if cost != "unit":
            raise UserError(f"edge_cost={cost} takes a number as max_path_edges, or edge_cost=unit")
        return any_length(graph, pairs, similarity, k=k)
    if cost == "unit" and most <= MOST_HOPS:
        return fewest_hops(graph, pairs, similarity, k=k, most=most, keep=keep)
    return cheapest(graph, pairs, similarity, cost=cost, k=k, most=most)


def _scores(graph: Graph, found: PairPaths, similarity: FloatArray, scoring: Scoring) -> FloatArray:
    if scoring._replace(kept_of="all") == EQUATION_5:
        return found.scores
    like = hop_similarities(graph, found.nodes, similarity)
    counts = ~np.isnan(like)
    if scoring.above is not None:
        counts &= np.nan_to_num(like, nan=-np.inf) > scoring.above
    if scoring.counted == "sorted":
        ids, places = np.unique(found.nodes, return_inverse=True)
        capitals = [graph.names[node].upper() if node >= 0 else "" for node in ids.tolist()]
        _, order = np.unique(np.array(capitals, object), return_inverse=True)
        rank = order[places].reshape(found.nodes.shape)
        counts &= rank[:, :-1] < rank[:, 1:]
    n_counted = counts.sum(axis=1)
    total = np.where(counts, like, 0.0).sum(axis=1)
    return np.where(n_counted > 0, total / np.maximum(n_counted, 1), np.nan)


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
