"""PathRAG: nodes by the keywords of a question, and the paths that flow finds between them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from graphrag_bench.algorithms.flow_paths import (
    Dedup,
    Direction,
    Select,
    Selection,
    edge_flow_paths,
    flow_paths,
)
from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.algorithms.path_values import RankedPaths
from graphrag_bench.contract import operator
from graphrag_bench.embedding.embedder import Embedder
from graphrag_bench.indices.vector_index import VectorIndex
from graphrag_bench.values import Keywords, Node, Query, Question, Ranked
from operators.similarity import searched, vectors_of

NodeQuery = Literal["per_keyword", "joined"]


@operator("node.by_keyword", batched=True, unordered="round robin over the keywords")
def by_keyword(
    question: Sequence[Question],
    keywords: Sequence[Keywords],
    *,
    node_index: VectorIndex,
    embedder: Embedder,
    node_query: NodeQuery = "per_keyword",
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
    groups = vectors_of(question, [_query(one, node_query) for one in keywords], embedder)
    rankings = searched(groups, node_index, top_k)
    return [_in_turns(hits, min_score, top_k) for hits in rankings]


def _query(keywords: Keywords, node_query: NodeQuery) -> Query | None:
    if not keywords.low:
        return None
    return Query((", ".join(keywords.low),) if node_query == "joined" else keywords.low)


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
    pruned and a path's score is the mean flow along its hops, as `edge_flow_paths` says; theta then
    only lowers it, and `expand_target` has no effect.
    Ties by fewer hops, then by node tuple. A path and its reversal are one (with `node_set`, all
    paths over the same nodes); `at_most_half` keeps at most half of the paths of one hop, of two,
    and so on, added up. `select` keeps
    other `top_k` paths, the best of them first: those of the fewest hops, ties at random
    (`hop_first`), or a random selection (`random`), both by `seed`.
    Source: PathRAG (Chen et al. 2025), "Path Retrieval", equations 2 to 4, and arXiv v1, 5.1.3 and
    appendix D.1; `edge_flow`, `node_set` and `at_most_half` as in the released code.
    Deviation: theta is 0.01 here (v1: 0.05, which profile=paper sets); max_hops is the code's.
    """
    from graphrag_bench.algorithms.flow_kernels import Rules

    rules = Rules(alpha, theta, max_hops, expand_target, reliability != "exclude_start")
    selection = Selection(dedup, top_k, select, seed, at_most_half)
    find = edge_flow_paths if reliability == "edge_flow" else flow_paths
    return RankedPaths(tuple(find(graph, nodes.ids.tolist(), rules, direction, selection)))
