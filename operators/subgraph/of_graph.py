"""Operators that return a subgraph: paths between nodes, chosen triples, or a Steiner tree."""

import re
from collections.abc import Iterable
from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.arrays import DECIMALS, FloatArray, IntArray, best_first, unique
from graphrag_bench.columns import row_ids
from graphrag_bench.contract import operator
from graphrag_bench.errors import UnreadableReply
from graphrag_bench.llm.chat import ChatModel
from graphrag_bench.llm.structured import ReplyFormat, ask_about
from graphrag_bench.prompts import Prompt
from graphrag_bench.text import normalise_name
from graphrag_bench.values import Node, Path, Question, Ranked, Relationship, Subgraph


@operator("subgraph.khop_path", table3="KhopPath")
def khop_path(nodes: Ranked[Node], *, graph: Graph, khop: PositiveInt = 2) -> Subgraph:
    """Return paths through the given nodes, with at most `khop` hops between two given nodes.

    A path starts at the first given node that is not on a path yet. It continues to the nearest
    given node that is not on a path yet, until no such node is within `khop` hops. If two nodes are
    joined by several relationships, the path uses the first of them. Given nodes that cannot be
    connected are left out. The code of Zhou et al. uses `khop=5`.
    Source: Zhou et al. (2025), Section 6.1, "KhopPath"; DALK (Li et al. 2024), Section 3.2.
    """
    remaining, paths = nodes.ids.tolist(), []
    while remaining:
        walk = remaining[:1]
        while (remaining := [node for node in remaining if node not in walk]) and (
            way := way_to_nearest(graph, walk[-1], remaining, khop)
        ):
            walk += way
        if len(walk) > 1:
            paths.append(Path(tuple(walk), graph.neighbours.rows_along(walk)))
    rows = unique([row for path in paths for row in path.relationships])
    return Subgraph(unique([node for path in paths for node in path.nodes]), rows, tuple(paths))


def way_to_nearest(graph: Graph, start: int, targets: Iterable[int], most: int) -> list[int]:
    """Return the nodes of a shortest path to the nearest target, without `start`.

    If no target is within `most` hops, the list is empty.
    """
    target_ids = np.fromiter(targets, np.int64)
    distance = np.full(graph.n_nodes, -1)
    distance[start] = 0
    frontier = np.array([start])
    for hops in range(1, most + 1):
        near = np.unique(graph.adjacency[frontier].indices)
        frontier = near[distance[near] < 0]
        distance[frontier] = hops
        reached = target_ids[distance[target_ids] == hops]
        if len(reached):
            end, way = int(reached.min()), list[int]()
            while distance[end]:
                way.append(end)
                near = row_ids(graph.adjacency, end)
                end = int(near[distance[near] == distance[end] - 1][0])
            return way[::-1]
        if not len(frontier):
            break
    return []


PURPOSE = "reranked triples"
MOST = 60
"""The maximum number of triples shown to the language model."""
_ARROW = re.compile(r"\s*(?:[-\u2010-\u2015=]+>|\u2192)\s*")
_LABEL = re.compile(
    r"^\W*(?:reranked[\s_]*)?(?:(?:triple|fact)[\s_]*)?(?:\d+\s*[.):])?[\s:]*", re.IGNORECASE
)


@operator(
    "subgraph.agent_path", table3="AgentPath", requires={"node.name"}, calls=2,
    supplies={"question", "paths", "top_k"},
)  # fmt: skip
def agent_path(
    question: Question,
    subgraph: Subgraph | None = None,
    relationships: Ranked[Relationship] | None = None,
    *,
    graph: Graph,
    llm: ChatModel,
    prompt: Prompt = Prompt("operators:prompts/agent_path.j2"),
    top_k: PositiveInt = 5,
    max_tokens: PositiveInt = 240,
) -> Subgraph:
    """Return at most `top_k` triples that the language model considers helpful, best first.

    The candidates are the triples on the paths of `subgraph` (or all its relationships, if it has
    no paths), followed by the given `relationships`. The model is shown the first 60. A triple in
    the reply matches a candidate in either direction, or is kept as text. After two replies without
    a triple, the first `top_k` candidates are returned, which counts as a fallback. Without
    candidates, the model is not called.
    Source: Zhou et al. (2025), Section 6.1, "AgentPath"; DALK (Li et al. 2024), Section 3.3.
    """
    walks = subgraph or Subgraph()
    paths = [path.relationships for path in walks.paths] or [(row,) for row in walks.relationships]
    paths += [] if relationships is None else [(row,) for row in relationships.ids.tolist()]
    written: dict[int, tuple[str, ...]] = {}
    lines = []
    for path in paths:
        if new := [row for row in unique(path) if row not in written][: MOST - len(written)]:
            written |= {row: graph.triple(row) for row in new}
            lines.append([" -> ".join(written[row]) for row in new])
    if not written:
        return Subgraph()
    (triples,) = ask_about(
        llm, [{"question": question.text, "paths": lines, "top_k": top_k}], prompt.render,
        ReplyFormat(PURPOSE, _triples), lambda triples, _: triples,
        fallback=lambda _: tuple(written.values()), max_tokens=max_tokens,
    )  # fmt: skip
    row_of: dict[tuple[str, ...], int] = {}  # the stored direction and earlier rows take precedence
    for backwards in (True, False):
        for row, parts in reversed(list(written.items())):
            head, relation, tail = (normalise_name(part) for part in parts)
            ends = (tail, head) if backwards else (head, tail)
            row_of[ends] = row_of[ends[0], relation, ends[1]] = row
    kept = triples[:top_k]
    matches = [row_of.get(tuple(normalise_name(part) for part in triple)) for triple in kept]
    rows = unique([row for row in matches if row is not None])
    rest = [triple for row, triple in zip(matches, kept, strict=True) if row is None]
    nodes = [int(end[row]) for row in rows for end in (graph.source, graph.target)]
    return Subgraph(unique(nodes), rows, (), unique([" -> ".join(triple) for triple in rest]))


def _triples(text: str, cut: bool) -> tuple[tuple[str, ...], ...]:
    lines = re.split(r"[\n;]", text)
    triples = []
    for line in lines[:-1] if cut and len(lines) > 1 else lines:
        parts = [part.strip(" .,'\"*`()[]{}") for part in _ARROW.split(_LABEL.sub("", line))]
        if len(parts) in (2, 3) and all(parts):
            triples.append(tuple(parts))
    if not triples:
        raise UnreadableReply(PURPOSE, text)
    return tuple(dict.fromkeys(triples))


@operator("subgraph.steiner", table3="Steiner")
def steiner(
    nodes: Ranked[Node],
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    n_values: PositiveInt = 4,
    cost: Annotated[float, Field(gt=0)] = 0.5,
) -> tuple[Subgraph, Ranked[Node], Ranked[Relationship]]:
    """Return the prize-collecting Steiner tree of the retrieved nodes and relationships.

    If k distinct nodes are given, the best node has the prize k, the second k - 1, and so on down
    to 1. For the prizes of the relationships, see `relationship_prizes`. A relationship costs at
    most `cost`. The nodes and relationships of the tree are also returned as rankings, scored by
    prize (0 without a prize). If nothing has a prize, the tree is empty. If the graph has no
    relationships, the tree is the best node. Zhou et al. write "Steiner tree", but their code
    solves the prize-collecting problem.
    Source: G-retriever (He et al. 2024), Section 5.3; Zhou et al. (2025), Section 6.1, "Steiner".
    """
    node_prizes, prizes = np.zeros(graph.n_nodes), np.zeros(graph.n_relationships)
    best = unique(nodes.ids[best_first(nodes.scores, nodes.ids)].tolist())
    node_prizes[list(best)] = np.arange(len(best), 0, -1)
    prizes[relationships.ids] = relationship_prizes(relationships.scores, n_values)
    nodes_of_tree, rows = prized_subgraph(graph, node_prizes, prizes, cost)
    by_prize = Ranked[Node].top(node_prizes, None, among=nodes_of_tree)
    rows_by_prize = Ranked[Relationship].top(prizes, None, among=rows)
    subgraph = Subgraph(tuple(by_prize.ids.tolist()), tuple(rows_by_prize.ids.tolist()))
    return subgraph, by_prize, rows_by_prize


DECAY = 0.01
"""The constant c of G-retriever, which makes each prize lower than the previous prize."""


def relationship_prizes(similarities: FloatArray, n_values: int) -> FloatArray:
    """Return the Steiner tree prizes of relationships with the given similarities, float64 (n,).

    If n_j relationships have the j-th highest distinct similarity, their prize is p_j:
    p_0 = min(k / n_0, k - c)
    p_j = min((k - j) / n_j, (1 - c) * p_(j-1) - c)
    Here j starts at 0, k is `n_values`, and c is 0.01. Relationships beyond the k highest distinct
    similarities get 0. Similarities are compared to six decimals.

    >>> relationship_prizes(np.array([0.9, 0.9, 0.7, 0.2, 0.1]), 3).round(3).tolist()
    [1.5, 1.5, 1.475, 1.0, 0.0]

    Source: G-retriever (He et al. 2024), Section 5.3, and its code.
    """
    rounded = np.round(similarities, DECIMALS)
    prizes, most = np.zeros(len(rounded)), float(n_values)
    for position, value in enumerate(np.unique(rounded)[::-1][:n_values]):
        having = rounded == value
        prizes[having] = prize = min((n_values - position) / int(having.sum()), most - DECAY)
        most = prize * (1 - DECAY)
    return prizes


def prized_subgraph(
    graph: Graph, node_prizes: FloatArray, prizes: FloatArray, cost: float
) -> tuple[IntArray, IntArray]:
    """Return the nodes and relationships of the prize-collecting Steiner tree, both ascending.

    `node_prizes` has the shape (n_nodes,) and `prizes` the shape (n_relationships,). Each
    relationship costs `cost`, which is capped at 0.995 times the highest prize of a relationship if
    any has one. If the prize of a relationship is at most its cost, the prize is subtracted from
    the cost. If the prize is higher, the relationship costs nothing and is split by a virtual
    node, which gets the prize minus the cost. Loops are left out.
    The solver `pcst_fast` minimises the cost of the tree plus the prizes outside the tree. Its
    result is at most twice the optimum. Ties are broken by the order of the relationships.
    Source: G-retriever (He et al. 2024), Section 5.3, and its code; Goemans and Williamson (1995);
    Hegde, Indyk and Schmidt (2014).
    """
    from pcst_fast import pcst_fast

    best = float(prizes.max(initial=0.0))
    cost = min(cost, best * (1 - DECAY / 2)) if best > 0 else cost
    rows = np.flatnonzero(graph.source != graph.target)
    ends = np.stack([graph.source[rows], graph.target[rows]], axis=1)
    rich = prizes[rows] > cost
    middles = graph.n_nodes + np.arange(rich.sum())
    halves = [np.stack([ends[rich][:, side], middles], axis=1) for side in (0, 1)]
    wanted = np.concatenate([node_prizes, prizes[rows][rich] - cost])
    costs = np.concatenate([cost - prizes[rows][~rich], np.zeros(2 * len(middles))])
    if not wanted.any():
        return rows[:0], rows[:0]
    nodes, edges = wanted.argmax(0, keepdims=True), rows[:0]
    if len(rows):  # -1: unrooted, 1: one tree
        every = np.concatenate([ends[~rich], *halves])
        nodes, edges = pcst_fast(every, wanted, costs, -1, 1, "gw", 0)
    plain = edges[edges < len(rows) - len(middles)]
    of_middles = rows[rich][nodes[nodes >= graph.n_nodes] - graph.n_nodes]
    tree_rows = np.union1d(rows[~rich][plain], of_middles)
    real = nodes[nodes < graph.n_nodes]
    return np.union1d(real, np.union1d(graph.source[tree_rows], graph.target[tree_rows])), tree_rows
