"""PathRAG: find nodes similar to the question's keywords, and rank paths between them by flow."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.algorithms.views import Neighbours
from graphrag_bench.arrays import DECIMALS, BoolArray, FloatArray, IntArray
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import Keywords, Node, Path, Query, Question, Ranked
from operators.search import search_each, vectors_of

NodePath = tuple[int, ...]
NodePair = tuple[int, int]
Dedup = Literal["reversal", "node_set"]
NOBODY = -1
SLACK = 1e-12
"""Tolerance of the comparison with theta, so that rounding errors do not exclude a node."""


class _Rules(NamedTuple):
    alpha: float
    theta: float
    max_hops: int
    expand_target: bool


def _alive_paths(
    near: Neighbours, ends: IntArray, rules: _Rules, count_start: bool
) -> tuple[IntArray, FloatArray]:
    """Return all paths between two of the given `ends`, in both directions, that are not pruned.

    The result is the nodes (n, max_hops + 1), padded with -1, and the scores (n,). Each pair of
    start and end has its own flow. Flows that are equal are computed only once.
    """
    from scipy.sparse import csr_matrix

    n = len(near.starts) - 1
    ways = csr_matrix((np.ones(len(near.nodes), bool), near.nodes, near.starts), shape=(n, n))
    to_ends = ways[:, ends]
    parts = [(np.zeros((0, rules.max_hops + 1), np.int64), np.zeros(0))]
    for start in ends:
        resource, expanded = _flow(ways, start, NOBODY, rules)
        is_open = ~expanded[ends] | rules.expand_target
        flows = [(resource, expanded, is_open)]
        for end in ends[~is_open & (ends != start)]:
            flows.append((*_flow(ways, start, end, rules), ends == end))
        for resource, expanded, is_end in flows:
            walks = np.array([[start]], np.int64)[: int(expanded[start])]
            for hops in range(1, rules.max_hops + 1):
                place, end = _steps(to_ends, walks[:, -1])
                ended = _simple(walks[place[is_end[end]]], ends[end[is_end[end]]])
                padding = np.full((len(ended), rules.max_hops - hops), -1)
                carried = resource[ended[:, 0 if count_start else 1 :]].sum(axis=1)
                parts.append((np.hstack([ended, padding]), carried / hops))
                place, onward = _steps(ways, walks[:, -1])
                walks = _simple(walks[place[expanded[onward]]], onward[expanded[onward]])
    nodes, scores = map(np.concatenate, zip(*parts, strict=True))
    return nodes, scores


def _steps(ways: Any, nodes: IntArray) -> tuple[IntArray, IntArray]:
    near = ways[nodes]
    return np.repeat(np.arange(len(nodes)), np.diff(near.indptr)), near.indices.astype(np.int64)


def _flow(ways: Any, start: int, end: int, rules: _Rules) -> tuple[FloatArray, BoolArray]:
    n, degrees = ways.shape[0], np.diff(ways.indptr)
    resource, (reached, expanded) = np.zeros(n), np.zeros((2, n), bool)
    resource[start], reached[start], level = 1.0, True, np.array([start], np.int64)
    for _ in range(rules.max_hops):
        level = level[(level != end) & (degrees[level] > 0)]
        share = resource[level] / degrees[level]
        sends = (share >= rules.theta - SLACK) | (level == start)
        level, share = level[sends], share[sends]
        expanded[level] = True
        sender, near = _steps(ways, level)
        sender, near = sender[~reached[near]], near[~reached[near]]
        np.add.at(resource, near, rules.alpha * share[sender])
        level = np.unique(near)
        reached[level] = True
    return resource, expanded


def _simple(walks: IntArray, nodes: IntArray) -> IntArray:
    new = (walks != nodes[:, None]).all(axis=1)
    return np.column_stack([walks[new], nodes[new]])


def _best_first(nodes: IntArray, hops: IntArray, scores: FloatArray, dedup: Dedup) -> IntArray:
    """Return the row numbers of distinct paths, best first, in the order of `path.flow_prune`."""
    import pandas as pd

    last, columns = hops[:, None], np.arange(nodes.shape[1])[None]
    turned = nodes[:, :1] > np.take_along_axis(nodes, last, axis=1)
    back = np.take_along_axis(nodes, np.maximum(last - columns, 0), axis=1)
    lower = np.where(turned & (columns <= last), back, nodes)
    order = np.lexsort((turned[:, 0], *lower.T[::-1], hops, -np.round(scores, DECIMALS)))
    keys = lower if dedup == "reversal" else np.sort(nodes, axis=1)
    return np.asarray(order[~pd.DataFrame(keys[order]).duplicated().to_numpy()])


def _edge_flow_scores(nodes: IntArray, rules: _Rules) -> FloatArray:
    walks = [tuple(node for node in row if node >= 0) for row in nodes.tolist()]
    between: dict[NodePair, list[NodePath]] = {}
    for walk in walks:
        between.setdefault((walk[0], walk[-1]), []).append(walk)
    limits = rules.alpha, rules.theta, rules.max_hops
    flows = {ends: edge_flow(some, *limits) for ends, some in between.items()}
    of_hops = ([flows[one[0], one[-1]].get(hop, 0.0) for hop in pairwise(one)] for one in walks)
    return np.array(list(map(np.mean, of_hops)))


def edge_flow(
    walks: Sequence[NodePath], alpha: float, threshold: float, max_hops: int = 3
) -> Mapping[NodePair, float]:
    """Return the flow along each edge of paths that have the same start and the same end.

    The successors of a node are the nodes that follow it on one of these paths, in order of id. If
    the start has n successors, it sends 1 / n along each edge. Any other node with n successors
    that receives more than the threshold sends alpha * flow / n along each edge. The end and nodes
    `max_hops` hops from the start send nothing.
    Deviation: The authors' code visits successors in the order of a set.
    """
    following: dict[int, set[int]] = {}
    for walk in walks:
        for here, there in pairwise(walk):
            following.setdefault(here, set()).add(there)
    successors = {node: sorted(near) for node, near in following.items()}
    start, end = walks[0][0], walks[0][-1]
    flow = {(start, near): 1 / len(successors[start]) for near in successors[start]}

    def send(pair: NodePair, hops: int) -> None:
        here = pair[1]
        if not hops or here == end or flow[pair] <= threshold:
            return
        for near in successors[here]:
            sent = flow[pair] * alpha / len(successors[here])
            flow[here, near] = flow.get((here, near), 0.0) + sent
            send((here, near), hops - 1)

    for near in successors[start]:
        send((start, near), max_hops - 1)
    return flow


@operator("node.by_keyword", batched=True, order="round robin over the keywords")
def by_keyword(
    question: Sequence[Question],
    keywords: Sequence[Keywords],
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    node_query: Literal["per_keyword", "joined"] = "per_keyword",
    min_score: Annotated[float, Field(ge=-1, le=1)] = -1.0,
    top_k: PositiveInt = 40,
) -> list[Ranked[Node]]:
    """Find nodes similar to the low-level keywords. Keywords take turns to choose a node.

    In its turn, a keyword chooses its most similar node that has not been chosen yet. If the cosine
    of that node is below `min_score`, the keyword chooses no more nodes. The search ends at `top_k`
    nodes. The score is the cosine of node and keyword (-1..1). With `node_query="joined"`, as in
    the authors' code, all keywords are joined by commas into one query. If there are no keywords,
    the question is the query. The paper does not say in which order nodes are chosen.
    Source: PathRAG (Chen et al. 2025), "Node Retrieval".
    """
    joined = node_query == "joined"
    queries = [Query((", ".join(one.low),) if joined else one.low) for one in keywords]
    given = [query if one.low else None for query, one in zip(queries, keywords, strict=True)]
    rankings: list[Ranked[Node]] = []
    for hits in search_each(vectors_of(question, given, embedder), node_index, top_k):
        score_of: dict[int, float] = {}
        queues = [iter(hit.items()) for hit in hits]
        while queues and len(score_of) < top_k:
            for rows in list(queues):
                new = next(((row, score) for row, score in rows if row not in score_of), None)
                if new is None or new[1] < min_score:
                    queues.remove(rows)
                elif len(score_of) < top_k:
                    score_of[new[0]] = new[1]
        rankings.append(Ranked.of(score_of))
    return rankings


@operator("path.flow_prune")
def flow_prune(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    alpha: Annotated[float, Field(gt=0, le=1)] = 0.7,
    theta: Annotated[float, Field(ge=0)] = 0.01,
    max_hops: PositiveInt = 3,
    direction: Literal["both", "out"] = "both",
    reliability: Literal["node_sum", "exclude_start", "edge_flow"] = "node_sum",
    expand_target: bool = False,
    dedup: Dedup = "reversal",
    at_most_half: bool = False,
    top_k: PositiveInt = 15,
    select: Literal["reliability", "hop_first", "random"] = "reliability",
    seed: NonNegativeInt = 0,
) -> RankedPaths:
    """Rank paths between the given nodes by the resource that flows along them.

    Each ordered pair of nodes, start and end, has its own flow. The start has resource 1. A node
    with resource S and n neighbours sends `alpha * S / n` to each neighbour that is reached for the
    first time, unless S / n is below `theta`. The start always sends. The end sends only if
    `expand_target` is true. With `direction="out"`, only targets of relationships are neighbours. A
    path has at most `max_hops` hops, and all its nodes except the last have sent resource.
    The score is the summed resource of the nodes divided by the number of hops. With
    `reliability="exclude_start"`, the resource of the start is left out. With `edge_flow`, no path
    is pruned, and the score is the mean flow (`edge_flow`) along its hops. Ties are broken by fewer
    hops, then by the tuple of node ids. A path and its reversal count once. With
    `dedup="node_set"`, all paths with the same nodes count once. If `at_most_half` is true and
    there are n_l paths of length l, `top_k` is at most the sum of all n_l // 2. The setting
    `select` keeps the best, the shortest (`hop_first`, with ties at random) or random paths.
    Source: PathRAG (Chen et al. 2025), "Path Retrieval", Equations 2 to 4; arXiv v1, 5.1.3 and
    Appendix D.1; `find_paths_and_edges_with_stats` (`edge_flow`, `node_set`, `at_most_half`).
    Deviation: theta is 0.01. In v1 and with profile=paper, it is 0.05. The bound `max_hops` is only
    in the authors' code. The start sends even if S / n is below theta, unlike in Equation 3. All
    paths of a pair are ranked, because the paper does not say how many it keeps.
    """
    rules = _Rules(alpha, theta, max_hops, expand_target)
    near = graph.neighbours if direction == "both" else graph.out_neighbours
    flow = _Rules(alpha, 0.0, max_hops, True) if reliability == "edge_flow" else rules
    count_start = reliability != "exclude_start"
    walks, scores = _alive_paths(near, np.unique(nodes.ids), flow, count_start)
    if reliability == "edge_flow":
        scores = _edge_flow_scores(walks, rules)
    hops = np.asarray((walks >= 0).sum(axis=1) - 1, np.int64)
    if at_most_half:
        top_k = min(top_k, int((np.bincount(hops) // 2).sum()))
    rows = _best_first(walks, hops, scores, dedup)
    if select != "reliability":
        order = np.random.default_rng(seed).permutation(len(rows))
        if select == "hop_first":
            order = order[np.argsort(hops[rows[order]], kind="stable")]  # ties at random
        rows = rows[np.sort(order[:top_k])]
    scores, best = np.round(scores, DECIMALS), []
    for row in rows[:top_k].tolist():
        walk = tuple(walks[row, : hops[row] + 1].tolist())
        best.append(Path(walk, near.rows_along(walk), float(scores[row])))
    return RankedPaths(tuple(best))
