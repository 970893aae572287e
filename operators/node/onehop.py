"""Operators that return the neighbours of nodes, or the source and target of relationships."""

from statistics import fmean
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from graphrag_bench.algorithms.graph import Graph, nodes_of_types
from graphrag_bench.arrays import best_first, best_score_by_id
from graphrag_bench.contract import operator
from graphrag_bench.values import Node, Ranked, Relationship


@operator("node.onehop", table3="Onehop", order="the order of the given nodes, then weight")
def onehop(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    include_seeds: bool = False,
    top_k: PositiveInt | None = None,
    types: tuple[str, ...] = (),
) -> Ranked[Node]:
    """Return the neighbours of the given nodes, in the order of the given nodes, then by score.

    If a node is a neighbour of several given nodes, the first given node counts. The score of a
    neighbour is the summed weight of its relationships with this given node. The given nodes are
    left out. With `include_seeds`, they come first, with their own scores, whatever their types.
    Source: Zhou et al. (2025), Section 6.1, node "Onehop".
    """
    typed = nodes_of_types(graph, types)
    seeds = dict(nodes.items())
    scores: dict[int, float] = dict(seeds) if include_seeds else {}
    adjacency = graph.adjacency
    for node in seeds:
        here = slice(adjacency.indptr[node], adjacency.indptr[node + 1])
        near, weights = adjacency.indices[here], adjacency.data[here]
        if typed is not None:
            near, weights = near[typed[near]], weights[typed[near]]
        for at in best_first(weights, near):
            if int(near[at]) not in seeds:
                scores.setdefault(int(near[at]), float(weights[at]))
    return Ranked[Node].of(scores).head(top_k)


@operator("node.expand", order="with include_seeds, the given nodes first")
def expand(
    nodes: Ranked[Node],
    *,
    graph: Graph,
    score: Literal["sum", "best", "degree"] = "sum",
    equal_scores: bool = False,
    include_seeds: bool = False,
    top_k: PositiveInt | None = None,
    types: tuple[str, ...] = (),
) -> Ranked[Node]:
    """Return the neighbours of the given nodes, ranked by the scores of the adjacent given nodes.

    By default, as in PropRAG's code, the score of a neighbour is the sum of the scores of the given
    nodes adjacent to it. With `score="best"`, it is the highest of these scores. With
    `score="degree"`, as in HyperGraphRAG's code, it is the degree of the neighbour plus the highest
    degree of a given node adjacent to it. If a node is given twice, its best score counts. With
    `equal_scores`, every neighbour gets the score 1 after the ranking. The given nodes are left
    out. With `include_seeds`, they come first, with their own scores, whatever their types, and
    `top_k` limits only the neighbours.
    Source: HyperGraphRAG (Luo et al. 2025), bidirectional expansion; PropRAG (Wang and Han 2025).
    """
    seeds, seed_scores = best_score_by_id(nodes.ids, nodes.scores)
    near = graph.adjacency[seeds]
    from_seed = np.repeat(np.arange(len(seeds)), np.diff(near.indptr))
    nodes_near, which = np.unique(near.indices.astype(np.int64), return_inverse=True)
    values = seed_scores[from_seed]
    if score == "degree":
        values = (graph.degree[seeds[from_seed]] + graph.degree[near.indices]).astype(np.float64)
    total = np.zeros(len(nodes_near)) if score == "sum" else np.full(len(nodes_near), -np.inf)
    (np.add if score == "sum" else np.maximum).at(total, which, values)
    others = ~np.isin(nodes_near, seeds)
    if (typed := nodes_of_types(graph, types)) is not None:
        others &= typed[nodes_near]
    best = Ranked[Node].best(nodes_near[others], total[others], top_k)
    if equal_scores:
        best = Ranked(best.ids, np.ones(len(best)))
    own = dict(zip(seeds.tolist(), seed_scores.tolist(), strict=True)) if include_seeds else {}
    first = {node: own[node] for node in nodes.ids.tolist() if node in own}
    return Ranked[Node].of({**first, **dict(best.items())})


@operator("node.relnode", table3="RelNode", order="the order of the relationships, source first")
def relnode(
    relationships: Ranked[Relationship],
    *,
    graph: Graph,
    score: Literal["best", "mean"] = "best",
    top_k: PositiveInt | None = None,
) -> Ranked[Node]:
    """Return the source and target of each given relationship, in the order of relationships.

    The score of a node is the highest score of the given relationships that it belongs to. With
    `score="mean"`, as in HippoRAG 2, it is the mean of their scores.
    Source: Zhou et al. (2025), Section 6.1, node "RelNode" ("FromRel" in Table 3); HippoRAG 2
    (Gutierrez et al. 2025), Section 3.4.
    """
    scores_of: dict[int, list[float]] = {}
    for row, value in relationships.items():
        for node in (int(graph.source[row]), int(graph.target[row])):
            scores_of.setdefault(node, []).append(value)
    combine = max if score == "best" else fmean
    scores = {node: float(combine(values)) for node, values in scores_of.items()}
    return Ranked[Node].of(scores).head(top_k)
