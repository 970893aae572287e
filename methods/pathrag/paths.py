"""PathRAG: nodes by the keywords of a question, and the paths that flow finds between them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import factorial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.algorithms.views import Neighbours
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.embedding.vector_index import VectorIndex
from graphrag_bench.values import (
    DECIMALS,
    FloatArray,
    IntArray,
    Keywords,
    Node,
    Path,
    Query,
    Question,
    Ranked,
)
from operators.search import searched, vectors_of

if TYPE_CHECKING:
    from methods.pathrag.flow_kernels import PathRows, Rules

NodePath = tuple[int, ...]
NodePair = tuple[int, int]
Direction = Literal["both", "out"]
Dedup = Literal["reversal", "node_set"]
Select = Literal["reliability", "hop_first", "random"]


class Selection(NamedTuple):
    """Which paths are kept: what makes two the same, and how many.

    Of all distinct ones the best are kept, or those of the fewest hops, ties by chance
    (`hop_first`), or as many by chance (`random`); chance is the `seed`'s. With `at_most_half` no
    more than half (rounded down) of the paths found of one hop, of two, and so on, add up to.
    """

    dedup: Dedup
    top_k: int | None
    select: Select = "reliability"
    seed: int = 0
    at_most_half: bool = False


def flow_paths(
    graph: Graph,
    nodes: Sequence[int],
    rules: "Rules",
    direction: Direction,
    selection: Selection,
    by_edge: bool = False,
) -> list[Path]:
    """The `top_k` most reliable alive paths between the nodes, best first.

    All ordered pairs of distinct nodes are searched, along relationships either way (`both`) or as
    they are stored (`out`). With `by_edge` all simple paths of up to `max_hops` hops are alive, and
    a path's score is the mean of `edge_flow` over its hops. Order: score (by six decimals), fewer
    hops, the lower of the node tuple and its reversal, that tuple before its reversal. A path and
    its reversal are one, the first in this order; with `node_set` so are all paths over the same
    nodes. The row of a hop is the first of its pair.
    Source: PathRAG (Chen et al. 2025), "Path Retrieval"; edges as in the released code,
    `find_paths_and_edges_with_stats`.
    """
    from methods.pathrag.flow_kernels import Ways, unpruned_paths

    near = graph.neighbours if direction == "both" else graph.outward
    ways = Ways(near.starts, near.nodes, np.isin(np.arange(graph.n_nodes), nodes))
    everything = rules._replace(theta=0.0, expand_target=True)
    paths = unpruned_paths(ways, everything if by_edge else rules)
    if by_edge:
        paths = paths._replace(scores=_edge_flow_scores(paths, rules))
    return chosen(paths, near, selection)


def chosen(candidates: "PathRows", ways: Neighbours, selection: Selection) -> list[Path]:
    """The best of the paths found, in the order that `flow_paths` says, each once."""
    nodes, scores = candidates.nodes.astype(np.int64), np.round(candidates.scores, DECIMALS)
    if selection.at_most_half:
        half = int((np.bincount(_hops(nodes)) // 2).sum())
        selection = selection._replace(
            top_k=half if selection.top_k is None else min(selection.top_k, half)
        )
    if selection.select != "reliability":
        every = list(_each_once(nodes, scores, selection.dedup).values())
        rows = np.random.default_rng(selection.seed).permutation(len(every)).tolist()
        if selection.select == "hop_first":
            rows.sort(key=lambda row: len(every[row][0]))  # ties by chance
        paths = [every[row] for row in sorted(rows[: selection.top_k])]
    else:
        paths = _most_reliable(nodes, scores, selection)
    return [Path(walk, ways.rows_along(walk), score) for walk, score in paths]


def _most_reliable(
    nodes: IntArray, scores: FloatArray, selection: Selection
) -> list[tuple[NodePath, float]]:
    wanted = len(scores) if selection.top_k is None else selection.top_k
    alike = 2 if selection.dedup == "reversal" else factorial(nodes.shape[1])
    n_rows = alike * wanted  # of so many at least `wanted` are different
    rows = np.arange(len(scores))
    if n_rows < len(scores):
        rows = np.flatnonzero(scores >= np.partition(scores, -n_rows)[-n_rows])
    return list(_each_once(nodes[rows], scores[rows], selection.dedup).values())[:wanted]


def _each_once(
    nodes: IntArray, scores: FloatArray, dedup: Dedup
) -> dict[NodePath, tuple[NodePath, float]]:
    lower, turned = _lower(nodes)
    first: dict[NodePath, tuple[NodePath, float]] = {}
    for row in np.lexsort((turned, *lower.T[::-1], _hops(nodes), -scores)).tolist():
        walk = tuple(node for node in nodes[row].tolist() if node >= 0)
        same = tuple(node for node in lower[row].tolist() if node >= 0)
        first.setdefault(
            same if dedup == "reversal" else tuple(sorted(same)), (walk, float(scores[row]))
        )
    return first


def _hops(nodes: IntArray) -> IntArray:
    return np.asarray((nodes >= 0).sum(axis=1) - 1, np.int64)


def _lower(nodes: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
    hops = _hops(nodes)[:, None]
    turned = nodes[:, 0] > np.take_along_axis(nodes, hops, axis=1)[:, 0]
    columns = np.arange(nodes.shape[1])[None]
    back = np.take_along_axis(nodes, np.maximum(hops - columns, 0), axis=1)
    return np.where(turned[:, None] & (columns <= hops), back, nodes), turned


def _edge_flow_scores(paths: "PathRows", rules: "Rules") -> FloatArray:
    # Deviation: successors are visited in order of id; the released code iterates over a set
    walks = [tuple(node for node in row if node >= 0) for row in paths.nodes.tolist()]
    scores = np.zeros(len(walks))
    rows_of: dict[NodePair, list[int]] = {}
    for row, walk in enumerate(walks):
        rows_of.setdefault((walk[0], walk[-1]), []).append(row)
    for rows in rows_of.values():
        flow = edge_flow([walks[row] for row in rows], rules.alpha, rules.theta, rules.max_hops)
        for row in rows:
            scores[row] = np.mean([flow.get(hop, 0.0) for hop in pairwise(walks[row])])
    return scores


def edge_flow(
    walks: Sequence[NodePath], alpha: float, threshold: float, max_hops: int = 3
) -> Mapping[NodePair, float]:
    """The flow along the edges of all walks of one ordered pair, which start with one node.

    The start sends 1 / (its successors) along each of them, undecayed. A node other than the end
    whose flow is above the threshold when it is reached sends alpha * flow / (its successors) on,
    and so do the next, up to `max_hops` hops from the start. Successors are those within these
    walks, visited in the order of their ids.
    """
    following: dict[int, set[int]] = {}
    for walk in walks:
        for here, there in pairwise(walk):
            following.setdefault(here, set()).add(there)
    successors = {node: sorted(near) for node, near in following.items()}
    start, end = walks[0][0], walks[0][-1]
    flow: dict[NodePair, float] = {
        (start, n): 1 / len(successors[start]) for n in successors[start]
    }

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


@operator("node.by_keyword", batched=True, unordered="round robin over the keywords")
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
    """The nodes most similar to the low-level keywords: the keywords take turns, until `top_k`.

    At its turn a keyword takes its most similar node that is not taken yet (ties by lower id), and
    is skipped when all of them are, or are below `min_score`. Score: the cosine of node and
    keyword, -1..1. `joined` searches for one text, the keywords joined by commas. Without a
    keyword the question itself is the query.
    Source: PathRAG (Chen et al. 2025), "Node Retrieval"; taking turns is ours, `joined` its code.
    """
    texts = [
        (", ".join(one.low),) if one.low and node_query == "joined" else one.low for one in keywords
    ]
    groups = vectors_of(question, [Query(low) if low else None for low in texts], embedder)
    rankings = searched(groups, node_index, top_k)
    return [_in_turns(hits, min_score, top_k) for hits in rankings]


def _in_turns(hits: Sequence[Ranked[Any]], min_score: float, top_k: int) -> Ranked[Node]:
    score_of: dict[int, float] = {}
    queues = [iter(hit.items()) for hit in hits]
    while queues and len(score_of) < top_k:
        for rows in list(queues):
            new = next(((row, score) for row, score in rows if row not in score_of), None)
            if new is None or new[1] < min_score:
                queues.remove(rows)
            elif len(score_of) < top_k:
                score_of[new[0]] = new[1]
    return Ranked.of(score_of)


@operator("path.flow_prune")
def flow_prune(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    alpha: Annotated[float, Field(gt=0, le=1)] = 0.7,
    theta: Annotated[float, Field(ge=0)] = 0.01,
    max_hops: PositiveInt = 3,
    direction: Direction = "both",
    reliability: Literal["node_sum", "exclude_start", "edge_flow"] = "node_sum",
    expand_target: bool = False,
    dedup: Dedup = "reversal",
    at_most_half: bool = False,
    top_k: PositiveInt = 15,
    select: Select = "reliability",
    seed: NonNegativeInt = 0,
) -> RankedPaths:
    """The `top_k` most reliable paths between the nodes, best first, by the resource they carry.

    For each ordered pair the start has resource 1. A node with resource S and n neighbours sends
    `alpha` * S / n to each of those reached for the first time, unless S / n is below
    `theta` (the start always sends; the end never sends, except with `expand_target`). Neighbours
    are those of either direction, or with `direction="out"` those that a node points to. A path has
    at most `max_hops` hops over nodes that sent. Score: the sum of its nodes' resources / hops,
    above 1 for one hop; with `exclude_start` without the start's 1. With `edge_flow` nothing is
    pruned and a path's score is the mean flow along its hops, as `edge_flow` says; theta then
    only lowers it, and `expand_target` has no effect.
    Ties by fewer hops, then by node tuple. A path and its reversal are one (with `node_set`, all
    paths over the same nodes); `at_most_half` keeps at most half of the paths of one hop, of two,
    and so on, added up. `select` keeps
    other `top_k` paths, the best of them first: those of the fewest hops, ties at random
    (`hop_first`), or a random selection (`random`), both by `seed`.
    Source: PathRAG (Chen et al. 2025), "Path Retrieval", equations 2 to 4, and arXiv v1, 5.1.3 and
    appendix D.1; `edge_flow`, `node_set` and `at_most_half` as in the released code.
    Deviation: theta is 0.01 here (v1: 0.05, which profile=paper sets); max_hops is the code's, the
    paper has no bound. A start sends whatever its share is; equation 3 exempts no node. All paths
    of a pair compete; the paper retains the most reliable ones, and does not say how many.
    """
    from methods.pathrag.flow_kernels import Rules

    rules = Rules(alpha, theta, max_hops, expand_target, reliability != "exclude_start")
    selection = Selection(dedup, top_k, select, seed, at_most_half)
    by_edge = reliability == "edge_flow"
    paths = flow_paths(graph, nodes.ids.tolist(), rules, direction, selection, by_edge)
    return RankedPaths(tuple(paths))
