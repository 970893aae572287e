"""Operator that returns the prize-collecting Steiner tree of retrieved nodes and relationships."""

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveInt

from graphrag_bench.algorithms.graph import Graph
from graphrag_bench.contract import operator
from graphrag_bench.values import (
    DECIMALS,
    FloatArray,
    IntArray,
    Node,
    Ranked,
    Relationship,
    Subgraph,
    best_first,
    unique,
)


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
    to 1. `relationship_prizes` computes the prizes of the relationships. A relationship costs at
    most `cost`. The nodes and relationships of the tree are also returned as rankings, scored by
    prize. Nodes and relationships that only connect others have score 0. If nothing has a prize,
    the tree is empty. If the graph has no relationships, the tree is the best node. Zhou et al.
    write "Steiner tree", but their code solves the prize-collecting problem.
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
    values = np.unique(rounded)[::-1][:n_values]
    prizes: FloatArray = np.zeros(len(rounded))
    last = float(n_values)
    for position, value in enumerate(values):
        having = rounded == value
        prize = min((n_values - position) / int(having.sum()), last - DECAY)
        prizes[having] = prize
        last = prize * (1 - DECAY)
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
