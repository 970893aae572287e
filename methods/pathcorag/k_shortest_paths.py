"""PathCoRAG's paths: the k shortest between nodes of adjacent steps, and which are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.values import DECIMALS, FloatArray, IntArray, Path

if TYPE_CHECKING:
    from methods.pathcorag.k_shortest_kernels import Edges

MOST_HOPS = 4
"""The longest path that `fewest_hops` looks for."""

MILLION = 1_000_000
"""Similarities are compared in whole millionths, that is by six decimals."""

NodePath = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PairPaths:
    """Up to k paths of each of some pairs, best first, as arrays of one row for each path.

    `pair` is the row of the pair, int64 (n,); `nodes` int64 (n, longest + 1), -1 after the last;
    `hops` int64 (n,); `scores` float64 (n,), the mean similarity of the path's hops.
    """

    pair: IntArray
    nodes: IntArray
    hops: IntArray
    scores: FloatArray


def fewest_hops(
    graph: Graph, pairs: IntArray, similarity: FloatArray, *, k: int, most: int
) -> PairPaths:
    """The `k` paths with the fewest hops of each pair (source, target), of 1..4 hops (`most`).

    `pairs` is (n_pairs, 2), the ends of a pair differ; `similarity` (n_relationships,), -1..1. A
    path visits no node twice and follows relationships either way. Of paths with as many hops
    those with the higher sum of similarities, each by six decimals, come first, then the lower
    node tuple from source to target. Of several rows of a pair of nodes the most similar one joins
    them. These are the paths of Yen's algorithm, all ties considered.
    Source: PathCoRAG, section 4.3 and appendix B.
    """
    from methods.pathcorag.k_shortest_kernels import Best, add_paths

    best = Best(
        np.full((len(pairs), k, MOST_HOPS + 1), -1, np.int32),
        np.empty((len(pairs), k), np.int32),
        np.empty((len(pairs), k), np.int8),
        np.zeros(len(pairs), np.int32),
    )
    order = np.argsort(pairs[:, 1], kind="stable")
    add_paths(edges_of(graph, similarity), pairs, order, min(most, MOST_HOPS), best)
    pair, place = np.nonzero(np.arange(k) < best.n_paths[:, None])
    nodes, hops_of = (part[pair, place].astype(np.int64) for part in (best.nodes, best.hops))
    nodes[np.arange(nodes.shape[1]) > hops_of[:, None]] = -1
    return PairPaths(pair, nodes, hops_of, best.sums[pair, place] / (hops_of * MILLION))


def any_length(
    graph: Graph, pairs: IntArray, similarity: FloatArray, *, k: int, most: int | None = None
) -> PairPaths:
    """The `k` paths with the fewest hops of each pair (source, target), of at most `most` hops.

    With None of any number. Paths of up to four hops are those of `fewest_hops`. A pair with fewer
    than `k` of them has longer ones too, by Yen's algorithm; of these, ties go to the lower node
    tuple.
    Source: PathCoRAG, section 4.3 and appendix B.
    """
    from scipy.sparse.csgraph import connected_components

    near = fewest_hops(graph, pairs, similarity, k=k, most=MOST_HOPS)
    _, component = connected_components(graph.adjacency, directed=False)
    few = np.bincount(near.pair, minlength=len(pairs)) < k
    rows = np.flatnonzero(few & (component[pairs[:, 0]] == component[pairs[:, 1]]))
    complete = np.flatnonzero(~np.isin(near.pair, rows))
    walks = [
        (row, walk)
        for row, (source, target) in zip(rows.tolist(), pairs[rows].tolist(), strict=True)
        for walk in _yen(graph, source, target, k, most or graph.n_nodes)
    ]
    hops = np.array([*near.hops[complete], *(len(walk) - 1 for _, walk in walks)], np.int64)
    nodes = np.full((len(hops), max(hops.max(initial=0), MOST_HOPS) + 1), -1, np.int64)
    nodes[: len(complete), : MOST_HOPS + 1] = near.nodes[complete]
    for place, (_, walk) in enumerate(walks, len(complete)):
        nodes[place, : len(walk)] = walk
    pair = np.array([*near.pair[complete], *(row for row, _ in walks)], np.int64)
    like = hop_similarities(graph, nodes, similarity)
    return PairPaths(pair, nodes, hops, np.nansum(like, axis=1) / hops)


def _yen(graph: Graph, source: int, target: int, k: int, most: int) -> list[NodePath]:
    """The `k` shortest loopless paths of at most `most` hops, ties by node tuple.

    Yen's algorithm with Lawler's rule: of the paths that begin like a path found and then leave it,
    only the best waits, and a path is left no earlier than it left the one before.
    """
    from methods.pathcorag.k_shortest_kernels import shortest_way

    ways = graph.neighbours
    blocked, banned = np.zeros((2, graph.n_nodes), bool)
    walks: list[NodePath] = []
    waiting: list[tuple[int, NodePath, int]] = [(0, (source,), 0)]
    while waiting and len(walks) < k:
        _, walk, spur = heappop(waiting)
        if walk[-1] == target:
            walks.append(walk)
        for at in range(spur, max(len(walk) - 1, 1)):
            blocked[list(walk[:at])] = True
            after = [one[at + 1] for one in walks if one[: at + 1] == walk[: at + 1]]
            banned[after] = True
            way = shortest_way(ways.starts, ways.nodes, walk[at], target, blocked, banned)
            banned[after] = blocked[list(walk[:at])] = False
            if 0 < len(way) <= most + 1 - at:
                onward = (*walk[:at], *way.tolist())
                heappush(waiting, (len(onward), onward, at))
    return walks


def hop_similarities(graph: Graph, nodes: IntArray, similarity: FloatArray) -> FloatArray:
    """The similarity of every hop of some paths, of the most similar row of its pair of nodes.

    `nodes` is that of `PairPaths`; float64 (n, longest), NaN after the last hop.
    """
    edges = edges_of(graph, similarity)
    ends = np.repeat(np.arange(graph.n_nodes), np.diff(edges.starts)) * graph.n_nodes + edges.nodes
    hops = nodes[:, 1:] >= 0
    places = np.searchsorted(ends, nodes[:, :-1][hops] * graph.n_nodes + nodes[:, 1:][hops])
    like = np.full(hops.shape, np.nan)
    like[hops] = edges.similarity[places] / MILLION
    return like


@lru_cache(maxsize=2)
def _parallel(graph: Graph) -> tuple[IntArray, IntArray]:
    """The rows that are not the first of their pair, and that first row, by which they go."""
    first = graph.pairs.first[graph.pairs.of]
    rows = np.flatnonzero(first != np.arange(graph.n_relationships))
    rows = rows[np.argsort(first[rows], kind="stable")]
    return rows, first[rows]


def hop_rows(graph: Graph, walk: Sequence[int], similarity: FloatArray) -> tuple[int, ...]:
    """The most similar row (by six decimals, ties by lower id) of every hop of a walk."""
    others, first = _parallel(graph)
    rows = []
    for row in graph.neighbours.rows_along(walk):
        here = slice(*np.searchsorted(first, [row, row + 1]))
        every = np.concatenate([[row], others[here]])
        rows.append(int(every[np.argmax(np.rint(similarity[every] * MILLION))]))
    return tuple(rows)


def edges_of(graph: Graph, similarity: FloatArray) -> "Edges":
    """The neighbours, and the similarity in millionths of the best row of each pair."""
    from methods.pathcorag.k_shortest_kernels import Edges

    near = graph.neighbours
    millionths = np.rint(similarity * MILLION).astype(np.int32)
    others, first = _parallel(graph)
    np.maximum.at(millionths, first, millionths[others])
    return Edges(near.starts, near.nodes, millionths[near.rows])


Counted = Literal["all", "sorted"]
BestOf = Literal["all", "transition"]


class Search(NamedTuple):
    """How many paths are looked for, how long they may be, and what their score counts.

    `counted` says which relationships a score counts: `sorted` those walked from the lower name of
    their ends, in capitals, to the higher; `above` (None: no bound) those of a higher similarity.
    `best_of` says what the best are of. Equation 5 of the paper counts all, of all paths.
    """

    k: int
    most: int | None
    counted: Counted = "all"
    above: float | None = None
    best_of: BestOf = "all"


def step_paths(
    graph: Graph,
    transitions: Sequence[IntArray],
    similarity: FloatArray,
    search: Search,
    final_k: int | None,
) -> list[Path]:
    """The `final_k` best paths of all transitions, or of each: the k shortest of pairs, by score.

    A transition is the pairs (source, target) from one step to the next, int64 (n, 2); pairs of
    one node are left out. Score: the mean similarity, -1..1, of the relationships of the path to
    the question that `search` counts; a path with none is dropped. Order: score (by six decimals),
    fewer hops, transition, node tuple.
    Source: PathCoRAG, section 4.3 and appendix B; what is counted as its released code.
    """
    apart = [pairs[pairs[:, 0] != pairs[:, 1]].reshape(-1, 2) for pairs in transitions]
    stages = np.repeat(np.arange(1, len(apart) + 1), [len(pairs) for pairs in apart])
    pairs = np.concatenate(apart) if apart else np.zeros((0, 2), np.int64)
    if not len(pairs):
        return []
    every = search.counted == "all" and search.above is None
    k, most = search.k, search.most
    if most is not None and most <= MOST_HOPS:
        paths = fewest_hops(graph, pairs, similarity, k=k, most=most)
    else:
        paths = any_length(graph, pairs, similarity, k=k, most=most)
    stage = stages[paths.pair]
    scores = paths.scores if every else _scores(graph, paths, similarity, search)
    rows = np.flatnonzero(~np.isnan(scores))
    columns = (stage[rows], paths.hops[rows], -np.round(scores[rows], DECIMALS))
    rows = rows[np.lexsort((*paths.nodes[rows].T[::-1], *columns))]
    if search.best_of == "transition":
        first = [np.flatnonzero(stage[rows] == one)[:final_k] for one in range(1, len(apart) + 1)]
        rows = rows[np.sort(np.concatenate(first))]
    else:
        rows = rows[:final_k]
    walks = [tuple(paths.nodes[row, : paths.hops[row] + 1].tolist()) for row in rows.tolist()]
    return [
        Path(walk, hop_rows(graph, walk, similarity), float(scores[row]), int(stage[row]))
        for walk, row in zip(walks, rows.tolist(), strict=True)
    ]


def _scores(graph: Graph, paths: PairPaths, similarity: FloatArray, search: Search) -> FloatArray:
    like = hop_similarities(graph, paths.nodes, similarity)
    counts = ~np.isnan(like)
    if search.above is not None:
        counts &= np.nan_to_num(like, nan=-np.inf) > search.above
    if search.counted == "sorted":
        ids, places = np.unique(paths.nodes, return_inverse=True)
        capitals = [graph.names[node].upper() if node >= 0 else "" for node in ids.tolist()]
        _, order = np.unique(np.array(capitals, object), return_inverse=True)
        rank = order[places].reshape(paths.nodes.shape)
        counts &= rank[:, :-1] < rank[:, 1:]
    n_counted = counts.sum(axis=1)
    total = np.where(counts, like, 0.0).sum(axis=1)
    return np.where(n_counted > 0, total / np.maximum(n_counted, 1), np.nan)


Scored = tuple[IntArray, FloatArray]
"""The nodes of a step and their scores."""


def likely_pairs(sources: Scored, targets: Scored, most: int | None) -> IntArray:
    """The `most` pairs (source, target) with the highest product of scores, int64 (n, 2).

    All of them for None. Ties by lower source, then lower target; a score below 0 counts as 0.
    """
    (from_nodes, from_scores), (to_nodes, to_scores) = sources, targets
    product = np.outer(np.clip(from_scores, 0, None), np.clip(to_scores, 0, None)).ravel()
    pairs = np.stack(np.meshgrid(from_nodes, to_nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -np.round(product, DECIMALS)))
    return np.asarray(pairs[order[:most]], np.int64)
